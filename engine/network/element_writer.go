package network

// BroadcastElement writes the bytes of an element that is no record, such as a watermark, to every subpartition, behind
// the records that were written before (Flink's RecordWriter.broadcastEmit). Unlike an event it goes into the buffers with
// them, so it costs no buffer of its own, and like a record it may wait for one.
func (w *RecordWriter) BroadcastElement(p []byte) error {
	if w.shared != nil {
		w.counters.Bytes += int64(len(p) * len(w.open))
		if err := w.appendShared(p); err != nil {
			return err
		}
	} else {
		for sub := range w.open {
			if err := w.spill(p, sub, &w.open[sub]); err != nil {
				return err
			}
		}
	}
	if w.flushAlways {
		w.part.FlushAll()
	}
	return nil
}
