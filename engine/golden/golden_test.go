package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplay(t *testing.T) {
	for _, f := range []struct {
		name   string
		replay func([]byte) (Report, error)
		cases  int
	}{
		{"keygroups.json", KeyGroups, 570},
		{"keygroup_ranges.json", KeyGroupRanges, 451},
		{"serialized_records.json", SerializedRecords, 110},
	} {
		t.Run(f.name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "golden", f.name))
			if err != nil {
				t.Fatal(err)
			}
			report, err := f.replay(data)
			if err != nil {
				t.Fatal(err)
			}
			if report.Cases != f.cases || report.Wrong != 0 {
				t.Errorf("%+v, expected %d cases and none wrong", report, f.cases)
			}
		})
	}
}

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
