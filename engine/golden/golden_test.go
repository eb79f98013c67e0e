package golden

import (
	"path/filepath"
	"strings"
	"testing"
)

var files = filepath.Join("..", "..", "testdata", "golden")

func TestReplay(t *testing.T) {
	for _, f := range []struct {
		name  string
		cases int
	}{
		{"keygroups.json", 570},
		{"keygroup_ranges.json", 451},
		{"serialized_records.json", 110},
		{"redistribute.json", 62},
		{"local_buffer_pool.json", 25},
		{"debloater.json", 77},
		{"timer_gauge.json", 22},
		{"netty_frames.json", 55},
		{"metric_names.json", 17},
		{"prometheus_exposition.txt", 97},
		{"composite_key.json", 579},
		{"operator_state_repartition.json", 87},
		{"experiments.json", 9},
	} {
		t.Run(f.name, func(t *testing.T) {
			report, err := Replay(filepath.Join(files, f.name))
			if err != nil {
				t.Fatal(err)
			}
			if report.Cases != f.cases || report.Wrong != 0 {
				t.Errorf("%+v, expected %d cases and none wrong", report, f.cases)
			}
		})
	}
}

const (
	columns = `{"columns":["available","used","requested","availableSegments","size","overdraft","subpartitionsAtLimit","globalFree","perChannel"],"cases":[`
	frames  = `{"frameHeaderLength":9,"magic":"badc0ffe","bufferResponseMessageHeaderLength":38,"cases":[`
)

// A replay that cannot fail proves nothing: each sort of case is made wrong once.
func TestReplayFindsWrongCases(t *testing.T) {
	for _, c := range []struct {
		replay func([]byte) (Report, error)
		data   string
		want   string
	}{
		{KeyGroups, `{"cases":[{"kind":"murmur","in":0,"out":1}]}`, "the murmur is 593689054, expected 1"},
		{KeyGroups, `{"maxParallelisms":[128],"parallelisms":[2],"cases":[{"kind":"key","type":"Long","value":"1","hash":1,"murmur":68075478,"keyGroup":[87],"operator":[[1]]}]}`, "the key group of 128 is 86, expected 87"},
		{KeyGroups, `{"maxParallelisms":[128],"parallelisms":[200],"cases":[{"kind":"key","type":"Long","value":"1","hash":1,"murmur":68075478,"keyGroup":[86],"operator":[[1]]}]}`, "there must be one exactly if"},
		{KeyGroups, `{"cases":[{"kind":"key","type":"Character","value":"1"}]}`, `unknown type "Character"`},
		{KeyGroupRanges, `{"cases":[{"kind":"call","call":"KeyGroupRange.of(-1,1)","result":"x"}]}`, "the first key group must be 0 or more"},
		{KeyGroupRanges, `{"cases":[{"kind":"call","call":"computeKeyGroupRangeForOperatorIndex(128,2,0)","error":{"class":"X","message":null}}]}`, `"KeyGroupRange{startKeyGroup=0, endKeyGroup=63}", expected X`},
		{KeyGroupRanges, `{"cases":[{"kind":"call","call":"computeDefaultMaxParallelism(0)","error":{"class":"java.lang.IllegalArgumentException","message":"no"}}]}`, "IllegalArgumentException: no"},
		{KeyGroupRanges, `{"cases":[{"kind":"call","call":"launch()"}]}`, ""},
		{SerializedRecords, `{"cases":[{"kind":"record","type":"Long","value":"0","timestamp":null,"hex":"00000009010000000000000001"}]}`, "the bytes is"},
		{SerializedRecords, `{"cases":[{"kind":"spanning","bufferSize":1,"streamHex":"00"}]}`, "the stream is 00"},
		{SerializedRecords, `{"cases":[{"kind":"event","class":"EndOfData","event":"end of data","hex":"0000000800","dataType":"NONE"}]}`, "the data type is END_OF_DATA, expected NONE"},
		{SerializedRecords, `{"cases":[{"kind":"dataType","name":"NONE","ordinal":0,"isBuffer":true}]}`, "isBuffer"},
		{SerializedRecords, `{"cases":[{"kind":"tape"}]}`, `unknown kind "tape"`},
		{Redistribute, `{"cases":[{"kind":"gateSize","floatingBuffersPerGate":8,"min":1,"max":9}]}`, "the least and the most is [1 8], expected [1 9]"},
		{Redistribute, `{"cases":[{"kind":"partitionSize","type":"X"}]}`, `unknown type "X"`},
		{Redistribute, `{"cases":[{"kind":"pools","total":4,"segmentSize":64,"steps":[{"op":"destroy","pool":1}]}]}`, "no pool 1"},
		{Redistribute, `{"cases":[{"kind":"pools","total":4,"segmentSize":64,"steps":[{"op":"create","required":5,"max":5,"pool":0,"sizes":[]}]}]}`, "Insufficient number of network buffers"},
		{LocalBufferPool, `{"columns":["used"],"cases":[{}]}`, "the columns are"},
		{LocalBufferPool, columns + `{"total":9,"required":1,"max":2,"steps":[{"op":["recycle",1]}]}]}`, "the pool is made first"},
		{LocalBufferPool, columns + `{"total":9,"required":1,"max":2,"steps":[{"op":["create"],"state":[1,0,1,1,3,0,0,8,[]]}]}]}`, "size is 2, expected 3"},
		{LocalBufferPool, columns + `{"total":9,"required":1,"max":2,"steps":[{"op":["request",null]}]}]}`, "2 numbers are needed"},
		{TimerGauge, `{"cases":[{"clockStartMs":1000,"timeSpanSeconds":60,"steps":[["update",0,0,0,0,0],["start"],["advance",2500],["end"],["advance",2500],["update",251,2500,2500,0,0]]}]}`, "the value is 250, expected 251"},
		{TimerGauge, `{"cases":[{"timeSpanSeconds":0,"steps":[["start"]]}]}`, "the time span is 0 s"},
		{TimerGauge, `{"cases":[{"timeSpanSeconds":60,"steps":[["stop"]]}]}`, "unknown op"},
		{TimerGauge, `{"cases":[{"timeSpanSeconds":60,"steps":[["advance",null]]}]}`, "null"},
		{Debloater, `{"cases":[{"kind":"ema","start":1024,"max":32768,"min":256,"samples":20,"steps":[[10240,10,1025]]}]}`, "the size is 1024, expected 1025"},
		{Debloater, `{"cases":[{"kind":"debloater","targetMs":1000,"start":32768,"max":32768,"min":256,"thresholdPercent":25,"samples":20,"steps":[[64000,10,30000,32768,4727]]}]}`, "announced is false, expected true"},
		{Debloater, `{"cases":[{"kind":"throughput","steps":[["data",10],["advance",1000],["calculate",11]]}]}`, "the throughput is 10, expected 11"},
		{Debloater, `{"cases":[{"kind":"call","call":"x"}]}`, "unknown call"},
		{NettyFrames, frames + `{"message":"CloseRequest","id":5,"hex":"00000009badc0ffe06"}]}`, "length of AddCredit"},
		{NettyFrames, frames + `{"message":"AddCredit","id":6,"credit":14,"receiver":"00000000000000010000000000000002","hex":"0000001dbadc0ffe060000000d00000000000000010000000000000002"}]}`, "Value:13"},
		{NettyFrames, frames + `{"message":"AddCredit","id":6,"hex":"0"}]}`, "odd length hex string"},
		{NettyFrames, `{"cases":[{}]}`, "the length of the frame header"},
		{MetricNames, `{"cases":[{"path":"/jobs/metrics","count":1,"names":["uptime"]}]}`, "which is not listed"},
		{MetricNames, `{"cases":[{"path":"/x"}]}`, `unknown path "/x"`},
		{MetricNames, `{"cases":[{"path":"/jobs/metrics","count":1,"sampleResponse":"[{\"id\":\"upTime\"}]"}]}`, "the engine has no metric upTime"},
		{MetricNames, `{"cases":[{"path":"/v/backpressure","sampleResponse":"{\"status\":\"ok\",\"subtasks\":[{\"backpressureLevel\":\"high\",\"backpressure-level\":\"high\",\"ratio\":0.5}]}"}]}`, "the level of subtask 0 at a share of 0.5 is low"},
	} {
		report, err := c.replay([]byte(c.data))
		if err != nil {
			t.Errorf("%s: %v", c.data, err)
		}
		if report.Cases != 1 || report.Wrong != 1 || !strings.Contains(report.FirstWrong, c.want) {
			t.Errorf("%s: %+v, expected %q", c.data, report, c.want)
		}
	}
	for _, data := range []string{"", "{}", `{"cases":[]}`, `{"cases":7}`} {
		if _, err := KeyGroups([]byte(data)); err == nil {
			t.Errorf("%q: no error", data)
		}
	}
}
