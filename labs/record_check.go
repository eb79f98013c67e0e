package labs

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"

	"weir/engine/metric"
)

// Bounds of a record file that is read.
const (
	maxRecordJSON  = 32 << 20 // bytes when unpacked
	maxRecordDepth = 24
	maxRecordParts = 2_000_000
	maxSubtasks    = 64 // of one sample, over all vertices: more do not fit into sampleBytes
	maxChannels    = 256
)

func tooLarge() error {
	return refuse("it is larger than any record: give the run.weir that the page or `labserver run --record` wrote",
		"它比任何记录都大：请给出页面或 `labserver run --record` 写出的 run.weir")
}

// unzip reads and unpacks a file within the bounds.
func unzip(from io.Reader) ([]byte, error) {
	packed, err := io.ReadAll(io.LimitReader(from, maxRecordFile+1))
	if err != nil {
		return nil, err
	}
	if len(packed) > maxRecordFile {
		return nil, tooLarge()
	}
	damaged := refuse("the file is damaged or no record: download it again, or run the lab again", "文件已损坏，或者不是记录：请重新下载，或重新运行实验")
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, damaged
	}
	b, err := io.ReadAll(io.LimitReader(z, maxRecordJSON+1))
	if err != nil {
		return nil, damaged
	}
	if len(b) > maxRecordJSON {
		return nil, tooLarge()
	}
	return b, nil
}

// bounded makes sure that JSON is not so deep or so full of parts that taking it in would cost much memory. Whether it is
// JSON at all is found out later.
func bounded(b []byte) error {
	depth, parts, inText := 0, 0, false
	for i := 0; i < len(b); i++ {
		c := b[i]
		if inText {
			switch c {
			case '\\':
				i++
			case '"':
				inText = false
			}
			continue
		}
		switch c {
		case '"':
			inText = true
		case '{', '[':
			depth++
			parts++
		case '}', ']':
			depth--
		case ',':
			parts++
		}
		if depth > maxRecordDepth || parts > maxRecordParts {
			return tooLarge()
		}
	}
	return nil
}

// recordShell is a Record whose samples are still JSON, so that each is held to its bounds before the next is taken in.
type recordShell struct {
	Record
	Samples []json.RawMessage `json:"samples"`
}

// decodeRecord takes in the content of a record file.
func decodeRecord(content []byte) (*Record, error) {
	var shell recordShell
	if err := json.Unmarshal(content, &shell); err != nil {
		return nil, refuse("the content is not that of a record (%v): run the lab again", "内容不是一份记录（%v）：请重新运行实验", err)
	}
	r := &shell.Record
	if len(shell.Samples) > recordSamples || len(r.Changes) > recordChanges || len(r.Marks) > recordMarks || len(r.Checkpoints) > recordCheckpoints {
		return nil, tooLarge()
	}
	for _, raw := range shell.Samples {
		if len(raw) > sampleBytes+1000 {
			return nil, tooLarge()
		}
		var s *metric.Snapshot
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, refuse("a sample is not one (%v): run the lab again", "其中有一个样本不对（%v）：请重新运行实验", err)
		}
		r.Samples = append(r.Samples, s)
	}
	return r, r.check()
}

// check holds a record that came from outside to what a run could have written, and gives its knobs their own kinds.
func (r *Record) check() error {
	l, ok := Get(r.Lab)
	if !ok {
		return refuse("it is of a lab %q that this version does not have", "它属于本版本没有的实验 %q", cut(r.Lab))
	}
	knobs, err := l.With(Values{}, r.Knobs)
	var ke *KnobError
	switch {
	case errors.As(err, &ke):
		return refuse("it has a knob that the lab does not take: %s", "其中有实验不接受的旋钮：%s", cut(ke.Error()))
	case err != nil:
		return refuse("its knobs cannot be: %s", "旋钮的值不可能：%s", cut(err.Error()))
	}
	r.Knobs = knobs
	var last int64
	for i := range r.Changes {
		c := &r.Changes[i]
		k, ok := l.Knob(c.Name)
		if !ok {
			return refuse("it has a knob %q that the lab does not have", "其中有实验没有的旋钮 %q", cut(c.Name))
		}
		var err, err2 error
		c.From, err = k.Parse(c.From)
		c.To, err2 = k.Parse(c.To)
		if err != nil || err2 != nil || c.AtMs < last {
			return refuse("its change of %s cannot be", "旋钮 %s 的改动不可能", c.Name)
		}
		last = c.AtMs
	}
	last = 0
	for _, s := range r.Samples {
		if s == nil || s.TimeMs < last {
			return refuse("its samples are not in the order of time", "样本没有按时间排列")
		}
		last = s.TimeMs
		subtasks := 0
		for i := range s.Vertices {
			subtasks += len(s.Vertices[i].Subtasks)
		}
		if subtasks > maxSubtasks || len(s.Channels) > maxChannels {
			return tooLarge()
		}
	}
	for i := range r.Checkpoints {
		if c := &r.Checkpoints[i]; len(c.Subtasks) > checkpointParts || len(c.SharedFiles) > checkpointParts || c.EndToEndDurationMs < 0 {
			return refuse("checkpoint %d cannot be", "检查点 %d 不可能", c.ID)
		}
	}
	return nil
}
