package weights

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

// stored is a tensor of 6 rows of 12 numbers in blocks of 4, the rows in another order.
func stored() *Tensor {
	t := &Tensor{
		Name: "w", Shape: []int{6, 12}, Type: "test", Elems: 4, Bytes: 16, Raw: make([]byte, 4*72),
		Decode: func(dst []float32, src []byte) {
			for i := range dst {
				dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
			}
		},
		Row: func(i int) int { return (i + 2) % 6 },
	}
	for i := range 72 {
		binary.LittleEndian.PutUint32(t.Raw[4*i:], math.Float32bits(float32(i)))
	}
	return t
}

// Any part of a stored tensor has the numbers that the whole has.
func TestStored(t *testing.T) {
	for _, rows := range []bool{true, false} {
		x := stored()
		if !rows {
			x.Row = nil
		}
		want, err := x.Floats()
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.Stored()
		if err != nil {
			t.Fatal(err)
		}
		for from := range want {
			for to := from; to <= len(want); to++ {
				got := make([]float32, to-from)
				s.Read(got, from)
				if !slices.Equal(got, want[from:to]) {
					t.Fatalf("rows %t: [%d, %d) is %v, not %v", rows, from, to, got, want[from:to])
				}
			}
		}
	}
}

func TestStoredRefuses(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		x := stored()
		// Stored in row 3, which is row 1 of the tensor.
		binary.LittleEndian.PutUint32(x.Raw[4*(3*12+7):], math.Float32bits(bad))
		if _, err := x.Stored(); err == nil || !strings.Contains(err.Error(), `"w": element 19 `) {
			t.Errorf("%v: error %v", bad, err)
		}
	}
	x := stored()
	x.Whole = func([]byte) int64 { return 0 }
	if _, err := x.Stored(); err == nil {
		t.Error("integers: accepted")
	}
}
