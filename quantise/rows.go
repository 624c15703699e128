package quantise

import (
	"math/big"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// rows are a tensor's parts along some axes: one for each entry along the others.
type rows struct {
	of, shape  []int // of the tensor, and what is left of it
	labels     []int // by axis of shape, its axis in the tensor
	contracted []int // by axis of the tensor, its label in a product that sums over rows
	sum        *model.View
	count      int // entries of a row
}

func rowsOf(of, axes []int) rows {
	r := rows{of: of, shape: []int{}, sum: &model.View{}, count: 1}
	for i, d := range of {
		if slices.Contains(axes, i) {
			r.count *= d
			r.contracted = append(r.contracted, len(of)+i)
			r.sum.Groups = append(r.sum.Groups, model.Group{In: []int{i}, Sum: []model.SumIndex{{Dim: d, Stride: 1}}})
			continue
		}
		r.contracted = append(r.contracted, len(r.shape))
		r.sum.Groups = append(r.sum.Groups, axis(len(r.shape), i))
		r.labels = append(r.labels, i)
		r.shape = append(r.shape, d)
	}
	return r
}

// allLabels are the labels of an operand that has all axes of its product.
func allLabels(shape []int) []int {
	labels := make([]int, len(shape))
	for i := range labels {
		labels[i] = i
	}
	return labels
}

// repeated views a tensor of the rows' shape as one of the whole's.
func (r rows) repeated() *model.View { return labelView(r.labels, r.of) }

// centred returns x less its row's mean, or a multiple of that: exactly in short
// rows, as count·x less the sum, and otherwise with the mean rounded on a finer
// scale than x.
func (l *builder) centred(r rows, id model.TensorID, count int) (of model.TensorID, times int) {
	t, m := l.g.Tensors[id], l.magnitude(id)
	if count <= 64 && 2*int64(count)*m < 1<<28 {
		sum := l.virtual("sum", r.shape, []model.Linear{{Coef: 1, Src: id, View: r.sum}}, t.Frac)
		most := 2 * int64(count) * m
		return l.add(model.Tensor{Name: "from the mean", Shape: r.of, Kind: model.Virtual, Frac: t.Frac, Min: -most, Max: most,
			Def: []model.Linear{{Coef: int64(count), Src: id}, {Coef: -1, Src: sum, View: r.repeated()}}}), count
	}
	guard := min(4, max(0, 27-model.Log2Ceil(int(m))))
	offset := int64(1) << model.Log2Ceil(int(m))
	mean := l.mean(r, id, offset, guard)
	def := []model.Linear{{Coef: 1 << guard, Src: id}, {Coef: 1 << guard, Src: l.scalar("offset", offset), View: labelView(nil, r.of)}}
	for _, part := range mean {
		def = append(def, model.Linear{Coef: -part.Coef, Src: part.Src, View: r.repeated()})
	}
	most := 2*m<<guard + 1
	return l.add(model.Tensor{Name: "from the mean", Shape: r.of, Kind: model.Virtual, Frac: t.Frac + guard, Min: -most, Max: most, Def: def}), 1
}

const meanLimb = 10 // bits of the limbs of long sums

// mean is 2^guard·(mean + offset) of rows, rounded, as a sum of parts. offset is at
// least as large as any entry.
//
// It is long division: the digits of the sum, from the highest on, each with the
// remainder from the one before; the last remainder gives the guard bits.
func (l *builder) mean(r rows, id model.TensorID, offset int64, guard int) []model.Linear {
	limbs, count := []model.TensorID{id}, int64(r.count)
	if count*l.magnitude(id) >= 1<<29 {
		limbs = l.limbs(id, meanLimb, min(28-model.Log2Ceil(r.count), digitBits), 1)
	}
	w := wide{shape: r.shape, constant: big.NewInt(count * offset)}
	for i, limb := range limbs {
		e := l.tensorExpr(limb, r.sum, r.shape)
		e.min, e.max = e.min*count, e.max*count
		w.terms = append(w.terms, wideTerm{e, meanLimb * i})
	}
	digits := l.digits("sum", w, big.NewInt(2*count*offset))
	den := l.scalar("entries of a row", count)
	if len(r.shape) > 0 {
		den = l.virtual("divisor", r.shape, []model.Linear{{Coef: 1, Src: den, View: labelView(nil, r.shape)}}, 0)
	}
	var parts []model.Linear
	divide := func(e *expr, bits int) *expr {
		q := l.witness("mean, digit", r.shape, 0, 0, 1<<bits-1)
		rest := l.division(e.acc, den, q, count-1)
		l.inRange(l.tensorExpr(q, nil, r.shape), bits)
		parts = append(parts, model.Linear{Src: q})
		return rest
	}
	rest := &expr{shape: r.shape}
	for i := len(digits) - 1; i >= 0; i-- {
		l.inRange(l.tensorExpr(digits[i], nil, r.shape), digitBits)
		rest = divide(rest.times(1<<digitBits).plus(l.tensorExpr(digits[i], nil, r.shape)), digitBits)
		parts[len(parts)-1].Coef = 1 << (digitBits*i + guard)
	}
	half := &expr{shape: r.shape, acc: model.Acc{Const: count / 2}}
	divide(rest.times(1<<guard).plus(half), guard+1)
	parts[len(parts)-1].Coef = 1
	// The mean is below 2·offset, so that higher digits are 0.
	return slices.DeleteFunc(parts, func(p model.Linear) bool { return p.Coef>>guard > 2*offset })
}

// scalar is a fixed number.
func (l *builder) scalar(name string, x int64) model.TensorID {
	return l.fixed(name, nil, 0, x, x, func(dst []int32, _ int) { dst[0] = int32(x) })
}
