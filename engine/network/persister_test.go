package network

// The stub channel of the gate's scripts has no data in flight.

func (c *stubChannel) HasPriority() bool                           { return true }
func (c *stubChannel) CheckpointStarted(int64, func([]byte)) error { return nil }
func (c *stubChannel) CheckpointStopped(int64)                     {}
func (c *stubChannel) Prioritize(int32) error                      { return nil }
