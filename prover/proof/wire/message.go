// Package wire encodes and decodes messages in a canonical form of protobuf, from one table for
// each type of message.
//
// A table ([Message]) lists the fields of a type: number, name, how the value is written, and
// which part of a Go structure it is. Encoding, decoding and the check that bytes are canonical
// all follow it, so that they cannot disagree, and a new field is one line. What it says is what
// a schema in a .proto file says; a test of package proof compares the two.
//
// The canonical form is one that any protobuf library writes and reads (docs/proof-format.md,
// "Canonical protobuf"): fields by increasing number, each once, except that the elements of a
// list of messages follow each other; no default values; lists of numbers packed; numbers
// without needless bytes; no unknown fields. Every value has one encoding, and Decode refuses
// all others.
//
// Decode takes hostile bytes. It allocates in proportion to their number, and the caller says
// how many messages there may be: one of two bytes may take hundreds in memory.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/internal/parallel"
)

// A Message is the table of a type of messages, which are values of T in Go.
type Message[T any] struct{ table }

// table is a Message without its type. Whatever does not need the type is its, so that there is
// little code for each type: a T goes through it as a *T in an any.
type table struct {
	name   string
	init   func(t any) // sets what a message without fields is, where that is not T's zero value; may be nil
	fields []field     // by number; those that there are not have no name
	needed uint64      // numbers of fields that have something to say where they are absent
}

// New returns the table of messages of the schema's type of this name. Decoding begins with
// init, nil if a message without fields is T's zero value. Fields are by increasing number, below 64.
// New panics if the table is not one.
func New[T any](name string, init func(*T), fields ...Field[T]) *Message[T] {
	m := &Message[T]{table{name: name}}
	if init != nil {
		m.init = func(t any) { init(t.(*T)) }
	}
	if len(fields) > 0 {
		m.fields = make([]field, 0, min(64, 1+max(0, fields[len(fields)-1].field.Number)))
	}
	for _, f := range fields {
		m.add(f.field)
	}
	return m
}

func (m *table) add(f field) {
	if f.Number < max(1, len(m.fields)) || f.Number >= 64 || f.Name == "" {
		panic(fmt.Sprintf("wire: %s: field %d (%s) is out of order or of range", m.name, f.Number, f.Name))
	}
	m.fields = append(m.fields, make([]field, f.Number-len(m.fields))...)
	m.fields = append(m.fields, f)
	if f.absent != nil {
		m.needed |= 1 << f.Number
	}
}

// Append appends the encoding of t to b. It does not check that values are in the ranges of
// their fields: Decode refuses what is not.
func (m *Message[T]) Append(b []byte, t *T) []byte { return m.append(b, t) }

func (m *table) append(b []byte, t any) []byte {
	for i := range m.fields {
		if f := &m.fields[i]; f.Name != "" {
			b = f.append(b, t)
		}
	}
	return b
}

// ErrTooMany is what Decode's error wraps if there are more messages than there may be.
var ErrTooMany = errors.New("too many messages")

// Decode sets t, which is a zero value, to the message that b encodes. There may be so many
// messages in all, b itself and those in it. Fields of bytes are parts of b, which must not
// change as long as they are used; strings are copied. The error says which field of which
// message is wrong.
func (m *Message[T]) Decode(b []byte, t *T, messages int) error {
	return m.whole(b, t, messages)
}

func (m *table) whole(b []byte, t any, messages int) error {
	d := &decoder{}
	d.budget = &d.own
	d.own.most = int64(messages)
	if d.take(1) && m.decode(d, b, t) {
		d.settle()
	}
	if d.err != nil {
		return fmt.Errorf("%s%s: %w", m.name, d.path, d.err)
	}
	return nil
}

// decode decodes the fields of b into t and reports whether they are in order: d.err says what
// is wrong.
func (m *table) decode(d *decoder, b []byte, t any) bool {
	if m.init != nil {
		m.init(t)
	}
	var seen uint64 // numbers of fields
	for len(b) > 0 {
		tag, n := uvarint(b)
		if n <= 0 {
			return d.fail(fmt.Errorf("tag: %w", varintError(n)))
		}
		if tag>>3 >= uint64(len(m.fields)) || m.fields[tag>>3].Name == "" {
			return d.fail(fmt.Errorf("unknown field %d", tag>>3))
		}
		f := &m.fields[tag>>3]
		if f.Reserved {
			return d.failAt(f.Name, ErrReserved)
		}
		if tag != f.tag {
			return d.failAt(f.Name, fmt.Errorf("wire type %d", tag&7))
		}
		if seen>>f.Number != 0 || f.rivals&seen != 0 {
			return d.fail(f.outOfOrder(seen))
		}
		seen |= 1 << f.Number
		if f.list != nil {
			if b = f.list(d, t, b); d.err != nil {
				return d.failAt(f.Name, d.err)
			}
			continue
		}
		v, k := uvarint(b[n:])
		if k <= 0 {
			return d.failAt(f.Name, varintError(k))
		}
		if v == 0 && !f.Presence {
			return d.failAt(f.Name, errDefault)
		}
		b = b[n+k:]
		var body []byte
		if tag&7 == wireBytes {
			if v > uint64(len(b)) {
				return d.failAt(f.Name, errEnd)
			}
			body, b = b[:v], b[v:]
		}
		if f.read(d, t, v, body); d.err != nil {
			return d.failAt(f.Name, d.err)
		}
	}
	for missing := m.needed &^ seen; missing != 0; missing &= missing - 1 {
		f := &m.fields[bits.TrailingZeros64(missing)]
		if f.absent(d, t); d.err != nil {
			return d.failAt(f.Name, d.err)
		}
	}
	return true
}

// outOfOrder says why a field may not follow those seen.
func (f *field) outOfOrder(seen uint64) error {
	last := bits.Len64(seen) - 1
	switch {
	case f.Number == last:
		return fmt.Errorf("field %d twice", last)
	case f.Number < last:
		return fmt.Errorf("field %d after field %d", f.Number, last)
	default:
		return fmt.Errorf("fields %d and %d exclude each other", bits.TrailingZeros64(f.rivals&seen), f.Number)
	}
}

// grain is how many messages of a list are worth a goroutine.
const grain = 1 << 9

// run returns how many elements of a list follow each other at the beginning of b, where every
// grain-th of them begins but the first, and where the last one ends. It fails at one that b does
// not have all of.
func (d *decoder) run(b []byte, tag uint64) (n int, starts []int, end int) {
	for end < len(b) {
		got, k := uvarint(b[end:])
		if k <= 0 || got != tag {
			break // another field, or none, which is for decode to say
		}
		size, l := uvarint(b[end+k:])
		if l <= 0 || size > uint64(len(b)-end-k-l) {
			d.path = index(n)
			d.fail(varintError(min(l, 0)))
			break
		}
		if n%grain == 0 && n > 0 {
			starts = append(starts, end)
		}
		n, end = n+1, end+k+l+int(size)
	}
	return n, starts, end
}

// decodeList decodes elements from to to−1 of a list, which at returns, from fields that run has
// looked at.
func (m *table) decodeList(d *decoder, b []byte, from, to int, at func(int) any) bool {
	for i := from; i < to; i++ {
		_, k := uvarint(b)
		size, l := uvarint(b[k:])
		b = b[k+l:]
		if !m.decode(d, b[:size], at(i)) {
			d.path = index(i) + d.path
			return false
		}
		b = b[size:]
	}
	return true
}

// decodeBeside is decodeList for all n on all cores. The error is that of the first element that
// has one.
func (m *table) decodeBeside(d *decoder, b []byte, n int, starts []int, at func(int) any) {
	starts = append([]int{0}, starts...)
	errs, paths := make([]error, len(starts)), make([]string, len(starts))
	parallel.For(len(starts), 1, func(lo, hi int) {
		own := decoder{counts: d.counts, budget: d.budget}
		if m.decodeList(&own, b[starts[lo]:], lo*grain, min(hi*grain, n), at) {
			own.settle()
		}
		errs[lo], paths[lo] = own.err, own.path
	})
	for i, err := range errs {
		if err != nil {
			d.err, d.path = err, paths[i]
			return
		}
	}
}

// appendField appends a field that is a message.
func (m *table) appendField(b []byte, tag uint64, t any) []byte {
	b = binary.AppendUvarint(b, tag)
	start := len(b)
	b = m.append(append(b, 0), t) // of fewer than 128 bytes, as most are
	n := len(b) - start - 1
	if n < 0x80 {
		b[start] = byte(n)
		return b
	}
	var size [binary.MaxVarintLen64]byte
	k := binary.PutUvarint(size[:], uint64(n))
	b = append(b, size[1:k]...)
	copy(b[start+k:], b[start+1:start+1+n])
	copy(b[start:], size[:k])
	return b
}
