package operator

import (
	"math"
	"strconv"
	"unsafe"

	"weir/engine/serde"
	"weir/engine/task"
)

// keyer makes the key of the n-th record.
//
// Without a hot key it is n % keys. With one, of every ten records in a row share*10 go to key 0 (the remainder spread
// over the tens, so that 0.25 is 2 and 3 by turns), and the others to 1 + n % (keys-1), the published experiment's rule
// for a share of 0.8 and 128 keys. Where ten and keys-1 have a common divisor that rule would miss keys: there the cold
// records are counted instead.
type keyer struct {
	t    serde.KeyType
	keys divisor
	hot  int64 // hot records of each million; 0 is no hot key
	cold divisor
	// coldByRank: number the cold records by themselves.
	coldByRank bool
	text       []byte
}

const (
	million = 1000000
	tens    = million / 10
)

func newKeyer(s *task.Settings, t serde.KeyType) keyer {
	n := max(s.Keys, 1)
	k := keyer{t: t, keys: newDivisor(uint64(n))}
	k.hot = int64(math.Round(min(max(s.HotKeyShare, 0), 1) * million))
	if n == 1 {
		k.hot = 0
	}
	if k.hot > 0 {
		k.cold = newDivisor(uint64(n - 1))
		k.coldByRank = (n-1)%2 == 0 || (n-1)%5 == 0
	}
	return k
}

func (k *keyer) number(n int64) int64 {
	if k.hot == 0 {
		return int64(k.keys.mod(uint64(n)))
	}
	ten, digit := n/10, n%10
	round := ten % tens
	hotBefore := round * 10 * k.hot / million // of this million's records, those before this ten
	hotHere := (round+1)*10*k.hot/million - hotBefore
	if digit < hotHere {
		return 0
	}
	if !k.coldByRank {
		return 1 + int64(k.cold.mod(uint64(n)))
	}
	rank := ten/tens*(million-k.hot) + round*10 - hotBefore + digit - hotHere
	return 1 + int64(k.cold.mod(uint64(rank)))
}

// key writes the key of the n-th record. A string lives until the next call.
func (k *keyer) key(n int64, out *serde.Key) {
	n = k.number(n)
	switch k.t {
	case serde.String:
		k.text = strconv.AppendInt(k.text[:0], n, 10)
		out.Num, out.Str = 0, unsafe.String(unsafe.SliceData(k.text), len(k.text))
	case serde.Bool:
		out.Num = n & 1
	case serde.Double:
		out.Num = int64(math.Float64bits(float64(n)))
	case serde.Int:
		out.Num = int64(int32(n))
	default:
		out.Num = n
	}
}

// isHot tells whether a key is the hot one: 0, "0", false or 0.0.
func isHot(t serde.KeyType, k *serde.Key) bool {
	if t == serde.String {
		return k.Str == "0"
	}
	return k.Num == 0
}

// payload is a record's payload: n times 'x', as in the published experiment.
func payload(n int) string {
	b := make([]byte, max(n, 0))
	for i := range b {
		b[i] = 'x'
	}
	return string(b)
}
