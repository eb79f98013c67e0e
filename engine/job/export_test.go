package job

import "weir/engine/checkpoint"

// OnDisk has a job keep its checkpoints on a disk of the test's.
func OnDisk(o Options, disk checkpoint.FileSystem) Options {
	o.Disk = disk
	return o
}
