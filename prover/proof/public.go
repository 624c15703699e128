package proof

import (
	"encoding/binary"
	"math"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"
)

// public are the values of a statement.
type public struct{ inputs, outputs [][]int32 }

// Tags of what a frame of public values holds, all of them bytes.
const (
	tagPublic  = 2<<3 | byte(protowire.BytesType) // in a frame
	tagInputs  = 1<<3 | byte(protowire.BytesType) // in that
	tagOutputs = 2<<3 | byte(protowire.BytesType)
	tagValues  = 1<<3 | byte(protowire.BytesType) // in each of these
)

// decodePublic decodes the canonical encoding of a frame of public values with at most
// so many messages, in one pass: there may be millions of values. It reports false for
// anything else, of which the general decoder knows what is wrong.
func decodePublic(b []byte, messages int) (p public, ok bool) {
	b, rest, ok := cutField(b, tagPublic)
	if !ok || len(rest) > 0 {
		return p, false
	}
	messages -= 2
	for _, list := range []struct {
		tag byte
		to  *[][]int32
	}{{tagInputs, &p.inputs}, {tagOutputs, &p.outputs}} {
		*list.to = [][]int32{}
		for len(b) > 0 && b[0] == list.tag {
			var body []byte
			if body, b, ok = cutField(b, list.tag); !ok {
				return p, false
			}
			var values []int32
			if len(body) > 0 {
				packed, rest, ok := cutField(body, tagValues)
				if !ok || len(rest) > 0 || len(packed) == 0 {
					return p, false
				}
				if values, ok = decodePacked(packed); !ok {
					return p, false
				}
			}
			*list.to = append(*list.to, values)
			messages--
		}
	}
	return p, len(b) == 0 && messages >= 0
}

// cutField cuts the field with a tag from the beginning of b.
func cutField(b []byte, tag byte) (body, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != tag {
		return nil, nil, false
	}
	v, n, err := consumeVarint(b[1:])
	if err != nil || v > uint64(len(b)-1-n) {
		return nil, nil, false
	}
	b = b[1+n:]
	return b[:v], b[v:], true
}

// decodePacked decodes zigzag varints of 32 bits.
func decodePacked(b []byte) ([]int32, bool) {
	n := 0 // last bytes of varints
	at := 0
	for ; at+8 <= len(b); at += 8 {
		n += bits.OnesCount64(^binary.LittleEndian.Uint64(b[at:]) & 0x8080808080808080)
	}
	for _, c := range b[at:] {
		if c < 0x80 {
			n++
		}
	}
	values := make([]int32, 0, n)
	for i := 0; i < len(b); {
		v := uint64(b[i])
		i++
		if v >= 0x80 {
			v &= 0x7f
			for shift := 7; ; shift += 7 {
				if i == len(b) || shift > 28 {
					return nil, false
				}
				c := uint64(b[i])
				i++
				v |= c & 0x7f << shift
				if c < 0x80 {
					if c == 0 || v > math.MaxUint32 {
						return nil, false
					}
					break
				}
			}
		}
		values = append(values, int32(uint32(v)>>1)^-int32(v&1))
	}
	return values, true
}
