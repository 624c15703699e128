package wire

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// A Field is a line of a table: a field of messages that are values of T.
type Field[T any] struct {
	FieldSpec
	tag    uint64
	rivals uint64 // numbers of the other members of its oneof, as far as they come before
	// append appends the field, or nothing for a default value.
	append func(b []byte, t *T) []byte
	// read takes the value of a field that is there: the number, or the bytes, of which there
	// are so many. It is nil if list is not.
	read func(d *decoder, t *T, v uint64, body []byte)
	// list takes the elements of a list of messages at the beginning of b and returns what follows.
	list func(d *decoder, t *T, b []byte) []byte
	// absent is called where the field is not there; nil if there is nothing to do.
	absent func(d *decoder, t *T)
}

// Wire types of protobuf. There are others, which no field has.
const (
	wireVarint = 0
	wireBytes  = 2
)

func newField[T any](spec FieldSpec) Field[T] {
	typ := uint64(wireBytes)
	if spec.Kind.number() && !spec.Repeated {
		typ = wireVarint
	}
	return Field[T]{FieldSpec: spec, tag: uint64(spec.Number)<<3 | typ}
}

// AppendHead appends the tag and the length of a field of n bytes, which are to follow.
func (f *Field[T]) AppendHead(b []byte, n int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, f.tag), uint64(n))
}

// Needed is the field as one that may not be absent: a message must be there, and what is read
// from a number or from bytes must be right for the default value as well.
func (f Field[T]) Needed() Field[T] {
	read := f.read
	if f.Kind == Submessage {
		f.absent = func(d *decoder, _ *T) { d.fail(errMissing) }
	} else {
		f.absent = func(d *decoder, t *T) { read(d, t, 0, nil) }
	}
	return f
}

// OneOf returns the fields as members of a oneof, of which a message has one at most. Those of
// them that are not messages are made by [Member].
func OneOf[T any](name string, fields ...Field[T]) []Field[T] {
	var before uint64
	for i := range fields {
		f := &fields[i]
		f.Oneof, f.rivals = name, before
		before |= 1 << f.Number
	}
	return fields
}

// Value is a number for which get and set stand: what get returns is written, and set, nil if
// all numbers will do, refuses what is not right. number has no Plus and no Below.
func Value[T any](number int, name string, of Number, get func(*T) int64, set func(*T, int64) error) Field[T] {
	f, n := newField[T](FieldSpec{Number: number, Name: name, Kind: of.Kind, Values: of.values()}), of.prepared()
	tag := f.tag
	f.append = func(b []byte, t *T) []byte {
		if v := n.encode(get(t)); v != 0 {
			b = binary.AppendUvarint(binary.AppendUvarint(b, tag), v)
		}
		return b
	}
	f.read = func(d *decoder, t *T, v uint64, _ []byte) {
		if x := n.decode(d, v); d.err == nil {
			if err := set(t, x); err != nil {
				d.fail(err)
			}
		}
	}
	return f
}

// Bits64 is a number of which all 64 bits may be set.
func Bits64[T any](number int, name string, get func(*T) uint64, set func(*T, uint64)) Field[T] {
	f := newField[T](FieldSpec{Number: number, Name: name, Kind: Uint64})
	tag := f.tag
	f.append = func(b []byte, t *T) []byte {
		if v := get(t); v != 0 {
			b = binary.AppendUvarint(binary.AppendUvarint(b, tag), v)
		}
		return b
	}
	f.read = func(_ *decoder, t *T, v uint64, _ []byte) { set(t, v) }
	return f
}

// Num is a number.
func Num[T any, V integer](number int, name string, of Number, at func(*T) *V) Field[T] {
	f, n := newField[T](FieldSpec{Number: number, Name: name, Kind: of.Kind, Values: of.values()}), of.prepared()
	tag := f.tag
	f.append = func(b []byte, t *T) []byte {
		if v := n.encode(int64(*at(t))); v != 0 {
			b = binary.AppendUvarint(binary.AppendUvarint(b, tag), v)
		}
		return b
	}
	f.read = func(d *decoder, t *T, v uint64, _ []byte) { *at(t) = V(n.decode(d, v)) }
	if of.Below != 0 && of.Plus == 0 { // there must be something that 0 stands for
		f = f.Needed()
	}
	return f
}

// Flag is an enumeration of two values, false and true.
func Flag[T any](number int, name string, at func(*T) *bool) Field[T] {
	return Value(number, name, EnumOf(2), func(t *T) int64 {
		if *at(t) {
			return 1
		}
		return 0
	}, func(t *T, v int64) error { *at(t) = v != 0; return nil })
}

// Nums is a packed list of numbers. An absent one leaves the list as it is.
func Nums[T any, V integer](number int, name string, of Number, at func(*T) *[]V) Field[T] {
	return packed(number, name, of, at, func(_ *decoder, n int) []V { return make([]V, n) })
}

// Ints is Nums for many short lists of ints, which share pieces of memory.
func Ints[T any](number int, name string, of Number, at func(*T) *[]int) Field[T] {
	return packed(number, name, of, at, (*decoder).ints)
}

func packed[T any, V integer](number int, name string, of Number, at func(*T) *[]V, room func(*decoder, int) []V) Field[T] {
	f, n := newField[T](FieldSpec{Number: number, Name: name, Kind: of.Kind, Repeated: true, Values: of.values()}), of.prepared()
	f.append = func(b []byte, t *T) []byte {
		list := *at(t)
		if len(list) == 0 {
			return b
		}
		size := 0
		for _, v := range list {
			size += uvarintLen(n.encode(int64(v)))
		}
		b = f.AppendHead(b, size)
		for _, v := range list {
			b = binary.AppendUvarint(b, n.encode(int64(v)))
		}
		return b
	}
	f.read = func(d *decoder, t *T, _ uint64, body []byte) {
		list := room(d, numbers(body))
		for i := range list {
			if body[0] < 0x80 && n.small {
				list[i], body = V(body[0]), body[1:]
				continue
			}
			v, k := uvarint(body)
			if k <= 0 {
				d.fail(varintError(k))
				return
			}
			list[i], body = V(n.decode(d, v)), body[k:]
		}
		if len(body) > 0 {
			d.fail(errEnd)
		}
		*at(t) = list
	}
	return f
}

// numbers returns how many numbers a packed list has.
func numbers(b []byte) int {
	n := 0
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}

// Pairs is a packed list of two numbers an element. An absent one leaves the list as it is.
func Pairs[T, E any, V integer](number int, name string, of Number, at func(*T) *[]E, parts func(*E) (first, second *V)) Field[T] {
	f := Nums(number, name, of, func(t *pairs[V]) *[]V { return &t.list })
	g := newField[T](f.FieldSpec)
	g.append = func(b []byte, t *T) []byte {
		var p pairs[V]
		for i := range *at(t) {
			first, second := parts(&(*at(t))[i])
			p.list = append(p.list, *first, *second)
		}
		return f.append(b, &p)
	}
	g.read = func(d *decoder, t *T, v uint64, body []byte) {
		var p pairs[V]
		if f.read(d, &p, v, body); d.err != nil {
			return
		}
		if len(p.list)%2 != 0 {
			d.fail(errHalf)
			return
		}
		list := make([]E, len(p.list)/2)
		for i := range list {
			first, second := parts(&list[i])
			*first, *second = p.list[2*i], p.list[2*i+1]
		}
		*at(t) = list
	}
	return g
}

type pairs[V integer] struct{ list []V }

// Text is a string, of UTF-8.
func Text[T any](number int, name string, at func(*T) *string) Field[T] {
	f := newField[T](FieldSpec{Number: number, Name: name, Kind: String})
	f.append = func(b []byte, t *T) []byte {
		if s := *at(t); s != "" {
			b = append(f.AppendHead(b, len(s)), s...)
		}
		return b
	}
	f.read = func(d *decoder, t *T, _ uint64, body []byte) {
		if !utf8.Valid(body) {
			d.fail(errUTF8)
			return
		}
		*at(t) = d.string(body)
	}
	return f
}

// Data is bytes for which get and set stand: get returns none where the field is absent, and set
// refuses what is not right.
func Data[T any](number int, name string, get func(*T) []byte, set func(*T, []byte) error) Field[T] {
	f := newField[T](FieldSpec{Number: number, Name: name, Kind: Bytes})
	f.append = func(b []byte, t *T) []byte {
		if s := get(t); len(s) > 0 {
			b = append(f.AppendHead(b, len(s)), s...)
		}
		return b
	}
	f.read = func(d *decoder, t *T, _ uint64, body []byte) {
		if err := set(t, body[:len(body):len(body)]); err != nil {
			d.fail(err)
		}
	}
	return f
}

// Raw is bytes of any number, parts of what is decoded.
func Raw[T any](number int, name string, at func(*T) *[]byte) Field[T] {
	return Data(number, name, func(t *T) []byte { return *at(t) }, func(t *T, b []byte) error { *at(t) = b; return nil })
}

// Member is Raw in a oneof: the field is there, if with no bytes, unless *at is nil.
func Member[T any](number int, name string, at func(*T) *[]byte) Field[T] {
	f := Raw(number, name, at)
	f.Presence = true
	f.append = func(b []byte, t *T) []byte {
		if s := *at(t); s != nil {
			b = append(f.AppendHead(b, len(s)), s...)
		}
		return b
	}
	return f
}

// Part is a message that is always written. If it is absent, T's stays as it is.
func Part[T, E any](number int, name string, of *Message[E], at func(*T) *E) Field[T] {
	f := newField[T](FieldSpec{Number: number, Name: name, Kind: Submessage, Presence: true, Message: of.Spec})
	tag := f.tag
	f.append = func(b []byte, t *T) []byte { return of.appendField(b, tag, at(t)) }
	f.read = func(d *decoder, t *T, _ uint64, body []byte) {
		if d.take(1) {
			of.decode(d, body, at(t))
		}
	}
	return f
}

// Optional is a message that is absent where *at is nil.
func Optional[T, E any](number int, name string, of *Message[E], at func(*T) **E) Field[T] {
	f := newField[T](FieldSpec{Number: number, Name: name, Kind: Submessage, Presence: true, Message: of.Spec})
	tag := f.tag
	f.append = func(b []byte, t *T) []byte {
		if e := *at(t); e != nil {
			b = of.appendField(b, tag, e)
		}
		return b
	}
	f.read = func(d *decoder, t *T, _ uint64, body []byte) {
		if d.take(1) {
			e := new(E)
			of.decode(d, body, e)
			*at(t) = e
		}
	}
	return f
}

// List is a list of messages. An absent one leaves the list as it is.
func List[T, E any](number int, name string, of *Message[E], at func(*T) *[]E) Field[T] {
	return Counted(number, name, of, at, 0)
}

// Counted is List for one that numbers of the rest of the message, and of the list's own elements,
// may be positions in (Number.Below).
func Counted[T, E any](number int, name string, of *Message[E], at func(*T) *[]E, as Counter) Field[T] {
	f := newField[T](FieldSpec{Number: number, Name: name, Kind: Submessage, Repeated: true, Presence: true, Message: of.Spec})
	tag := f.tag
	f.append = func(b []byte, t *T) []byte {
		for i, list := 0, *at(t); i < len(list); i++ {
			b = of.appendField(b, tag, &list[i])
		}
		return b
	}
	f.list = func(d *decoder, t *T, b []byte) []byte {
		n, starts, end, err := run(b, tag)
		if err != nil {
			d.fail(err)
			d.path = index(n)
			return nil
		}
		if !d.take(n) {
			return nil
		}
		d.counts[as] = n
		list := make([]E, n)
		*at(t) = list
		if len(starts) > 0 {
			of.decodeBeside(d, b, list, starts)
		} else {
			of.decodeList(d, b, list, 0)
		}
		return b[end:]
	}
	return f
}

var (
	errDefault = errors.New("default value is spelt out")
	errMissing = errors.New("is missing")
	errEnd     = errors.New("ends early")
	errUTF8    = errors.New("not UTF-8")
	errHalf    = errors.New("an odd number of numbers, where they are pairs")
)
