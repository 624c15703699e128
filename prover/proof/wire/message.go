// Package wire encodes and decodes messages in a canonical form of protobuf, from one table for
// each type of message.
//
// A table ([Message]) lists the fields of a type: number, name, how the value is written, and
// which part of a Go structure holds it. Encoding, decoding and the check that bytes are canonical
// are all driven by the table, so they cannot disagree, and a new field is one line. A schema in a
// .proto file says the same; a test of package proof compares the two.
//
// The canonical form is one that any protobuf library writes and reads (docs/proof-format.md,
// "Canonical protobuf"): fields by increasing number, each once, except that the elements of a
// list of messages follow each other; no default values; lists of numbers packed; numbers
// without needless bytes; no unknown fields. Every value has one encoding, and Decode refuses
// all others.
//
// Decode accepts hostile bytes. It allocates in proportion to their number and to that of the
// messages in them, which the caller bounds: a message of two bytes may take hundreds in memory.
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

// table is a Message without its type parameter. All code that does not need the type is in methods of table, so that little
// code is generated for each T. Methods take a *T as an any.
type table struct {
	name   string
	init   func(t any) // sets t to a message without fields, where that is not T's zero value; may be nil
	fields []field     // by number; an element without a name is a number that no field has
	needed uint64      // a bit for the number of each field whose absent function must be called
}

// New returns the table of the message type of this name in the schema. Decoding a message begins with a call of
// init, which may be nil if a message without fields is T's zero value. The fields must be given by increasing number, from 1
// to 63; New panics otherwise.
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

// add adds a field to the table, at the index of its number.
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

// ErrTooMany is wrapped by Decode's error if there are more messages than the caller allows.
var ErrTooMany = errors.New("too many messages")

// Decode sets t, which must be a zero value, to the message that b encodes. messages bounds the number
// of messages, counting b itself and all that are nested in it. Fields of bytes are parts of b, which must not
// change as long as they are used; strings are copied. The error says which field of which
// message is wrong.
func (m *Message[T]) Decode(b []byte, t *T, messages int) error {
	return m.whole(b, t, messages)
}

// whole is Decode for a *T in t.
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

// decode decodes the fields of b into t and reports whether b is a canonical encoding. If it is not, d.err says why.
//
// It refuses whatever would be a second encoding of a message: unknown fields, another wire type, fields twice or not by increasing
// number, two members of a oneof, default values, and varints with needless bytes.
func (m *table) decode(d *decoder, b []byte, t any) bool {
	if m.init != nil {
		m.init(t)
	}
	var seen uint64 // a bit for the number of each field that has been decoded
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
		if seen>>f.Number != 0 || f.rivals&seen != 0 { // this number, a greater one, or a member of the same oneof came before
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

// outOfOrder returns the error for a field that may not follow the fields in seen.
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

// grain is how many messages of a list one goroutine decodes.
const grain = 1 << 9

// run scans the elements of a list, which have this tag and follow each other from the beginning of b. It returns
// their number n, the offsets at which elements grain, 2·grain, … begin, and the offset behind the last one. It looks at tags and
// lengths only. If b ends within an element, d fails.
func (d *decoder) run(b []byte, tag uint64) (n int, starts []int, end int) {
	for end < len(b) {
		got, k := uvarint(b[end:])
		if k <= 0 || got != tag {
			break // another field follows, or bytes that are no tag, which decode will refuse
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

// decodeList decodes elements from, …, to−1 of a list into what at returns for each index. b begins with element
// from, and run has checked the lengths of the elements.
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

// decodeBeside decodes all n elements of a list on all cores, in pieces of grain elements that begin at 0 and at starts (run). The
// error is that of the first element that has one.
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

// appendField appends a field that is a message: its tag, length and content. It leaves one byte for the length, encodes the content
// behind it, and moves the content if the length takes more bytes.
func (m *table) appendField(b []byte, tag uint64, t any) []byte {
	b = binary.AppendUvarint(b, tag)
	start := len(b)
	b = m.append(append(b, 0), t) // one byte is enough for a length below 128, as most are
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
