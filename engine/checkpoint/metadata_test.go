package checkpoint

import (
	"strings"
	"testing"
)

// TestMetadataMalformed: a document whose checksum fits but whose content cannot be is refused by the name of what is
// wrong, and a file name never leads out of the folder.
func TestMetadataMalformed(t *testing.T) {
	const good = `{"id":1,"timestampMs":5,"type":"CHECKPOINT","vertices":[{"id":"count","parallelism":1,"maxParallelism":128,"maxParallelismDerived":true,"subtasks":[{"file":"count-0","bytes":9,"checksum":"0000002a"}]}]}`
	if c, err := parseMetadata(metadataLine([]byte(good))); err != nil || c.Vertices[0].Subtasks[0].Checksum != 42 || !c.Vertices[0].MaxParallelismDerived {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`{"id":1`, `{"id":0`, "checkpoint id 0, expected 1 or more"},
		{`{"id":1`, `{"id":"x"`, "malformed: json:"},
		{`{"id":1`, `{"extra":1,"id":1`, `unknown field "extra"`},
		{`"CHECKPOINT"`, `"BACKUP"`, `type "BACKUP", expected CHECKPOINT or SAVEPOINT`},
		{`"id":"count"`, `"id":""`, "it has no id"},
		{`"maxParallelism":128`, `"maxParallelism":32769`, "max parallelism 32769, expected 1 to 32768"},
		{`"parallelism":1`, `"parallelism":0`, "parallelism 0, expected 1 to 128"},
		{`"parallelism":1`, `"parallelism":2`, "1 subtasks, expected 2"},
		{`"count-0"`, `"../count-0"`, `file "../count-0", expected a name without a folder`},
		{`"count-0"`, `"_metadata"`, `file "_metadata", expected a name without a folder`},
		{`"file":"count-0",`, ``, "9 bytes without a file"},
		{`"bytes":9`, `"bytes":-1`, "subtask 0: -1 bytes"},
		{`"0000002a"`, `"zz"`, `checksum "zz", expected 8 hexadecimal digits`},
		{`"vertices":[`, `"vertices":[{"id":"count","parallelism":1,"maxParallelism":1,"subtasks":[{"bytes":0}]},`, `vertex "count" is there twice`},
		{good, ``, "malformed: EOF"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if _, err := parseMetadata(metadataLine([]byte(text))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: error %v, expected %s", c.new, c.old, err, c.want)
		}
	}
}
