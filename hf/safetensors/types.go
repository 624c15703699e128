package safetensors

import (
	"encoding/binary"
	"math"

	"github.com/prove-model/prove-model/internal/narrow"
)

// dtype is how elements of a type are stored.
type dtype struct {
	bytes  int                             // of an element
	decode func(dst []float32, src []byte) // decodes floats; nil for float32 and for integers
	whole  func(src []byte) int64          // reads an integer; nil for floats
	finite func(src []byte) bool           // if set, reports without decoding whether all elements are finite
}

var le = binary.LittleEndian

// floats is a type of floats with the given size; one decodes the float that src begins with.
func floats(bytes int, one func(src []byte) float32) dtype {
	return dtype{bytes: bytes, decode: func(dst []float32, src []byte) {
		for i := range dst {
			dst[i] = one(src[i*bytes:])
		}
	}}
}

// whole is a type of integers with the given size; one reads the integer that src begins with.
func whole(bytes int, one func(src []byte) int64) dtype { return dtype{bytes: bytes, whole: one} }

// dtypes are the types that tensors may have. Doubles are rounded to float32, the type of
// a model's constants. A U64 of more than 63 bits is read as the negative
// number with the same bits, which is not a valid index.
var dtypes = map[string]dtype{
	"F32":     {bytes: 4},
	"F64":     floats(8, func(b []byte) float32 { return float32(math.Float64frombits(le.Uint64(b))) }),
	"F16":     {bytes: 2, decode: narrow.Float16s, finite: narrow.FiniteFloat16s},
	"BF16":    {bytes: 2, decode: narrow.BFloat16s, finite: narrow.FiniteBFloat16s},
	"F8_E4M3": floats(1, func(b []byte) float32 { return narrow.E4M3(b[0]) }),
	"F8_E5M2": floats(1, func(b []byte) float32 { return narrow.E5M2(b[0]) }),
	"BOOL":    whole(1, func(b []byte) int64 { return int64(b[0]) }),
	"U8":      whole(1, func(b []byte) int64 { return int64(b[0]) }),
	"I8":      whole(1, func(b []byte) int64 { return int64(int8(b[0])) }),
	"U16":     whole(2, func(b []byte) int64 { return int64(le.Uint16(b)) }),
	"I16":     whole(2, func(b []byte) int64 { return int64(int16(le.Uint16(b))) }),
	"U32":     whole(4, func(b []byte) int64 { return int64(le.Uint32(b)) }),
	"I32":     whole(4, func(b []byte) int64 { return int64(int32(le.Uint32(b))) }),
	"U64":     whole(8, func(b []byte) int64 { return int64(le.Uint64(b)) }),
	"I64":     whole(8, func(b []byte) int64 { return int64(le.Uint64(b)) }),
}
