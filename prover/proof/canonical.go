package proof

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/prove-model/prove-model/internal/parallel"
)

// checkCanonical walks the wire encoding b of a message of type md and refuses
// every encoding but the one of docs/proof-format.md, "Canonical protobuf".
// Hardly anything is allocated, and budget, the number of messages that may follow,
// is counted down: a message of two bytes takes about a hundred in memory.
func checkCanonical(b []byte, md protoreflect.MessageDescriptor, budget *int) error {
	return wireOf(md).check(b, budget)
}

// wireMessage is what the wire encoding of a type of message may be. Descriptors say
// the same, but take a large part of the time to decode a key.
type wireMessage struct {
	name   protoreflect.Name
	fields []wireField // by number; those that are not there have no name
}

type wireField struct {
	name     protoreflect.Name
	number   protowire.Number
	typ      protowire.Type
	kind     protoreflect.Kind
	list     bool
	presence bool         // the default value may be spelt out
	message  *wireMessage // nil for scalars
	enum     protoreflect.EnumDescriptor
	oneof    int // number of the field's oneof in the message, from 1 on; 0 for none
}

var wire struct {
	sync.Mutex
	messages map[protoreflect.FullName]*wireMessage
}

// wireOf returns what is known of a type of message. It is made once.
func wireOf(md protoreflect.MessageDescriptor) *wireMessage {
	wire.Lock()
	defer wire.Unlock()
	if wire.messages == nil {
		wire.messages = map[protoreflect.FullName]*wireMessage{}
	}
	return newWireMessage(md)
}

func newWireMessage(md protoreflect.MessageDescriptor) *wireMessage {
	if m := wire.messages[md.FullName()]; m != nil {
		return m
	}
	m := &wireMessage{name: md.Name()}
	wire.messages[md.FullName()] = m // before its fields: types may contain themselves
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		f := wireField{
			name: fd.Name(), number: fd.Number(), typ: protowire.VarintType, kind: fd.Kind(),
			list: fd.IsList(), presence: fd.HasPresence(), enum: fd.Enum(),
		}
		if fd.IsList() || fd.Message() != nil || fd.Kind() == protoreflect.BytesKind || fd.Kind() == protoreflect.StringKind {
			f.typ = protowire.BytesType
		}
		if fd.Message() != nil {
			f.message = newWireMessage(fd.Message())
		}
		if o := fd.ContainingOneof(); o != nil {
			f.oneof = o.Index() + 1
		}
		for len(m.fields) <= int(f.number) {
			m.fields = append(m.fields, wireField{})
		}
		m.fields[f.number] = f
	}
	return m
}

func (m *wireMessage) check(b []byte, budget *int) error {
	if *budget--; *budget < 0 {
		return errTooMany
	}
	if len(b) >= longMessage {
		return m.checkLong(b, budget)
	}
	return m.checkFields(b, nil, budget)
}

var errTooMany = errors.New("too many messages")

// checkFields checks fields that come after another one, nil if they are the first.
func (m *wireMessage) checkFields(b []byte, last *wireField, budget *int) error {
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return fmt.Errorf("%s: %w", m.name, protowire.ParseError(n))
		}
		if n != protowire.SizeTag(num) {
			return fmt.Errorf("%s: tag is not minimal", m.name)
		}
		b = b[n:]
		if int(num) >= len(m.fields) || m.fields[num].name == "" {
			return fmt.Errorf("%s: unknown field %d", m.name, num)
		}
		f := &m.fields[num]
		if err := f.checkOrder(last); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		last = f
		n, err := f.check(b, typ, budget)
		if err != nil {
			return fmt.Errorf("%s.%w", m.name, err)
		}
		b = b[n:]
	}
	return nil
}

// consumeTag is protowire.ConsumeTag, quick where a tag has one byte.
func consumeTag(b []byte) (protowire.Number, protowire.Type, int) {
	if b[0] >= 1<<3 && b[0] < 0x80 {
		return protowire.Number(b[0] >> 3), protowire.Type(b[0] & 7), 1
	}
	return protowire.ConsumeTag(b)
}

// A long message is checked in a few pieces beside each other.
const (
	longMessage = 1 << 15 // bytes
	longPieces  = 16
)

// piece is where a piece of a message begins, and the field before it.
type piece struct {
	at   int
	last *wireField
}

// pieces cuts a message between fields. Where it finds no field it cuts no more: the piece
// before is then one that check says something against.
func (m *wireMessage) pieces(b []byte) []piece {
	list := append(make([]piece, 0, longPieces+1), piece{})
	for at, size := 0, len(b)/longPieces; at < len(b); {
		num, typ, n := consumeTag(b[at:])
		if n < 0 || int(num) >= len(m.fields) {
			break
		}
		k := protowire.ConsumeFieldValue(num, typ, b[at+n:])
		if k < 0 {
			break
		}
		if at += n + k; at-list[len(list)-1].at >= size && at < len(b) {
			list = append(list, piece{at, &m.fields[num]})
		}
	}
	return list
}

// checkLong is checkFields on all cores, of a message's first field and all others.
func (m *wireMessage) checkLong(b []byte, budget *int) error {
	list := m.pieces(b)
	used, errs := make([]int, len(list)), make([]error, len(list))
	parallel.For(len(list), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			end := len(b)
			if i+1 < len(list) {
				end = list[i+1].at
			}
			left := *budget
			errs[i] = m.checkFields(b[list[i].at:end], list[i].last, &left)
			used[i] = *budget - left
		}
	})
	for i, err := range errs {
		if err != nil {
			return err
		}
		if *budget -= used[i]; *budget < 0 {
			return errTooMany
		}
	}
	return nil
}

// checkOrder checks that fields come by increasing number, that only lists of
// messages repeat, and that a oneof is set once.
func (f *wireField) checkOrder(last *wireField) error {
	if last == nil {
		return nil
	}
	if f.number < last.number {
		return fmt.Errorf("field %d after field %d", f.number, last.number)
	}
	if f.number == last.number && !(f.list && f.message != nil) {
		return fmt.Errorf("field %d twice", f.number)
	}
	if f.oneof != 0 && f.oneof == last.oneof {
		return fmt.Errorf("fields %d and %d exclude each other", last.number, f.number)
	}
	return nil
}

// check checks the value of a field at the start of b and returns its length.
func (f *wireField) check(b []byte, typ protowire.Type, budget *int) (int, error) {
	if typ != f.typ {
		return 0, fmt.Errorf("%s: wire type %d", f.name, typ)
	}
	v, n, err := consumeVarint(b)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.name, err)
	}
	if f.typ == protowire.VarintType {
		if v == 0 && !f.presence {
			return 0, fmt.Errorf("%s: default value is spelt out", f.name)
		}
		if err := f.checkScalar(v); err != nil {
			return 0, fmt.Errorf("%s: %w", f.name, err)
		}
		return n, nil
	}
	if v > uint64(len(b)-n) {
		return 0, fmt.Errorf("%s: ends early", f.name)
	}
	body := b[n : n+int(v)]
	n += len(body)
	if f.message != nil {
		if err := f.message.check(body, budget); err != nil {
			return 0, fmt.Errorf("%s: %w", f.name, err)
		}
		return n, nil
	}
	if len(body) == 0 && !f.presence {
		return 0, fmt.Errorf("%s: default value is spelt out", f.name)
	}
	switch {
	case f.list:
		for len(body) > 0 {
			if body[0] < 0x80 && f.enum == nil { // minimal, and in the range of any type
				body = body[1:]
				continue
			}
			v, k, err := consumeVarint(body)
			if err == nil {
				err = f.checkScalar(v)
			}
			if err != nil {
				return 0, fmt.Errorf("%s: %w", f.name, err)
			}
			body = body[k:]
		}
	case f.kind == protoreflect.StringKind:
		if !utf8.Valid(body) {
			return 0, fmt.Errorf("%s: not UTF-8", f.name)
		}
	}
	return n, nil
}

func consumeVarint(b []byte) (uint64, int, error) {
	if len(b) > 0 && b[0] < 0x80 { // one byte: minimal
		return uint64(b[0]), 1, nil
	}
	v, n := protowire.ConsumeVarint(b)
	if n < 0 {
		return 0, 0, protowire.ParseError(n)
	}
	if n != protowire.SizeVarint(v) {
		return 0, 0, errors.New("varint is not minimal")
	}
	return v, n, nil
}

// checkScalar checks that a varint is in the range of the field's type, which
// decoding would cut it to. The schema has no other scalar types.
func (f *wireField) checkScalar(v uint64) error {
	switch f.kind {
	case protoreflect.Uint32Kind, protoreflect.Sint32Kind:
		if v > math.MaxUint32 {
			return fmt.Errorf("%d does not fit 32 bits", v)
		}
	case protoreflect.Uint64Kind, protoreflect.Sint64Kind:
	case protoreflect.EnumKind:
		if v > math.MaxInt32 || f.enum.Values().ByNumber(protoreflect.EnumNumber(v)) == nil {
			return fmt.Errorf("unknown value %d", v)
		}
	default:
		panic("proof: field type without a canonical encoding: " + f.kind.String())
	}
	return nil
}
