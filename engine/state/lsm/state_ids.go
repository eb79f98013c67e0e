package lsm

import (
	"fmt"
	"sync"
)

// StateIDs numbers the states of one operator. All its subtasks must use the same numbers, or tables of one that are taken
// in by another would mix the states up; so one StateIDs belongs to the operator in the whole job, a checkpoint carries the
// numbers, and a restore adopts them. Any goroutine may call its methods.
type StateIDs struct {
	mu    sync.Mutex
	names map[string]uint16
	ids   map[uint16]string
}

// NewStateIDs returns an empty numbering.
func NewStateIDs() *StateIDs { return &StateIDs{names: map[string]uint16{}, ids: map[uint16]string{}} }

// ID is the number of a state; a new name gets the lowest free one.
func (s *StateIDs) ID(name string) (uint16, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.names[name]; ok {
		return id, nil
	}
	for id := range 1 << 16 {
		if _, taken := s.ids[uint16(id)]; !taken {
			s.names[name], s.ids[uint16(id)] = uint16(id), name
			return uint16(id), nil
		}
	}
	return 0, fmt.Errorf("state %q: all %d numbers of states are taken", name, 1<<16)
}

// adopt takes over the numbers of a checkpoint. It answers false, and changes nothing, if one of them is given otherwise.
func (s *StateIDs) adopt(table map[string]uint16) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, id := range table {
		if have, ok := s.names[name]; ok && have != id {
			return false
		}
		if have, ok := s.ids[id]; ok && have != name {
			return false
		}
	}
	for name, id := range table {
		s.names[name], s.ids[id] = id, name
	}
	return true
}
