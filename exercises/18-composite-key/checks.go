package compositekey

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"weir/engine/serde"
	"weir/engine/state/lsm"
	"weir/exercises/18-composite-key/api"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
	"weir/testdata/golden"
)

var checks = []kit.Def{
	{ID: "script", Points: 2, Run: script, Name: labs.Text{En: "Keys by hand, byte by byte", Zh: "手算的键，逐字节核对"}},
	{ID: "golden", Points: 3, Run: goldenCases, Name: labs.Text{En: "What real Flink writes: 460 keys, prefixes and timers", Zh: "真实 Flink 写出的 460 个键、前缀与定时器"}},
	{ID: "random", Points: 2, Seeds: 5, Run: random, Name: labs.Text{En: "Random entries against Weir's own builder", Zh: "随机条目，与 Weir 自己的构造器比较"}},
	{ID: "edges", Points: 1, Hidden: true, Needs: []string{"script"}, Run: edges, Name: labs.Text{En: "The last group, long parts, the first and the last time", Zh: "最后一个键组、很长的部分、最早与最晚的时间"}},
	{ID: "store", Needs: []string{"script"}, Points: 3, Run: inStore, Name: labs.Text{En: "A real store: each key is found, each range of groups is cut right", Zh: "真实的存储：每个键都能找到，每段键组都切得对"}},
}

var (
	whereKey    = labs.Text{En: "Key; in Flink, SerializedCompositeKeyBuilder.serializeKeyGroupAndKey and buildCompositeKeyNamespace", Zh: "Key；对应 SerializedCompositeKeyBuilder.serializeKeyGroupAndKey 与 buildCompositeKeyNamespace"}
	tryKey      = labs.Text{En: "Line the two up: prefix, 2 bytes of state, key, namespace, user key. Lengths stand behind what they measure, and only if neither key nor namespace has a fixed length.", Zh: "把两串并排对齐：前缀、2 字节 state、键、namespace、user key。长度写在所量之物的后面，而且只在键与 namespace 都不定长时才写。"}
	wherePrefix = labs.Text{En: "PrefixBytes; in Flink, CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix", Zh: "PrefixBytes；对应 CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix"}
	tryPrefix   = labs.Text{En: "Java's byte is signed: Flink takes two bytes as soon as a max parallelism is above 128.", Zh: "Java 的 byte 有符号：最大并行度一超过 128，Flink 就用两个字节。"}
	whereBounds = labs.Text{En: "Bounds; in Flink, RocksDBIncrementalCheckpointUtils.clipDBWithKeyGroupRange", Zh: "Bounds；对应 RocksDBIncrementalCheckpointUtils.clipDBWithKeyGroupRange"}
	tryBounds   = labs.Text{En: "from is the prefix of the first group, to that of the first group that is not in the range.", Zh: "from 是第一个组的前缀，to 是范围外第一个组的前缀。"}
	whereTimer  = labs.Text{En: "Timer; in Flink, TimerSerializer", Zh: "Timer；对应 TimerSerializer"}
	tryTimer    = labs.Text{En: "Print the first byte for -1, 0 and 1. Which of them sorts first?", Zh: "打印 -1、0、1 的第一个字节，看谁排在最前。"}
)

func entryText(most int, e api.Entry) string {
	part := func(p api.Part) string {
		if p.Variable {
			return hexText(p.Bytes) + " (variable)"
		}
		return hexText(p.Bytes)
	}
	s := fmt.Sprintf("Key(max %d: group %d, state %d, key %s, namespace %s", most, e.Group, e.State, part(e.Key), part(e.Namespace))
	if len(e.UserKey) > 0 {
		s += fmt.Sprintf(", user key %s", hexText(e.UserKey))
	}
	return s + ")"
}

func hexText(b []byte) string {
	if len(b) == 0 {
		return "no bytes"
	}
	const most = 40
	if len(b) > most {
		return fmt.Sprintf("%x… (%d bytes)", b[:most], len(b))
	}
	return hex.EncodeToString(b)
}

func differs(call string, want, got []byte, where, try labs.Text) *kit.Finding {
	if string(want) == string(got) {
		return nil
	}
	d := history.Difference{Call: call, Expected: hexText(want), Seen: hexText(got)}
	return d.Finding(where, try)
}

func judgePrefix(p proxy, most, want int) *kit.Finding {
	if got := p.PrefixBytes(most); got != want {
		d := history.Difference{Call: fmt.Sprintf("PrefixBytes(%d)", most), Expected: fmt.Sprint(want), Seen: fmt.Sprint(got)}
		return d.Finding(wherePrefix, tryPrefix)
	}
	return nil
}

func judgeBounds(p proxy, most, first, end int) *kit.Finding {
	n := lsm.KeyGroupPrefixBytes(most)
	from, to := p.Bounds(most, first, end)
	call := fmt.Sprintf("Bounds(%d, %d, %d)", most, first, end)
	if f := differs(call+", from,", lsm.AppendKeyGroup(nil, first, n), from, whereBounds, tryBounds); f != nil {
		return f
	}
	return differs(call+", to,", lsm.AppendKeyGroup(nil, end, n), to, whereBounds, tryBounds)
}

func judgeTimer(p proxy, at int64, key, ns []byte) *kit.Finding {
	return differs(fmt.Sprintf("Timer(%d, %s, %s)", at, hexText(key), hexText(ns)), lsm.AppendTimer(nil, at, key, lsm.Namespace{Bytes: ns}), p.Timer(at, key, ns), whereTimer, tryTimer)
}

// script has keys that one can write down by hand.
func script(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	p := proxy{w.Core}
	for _, c := range []struct{ most, want int }{{1, 1}, {128, 1}, {32768, 2}} {
		if f := judgePrefix(p, c.most, c.want); f != nil {
			return f
		}
	}
	none := api.Part{Bytes: []byte{0}}
	text := func(s string) api.Part { return api.Part{Bytes: serde.AppendString(nil, s), Variable: true} }
	for _, c := range []struct {
		most int
		e    api.Entry
		want string
	}{
		{128, api.Entry{Group: 94, State: 1, Key: api.Part{Bytes: []byte{0, 0, 0, 0, 0, 0, 0, 7}}, Namespace: none}, "\x5e\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00"},
		{4096, api.Entry{Group: 2526, State: 258, Key: api.Part{Bytes: []byte("\x00\x00\x00\x05")}, Namespace: none, UserKey: []byte("u")}, "\x09\xde\x01\x02\x00\x00\x00\x05\x00u"},
		{128, api.Entry{Group: 3, State: 2, Key: text("ab"), Namespace: none}, "\x03\x00\x02\x03ab\x00"},
		{128, api.Entry{Group: 3, State: 2, Key: text("ab"), Namespace: text("w")}, "\x03\x00\x02\x03ab\x03\x02w\x02"},
	} {
		if f := differs(entryText(c.most, c.e), []byte(c.want), p.Key(c.most, c.e), whereKey, tryKey); f != nil {
			return f
		}
	}
	for _, c := range [][3]int{{128, 0, 64}, {4096, 300, 301}} {
		if f := judgeBounds(p, c[0], c[1], c[2]); f != nil {
			return f
		}
	}
	return judgeTimer(p, 5000, []byte{1}, []byte{0})
}

type goldenCase struct {
	Kind                                         string
	MaxParallelism, Bytes, PrefixBytes, KeyGroup int
	KeyType, Key, NamespaceType, UserKeyType     string
	UserKey, Timestamp, Hex                      string
	KeyUnits                                     []uint16 `json:"key_utf16"`
	Namespace                                    []string
}

var goldenTypes = map[string]serde.KeyType{"Long": serde.Long, "Integer": serde.Int, "String": serde.String, "Boolean": serde.Bool, "Double": serde.Double}

func serialize(typ, value string) ([]byte, error) {
	t, ok := goldenTypes[typ]
	if !ok {
		return nil, fmt.Errorf("golden file: type %q", typ)
	}
	k, err := serde.ParseKey(t, value)
	return serde.AppendKey(nil, t, k), err
}

func (c *goldenCase) namespace() (api.Part, error) {
	switch c.NamespaceType {
	case "void":
		return api.Part{Bytes: []byte{0}}, nil
	case "window":
		start, err := serialize("Long", c.Namespace[0])
		if err != nil {
			return api.Part{}, err
		}
		end, err := serialize("Long", c.Namespace[1])
		return api.Part{Bytes: append(start, end...)}, err
	}
	b, err := serialize(c.NamespaceType, c.Namespace[0])
	return api.Part{Bytes: b, Variable: c.NamespaceType == "String"}, err
}

// goldenCases are what Flink's builder wrote. Flink has no number of the state in its keys: it goes in behind the group.
func goldenCases(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	data, err := golden.Files.ReadFile("composite_key.json")
	var file struct{ Cases []json.RawMessage }
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	for i, raw := range file.Cases {
		var c goldenCase
		if err == nil {
			err = json.Unmarshal(raw, &c)
		}
		if err != nil {
			return history.Broken(err)
		}
		f, err := c.judge(proxy{w.Core}, uint16(i))
		if err != nil {
			return history.Broken(err)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

func (c *goldenCase) judge(p proxy, state uint16) (*kit.Finding, error) {
	if c.Kind == "prefixBytes" {
		return judgePrefix(p, c.MaxParallelism, c.Bytes), nil
	}
	if c.Kind != "composite" && c.Kind != "compositeUserKey" && c.Kind != "timer" || c.KeyUnits != nil {
		return nil, nil
	}
	want, err := hex.DecodeString(c.Hex)
	if err != nil {
		return nil, err
	}
	key, err := serialize(c.KeyType, c.Key)
	if err != nil {
		return nil, err
	}
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	if c.Kind == "timer" {
		at, err := strconv.ParseInt(c.Timestamp, 10, 64)
		return differs(fmt.Sprintf("Timer(%d, %s, %s)", at, hexText(key), hexText(ns.Bytes)), want, p.Timer(at, key, ns.Bytes), whereTimer, tryTimer), err
	}
	e := api.Entry{Group: c.KeyGroup, State: state, Key: api.Part{Bytes: key, Variable: c.KeyType == "String"}, Namespace: ns}
	if c.Kind == "compositeUserKey" {
		if e.UserKey, err = serialize(c.UserKeyType, c.UserKey); err != nil {
			return nil, err
		}
	}
	most := c.MaxParallelism
	if lsm.KeyGroupPrefixBytes(most) != c.PrefixBytes {
		return nil, nil
	}
	want = append(append(append([]byte(nil), want[:c.PrefixBytes]...), byte(state>>8), byte(state)), want[c.PrefixBytes:]...)
	return differs(entryText(most, e), want, p.Key(most, e), whereKey, tryKey), nil
}

// random are entries that nobody chose, some with parts longer than a byte can count.
func random(_ context.Context, w *kit.Work, seed uint64) *kit.Finding {
	rnd := rand.New(rand.NewPCG(seed, 18))
	p := proxy{w.Core}
	part := func() api.Part {
		n := 1 + rnd.IntN(12)
		if rnd.IntN(8) == 0 {
			n = 250 + rnd.IntN(400)
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return api.Part{Bytes: b, Variable: rnd.IntN(2) == 0}
	}
	for range 60 {
		most := []int{1, 2, 100, 128, 129, 255, 256, 300, 4096, 32768}[rnd.IntN(10)]
		e := api.Entry{Group: rnd.IntN(most), State: uint16(rnd.Uint32()), Key: part(), Namespace: part()}
		if rnd.IntN(2) == 0 {
			e.UserKey = part().Bytes
		}
		b := lsm.NewCompositeKey(most)
		b.SetKeyBytes(e.Group, e.Key.Bytes, e.Key.Variable)
		want := b.UserKey(e.State, lsm.Namespace{Bytes: e.Namespace.Bytes, Variable: e.Namespace.Variable}, e.UserKey)
		if f := differs(entryText(most, e), want, p.Key(most, e), whereKey, tryKey); f != nil {
			return f
		}
		first := rnd.IntN(most)
		if f := judgeBounds(p, most, first, first+1+rnd.IntN(most-first)); f != nil {
			return f
		}
		if f := judgeTimer(p, int64(rnd.Uint64())>>rnd.IntN(64), e.Key.Bytes, e.Namespace.Bytes); f != nil {
			return f
		}
	}
	return nil
}
