// Package core is yours: fill in Recalculate and EstimateMs.
package core

import "weir/exercises/10-debloater/api"

// New makes the debloater of one gate.
func New() api.Debloater { return &debloater{} }

type debloater struct {
	config   api.Config
	lastSize int // as last announced, in bytes
	// What else has to be remembered from one period to the next?
}

// Begin is called once, before all others.
func (d *debloater) Begin(c api.Config) {
	d.config, d.lastSize = c, c.Start
}

// Recalculate answers the size of a buffer from now on, in bytes, and whether to announce it.
func (d *debloater) Recalculate(throughput int64, buffersInUse int) (size int, announce bool) {
	// 1. How many bytes should all buffers in use hold together, and so one of them?
	// 2. Move the average towards it, as BufferSizeEMA does.
	// 3. Is the change worth an announcement?
	return d.lastSize, false
}

// EstimateMs is how long the buffers in use take to consume, as of the last Recalculate.
func (d *debloater) EstimateMs() int64 { return 0 }
