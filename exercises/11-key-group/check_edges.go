package keygroup

import (
	"context"
	"math"
	"strings"

	"weir/exercises/kit"
)

// edges are the ends of each range: of numbers, of planes of Unicode, of key groups.
func edges(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	return judge(w, []asked{
		longHash(math.MaxInt64), longHash(math.MinInt64), longHash(1<<31 - 1), longHash(1 << 31), longHash(-1 << 31),
		stringHash("\x00"), stringHash("\uffff"), stringHash("\U00010000"), stringHash("\U0010ffff"), stringHash(strings.Repeat("键😀", 300)),
		mixed(math.MaxInt32), mixed(math.MinInt32), mixed(-1),
		groupOf(math.MinInt32, 1), groupOf(math.MinInt32, 32768), groupOf(math.MaxInt32, 32767),
		ownerOf(0, 1, 1), ownerOf(32767, 32768, 32768), ownerOf(32767, 32768, 1), ownerOf(16384, 32768, 3), ownerOf(126, 127, 126),
	})
}
