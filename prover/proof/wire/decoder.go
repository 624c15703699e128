package wire

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// decoder is what decoding a message and those in it remembers. Several may decode parts of one.
type decoder struct {
	counts [maxCounters]int
	budget *budget
	own    budget // what budget is of the decoder that Decode makes
	used   int    // messages that budget has not been told of

	err  error  // the first
	path string // from the message that is being decoded to what err is about

	room []int           // for short lists
	text strings.Builder // for strings
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

// pieceOfText is how many bytes of strings are allocated at once.
const pieceOfText = 1 << 12

// string returns a body as a string, many of one piece of memory.
func (d *decoder) string(body []byte) string {
	if len(body) > d.text.Cap()-d.text.Len() {
		d.text = strings.Builder{}
		d.text.Grow(max(len(body), pieceOfText))
	}
	from := d.text.Len()
	d.text.Write(body)
	return d.text.String()[from:]
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
