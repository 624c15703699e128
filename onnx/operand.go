package onnx

import "fmt"

// operand is a value at evaluation. One of the slices is set: f for computed
// values and what follows from them, w for float constants as they are stored,
// i for integer constants.
type operand struct {
	shape []int
	f     []float64
	w     []float32
	i     []int64
}

// constOperand returns t for folding, where integers stay integers.
func constOperand(t *Tensor) operand {
	return operand{shape: t.Shape, w: t.F32, i: t.I64}
}

// float64s returns the elements as float64, without a copy where they are.
func (o operand) float64s() []float64 {
	if o.f != nil {
		return o.f
	}
	if o.i != nil {
		return convert[float64](o.i)
	}
	return convert[float64](o.w)
}

// number is what tensors hold.
type number interface{ float32 | float64 | int64 }

func convert[D, S number](src []S) []D {
	out := make([]D, len(src))
	for i, v := range src {
		out[i] = D(v)
	}
	return out
}

// tensor stores the operand as a constant of type dt, which is Float or an
// integer type. Non-finite floats are refused.
func (o operand) tensor(dt DType) (*Tensor, error) {
	t := &Tensor{Shape: o.shape, DType: dt}
	if dt.IsFloat() {
		t.F32 = o.w
		if t.F32 == nil {
			t.F32 = convert[float32](o.float64s())
		}
		if i := firstNonFinite(t.F32); i >= 0 {
			return nil, fmt.Errorf("element %d is %v", i, t.F32[i])
		}
		return t, nil
	}
	t.I64 = o.i
	if t.I64 == nil {
		t.I64 = convert[int64](o.float64s())
	}
	return t, nil
}

// cast converts a constant to type dt as the Cast operator does. What does not
// fit an integer type is an error.
func (t *Tensor) cast(dt DType) (*Tensor, error) {
	if dt.IsFloat() {
		if t.F32 != nil {
			return &Tensor{Shape: t.Shape, DType: Float, F32: t.F32}, nil
		}
		return &Tensor{Shape: t.Shape, DType: Float, F32: convert[float32](t.I64)}, nil
	}
	out := &Tensor{Shape: t.Shape, DType: dt, I64: make([]int64, t.Len())}
	lo, hi := intRange(dt)
	for i := range out.I64 {
		if dt == Bool {
			if t.At(i) != 0 {
				out.I64[i] = 1
			}
			continue
		}
		if t.F32 != nil {
			v := float64(t.F32[i])
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
