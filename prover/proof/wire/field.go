package wire

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// A Field describes one field of a type of messages: its number and name, its type on the wire, and which
// part of T, the structure that holds such a message in Go, its value is in. A Message is a list of Fields.
type Field[T any] struct{ field }

// field is a Field without its type parameter: t is a *T in each of its functions.
type field struct {
	FieldSpec
	tag    uint64 // number and wire type, as they stand before the value
	rivals uint64 // a bit for the number of each member of the same oneof with a smaller number
	// append appends the field, or nothing for a default value.
	append func(b []byte, t any) []byte
	// read stores the value of a field that is present. If the field is a number, v is the number; otherwise
	// body is the content and v its length. A field has either read or list.
	read func(d *decoder, t any, v uint64, body []byte)
	// list stores a list of messages, whose elements follow each other from the beginning of b, and
	// returns the bytes after the last.
	list func(d *decoder, t any, b []byte) []byte
	// absent is called if the message does not have the field; nil if there is nothing to do.
	absent func(d *decoder, t any)
}

// The wire types of protobuf that fields here use.
const (
	wireVarint = 0
	wireBytes  = 2
)

func newField(spec FieldSpec) *field {
	typ := uint64(wireBytes)
	if spec.Kind.number() && !spec.Repeated {
		typ = wireVarint
	}
	return &field{FieldSpec: spec, tag: uint64(spec.Number)<<3 | typ}
}

// AppendHead appends the tag and the length of a field whose content is n bytes. The caller appends the content.
func (f *field) AppendHead(b []byte, n int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, f.tag), uint64(n))
}

// ErrReserved is wrapped by Decode's error for a field that is [Reserved].
var ErrReserved = errors.New("is a field that this release of prove-model does not read, and a later one may")

// Reserved declares a field that a later release may have. Decode refuses a message with it (ErrReserved), since the field may
// change what the rest of the message means. No other field may have its number.
func Reserved[T any](number int, name string) Field[T] {
	f := newField(FieldSpec{Number: number, Name: name, Reserved: true})
	f.append = func(b []byte, _ any) []byte { return b }
	return Field[T]{*f}
}

// Needed returns the field with a check for messages that do not have it. If it is a message, its absence is an error.
// If it is a number or bytes, its absence stands for 0 or no bytes, which are then stored and checked like other values.
func (f Field[T]) Needed() Field[T] {
	f.need()
	return f
}

func (f *field) need() {
	read := f.read
	if f.Kind == Submessage {
		f.absent = func(d *decoder, _ any) { d.fail(errMissing) }
	} else {
		f.absent = func(d *decoder, t any) { read(d, t, 0, nil) }
	}
}

// OneOf returns the fields as members of a oneof: a message has at most one of them. Members that are
// not messages must be made by [Member].
func OneOf[T any](name string, fields ...Field[T]) []Field[T] {
	var before uint64
	for i := range fields {
		f := &fields[i]
		f.Oneof, f.rivals = name, before
		before |= 1 << f.Number
	}
	return fields
}

// Num is a field that holds a number, stored where at points. of is the number's type and range.
func Num[T any, V integer](number int, name string, of Number, at func(*T) *V) Field[T] {
	f, n := numField(number, name, of)
	f.append = func(b []byte, t any) []byte { return n.append(b, int64(*at(t.(*T)))) }
	f.read = func(d *decoder, t any, v uint64, _ []byte) { *at(t.(*T)) = V(n.decode(d, v)) }
	if of.Below != 0 && of.Plus == 0 { // absent, the number is position 0, which must exist in the list
		f.need()
	}
	return Field[T]{*f}
}

func numField(num int, name string, of Number) (*field, *number) {
	f := newField(FieldSpec{Number: num, Name: name, Kind: of.Kind, Values: of.values()})
	return f, of.prepared(f.tag)
}

// Value is a number that get returns for writing, and that set stores after reading. set returns an error for a wrong number.
func Value[T any](number int, name string, of Number, get func(*T) int64, set func(*T, int64) error) Field[T] {
	f, n := numField(number, name, of)
	f.append = func(b []byte, t any) []byte { return n.append(b, get(t.(*T))) }
	f.read = func(d *decoder, t any, v uint64, _ []byte) {
		if x := n.decode(d, v); d.err == nil {
			d.check(set(t.(*T), x))
		}
	}
	return Field[T]{*f}
}

// Flag is an enumeration of two values: 0 for false and 1 for true.
func Flag[T any](number int, name string, at func(*T) *bool) Field[T] {
	f, n := numField(number, name, EnumOf(2))
	f.append = func(b []byte, t any) []byte {
		if *at(t.(*T)) {
			b = n.append(b, 1)
		}
		return b
	}
	f.read = func(d *decoder, t any, v uint64, _ []byte) { *at(t.(*T)) = n.decode(d, v) != 0 }
	return Field[T]{*f}
}

// Bits64 is an unsigned number of 64 bits without a range.
func Bits64[T any](number int, name string, get func(*T) uint64, set func(*T, uint64)) Field[T] {
	f, n := numField(number, name, Number{Kind: Uint64})
	f.append = func(b []byte, t any) []byte { return n.append(b, int64(get(t.(*T)))) }
	f.read = func(_ *decoder, t any, v uint64, _ []byte) { set(t.(*T), v) }
	return Field[T]{*f}
}

// Nums is a packed list of numbers. If the field is absent, the list stays as it is.
func Nums[T any, V integer](number int, name string, of Number, at func(*T) *[]V) Field[T] {
	return packed(number, name, of, at, func(_ *decoder, n int) []V { return make([]V, n) })
}

// Ints is Nums for fields that occur often with few ints each: the lists share larger allocations.
func Ints[T any](number int, name string, of Number, at func(*T) *[]int) Field[T] {
	return packed(number, name, of, at, (*decoder).ints)
}

// packed is Nums with room, which returns memory for n elements.
func packed[T any, V integer](number int, name string, of Number, at func(*T) *[]V, room func(*decoder, int) []V) Field[T] {
	f := newField(FieldSpec{Number: number, Name: name, Kind: of.Kind, Repeated: true, Values: of.values()})
	n := of.prepared(f.tag)
	f.append = func(b []byte, t any) []byte {
		list := *at(t.(*T))
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
	f.read = func(d *decoder, t any, _ uint64, body []byte) {
		list := room(d, numbers(body))
		for i := range list {
			if body[0] < 0x80 && n.small {
				list[i], body = V(body[0]), body[1:]
				continue
			}
			var x int64
			x, body = n.next(d, body)
			list[i] = V(x)
		}
		if len(body) > 0 {
			d.fail(errEnd)
		}
		*at(t.(*T)) = list
	}
	return Field[T]{*f}
}

// numbers returns how many numbers a packed list has: the last byte of each varint, and no other, is below 0x80.
func numbers(b []byte) int {
	n := 0
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}

// Pairs is a packed list in which two successive numbers make an element, whose parts are those that parts points to. If the
// field is absent, the list stays as it is.
func Pairs[T, E any, V integer](number int, name string, of Number, at func(*T) *[]E, parts func(*E) (first, second *V)) Field[T] {
	numbers := Nums(number, name, of, func(list *[]V) *[]V { return list })
	f := newField(numbers.FieldSpec)
	f.append = func(b []byte, t any) []byte {
		var list []V
		for i := range *at(t.(*T)) {
			first, second := parts(&(*at(t.(*T)))[i])
			list = append(list, *first, *second)
		}
		return numbers.append(b, &list)
	}
	f.read = func(d *decoder, t any, v uint64, body []byte) {
		var list []V
		if numbers.read(d, &list, v, body); len(list)%2 != 0 {
			d.fail(errHalf)
			return
		}
		pairs := make([]E, len(list)/2)
		for i := range pairs {
			first, second := parts(&pairs[i])
			*first, *second = list[2*i], list[2*i+1]
		}
		*at(t.(*T)) = pairs
	}
	return Field[T]{*f}
}

// Text is a string. Decoding refuses bytes that are not UTF-8.
func Text[T any](number int, name string, at func(*T) *string) Field[T] {
	f := newField(FieldSpec{Number: number, Name: name, Kind: String})
	f.append = func(b []byte, t any) []byte {
		if s := *at(t.(*T)); s != "" {
			b = append(f.AppendHead(b, len(s)), s...)
		}
		return b
	}
	f.read = func(d *decoder, t any, _ uint64, body []byte) {
		if !utf8.Valid(body) {
			d.fail(errUTF8)
		}
		*at(t.(*T)) = d.string(body)
	}
	return Field[T]{*f}
}

// Data is bytes that get returns for writing, and that set stores after reading. If get returns no bytes the field is absent. set
// returns an error for wrong bytes.
func Data[T any](number int, name string, get func(*T) []byte, set func(*T, []byte) error) Field[T] {
	f := newField(FieldSpec{Number: number, Name: name, Kind: Bytes})
	f.append = func(b []byte, t any) []byte {
		if s := get(t.(*T)); len(s) > 0 {
			b = f.appendBytes(b, s)
		}
		return b
	}
	f.read = func(d *decoder, t any, _ uint64, body []byte) { d.check(set(t.(*T), body[:len(body):len(body)])) }
	return Field[T]{*f}
}

func (f *field) appendBytes(b, s []byte) []byte { return append(f.AppendHead(b, len(s)), s...) }

// Raw is bytes of any length. After decoding they are a part of the decoded bytes, not a copy.
func Raw[T any](number int, name string, at func(*T) *[]byte) Field[T] {
	return Data(number, name, func(t *T) []byte { return *at(t) }, func(t *T, b []byte) error { *at(t) = b; return nil })
}

// Member is Raw for a member of a oneof: the field is absent if *at is nil, and present, with no bytes, if *at is empty.
func Member[T any](number int, name string, at func(*T) *[]byte) Field[T] {
	f := Raw(number, name, at)
	f.Presence = true
	f.append = func(b []byte, t any) []byte {
		if s := *at(t.(*T)); s != nil {
			b = f.appendBytes(b, s)
		}
		return b
	}
	return f
}

// Part is a message that is always written. If it is absent in what is decoded, the part of T stays as it is.
func Part[T, E any](number int, name string, of *Message[E], at func(*T) *E) Field[T] {
	f := messageField(number, name, &of.table)
	f.append = func(b []byte, t any) []byte { return of.appendField(b, f.tag, at(t.(*T))) }
	f.read = func(d *decoder, t any, _ uint64, body []byte) {
		if d.take(1) {
			of.decode(d, body, at(t.(*T)))
		}
	}
	return Field[T]{*f}
}

func messageField(number int, name string, of *table) *field {
	return newField(FieldSpec{Number: number, Name: name, Kind: Submessage, Presence: true, Message: of.Spec})
}

// Optional is a message that is absent where *at is nil.
func Optional[T, E any](number int, name string, of *Message[E], at func(*T) **E) Field[T] {
	f := messageField(number, name, &of.table)
	f.append = func(b []byte, t any) []byte {
		if e := *at(t.(*T)); e != nil {
			b = of.appendField(b, f.tag, e)
		}
		return b
	}
	f.read = func(d *decoder, t any, _ uint64, body []byte) {
		if d.take(1) {
			e := new(E)
			of.decode(d, body, e)
			*at(t.(*T)) = e
		}
	}
	return Field[T]{*f}
}

// List is a list of messages. If the field is absent, the list stays as it is.
func List[T, E any](number int, name string, of *Message[E], at func(*T) *[]E) Field[T] {
	return Counted(number, name, of, at, 0)
}

// Counted is List for a list in which other numbers are positions: with Number.Below set to the Counter as, numbers in the list's
// own elements and in later fields of the message must be below the length of the list.
func Counted[T, E any](number int, name string, of *Message[E], at func(*T) *[]E, as Counter) Field[T] {
	f := messageField(number, name, &of.table)
	f.Repeated = true
	f.append = func(b []byte, t any) []byte {
		for i, list := 0, *at(t.(*T)); i < len(list); i++ {
			b = of.appendField(b, f.tag, &list[i])
		}
		return b
	}
	f.list = func(d *decoder, t any, b []byte) []byte {
		// The number of messages is checked before memory for them is allocated.
		n, starts, end := d.run(b, f.tag)
		if !d.take(n) || d.err != nil {
			return nil
		}
		d.counts[as] = n
		list := make([]E, n)
		*at(t.(*T)) = list
		if len(starts) == 0 {
			of.decodeList(d, b, 0, n, func(i int) any { return &list[i] })
		} else {
			of.decodeBeside(d, b, n, starts, func(i int) any { return &list[i] })
		}
		return b[end:]
	}
	return Field[T]{*f}
}

var (
	errDefault = errors.New("default value is spelt out")
	errMissing = errors.New("is missing")
	errEnd     = errors.New("ends early")
	errUTF8    = errors.New("not UTF-8")
	errHalf    = errors.New("an odd number of numbers, where they are pairs")
)
