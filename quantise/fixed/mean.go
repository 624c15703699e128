package fixed

import (
	"math/big"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Rows are a tensor's parts along some axes: one for each entry along the others.
type Rows struct {
	of, Shape  []int // of the tensor, and what is left of it
	labels     []int // by axis of shape, its axis in the tensor
	contracted []int // by axis of the tensor, its label in a product that sums over rows
	sum        *model.View
	Count      int // entries of a row
}

// RowsOf are the rows of a tensor of a shape along axes of it.
func RowsOf(of, axes []int) Rows {
	r := Rows{of: of, Shape: []int{}}
	r.sum, r.Count = SumView(of, axes, false)
	for i, d := range of {
		if slices.Contains(axes, i) {
			r.contracted = append(r.contracted, len(of)+i)
			continue
		}
		r.contracted = append(r.contracted, len(r.Shape))
		r.labels = append(r.labels, i)
		r.Shape = append(r.Shape, d)
	}
	return r
}

// repeated views a tensor of the rows' shape as one of the whole's.
func (r Rows) repeated() *model.View { return LabelView(r.labels, r.of) }

// Centred returns x less its row's mean, or a multiple of that: exactly in short
// rows, as count·x less the sum, and otherwise with the mean rounded on a finer
// scale than x.
func (b *Builder) Centred(r Rows, id model.TensorID, count int) (of model.TensorID, times int) {
	m := b.Magnitude(id)
	if count <= 64 && 2*int64(count)*m < 1<<28 {
		sum := b.Viewed("sum", id, r.sum, r.Shape)
		most := 2 * int64(count) * m
		return b.VirtualOf("from the mean", b.Of(id).Times(int64(count)).Minus(b.View(sum, r.repeated(), r.of)).Within(-most, most)), count
	}
	guard := min(4, max(0, 27-model.Log2Ceil(int(m))))
	offset := int64(1) << model.Log2Ceil(int(m))
	mean := b.mean(r, id, offset, guard)
	e := b.Of(id).Plus(b.View(b.Scalar("offset", offset), LabelView(nil, r.of), r.of)).Finer(guard)
	for _, part := range mean {
		e = e.Minus(b.View(part.Src, r.repeated(), r.of).Times(part.Coef))
	}
	most := 2*m<<guard + 1
	return b.VirtualOf("from the mean", e.Within(-most, most)), 1
}

const meanLimb = 10 // bits of the limbs of long sums

// mean is 2^guard·(mean + offset) of rows, rounded, as a sum of parts. offset is at
// least as large as any entry.
//
// It is long division: the digits of the sum, from the highest on, each with the
// remainder from the one before; the last remainder gives the guard bits.
func (b *Builder) mean(r Rows, id model.TensorID, offset int64, guard int) []model.Linear {
	limbs, count := []model.TensorID{id}, int64(r.Count)
	if count*b.Magnitude(id) >= 1<<29 {
		limbs = b.limbs(id, meanLimb, min(28-model.Log2Ceil(r.Count), digitBits))
	}
	w := wide{shape: r.Shape, constant: big.NewInt(count * offset)}
	for i, limb := range limbs {
		e := b.View(limb, r.sum, r.Shape)
		e.Min, e.Max = e.Min*count, e.Max*count
		w.terms = append(w.terms, wideTerm{e, meanLimb * i})
	}
	digits := b.digits("sum", w, big.NewInt(2*count*offset))
	den := b.Scalar("entries of a row", count)
	if len(r.Shape) > 0 {
		den = b.Viewed("divisor", den, LabelView(nil, r.Shape), r.Shape)
	}
	var parts []model.Linear
	divide := func(e *Int, bits int) *Int {
		q := b.Witness("mean, digit", r.Shape, 0, 0, 1<<bits-1)
		rest := b.Division(e.Acc, den, q, count-1)
		b.InRange(b.View(q, nil, r.Shape), bits)
		parts = append(parts, model.Linear{Src: q})
		return rest
	}
	rest := &Int{Shape: r.Shape}
	for i := len(digits) - 1; i >= 0; i-- {
		b.InRange(b.View(digits[i], nil, r.Shape), digitBits)
		rest = divide(rest.Times(1<<digitBits).Plus(b.View(digits[i], nil, r.Shape)), digitBits)
		parts[len(parts)-1].Coef = 1 << (digitBits*i + guard)
	}
	divide(rest.Times(1<<guard).PlusConst(count/2), guard+1)
	parts[len(parts)-1].Coef = 1
	// The mean is below 2·offset, so that higher digits are 0.
	return slices.DeleteFunc(parts, func(p model.Linear) bool { return p.Coef>>guard > 2*offset })
}
