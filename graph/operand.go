package graph

// operand is a value during evaluation. Besides shape, one field is set: f for computed
// values and for float64 results of folding, w for float constants in float32, i for
// integer constants, or stored for a constant that is read in parts (see partly).
type operand struct {
	shape  []int
	f      []float64
	w      []float32
	i      []int64
	stored *Stored
}

// partly reports whether op can read its operand with the given index in parts, if that
// is a Stored constant. Such a constant is never in memory as float32 as a whole.
func partly(op Op, operand int) bool {
	switch op := op.(type) {
	case Gemm:
		return operand == 1 && op.TransB
	case Experts:
		return operand == 1
	case Take:
		return operand == 0 && op.Axis == 0
	}
	return false
}

// float64s returns the elements as float64, without a copy if they are float64 already.
func (o operand) float64s() []float64 {
	if o.f != nil {
		return o.f
	}
	if o.i != nil {
		return convert[float64](o.i)
	}
	return convert[float64](o.w)
}

// number is the constraint for elements of tensors.
type number interface{ float32 | float64 | int64 }

// convert converts each number of a list to another type, as Go does.
func convert[D, S number](src []S) []D {
	out := make([]D, len(src))
	for i, v := range src {
		out[i] = D(v)
	}
	return out
}

// each returns f(x) for each x of a list.
func each[A, B any](list []A, f func(A) B) []B {
	return filled(len(list), func(i int) B { return f(list[i]) })
}

// filled returns f(0), …, f(n−1).
func filled[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// tensor stores the operand as a constant of type dt, which is Float or an
// integer type.
func (o operand) tensor(dt DType) *Tensor {
	t := &Tensor{Shape: o.shape, DType: dt}
	if dt.IsFloat() {
		t.F32 = o.w
		if t.F32 == nil {
			t.F32 = convert[float32](o.float64s())
		}
		return t
	}
	t.I64 = o.i
	if t.I64 == nil {
		t.I64 = convert[int64](o.float64s())
	}
	return t
}
