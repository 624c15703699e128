package fixed

import (
	"math"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Constants that are functions of their indexes, such as causal masks, positions and
// identity matrices, are not committed to: the verifier evaluates them.

// Band is a set of adjacent diagonals of a matrix: the entries [i, j] with Least ≤ j − i ≤ Most.
type Band struct{ Least, Most int }

// BandOf returns the band that consists of those entries of an n×m matrix for which wanted, of the row-major index, is true. It
// returns nil if these entries are no band, or if there are none.
func BandOf(n, m int, wanted func(at int) bool) *Band {
	b := &Band{m, -n}
	for at := range n * m {
		if d := at%m - at/m; wanted(at) {
			b.Least, b.Most = min(b.Least, d), max(b.Most, d)
		}
	}
	for at := range n * m {
		if d := at%m - at/m; wanted(at) != (d >= b.Least && d <= b.Most) {
			return nil
		}
	}
	if b.Least > b.Most {
		return nil
	}
	return b
}

// matrixFormula returns the formula of the n×m matrix that is 1 where wanted, of the row-major
// index, is true and 0 elsewhere: of a band that reaches a corner, or of one diagonal. It returns
// nil for other matrices, and for one that is 1 everywhere.
func matrixFormula(n, m int, wanted func(at int) bool) *model.Formula {
	if n < 2 || m < 2 {
		return nil
	}
	switch b := BandOf(n, m, wanted); {
	case b == nil || b.Least == 1-n && b.Most == m-1:
		return nil
	case b.Most == m-1: // i ≤ j + offset
		return &model.Formula{Kind: model.AtMost, Offset: int64(-b.Least)}
	case b.Least == 1-n:
		return &model.Formula{Kind: model.AtLeast, Offset: int64(-b.Most)}
	case b.Least == b.Most:
		return &model.Formula{Kind: model.Equal, Offset: int64(-b.Least)}
	}
	return nil
}

// Mask adds a constant tensor that is 1 where one, of the row-major index, is true and 0 elsewhere.
// labels are the labels of its axes in a product. If the last two axes have a formula, and the
// others only repeat these, the tensor is by formula and has the last two axes alone. Mask returns
// the labels of the axes that the tensor has.
func (b *Builder) Mask(name string, shape, labels []int, one func(at int) bool) (model.TensorID, []int) {
	if r := len(shape); r >= 2 {
		n, m := shape[r-2], shape[r-1]
		if f := matrixFormula(n, m, one); f != nil && repeats(n*m, model.Size(shape), one) {
			return b.Formula(name, shape[r-2:], 0, f, 0, 1), labels[r-2:]
		}
	}
	return b.Fixed(name, shape, 0, 0, 1, func(dst []int32, from int) {
		for i := range dst {
			dst[i] = 0
			if one(from + i) {
				dst[i] = 1
			}
		}
	}), labels
}

// repeats reports whether size entries are copies of the first n.
func repeats(n, size int, one func(at int) bool) bool {
	for i := n; i < size; i++ {
		if one(i) != one(i%n) {
			return false
		}
	}
	return true
}

// Formula adds a tensor by formula.
func (b *Builder) Formula(name string, shape []int, frac int, f *model.Formula, lo, hi int64) model.TensorID {
	return b.Add(model.Tensor{Name: name, Shape: shape, Kind: model.ByFormula, Frac: frac, Formula: f, Min: lo, Max: hi})
}

// leastFormula is the least number of entries of a constant that may become a formula: a smaller
// one may match a formula by chance.
const leastFormula = 16

// byFormula adds a constant of the given values, rounded to frac, by formula, if it has one: an
// arithmetic progression, or a multiple of a matrix of zeros and ones (matrixFormula).
func (b *Builder) byFormula(name string, shape []int, values []float64, frac int) (id model.TensorID, ok bool) {
	scale := Pow2(frac)
	at := func(i int) int64 { return int64(math.Round(values[i] * scale)) }
	if len(values) < leastFormula {
		return 0, false
	}
	switch len(shape) {
	case 1:
		f := &model.Formula{Kind: model.Progression, Offset: at(0), Step: at(1) - at(0)}
		for i := range values {
			if f.Step == 0 || at(i) != f.Offset+int64(i)*f.Step {
				return 0, false
			}
		}
		last := at(len(values) - 1)
		return b.Formula(name, shape, frac, f, min(f.Offset, last), max(f.Offset, last)), true
	case 2:
		x := int64(0) // the one value that is not 0
		for i := range values {
			if y := at(i); y != 0 && x != 0 && y != x {
				return 0, false
			} else if y != 0 {
				x = y
			}
		}
		f := matrixFormula(shape[0], shape[1], func(i int) bool { return at(i) != 0 })
		if f == nil {
			return 0, false
		}
		return b.VirtualOf(name, b.Of(b.Formula(name, shape, 0, f, 0, 1)).Times(x).On(frac)), true
	}
	return 0, false
}

// Scalar is a fixed number.
func (b *Builder) Scalar(name string, x int64) model.TensorID {
	return b.Fixed(name, nil, 0, x, x, func(dst []int32, _ int) { dst[0] = int32(x) })
}

// FixedTensor is a fixed tensor whose values are computed when the graph is final.
type FixedTensor struct {
	ID   model.TensorID
	Fill Filler
	// Key identifies the values among those of all weights of the model: tensors with one key
	// have the same values, which are computed once. "" if there is no such key.
	Key string
	// most is the largest magnitude of the values; 0 if it is not known.
	most int64
}

// Filler sets dst to the entries of a fixed tensor from the given one on. It may
// be called for several parts at once.
type Filler func(dst []int32, from int)

// Listed returns a filler that copies the entries of a list.
func Listed(list []int32) Filler { return func(dst []int32, from int) { copy(dst, list[from:]) } }

// Fixed adds a fixed tensor.
func (b *Builder) Fixed(name string, shape []int, frac int, lo, hi int64, fill Filler) model.TensorID {
	id := b.Add(model.Tensor{Name: name, Shape: shape, Kind: model.Fixed, Frac: frac, Min: lo, Max: hi})
	b.FixedTensors = append(b.FixedTensors, FixedTensor{ID: id, Fill: fill})
	return id
}

// Key sets the Key of the fixed tensor that was added last, and the largest magnitude of its values,
// 0 if that is not known.
func (b *Builder) Key(name string, most int64) {
	f := &b.FixedTensors[len(b.FixedTensors)-1]
	f.Key, f.most = name, most
}

// Values computes the values, in integers of 8, 16 or 32 bits, as they need. Integers that turn
// out too narrow are widened, so that large weights never take 32 bits each on the way.
func (f *FixedTensor) Values(t *model.Tensor) ints.Ints {
	n, least := model.Size(t.Shape), f.most-1 // −most fits where most − 1 does; most may need more
	if f.most == 0 {
		// The range may be larger than the values need, so the width for half of it is tried first.
		least = max(t.Max, -t.Min-1) / 2
	}
	for width := ints.WidthFor(least); ; width *= 2 {
		if v, ok := ints.Make(n, width, f.Fill); ok {
			return v
		}
	}
}

// Constant adds a constant tensor of the given values, rounded to multiples of 2^−frac: by formula
// if they have one (byFormula), otherwise a fixed tensor.
func (b *Builder) Constant(name string, shape []int, values []float64, frac int) model.TensorID {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		lo, hi = math.Min(lo, v), math.Max(hi, v)
	}
	scale := Pow2(frac)
	if a := math.Max(-lo, hi) * scale; a >= model.Bound-1 {
		refuse.With("constant %q: %g is too large beside the values it meets", name, math.Max(-lo, hi))
	}
	if id, ok := b.byFormula(name, shape, values, frac); ok {
		return id
	}
	return b.Fixed(name, shape, frac, int64(math.Round(lo*scale)), int64(math.Round(hi*scale)), func(dst []int32, from int) {
		for i := range dst {
			dst[i] = int32(math.Round(values[from+i] * scale))
		}
	})
}
