package serde

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"weir/engine/internal/wtf8"
)

// The values in composite_key.json, as Flink's own serializers write them.
func TestValueBytes(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "golden", "composite_key.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	types := map[string]KeyType{"String": String, "Long": Long, "Integer": Int, "Double": Double, "Boolean": Bool}
	seen := map[string]int{}
	for i, raw := range file.Cases {
		var kind struct{ Kind string }
		if err := json.Unmarshal(raw, &kind); err != nil {
			t.Fatal(err)
		}
		kt, ok := types[kind.Kind]
		if !ok && kind.Kind != "Tuple2<Long,String>" {
			continue
		}
		var c struct {
			Value      string
			ValueUTF16 []uint16 `json:"value_utf16"`
			Repeat     string
			Times      int
			F0, F1     string
			Hex        string
			HeadHex    string
			Length     int
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		seen[kind.Kind]++
		text := c.Value + strings.Repeat(c.Repeat, c.Times)
		if c.ValueUTF16 != nil {
			text = wtf8.FromUnits(c.ValueUTF16)
		}
		var got []byte
		var back string
		if ok {
			k, err := ParseKey(kt, text)
			if err != nil {
				t.Fatalf("case %d: %v", i, err)
			}
			got = AppendKey([]byte{}, kt, k)
			again, rest, err := ReadKey(append(got, 0xaa), kt)
			if err != nil || again != k || len(rest) != 1 {
				t.Errorf("case %d: %#v came back as %#v with %d bytes behind it, %v", i, k, again, len(rest), err)
			}
			back = FormatKey(kt, again)
		} else {
			f0, err := strconv.ParseInt(c.F0, 10, 64)
			if err != nil {
				t.Fatalf("case %d: %v", i, err)
			}
			got = AppendString(AppendKey(nil, Long, Key{Num: f0}), c.F1)
			text = c.F1
			if back, _, err = ReadString(got[8:]); err != nil {
				t.Errorf("case %d: %v", i, err)
			}
		}
		want, exact := c.Hex, hex.EncodeToString(got)
		if c.HeadHex != "" {
			if len(got) != c.Length {
				t.Errorf("case %d: %d bytes, expected %d", i, len(got), c.Length)
			}
			want, exact = c.HeadHex, exact[:len(c.HeadHex)]
		}
		if exact != want {
			t.Errorf("case %d: %q is %s, expected %s", i, text, exact, want)
		}
		if back != text {
			t.Errorf("case %d: %q came back as %q", i, text, back)
		}
	}
	if seen["String"] != 54 || seen["Long"] != 12 || seen["Integer"] != 12 || seen["Double"] != 14 || seen["Boolean"] != 2 || seen["Tuple2<Long,String>"] != 12 {
		t.Errorf("cases by kind: %v", seen)
	}
}
