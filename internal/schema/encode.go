package schema

import (
	"bytes"
	"errors"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
)

// Append appends the canonical encoding of a message (docs/proof-format.md, "Canonical protobuf"). A Frame has exactly one field, so
// its byte fields Commitments, Io, Opening and End are encoded if they are not nil, even if they are empty.
func Append[M any](b []byte, message *M) []byte {
	return appendFields(b, reflect.ValueOf(message).Elem())
}

// Equal reports whether two messages have the same encoding.
func Equal[M any](a, b *M) bool { return bytes.Equal(Append(nil, a), Append(nil, b)) }

// Clone returns a deep copy.
func Clone[M any](message *M) *M {
	copied := new(M)
	if err := Decode(Append(nil, message), copied); err != nil {
		panic(err) // cannot happen: it decodes what Append has just encoded
	}
	return copied
}

// number returns the protobuf number of field i of a message type, from its struct tag.
func number(t reflect.Type, i int) protowire.Number {
	n := protowire.Number(0)
	for _, digit := range t.Field(i).Tag.Get("field") {
		n = 10*n + protowire.Number(digit-'0')
	}
	return n
}

// isMessage reports whether a field type is a message: messages are pointers to structs.
func isMessage(t reflect.Type) bool { return t.Kind() == reflect.Pointer }

// appendFields appends the fields of message m in the order of the struct, without those that have
// their default value.
func appendFields(b []byte, m reflect.Value) []byte {
	for i := range m.NumField() {
		n, v := number(m.Type(), i), m.Field(i)
		data := func(body []byte) { b = protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), body) }
		switch {
		case v.Kind() == reflect.String:
			if v.Len() > 0 {
				data([]byte(v.String()))
			}
		case isMessage(v.Type()):
			if !v.IsNil() {
				data(appendFields(nil, v.Elem()))
			}
		case v.Kind() == reflect.Slice && isMessage(v.Type().Elem()):
			for j := range v.Len() {
				data(appendFields(nil, v.Index(j).Elem()))
			}
		case v.Type() == reflect.TypeFor[[]byte]():
			if v.Len() > 0 || !v.IsNil() && m.Type() == reflect.TypeFor[Frame]() {
				data(v.Bytes())
			}
		case v.Kind() == reflect.Slice:
			var packed []byte
			for j := range v.Len() {
				packed = protowire.AppendVarint(packed, encoded(v.Index(j)))
			}
			if len(packed) > 0 {
				data(packed)
			}
		default:
			if x := encoded(v); x != 0 {
				b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), x)
			}
		}
	}
	return b
}

// encoded returns the varint for a number: signed integers are zigzag-encoded,
// enumerations are not.
func encoded(v reflect.Value) uint64 {
	switch {
	case v.CanUint():
		return v.Uint()
	case v.Type() == reflect.TypeFor[Enum]():
		return uint64(v.Int())
	default:
		return protowire.EncodeZigZag(v.Int())
	}
}

var errMalformed = errors.New("schema: not a message of this type")

// Decode decodes b, canonical or not, into an empty message.
func Decode[M any](b []byte, message *M) error { return decode(b, reflect.ValueOf(message).Elem()) }

// decode sets the fields of message m from their tags, in any order. It refuses numbers of fields
// that m does not have.
func decode(b []byte, m reflect.Value) error {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return errMalformed
		}
		b = b[size:]
		i := 0
		for i < m.NumField() && number(m.Type(), i) != n {
			i++
		}
		if i == m.NumField() {
			return errMalformed
		}
		v := m.Field(i)
		if kind == protowire.VarintType {
			x, size := protowire.ConsumeVarint(b)
			if size < 0 || v.Kind() == reflect.Slice || v.Kind() == reflect.String || isMessage(v.Type()) {
				return errMalformed
			}
			b = b[size:]
			set(v, x)
			continue
		}
		body, size := protowire.ConsumeBytes(b)
		if kind != protowire.BytesType || size < 0 {
			return errMalformed
		}
		b = b[size:]
		if err := decodeBytes(body, v); err != nil {
			return err
		}
	}
	return nil
}

// decodeBytes sets field v from the body of a length-delimited record: a string, a message, one
// element of a list of messages, bytes, or packed numbers.
func decodeBytes(body []byte, v reflect.Value) error {
	switch {
	case v.Kind() == reflect.String:
		v.SetString(string(body))
	case isMessage(v.Type()):
		v.Set(reflect.New(v.Type().Elem()))
		return decode(body, v.Elem())
	case v.Kind() != reflect.Slice:
		return errMalformed
	case isMessage(v.Type().Elem()):
		one := reflect.New(v.Type().Elem().Elem())
		v.Set(reflect.Append(v, one))
		return decode(body, one.Elem())
	case v.Type() == reflect.TypeFor[[]byte]():
		v.SetBytes(append([]byte{}, body...))
	default:
		for len(body) > 0 {
			x, size := protowire.ConsumeVarint(body)
			if size < 0 {
				return errMalformed
			}
			body = body[size:]
			one := reflect.New(v.Type().Elem()).Elem()
			set(one, x)
			v.Set(reflect.Append(v, one))
		}
	}
	return nil
}

// set sets a number to the one that varint x encodes (see encoded).
func set(v reflect.Value, x uint64) {
	switch {
	case v.CanUint():
		v.SetUint(x)
	case v.Type() == reflect.TypeFor[Enum]():
		v.SetInt(int64(x))
	default:
		v.SetInt(protowire.DecodeZigZag(x))
	}
}
