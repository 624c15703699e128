package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Kind is the type of a field's values in the schema.
type Kind uint8

const (
	Uint32 Kind = iota
	Uint64
	Sint32 // zigzag-encoded, like Sint64
	Sint64
	Enum // values from 0 on without gaps
	String
	Bytes
	Submessage
)

// number says whether values of the kind are varints.
func (k Kind) number() bool { return k <= Enum }

func (k Kind) signed() bool { return k == Sint32 || k == Sint64 }

// A Counter names a list in which numbers of other fields are positions ([Counted]). 0 names none.
type Counter uint8

// maxCounters is the number of Counters, counting 0.
const maxCounters = 4

// A Number says how a number is written and in which range it must be.
type Number struct {
	Kind Kind
	// Least and Most are the bounds of the value, inclusive. If both are 0 only the kind bounds it. For
	// an unsigned kind, a value below 0 is written only with a Plus.
	Least, Most int64
	// Plus is added to the value before it is written. With a Plus of 1 the value −1 is written as 0, the default.
	Plus int64
	// Below, if not 0, says that the value must be a position in that list, which must come earlier in the file. With a Plus
	// of 1 it may also be −1, for none.
	Below Counter
}

// EnumOf returns the Number of an enumeration with the values 0 to values−1.
func EnumOf(values int) Number { return Number{Kind: Enum, Most: int64(values) - 1} }

// values returns the number of values of an enumeration, 0 for other kinds.
func (n Number) values() int {
	if n.Kind == Enum {
		return int(n.Most) + 1
	}
	return 0
}

// integer is the set of Go types that numbers may have.
type integer interface {
	~int | ~int32 | ~int64 | ~uint8 | ~uint32
}

// number is a Number prepared for encoding and decoding.
type number struct {
	Number
	tag    uint64 // of its field
	wire   uint64 // the greatest varint that the kind allows
	signed bool
	small  bool // every varint of one byte is a valid value, equal to the byte: decoding may skip the checks
}

// prepared returns the number of a field with this tag. Bounds that are not given become those of int64.
func (n Number) prepared(tag uint64) *number {
	p := &number{Number: n, tag: tag, wire: math.MaxUint64, signed: n.Kind.signed()}
	if n.Kind == Uint32 || n.Kind == Sint32 {
		p.wire = math.MaxUint32
	}
	if n.Least == 0 && n.Most == 0 && n.Kind != Enum {
		p.Most = math.MaxInt64
		if p.signed {
			p.Least = math.MinInt64
		}
	}
	p.small = !p.signed && n.Plus == 0 && n.Below == 0 && p.Least == 0 && p.Most >= 0x7f
	return p
}

// encode returns the varint that is written for a value.
func (n *number) encode(x int64) uint64 {
	x += n.Plus
	if n.signed {
		return uint64(x<<1) ^ uint64(x>>63)
	}
	return uint64(x)
}

// append appends a field of the value, or nothing for the default.
func (n *number) append(b []byte, x int64) []byte {
	if v := n.encode(x); v != 0 {
		b = binary.AppendUvarint(binary.AppendUvarint(b, n.tag), v)
	}
	return b
}

// next takes a value from the beginning of a packed list and returns what follows.
func (n *number) next(d *decoder, b []byte) (int64, []byte) {
	v, k := uvarint(b)
	if k <= 0 {
		d.fail(varintError(k))
		k = min(len(b), 1) // d has failed; any progress will do, as the result is not used
	}
	return n.decode(d, v), b[k:]
}

// decode returns the value for which the varint v is written. It fails d if the value is out of range.
func (n *number) decode(d *decoder, v uint64) int64 {
	x := int64(v)
	if n.signed {
		x = int64(v>>1) ^ -int64(v&1)
	}
	x -= n.Plus
	switch {
	case v > n.wire:
		d.fail(fmt.Errorf("%d does not fit 32 bits", v))
	case n.Below != 0:
		if x >= int64(d.counts[n.Below]) {
			d.fail(fmt.Errorf("identifier %d of %d", x, d.counts[n.Below]))
		}
	case n.Kind == Enum && v > uint64(n.Most):
		d.fail(fmt.Errorf("unknown value %d", v))
	case !n.signed && v > math.MaxInt64:
		d.fail(fmt.Errorf("%d is too large", v))
	case x > n.Most || x < n.Least && n.signed:
		d.fail(fmt.Errorf("%d is too large", x))
	}
	return x
}

// uvarint returns the varint at the beginning of b and how many bytes it takes. If n is not
// above 0 there is none, and varintError(n) says why. It refuses a varint with needless bytes.
func uvarint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return longUvarint(b)
}

// longUvarint is uvarint for more than one byte. A last byte of 0 adds nothing to the value, so it is needless.
func longUvarint(b []byte) (v uint64, n int) {
	v, n = binary.Uvarint(b)
	if n > 1 && b[n-1] == 0 {
		return 0, notMinimal
	}
	return v, n
}

const notMinimal = -1 // n of longUvarint for a varint with needless bytes; binary.Uvarint never returns −1 as n

// varintError returns the error for an n ≤ 0 that uvarint has returned.
func varintError(n int) error {
	switch n {
	case 0:
		return errEnd
	case notMinimal:
		return errMinimal
	default:
		return errLong
	}
}

var (
	errMinimal = errors.New("varint is not minimal")
	errLong    = errors.New("varint of more than 64 bits")
)

func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }
