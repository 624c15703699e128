package wire

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// decoder is the state of decoding a message and the messages in it. Several decoders may decode parts of one message in
// parallel (decodeBeside).
type decoder struct {
	counts [maxCounters]int // by Counter, the length of the list
	budget *budget          // shared by all decoders of a message
	own    budget           // the budget itself, in the decoder that Decode makes
	used   int              // the number of messages that are not counted in budget yet

	err  error  // the first error
	path string // the field that err is about, seen from the message that is being decoded, such as ".steps[3].name"

	room []int           // memory for short lists
	text strings.Builder // memory for strings
}

// budget counts messages.
type budget struct {
	used atomic.Int64
	most int64
}

// settleAt is how many messages a decoder counts by itself before it adds them to the shared budget.
const settleAt = 1 << 8

// take counts n messages, before memory for them is allocated, and reports whether the budget allows
// them. Each decoder may find out up to settleAt messages too late, but before Decode returns.
func (d *decoder) take(n int) bool {
	if d.used += n; d.used < settleAt {
		return true
	}
	return d.settle()
}

// settle adds the messages that this decoder has counted to the budget, and fails if that is exceeded.
func (d *decoder) settle() bool {
	total := d.budget.used.Add(int64(d.used))
	d.used = 0
	return total <= d.budget.most || d.fail(ErrTooMany)
}

// fail remembers err, unless there was an error before, and returns false.
func (d *decoder) fail(err error) bool {
	if d.err == nil {
		d.err = err
	}
	return false
}

// check calls fail if err is not nil.
func (d *decoder) check(err error) {
	if err != nil {
		d.fail(err)
	}
}

// failAt is fail for an error in a field of the message that is being decoded: it puts the field's name before the path. err may be
// the error that decoding the field's value has remembered already.
func (d *decoder) failAt(field string, err error) bool {
	d.path = "." + field + d.path
	return d.fail(err)
}

func index(i int) string { return fmt.Sprintf("[%d]", i) }

// pieceOfText is how many bytes of strings are allocated at once.
const pieceOfText = 1 << 12

// string returns body as a string. Strings share larger allocations.
func (d *decoder) string(body []byte) string {
	if len(body) > d.text.Cap()-d.text.Len() {
		d.text = strings.Builder{}
		d.text.Grow(max(len(body), pieceOfText))
	}
	from := d.text.Len()
	d.text.Write(body)
	return d.text.String()[from:]
}

// ints returns memory for n integers. Lists share larger allocations.
func (d *decoder) ints(n int) []int {
	if n > len(d.room) {
		d.room = make([]int, max(n, 256))
	}
	list := d.room[:n:n]
	d.room = d.room[n:]
	return list
}
