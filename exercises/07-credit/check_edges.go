package credit

import (
	"context"

	"weir/exercises/calls"
	"weir/exercises/kit"
	"weir/labs"
)

// noExclusive is the life of a channel that has no buffers of its own: all its credit comes from the pool.
var noExclusive = []calls.Call{
	calls.New("Backlog", 2), calls.New("Arrive"), calls.New("AddCreditIsWritten"), calls.New("Arrive"), calls.New("Recycle", "floating"),
	calls.New("Backlog", 0), calls.New("Recycle", "floating"), calls.New("Backlog", 3), calls.New("AddCreditIsWritten"), calls.New("Arrive"), calls.New("Backlog", 1),
}

// edges are a channel without exclusive buffers, and two channels that must know nothing of each other.
func edges(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	at := calls.Where{
		Where: labs.Text{En: "your receiver without exclusive buffers, in a gate with 3 floating ones", Zh: "你的 receiver：没有独占 buffer，所在 gate 有 3 个浮动 buffer"},
		Try:   labs.Text{En: "NewReceiver(0): what is required is the backlog alone, and there is never an exclusive buffer to use.", Zh: "NewReceiver(0)：需要的数目就是积压本身，也永远没有独占 buffer 可用。"},
	}
	if f := calls.Against(ctx, w, noExclusive,
		func() (calls.Subject, error) { return newReceiverSide(0, 3, nil) },
		func() (calls.Subject, error) { return newReceiverSide(0, 3, newReceiver(w.Core, 0)) }, at); f != nil {
		return f
	}
	first, second := newReceiver(w.Core, 2), newReceiver(w.Core, 2)
	one, two := newSender(w.Core, 1), newSender(w.Core, 1)
	first.Backlog(3)
	first.GotFloating()
	one.Sent(false)
	for _, c := range []struct {
		call      string
		want, got bool
	}{
		{"WantsFloating() of a second receiver", false, second.WantsFloating()},
		{"Credit() == 0 of a second receiver", true, second.Credit() == 0},
		{"Credit() == 1 of the first", true, first.Credit() == 1},
		{"MaySend(data) of a second sender", true, two.MaySend(false)},
		{"MaySend(data) of the first", false, one.MaySend(false)},
	} {
		if c.want != c.got || w.Core.Err() != nil {
			return apart(c.call, c.want, c.got)
		}
	}
	return nil
}

func apart(call string, want, got bool) *kit.Finding {
	return &kit.Finding{
		Expected: kit.Textf("%[1]s gives %[2]t, after a backlog, a floating buffer and a data buffer of another channel", "另一条通道有了积压、浮动 buffer 与数据 buffer 之后，%[1]s 得到 %[2]t", call, want),
		Seen:     kit.Textf("%[1]s gives %[2]t", "%[1]s 得到 %[2]t", call, got),
		Where:    labs.Text{En: "where core.go keeps its numbers", Zh: "core.go 保存这些数字的地方"},
		Try:      labs.Text{En: "Every channel has an end of its own at both sides: keep nothing outside the types that NewSender and NewReceiver make.", Zh: "每条通道两端各有自己的对象：不要把数字放在 NewSender 和 NewReceiver 造出的类型之外。"},
	}
}
