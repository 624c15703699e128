package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Bits splits integers from 0 to 2^N − 1 into their N binary digits, as truth values along
// a new last axis, the lowest digit first.
type Bits struct {
	N int
	// Zero is the model's integer that the operand has as 0: the operand is the model's
	// integer minus Zero. Only error messages use it, to print the model's integers.
	Zero int64
}

func (t Bits) infer(in []operandType) operandType {
	refuse.If(in[0].dtype.IsFloat() || t.N < 1 || t.N > mostBits, "%d bits of its input of type %v", t.N, in[0].dtype)
	return operandType{shape: append(slices.Clone(in[0].shape), t.N), dtype: Bool}
}

func (t Bits) eval(in []operand, shape []int) operand {
	out := operand{shape: shape, i: make([]int64, 0, Size(shape))}
	for i, x := range in[0].float64s() {
		if v := int64(x); float64(v) != x || v < 0 || v >= 1<<t.N {
			refuse.With("element %d is %.0f: bits are taken of integers from %d to %d, or of any that --fix makes part of the model", i, x+float64(t.Zero), t.Zero, t.Zero+1<<t.N-1)
		}
		for k := range t.N {
			out.i = append(out.i, int64(x)>>k&1)
		}
	}
	return out
}

// mostBits bounds the binary digits into which integers are split. Integers of wider types
// are accepted if they fit into that many.
const mostBits = 23

// digits returns the n lowest bits of x in two's complement, and the weight of each bit. n
// is the number of bits of the type, or most if that is less.
func (b *Builder) digits(x Value, most int) (bits, weights Value, n int) {
	lo, _ := b.DType(x).Bounds()
	n = min(b.DType(x).Bits(), most)
	weights = b.weights(b.DType(x), n)
	zero := int64(0)
	if lo < 0 { // x + 2^(n−1) is not negative; its highest bit is inverted, which is undone below
		zero = -1 << (n - 1)
		x = b.Add(x, b.like(x, float64(-zero)))
	}
	bits = b.emit(Bits{n, zero}, x)
	if lo < 0 && b.valid(bits) {
		last := len(b.Shape(bits)) - 1
		top, lower := b.Not(b.SliceAxis(bits, last, n-1, 1, 1)), b.SliceAxis(bits, last, 0, 1, n-1)
		bits = top
		if n > 1 {
			bits = b.Concat(last, lower, top)
		}
	}
	return bits, weights, n
}

// weights returns the weight of each of n bits in two's complement: 1, 2, 4, …, and a
// negative weight for the last bit of a signed type.
func (b *Builder) weights(dt DType, n int) Value {
	w := filled(n, func(k int) int64 { return 1 << k })
	if lo, _ := dt.Bounds(); lo < 0 {
		w[n-1] = -w[n-1]
	}
	return b.made("digits", &Tensor{Shape: []int{n}, DType: dt, I64: w, Public: true})
}

// BitCast reinterprets the bits of x as a number of another type. For a computed x both types must be
// integers of the same size of up to 16 bits. For a constant it also supports the types of 32 and 64 bits,
// except from Double, as a constant does not keep the lower bits of doubles.
func (b *Builder) BitCast(x Value, to DType) Value {
	if !b.valid(x) {
		return x
	}
	from := b.DType(x)
	if t := b.Tensor(x); t != nil && from != to {
		if out := t.bitCast(to); out != nil {
			return b.made("BitCast", out)
		}
	}
	if from.IsFloat() || to.IsFloat() || !to.Known() || to == Bool || from.Bits() != to.Bits() || to.Bits() > 16 {
		why := ""
		if from != Double {
			why = ", and of others it must be of a constant, but " + b.Depends(x)
		}
		return b.Failf("from %v to %v: between integers of one size of up to 16 bits alone is it a function that a proof has%s", from, to, why)
	}
	if from == Bool || from == to {
		return b.Cast(x, to)
	}
	bits, _, n := b.digits(x, mostBits)
	return b.weighed(b.Cast(bits, to), b.weights(to, n))
}

// Bitwise applies And, Or or Xor to the bits of two values of integers, which broadcast.
func (b *Builder) Bitwise(c Comparison, x, y Value) (out Value) {
	defer b.refused(&out)
	b.need(x, y)
	refuse.If(b.DType(x).IsFloat() || b.DType(x) == Bool || b.DType(y).IsFloat(),
		"its inputs have types %v and %v", b.DType(x), b.DType(y))
	if b.Tensor(x) != nil && b.Tensor(y) != nil {
		f := map[Comparison]func(a, b int64) int64{
			And: func(a, b int64) int64 { return a & b }, Or: func(a, b int64) int64 { return a | b }, Xor: func(a, b int64) int64 { return a ^ b },
		}[c]
		shape := b.common(x, y)
		refuse.If(b.Failed() || !b.spend(Size(shape)), "the constant of shape %v that it makes is too large", shape)
		s, t := b.Tensor(x), b.Tensor(y)
		return b.made(Kind(c), &Tensor{Shape: shape, DType: b.DType(x), I64: zipWith(s.I64, t.I64, s.Shape, t.Shape, shape, f)})
	}
	dt := b.DType(x)
	bx, weights, _ := b.digits(x, mostBits)
	by, _, _ := b.digits(y, mostBits)
	if c == Xor { // a + b − 2ab, which takes one product for each pair of bits
		ix, iy := b.Cast(bx, dt), b.Cast(by, dt)
		both := b.Mul(ix, iy)
		return b.weighed(b.Sub(b.Add(ix, iy), b.Add(both, both)), weights)
	}
	return b.weighed(b.Cast(b.Compare(c, bx, by), dt), weights)
}

// weighed returns the sum along the last axis of bits times weights.
func (b *Builder) weighed(bits, weights Value) Value {
	return b.Reduce(Sum, b.Mul(bits, weights), []int{len(b.Shape(bits)) - 1}, false)
}

// BitwiseNot flips all bits of integers.
func (b *Builder) BitwiseNot(x Value) (out Value) {
	defer b.refused(&out)
	b.need(x)
	dt := b.DType(x)
	lo, hi := dt.Bounds()
	refuse.If(dt.IsFloat() || dt == Bool, "its input has type %v", dt)
	if dt.Bits() > mostBits {
		refuse.If(lo == 0 && b.Tensor(x) == nil,
			"of integers of type %v that are computed the result takes more bits than a proof has", dt)
		if b.Tensor(x) == nil { // through digits, so that a run with integers of more than mostBits bits is refused
			bits, weights, _ := b.digits(x, mostBits)
			x = b.weighed(b.Cast(bits, dt), weights)
		}
	}
	if lo < 0 {
		hi = -1
	}
	return b.Sub(b.made("ones", &Tensor{Shape: []int{}, DType: dt, I64: []int64{hi}}), x)
}

// Shift moves the bits of integers up (towards higher bits) or down by constant amounts.
// Moving by at least the type's width, or by a negative amount, leaves 0, or −1 for a
// negative integer moved down.
func (b *Builder) Shift(x Value, by *Tensor, up bool) (out Value) {
	defer b.refused(&out)
	b.need(x)
	dt := b.DType(x)
	shape, ok := Broadcast(b.Shape(x), by.Shape)
	refuse.If(!ok || by.I64 == nil || dt.IsFloat() || dt == Bool,
		"amounts of shape %v and type %v for shape %v and type %v", by.Shape, by.DType, b.Shape(x), dt)
	lo, hi := dt.Bounds()
	width := dt.Bits()
	if t := b.Tensor(x); t != nil {
		refuse.If(!b.spend(Size(shape)), "the constant of shape %v that it makes is too large", shape)
		v := zipWith(t.I64, by.I64, t.Shape, by.Shape, shape, func(a, s int64) int64 {
			return shifted(a, s, width, lo, hi, up)
		})
		return b.made("Shift", &Tensor{Shape: shape, DType: dt, I64: v})
	}
	most := mostBits
	if up && width > mostBits { // the result has at most mostBits bits, so x must have fewer
		for _, s := range by.I64 {
			if s > 0 && s < int64(width) {
				most = min(most, mostBits-int(s))
			}
		}
		if most < 2 {
			return b.Failf("integers of type %v moved up by that much: a result has at most %d bits unless it is constant, but %s", dt, mostBits, b.Depends(x))
		}
	}
	bits, _, n := b.digits(x, most)
	b.needRoom(by.Len(), n)
	// The weight of a bit depends on the amount by which its element is moved.
	weights := make([]int64, 0, by.Len()*n)
	for _, s := range by.I64 {
		if s < 0 || s > int64(width) {
			s = int64(width)
		}
		for j := range n {
			weights = append(weights, weightOfShifted(j, int(s), n, dt, up))
		}
	}
	return b.weighed(b.Cast(bits, dt), b.made("digits", &Tensor{Shape: append(slices.Clone(by.Shape), n), DType: dt, I64: weights, Public: by.Public}))
}

// weightOfShifted is the weight in the result of bit j of an integer with n bits that is
// moved by s.
func weightOfShifted(j, s, n int, dt DType, up bool) int64 {
	width := dt.Bits()
	lo, _ := dt.Bounds()
	sign := j == n-1 && lo < 0
	to := j - s
	if up {
		to = j + s
	}
	switch {
	case to >= width: // moved out at the top
		return 0
	case sign && !up: // the sign fills the places that become free
		return -1 << max(to, 0)
	case to < 0:
		return 0
	case sign && width > mostBits || lo < 0 && to == width-1:
		return -1 << to
	}
	return 1 << to
}

// shifted is the integer a, of a type of the given width and range, moved up or down by s
// bits.
func shifted(a, s int64, width int, lo, hi int64, up bool) int64 {
	if s < 0 || s >= int64(width) {
		if up || a >= 0 {
			return 0
		}
		return -1
	}
	if !up {
		return a >> s
	}
	a <<= s
	if width < 64 {
		// Keep width bits, and read them as two's complement if the type is signed.
		if a &= 1<<width - 1; a > hi {
			a += 2 * lo
		}
	}
	return a
}

// bitCast returns the constant whose elements have the bits of t's, read as type to. It returns nil
// if the types are not supported, or a result cannot be stored exactly.
func (t *Tensor) bitCast(to DType) *Tensor {
	from := t.DType
	var read func(i int) uint64
	switch {
	case from == Float:
		v := t.Floats()
		read = func(i int) uint64 { return uint64(math.Float32bits(v[i])) }
	case t.I64 != nil && from != Bool:
		read = func(i int) uint64 { return uint64(t.I64[i]) }
	default:
		return nil
	}
	if from.Bits() < 32 || from.Bits() != to.Bits() {
		return nil
	}
	out := &Tensor{Shape: slices.Clone(t.Shape), DType: to, Public: t.Public}
	for i := range t.Len() {
		switch bits := read(i); to {
		case Float:
			out.F32 = append(out.F32, math.Float32frombits(uint32(bits)))
		case Double:
			x := math.Float64frombits(bits)
			if x != float64(float32(x)) {
				return nil // a constant stores float32
			}
			out.F32 = append(out.F32, float32(x))
		case Int32:
			out.I64 = append(out.I64, int64(int32(bits)))
		case Uint32:
			out.I64 = append(out.I64, int64(uint32(bits)))
		case Int64:
			out.I64 = append(out.I64, int64(bits))
		default:
			if int64(bits) < 0 {
				return nil // beyond int64
			}
			out.I64 = append(out.I64, int64(bits))
		}
	}
	if t.Len() == 0 || FirstNonFinite(out.F32) >= 0 {
		return nil
	}
	return out
}
