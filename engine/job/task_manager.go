package job

import (
	"fmt"
	"log/slog"

	"weir/engine/memory"
	"weir/engine/network"
	"weir/engine/task"
)

// taskManager is one task manager inside this process: its network memory, its result partitions, and its end of the
// connections to the others.
type taskManager struct {
	id          int
	memory      *memory.GlobalPool
	partitions  *network.PartitionManager
	connections *network.ConnectionManager
	wire        *network.Wire // shared by all
	state       stateMemory
}

// startTaskManagers starts as many as the settings say; they share a transport.
func startTaskManagers(g *Graph, s *task.Settings, o *Options, log *slog.Logger) ([]*taskManager, error) {
	transport, err := network.NewTransport(s.Transport)
	if err != nil {
		return nil, err
	}
	wire := network.NewWire(transport)
	wire.SetRate(s.WireBytesPerSecond)
	segments := int(s.NetworkMemoryBytes / int64(s.SegmentBytes))
	vertices := make([]string, len(g.Vertices))
	for i, v := range g.Vertices {
		vertices[i] = v.ID
	}
	tms := make([]*taskManager, 0, s.TaskManagers)
	for id := range s.TaskManagers {
		tm := &taskManager{id: id, memory: memory.NewGlobalPool(segments, s.SegmentBytes), partitions: network.NewPartitionManager(), wire: wire}
		tm.connections, err = network.NewConnectionManager(network.ConnectionOptions{
			Name: fmt.Sprintf("tm %d", id), Transport: wire.Port(id), Provider: tm.partitions, Vertices: vertices, NoCredit: s.FlowControl == "tcp", Tracer: o.Tracer, Frames: o.Frames,
			SenderCore: o.Cores.Network.Sender})
		if err != nil {
			stopTaskManagers(tms, log)
			return nil, fmt.Errorf("task manager %d: %w", id, err)
		}
		tms = append(tms, tm)
	}
	return tms, nil
}

// stopTaskManagers closes the connections and sees that every segment came back.
func stopTaskManagers(tms []*taskManager, log *slog.Logger) {
	for _, tm := range tms {
		if err := tm.connections.Close(); err != nil {
			log.Warn("closing the connections of a task manager", "taskManager", tm.id, "err", err)
		}
	}
	for _, tm := range tms {
		if n := tm.memory.Used(); n > 0 {
			log.Error("network buffers were not given back", "taskManager", tm.id, "segments", n)
		}
		tm.memory.Destroy()
		tm.state.close()
	}
}
