package graph

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Mixtures of experts: each row, such as a token of a text, uses the matrices of a few experts only, those with the
// greatest scores. Slots say which: every row t has Count slots, and each slot c of the row holds one expert.

// Slots assigns experts to the slots of each row. The operand has the experts' scores, of shape [rows, experts]. The
// result, of shape [rows, Count, experts], is 1 at [t, c, e] if expert e has the c-th greatest score of row t, and 0
// elsewhere. Of equal scores the first comes first. So every slot holds exactly one expert, and the experts of a row are
// distinct.
type Slots struct{ Count int }

func (s Slots) infer(in []operandType) operandType {
	x := in[0]
	refuse.If(len(x.shape) != 2 || !x.dtype.IsFloat() || s.Count < 1 || s.Count > x.shape[1],
		"%d slots of scores of shape %v and type %v", s.Count, x.shape, x.dtype)
	return operandType{shape: []int{x.shape[0], s.Count, x.shape[1]}, dtype: Float}
}

func (s Slots) eval(in []operand, shape []int) operand {
	out := operand{shape: shape, f: make([]float64, Size(shape))}
	experts := shape[2]
	scores := in[0].float64s()
	for row := range shape[0] {
		own := scores[row*experts:][:experts]
		order := index(experts, 1)
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(own[b], own[a]) })
		for c, e := range order[:s.Count] {
			out.f[(row*s.Count+c)*experts+e] = 1
		}
	}
	return out
}

// InSlots gives, for each slot, the entry of x that belongs to the slot's expert: the result at [t, c], of shape
// [rows, Count], is x[t, e] for the expert e in slot c of row t. The operands are x, of shape [rows, experts], and
// slots.
type InSlots struct{}

func (InSlots) takes() operands { return operands{2, 2, floats} }

func (InSlots) infer(in []operandType) operandType {
	x, s := in[0].shape, in[1].shape
	refuse.If(len(x) != 2 || len(s) != 3 || x[0] != s[0] || x[1] != s[2], "its operands have shapes %v and %v", x, s)
	return operandType{shape: s[:2], dtype: Float}
}

func (InSlots) eval(in []operand, shape []int) operand {
	x, s := in[0].float64s(), in[1].float64s()
	experts := in[0].shape[1]
	out := operand{shape: shape, f: make([]float64, Size(shape))}
	for i := range out.f {
		row := i / shape[1]
		out.f[i] = dotProduct(s[i*experts:(i+1)*experts], x[row*experts:(row+1)*experts])
	}
	return out
}

// Experts multiplies rows by the matrices of the experts in their slots: out[t, c, j] = Σ_k w[e, j, k]·x[t, k], or
// Σ_k w[e, j, k]·x[t, c, k], for the expert e in slot c of row t. The operands are x, of shape [rows, inputs] or
// [rows, Count, inputs], the constant w, of shape [experts, outputs, inputs], and slots. Matrices of experts in no
// slot are not read.
type Experts struct{}

func (Experts) takes() operands { return operands{3, 3, floats} }

func (Experts) infer(in []operandType) operandType {
	x, w, s := in[0].shape, in[1].shape, in[2].shape
	refuse.If(len(w) != 3 || len(s) != 3 || s[2] != w[0] || !slices.Equal(x, []int{s[0], w[2]}) && !slices.Equal(x, append(s[:2:2], w[2])),
		"its operands have shapes %v, %v and %v", x, w, s)
	return operandType{shape: []int{s[0], s[1], w[1]}, dtype: Float}
}

// eval visits the experts one by one, multiplies all rows that an expert has in its slots at once,
// and adds the results to their slots.
func (Experts) eval(in []operand, shape []int) operand {
	x, w, s := in[0].float64s(), in[1], in[2].float64s()
	experts, n, k := w.shape[0], w.shape[1], w.shape[2]
	each := shape[0] * shape[1] * k / len(x) // number of slots that read the same row of x
	if w.stored == nil && w.w == nil {
		w.f = w.float64s()
	}
	out := operand{shape: shape, f: make([]float64, Size(shape))}
	for e := range experts {
		var rows []int
		for i := range shape[0] * shape[1] {
			if s[i*experts+e] != 0 {
				rows = append(rows, i)
			}
		}
		if len(rows) == 0 {
			continue
		}
		a, y := make([]float64, 0, len(rows)*k), make([]float64, len(rows)*n)
		for _, i := range rows {
			a = append(a, x[i/each*k:][:k]...)
		}
		if w.stored != nil {
			part := NewStored(n*k, func(dst []float32, from int) { w.stored.Read(dst, e*n*k+from) })
			multiplyStored(y, a, part, len(rows), k, n)
		} else {
			multiply(y, a, w, e*n*k, len(rows), k, n, true)
		}
		for j, i := range rows {
			axpy(out.f[i*n:][:n], y[j*n:][:n], s[i*experts+e])
		}
	}
	return out
}

// MixSlots is the weighted sum over the slots of each row: out[t, j] = Σ_c x[t, c, j]·w[t, c]. The operands are x,
// of shape [rows, Count, outputs], and w, of shape [rows, Count].
type MixSlots struct{}

func (MixSlots) takes() operands { return operands{2, 2, floats} }

func (MixSlots) infer(in []operandType) operandType {
	x, w := in[0].shape, in[1].shape
	refuse.If(len(x) != 3 || !slices.Equal(x[:2], w), "its operands have shapes %v and %v", x, w)
	return operandType{shape: []int{x[0], x[2]}, dtype: Float}
}

func (MixSlots) eval(in []operand, shape []int) operand {
	x, w := in[0].float64s(), in[1].float64s()
	n, count := shape[1], in[1].shape[1]
	out := operand{shape: shape, f: make([]float64, Size(shape))}
	for i, weight := range w {
		axpy(out.f[i/count*n:][:n], x[i*n:][:n], weight)
	}
	return out
}

// Slots returns the slots for scores x, of shape [rows, experts]: the k greatest of every row in descending order.
// Of equal scores the first comes first.
func (b *Builder) Slots(x Value, k int) (made Value) {
	defer b.refused(&made)
	b.need(x)
	in := b.Shape(x)
	refuse.If(len(in) != 2 || k < 1 || k > in[1], "%d of shape %v", k, in)
	const most = 1 << 10
	refuse.If(in[1] > most, "an order of %d elements; %d at most are supported", in[1], most)
	return b.emit(Slots{k}, x)
}

// InSlots returns the entries of x, of shape [rows, experts], that belong to the experts
// in slots.
func (b *Builder) InSlots(x, slots Value) Value { return b.emit(InSlots{}, x, slots) }

// Experts multiplies rows of x by the matrices of the experts in their slots; w, a constant,
// has the matrices.
func (b *Builder) Experts(x, w, slots Value) Value {
	if b.valid(x, w, slots) && (b.Tensor(w) == nil || b.Tensor(x) != nil || b.Tensor(slots) != nil) {
		return b.Failf("the matrices of experts are constants, and nothing else is")
	}
	return b.emit(Experts{}, x, w, slots)
}

// MixSlots returns the sum over each row's slots of their entries in x, times weights w.
func (b *Builder) MixSlots(x, w Value) Value { return b.emit(MixSlots{}, x, w) }
