package proof

import "google.golang.org/protobuf/encoding/protowire"

// fields are the fields of a message that has passed checkCanonical, in their order: all
// of them numbers or strings of bytes. It is a string so that names are parts of it.
type fields string

// varint takes the number that comes next.
func (m *fields) varint() uint64 {
	v := uint64(0)
	for i := range len(*m) {
		c := (*m)[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			*m = (*m)[i+1:]
			return v
		}
	}
	*m = ""
	return v
}

// next takes the next field: its number in the schema, and its value or its bytes.
func (m *fields) next() (num protowire.Number, v uint64, body fields) {
	if s := *m; len(s) >= 2 && s[0]|s[1] < 0x80 { // as nearly all are
		v, rest := uint64(s[1]), s[2:]
		if protowire.Type(s[0]&7) == protowire.BytesType {
			n := min(v, uint64(len(rest)))
			body, rest = rest[:n], rest[n:]
		}
		*m = rest
		return protowire.Number(s[0] >> 3), v, body
	}
	num, typ := protowire.DecodeTag(m.varint())
	v = m.varint()
	if typ == protowire.BytesType {
		n := min(v, uint64(len(*m)))
		body, *m = (*m)[:n], (*m)[n:]
	}
	return num, v, body
}

// count returns how many fields of a number come next.
func (m fields) count(num protowire.Number) int {
	n := 0
	for len(m) > 0 {
		if got, _, _ := m.next(); got != num {
			break
		}
		n++
	}
	return n
}

// numbers returns how many numbers a packed list has.
func (m fields) numbers() int {
	n := 0
	for i := range len(m) {
		if m[i] < 0x80 {
			n++
		}
	}
	return n
}

// signed is the number that a value of a signed type stands for.
func signed(v uint64) int64 { return protowire.DecodeZigZag(v) }
