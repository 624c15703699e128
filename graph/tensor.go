package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Tensor is a constant, row-major. Exactly one of F32, I64 and Stored is set: F32 or
// Stored for float types (a double is rounded), I64 for integers and bool (0 and 1).
type Tensor struct {
	Shape  []int
	DType  DType
	F32    []float32 // may be a read-only view of the model file
	I64    []int64
	Stored *Stored
	// Public says that the numbers are part of the architecture: whoever knows the operators
	// of the model may know them. A circuit that hides weights hides the numbers of all
	// other constants.
	Public bool
	// Exact, if not nil, has the elements in float64, for doubles that float32 does not hold exactly. Only runs of the float
	// model use it (Graph.Typed).
	Exact []float64
}

// Len returns the number of elements.
func (t *Tensor) Len() int {
	switch {
	case t.I64 != nil:
		return len(t.I64)
	case t.Stored != nil:
		return t.Stored.n
	}
	return len(t.F32)
}

// Floats returns the elements of a tensor of a float type, which must not be changed; nil
// for other types.
func (t *Tensor) Floats() []float32 {
	if t.Stored != nil {
		return t.Stored.floats()
	}
	return t.F32
}

// Read sets dst to the elements from index from on, for a tensor of a float type.
func (t *Tensor) Read(dst []float32, from int) {
	if t.Stored != nil {
		t.Stored.Read(dst, from)
		return
	}
	copy(dst, t.F32[from:][:len(dst)])
}

// At returns element i, in row-major order.
func (t *Tensor) At(i int) float64 {
	if t.I64 != nil {
		return float64(t.I64[i])
	}
	if t.Exact != nil {
		return t.Exact[i]
	}
	return float64(t.Floats()[i])
}

// Float64s returns a copy of the elements.
func (t *Tensor) Float64s() []float64 {
	switch {
	case t.Exact != nil:
		return slices.Clone(t.Exact)
	case t.I64 != nil:
		return convert[float64](t.I64)
	}
	return convert[float64](t.Floats())
}

// all reports whether something holds for all elements.
func (t *Tensor) all(holds func(x float64) bool) bool {
	for i := range t.Len() {
		if !holds(t.At(i)) {
			return false
		}
	}
	return true
}

// Uniform returns the number that all elements equal, or false if they differ. The tensor must
// have at least one element.
func (t *Tensor) Uniform() (float64, bool) {
	first := t.At(0)
	if !t.all(func(x float64) bool { return x == first }) {
		return 0, false
	}
	return first, true
}

// check refuses a malformed tensor, which a caller may have passed.
func (t *Tensor) check() {
	refuse.If(!t.DType.Known(), "%v is not supported", t.DType)
	must.OK(checkInts(t.Shape))
	float := t.F32 != nil || t.Stored != nil
	refuse.If(float == (t.I64 != nil) || t.F32 != nil && t.Stored != nil || t.DType.IsFloat() != float,
		"a tensor of type %v has %d floats and %d integers", t.DType, len(t.F32), len(t.I64))
	refuse.If(t.Len() != Size(t.Shape), "%d elements, but shape %v has %d", t.Len(), t.Shape, Size(t.Shape))
	if i := FirstNonFinite(t.F32); i >= 0 {
		refuse.With("element %d is %v, which no integer stands for", i, t.F32[i])
	}
}

// leastFloat stands for −∞ in constants. The sum of several such numbers is still finite
// in float32.
const leastFloat = -1e30

// bounded returns the tensor with −10^30 in place of −∞: t itself if it has no −∞, else a
// copy.
func (t *Tensor) bounded() *Tensor {
	inf := float32(math.Inf(-1))
	at := slices.Index(t.F32, inf) // Stored constants are finite
	if at < 0 {
		return t
	}
	v := slices.Clone(t.F32)
	for ; at < len(v); at++ {
		if v[at] == inf {
			v[at] = leastFloat
		}
	}
	return &Tensor{Shape: t.Shape, DType: t.DType, F32: v, Public: t.Public}
}

// FirstNonFinite returns the index of the first NaN or infinity, or −1.
func FirstNonFinite(v []float32) int {
	for i, x := range v {
		if x-x != 0 { // 0 for finite x, NaN otherwise
			return i
		}
	}
	return -1
}

// cast converts a constant to type dt as the Cast operator does. It returns an error if
// an element does not fit an integer type.
func (t *Tensor) cast(dt DType) (*Tensor, error) {
	if dt.IsFloat() {
		if t.I64 == nil {
			return &Tensor{Shape: t.Shape, DType: Float, F32: t.F32, Stored: t.Stored, Public: t.Public}, nil
		}
		return &Tensor{Shape: t.Shape, DType: Float, F32: convert[float32](t.I64), Public: t.Public}, nil
	}
	out := &Tensor{Shape: t.Shape, DType: dt, I64: make([]int64, t.Len()), Public: t.Public}
	lo, hi := dt.Bounds()
	for i := range out.I64 {
		if dt == Bool {
			if t.At(i) != 0 {
				out.I64[i] = 1
			}
			continue
		}
		if t.I64 == nil {
			v := t.At(i)
			if v < -(1<<63) || v >= 1<<63 {
				return nil, fmt.Errorf("element %d, %v, does not fit %v", i, v, dt)
			}
			out.I64[i] = int64(v)
		} else {
			out.I64[i] = t.I64[i]
		}
		if out.I64[i] < lo || out.I64[i] > hi {
			return nil, fmt.Errorf("element %d, %d, does not fit %v", i, out.I64[i], dt)
		}
	}
	return out, nil
}
