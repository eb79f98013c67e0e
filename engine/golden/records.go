package golden

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"weir/engine/serde"
)

type recordsCase struct {
	Kind  string `json:"kind"`
	Bytes string `json:"hex"`
	value
	Timestamp   *string `json:"timestamp"`
	Status      string  `json:"status"`
	Code        int32   `json:"code"`
	MarkedTime  string  `json:"markedTime"`
	OperatorID  string  `json:"operatorId"`
	Subtask     int32   `json:"subtask"`
	IsBacklog   bool    `json:"isBacklog"`
	BufferSize  int     `json:"bufferSize"`
	StreamBytes string  `json:"streamHex"`
	// Records is how many elements the stream has.
	Records int      `json:"records"`
	Results []string `json:"results"`
	eventCase
}

// recordsReplay remembers what later cases of the file build on.
type recordsReplay struct {
	tuples, watermarks []byte // the stream of the spanning cases, from the cases before them
	stream             []byte
	barrier            *serde.CheckpointBarrier // the first one; the announcement announces it
}

// SerializedRecords replays serialized_records.json: the bytes of elements, a stream of them cut into buffers, the
// bytes and data types of events.
func SerializedRecords(data []byte) (Report, error) {
	var s recordsReplay
	return replay(data, nil, s.check)
}

func (s *recordsReplay) check(c *recordsCase) error {
	switch c.Kind {
	case "spanning":
		return s.checkSpanning(c)
	case "dataType":
		return checkDataType(c)
	}
	b, err := hex.DecodeString(c.Bytes)
	if err != nil {
		return err
	}
	switch c.Kind {
	case "record":
		if c.Type == tupleType {
			s.tuples = append(s.tuples, b...)
		}
		return checkRecord(c, b)
	case "watermark":
		s.watermarks = append(s.watermarks, b...)
		ms, err := strconv.ParseInt(deref(c.Timestamp), 10, 64)
		if err != nil {
			return err
		}
		d, err := checkElement(b, serde.AppendWatermark(nil, ms), serde.KindWatermark)
		if err == nil && d.Watermark != ms {
			err = differs("the watermark read", d.Watermark, ms)
		}
		return err
	case "watermarkStatus":
		status := serde.WatermarkStatus(c.Code)
		if status.String() != c.Status {
			return differs("the name", status, c.Status)
		}
		d, err := checkElement(b, serde.AppendWatermarkStatus(nil, status), serde.KindWatermarkStatus)
		if err == nil && d.Status != status {
			err = differs("the status read", d.Status, status)
		}
		return err
	case "latencyMarker":
		return checkLatencyMarker(c, b)
	case "recordAttributes":
		d, err := checkElement(b, serde.AppendRecordAttributes(nil, c.IsBacklog), serde.KindRecordAttributes)
		if err == nil && d.Backlog != c.IsBacklog {
			err = differs("the attribute read", d.Backlog, c.IsBacklog)
		}
		return err
	case "event":
		return s.checkEvent(c, b)
	}
	return fmt.Errorf("unknown kind %q", c.Kind)
}

func checkRecord(c *recordsCase, want []byte) error {
	schema, r, err := c.record()
	if err != nil {
		return err
	}
	if c.Timestamp != nil {
		r.HasTimestamp = true
		if r.Timestamp, err = strconv.ParseInt(*c.Timestamp, 10, 64); err != nil {
			return err
		}
	}
	buf := make([]byte, serde.MaxEncoded(schema, &r))
	if got := buf[:serde.PutRecord(buf, schema, &r)]; !bytes.Equal(got, want) {
		return differs("the bytes", hex.EncodeToString(got), hex.EncodeToString(want))
	}
	var back serde.Record
	var d serde.Decoder
	if err := serde.ReadRecord(want[4:], schema, &back, &d); err != nil {
		return err
	}
	if back != r {
		return differs("the record read", back, r)
	}
	return nil
}

// checkElement compares the bytes of an element that is no record, and reads them back.
func checkElement(want, got []byte, kind serde.Kind) (*serde.Decoder, error) {
	if !bytes.Equal(got, want) {
		return nil, differs("the bytes", hex.EncodeToString(got), hex.EncodeToString(want))
	}
	var r serde.Record
	var d serde.Decoder
	k, err := serde.ReadElement(want[4:], serde.Schema{}, &r, &d)
	if err == nil && k != kind {
		err = differs("the kind", k, kind)
	}
	return &d, err
}

func checkLatencyMarker(c *recordsCase, want []byte) error {
	m := serde.LatencyMarker{Subtask: c.Subtask}
	var err error
	if m.MarkedTime, err = strconv.ParseInt(c.MarkedTime, 10, 64); err != nil {
		return err
	}
	id, err := hex.DecodeString(c.OperatorID)
	if err != nil || copy(m.OperatorID[:], id) != len(m.OperatorID) {
		return fmt.Errorf("operator id %q, must be 32 hex digits", c.OperatorID)
	}
	d, err := checkElement(want, serde.AppendLatencyMarker(nil, m), serde.KindLatencyMarker)
	if err == nil && d.Latency != m {
		err = differs("the marker read", d.Latency, m)
	}
	return err
}

var resultLetters = map[serde.Result]string{serde.Intermediate: "I", serde.Last: "L", serde.Partial: "P"}

func (s *recordsReplay) checkSpanning(c *recordsCase) error {
	if c.StreamBytes != "" {
		b, err := hex.DecodeString(c.StreamBytes)
		if err != nil {
			return err
		}
		if want := append(bytes.Clone(s.tuples), s.watermarks...); !bytes.Equal(b, want) {
			return differs("the stream", c.StreamBytes, hex.EncodeToString(want))
		}
		s.stream = b
	}
	if len(s.stream) == 0 || c.BufferSize < 1 {
		return fmt.Errorf("a stream and a buffer size above 0 are needed")
	}
	schema := serde.Schema{Key: serde.Long, Payload: true}
	d := serde.NewDeserializer(schema)
	var r serde.Record
	var again []byte
	records, buffer := 0, 0
	for rest := s.stream; len(rest) > 0; buffer++ {
		n := min(c.BufferSize, len(rest))
		d.SetBuffer(rest[:n])
		rest = rest[n:]
		var letters strings.Builder
		for result := serde.Intermediate; result == serde.Intermediate; {
			var kind serde.Kind
			var err error
			if result, kind, err = d.NextResult(&r); err != nil {
				return err
			}
			letters.WriteString(resultLetters[result])
			switch kind {
			case serde.KindRecord:
				again = serde.AppendRecord(again, schema, &r)
				records++
			case serde.KindWatermark:
				again = serde.AppendWatermark(again, d.Watermark)
				records++
			}
		}
		if buffer >= len(c.Results) || letters.String() != c.Results[buffer] {
			return fmt.Errorf("buffer %d gave %s, expected %v", buffer, &letters, c.Results[min(buffer, len(c.Results)):])
		}
	}
	switch {
	case buffer != len(c.Results):
		return differs("the number of buffers", buffer, len(c.Results))
	case records != c.Records:
		return differs("the number of elements", records, c.Records)
	case !bytes.Equal(again, s.stream):
		return differs("what was read, written again,", hex.EncodeToString(again), hex.EncodeToString(s.stream))
	case d.Unfinished() != 0:
		return differs("the bytes left over", d.Unfinished(), 0)
	}
	return nil
}
