package wire

import (
	"fmt"
	"sync/atomic"
)

// decoder is what decoding a message and those in it remembers. Several may decode parts of one.
type decoder struct {
	whole  []byte // of which every body is a part
	text   string // a copy of it, if there are strings
	counts [maxCounters]int
	budget *budget
	own    budget // what budget is of the decoder that Decode makes
	used   int    // messages that budget has not been told of

	err  error  // the first
	path string // from the message that is being decoded to what err is about

	room []int // for short lists
}

// budget counts messages.
type budget struct {
	used atomic.Int64
	most int64
}

// settleAt is how many messages are decoded before the budget is told.
const settleAt = 1 << 8

// take counts n messages, before there is memory for them, and reports whether there may be so
// many. It may find out a few hundred too late, but before Decode returns.
func (d *decoder) take(n int) bool {
	if d.used += n; d.used < settleAt {
		return true
	}
	return d.settle()
}

// settle tells the budget.
func (d *decoder) settle() bool {
	total := d.budget.used.Add(int64(d.used))
	d.used = 0
	return total <= d.budget.most || d.fail(ErrTooMany)
}

// fail remembers what is wrong with the message that is being decoded, and returns false.
func (d *decoder) fail(err error) bool {
	if d.err == nil {
		d.err = err
	}
	return false
}

// check is fail where err is one.
func (d *decoder) check(err error) {
	if err != nil {
		d.fail(err)
	}
}

// failAt is fail for one of its fields. The error may be one that decoding the field's value has
// remembered already.
func (d *decoder) failAt(field string, err error) bool {
	d.path = "." + field + d.path
	return d.fail(err)
}

func index(i int) string { return fmt.Sprintf("[%d]", i) }

// string returns a body as a part of the text.
func (d *decoder) string(body []byte) string {
	from := cap(d.whole) - cap(body) // bodies are cut from whole, to whose end they have room
	return d.text[from : from+len(body)]
}

// ints returns n integers, many lists of one piece of memory.
func (d *decoder) ints(n int) []int {
	if n > len(d.room) {
		d.room = make([]int, max(n, 256))
	}
	list := d.room[:n:n]
	d.room = d.room[n:]
	return list
}
