// refused by: threshold

// Package core compares with the average of the period before, so that a slow change is never news.
package core

import (
	"math"

	"weir/exercises/10-debloater/api"
)

// New makes the debloater of one gate.
func New() api.Debloater { return &debloater{} }

type debloater struct {
	config   api.Config
	average  float64 // bytes
	lastSize int     // as last announced, in bytes
	before   int     // the average of the period before
	estimate int64   // ms
}

// Begin is called once, before all others.
func (d *debloater) Begin(c api.Config) {
	d.config, d.lastSize, d.before, d.average = c, c.Start, c.Start, float64(c.Start)
}

// Recalculate answers the size of a buffer from now on, in bytes, and whether to announce it.
func (d *debloater) Recalculate(throughput int64, buffersInUse int) (size int, announce bool) {
	throughput, buffersInUse = max(0, throughput), max(1, buffersInUse)
	wanted := float64(throughput*d.config.TargetMs/1000) / float64(buffersInUse)
	// Growing may not outrun shrinking, which ends at zero: the average moves by its own size at most either way.
	wanted = min(wanted, 2*d.average)
	alpha := 2 / float64(d.config.Samples+1)
	d.average += float64(alpha * (wanted - d.average))
	d.average = max(float64(d.config.Min), min(d.average, float64(d.config.Max)))
	size = int(math.Floor(d.average + 0.5))
	d.estimate = int64(size) * int64(buffersInUse) * 1000 / max(1, throughput)
	worth := d.worthAnnouncing(size)
	d.before = size
	if !worth {
		return d.lastSize, false
	}
	d.lastSize = size
	return size, true
}

// worthAnnouncing says whether a size is news. A limit always is, but not twice.
func (d *debloater) worthAnnouncing(size int) bool {
	if size == d.lastSize {
		return false
	}
	if size <= d.config.Min || size >= d.config.Max {
		return true
	}
	change := max(size-d.before, d.before-size)
	return change >= int(float64(d.before)*float64(d.config.ThresholdPercent)/100)
}

// EstimateMs is how long the buffers in use take to consume, as of the last Recalculate.
func (d *debloater) EstimateMs() int64 { return d.estimate }
