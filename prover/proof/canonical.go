package proof

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// checkCanonical walks the wire encoding b of a message of type md and refuses
// every encoding but the one of docs/proof-format.md, "Canonical protobuf".
// Nothing is allocated, and budget, the number of messages that may follow, is
// counted down: a message of two bytes takes about a hundred in memory.
func checkCanonical(b []byte, md protoreflect.MessageDescriptor, budget *int) error {
	if *budget--; *budget < 0 {
		return errors.New("too many messages")
	}
	var last protoreflect.FieldDescriptor
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("%s: %w", md.Name(), protowire.ParseError(n))
		}
		if n != protowire.SizeTag(num) {
			return fmt.Errorf("%s: tag is not minimal", md.Name())
		}
		b = b[n:]
		fd := md.Fields().ByNumber(num)
		if fd == nil {
			return fmt.Errorf("%s: unknown field %d", md.Name(), num)
		}
		if err := checkOrder(last, fd); err != nil {
			return fmt.Errorf("%s: %w", md.Name(), err)
		}
		last = fd
		n, err := checkValue(b, typ, fd, budget)
		if err != nil {
			return fmt.Errorf("%s.%w", md.Name(), err)
		}
		b = b[n:]
	}
	return nil
}

// checkOrder checks that fields come by increasing number, that only lists of
// messages repeat, and that a oneof is set once.
func checkOrder(last, fd protoreflect.FieldDescriptor) error {
	if last == nil {
		return nil
	}
	if fd.Number() < last.Number() {
		return fmt.Errorf("field %d after field %d", fd.Number(), last.Number())
	}
	if fd.Number() == last.Number() && !(fd.IsList() && fd.Message() != nil) {
		return fmt.Errorf("field %d twice", fd.Number())
	}
	if o := fd.ContainingOneof(); o != nil && o == last.ContainingOneof() {
		return fmt.Errorf("fields %d and %d exclude each other", last.Number(), fd.Number())
	}
	return nil
}

// checkValue checks the value of a field at the start of b and returns its length.
func checkValue(b []byte, typ protowire.Type, fd protoreflect.FieldDescriptor, budget *int) (int, error) {
	want := protowire.VarintType
	if fd.IsList() || fd.Message() != nil || fd.Kind() == protoreflect.BytesKind || fd.Kind() == protoreflect.StringKind {
		want = protowire.BytesType
	}
	if typ != want {
		return 0, fmt.Errorf("%s: wire type %d", fd.Name(), typ)
	}
	v, n, err := consumeVarint(b)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", fd.Name(), err)
	}
	if want == protowire.VarintType {
		if v == 0 && !fd.HasPresence() {
			return 0, fmt.Errorf("%s: default value is spelt out", fd.Name())
		}
		if err := checkScalar(v, fd); err != nil {
			return 0, fmt.Errorf("%s: %w", fd.Name(), err)
		}
		return n, nil
	}
	if v > uint64(len(b)-n) {
		return 0, fmt.Errorf("%s: ends early", fd.Name())
	}
	body := b[n : n+int(v)]
	n += len(body)
	if fd.Message() != nil {
		if err := checkCanonical(body, fd.Message(), budget); err != nil {
			return 0, fmt.Errorf("%s: %w", fd.Name(), err)
		}
		return n, nil
	}
	if len(body) == 0 && !fd.HasPresence() {
		return 0, fmt.Errorf("%s: default value is spelt out", fd.Name())
	}
	switch {
	case fd.IsList():
		for len(body) > 0 {
			v, k, err := consumeVarint(body)
			if err == nil {
				err = checkScalar(v, fd)
			}
			if err != nil {
				return 0, fmt.Errorf("%s: %w", fd.Name(), err)
			}
			body = body[k:]
		}
	case fd.Kind() == protoreflect.StringKind:
		if !utf8.Valid(body) {
			return 0, fmt.Errorf("%s: not UTF-8", fd.Name())
		}
	}
	return n, nil
}

func consumeVarint(b []byte) (uint64, int, error) {
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
func checkScalar(v uint64, fd protoreflect.FieldDescriptor) error {
	switch fd.Kind() {
	case protoreflect.Uint32Kind, protoreflect.Sint32Kind:
		if v > math.MaxUint32 {
			return fmt.Errorf("%d does not fit 32 bits", v)
		}
	case protoreflect.Uint64Kind, protoreflect.Sint64Kind:
	case protoreflect.EnumKind:
		if v > math.MaxInt32 || fd.Enum().Values().ByNumber(protoreflect.EnumNumber(v)) == nil {
			return fmt.Errorf("unknown value %d", v)
		}
	default:
		panic("proof: field type without a canonical encoding: " + fd.Kind().String())
	}
	return nil
}
