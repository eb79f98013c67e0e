package state

import "math"

// TimerService has the timers of an operator for event time and for processing time (Flink's InternalTimerService).
type TimerService struct {
	Event, Processing *Timers
	watermark         int64
}

// NewTimerService opens the timers of a name in a backend.
func NewTimerService(b Backend, name string, ns NamespaceKind) (*TimerService, error) {
	event, err := b.Timers("event-time/"+name, ns)
	if err != nil {
		return nil, err
	}
	processing, err := b.Timers("processing-time/"+name, ns)
	if err != nil {
		return nil, err
	}
	return &TimerService{event, processing, math.MinInt64}, nil
}

// Watermark is the last one, in ms; before the first the least int64.
func (s *TimerService) Watermark() int64 { return s.watermark }

// AdvanceWatermark fires the event timers up to the watermark, in ms. A watermark that goes back changes nothing.
func (s *TimerService) AdvanceWatermark(ms int64, f func(Timer) error) error {
	if ms < s.watermark {
		return nil
	}
	s.watermark = ms
	return s.Event.Fire(ms, f)
}

// AdvanceProcessingTime fires the processing timers up to the time, in ms.
func (s *TimerService) AdvanceProcessingTime(ms int64, f func(Timer) error) error {
	return s.Processing.Fire(ms, f)
}
