package graph

import "github.com/prove-model/prove-model/internal/refuse"

// Comparison compares two operands element by element, broadcasting, or combines
// truth values. The result is 0 or 1. It serves constants only; for computed
// operands [Builder.Compare] expands it.
type Comparison uint8

// The comparisons.
const (
	Equal Comparison = iota
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
	And
	Or
	Xor
)

var comparisons = [...]struct {
	name  string
	holds func(a, b float64) bool
}{
	Equal:          {"Equal", func(a, b float64) bool { return a == b }},
	Less:           {"Less", func(a, b float64) bool { return a < b }},
	LessOrEqual:    {"LessOrEqual", func(a, b float64) bool { return a <= b }},
	Greater:        {"Greater", func(a, b float64) bool { return a > b }},
	GreaterOrEqual: {"GreaterOrEqual", func(a, b float64) bool { return a >= b }},
	And:            {"And", func(a, b float64) bool { return a != 0 && b != 0 }},
	Or:             {"Or", func(a, b float64) bool { return a != 0 || b != 0 }},
	Xor:            {"Xor", func(a, b float64) bool { return (a != 0) != (b != 0) }},
}

func (c Comparison) kind() string { return comparisons[c].name }

func (Comparison) constantsOnly() bool { return true }

func (Comparison) takes() operands { return operands{2, 2, nil} }

func (c Comparison) infer(in []operandType) operandType {
	if c >= And {
		bools(in...)
	}
	return operandType{shape: broadcast(in[0].shape, in[1].shape), dtype: Bool}
}

func (c Comparison) eval(in []operand, shape []int) operand {
	holds := comparisons[c].holds
	f := zipWith(in[0].float64s(), in[1].float64s(), in[0].shape, in[1].shape, shape, func(a, b float64) float64 {
		return indicator(holds(a, b))
	})
	return operand{shape: shape, i: convert[int64](f)}
}

// bools checks that all operands are of type bool.
func bools(in ...operandType) {
	for _, t := range in {
		refuse.If(t.dtype != Bool, "an operand has type %v, not bool", t.dtype)
	}
}

// Not is 1 − x for a truth value x. It serves constants only, as Comparison does.
type Not struct{}

func (Not) constantsOnly() bool { return true }

func (Not) takes() operands { return operands{1, 1, bools} }

func (Not) infer(in []operandType) operandType {
	return in[0]
}

func (Not) eval(in []operand, shape []int) operand {
	return operand{shape: shape, i: apply(in[0].i, func(v int64) int64 { return 1 - min(v, 1) })}
}

// Where takes elements of its second operand where the first, a constant condition, is 1,
// and of the third where it is 0. All three broadcast.
type Where struct{}

func (Where) takes() operands { return operands{3, 3, nil} }

func (Where) infer(in []operandType) operandType {
	refuse.If(in[0].value == nil, "its condition depends on the model's input")
	refuse.If(in[0].dtype != Bool, "its condition has type %v", in[0].dtype)
	alike(in[1], in[2])
	shape, ok := Broadcast(broadcast(in[1].shape, in[2].shape), in[0].shape)
	refuse.If(!ok, "condition of shape %v does not broadcast with %v and %v", in[0].shape, in[1].shape, in[2].shape)
	return operandType{shape: shape, dtype: in[1].dtype}
}

func (Where) eval(in []operand, shape []int) operand {
	cond := in[0].float64s()
	tc := broadcastTables(in[0].shape, shape)
	ta, tb := broadcastTables(in[1].shape, shape), broadcastTables(in[2].shape, shape)
	pick := make([]bool, Size(shape))
	walk(shape, tc, tc, func(i, j, _ int) { pick[i] = cond[j] != 0 })
	out := operand{shape: shape}
	if a, b := in[1].i, in[2].i; a != nil && b != nil {
		out.i = make([]int64, len(pick))
		choose(out.i, a, b, pick, shape, ta, tb)
	} else {
		out.f = make([]float64, len(pick))
		choose(out.f, in[1].float64s(), in[2].float64s(), pick, shape, ta, tb)
	}
	return out
}

// choose sets dst, of the given shape, to elements of a where pick is true and of b elsewhere. ta
// and tb are the tables (see broadcastTables) of a and b.
func choose[T number](dst, a, b []T, pick []bool, shape []int, ta, tb [][]int) {
	walk(shape, ta, tb, func(i, ja, jb int) {
		if pick[i] {
			dst[i] = a[ja]
		} else {
			dst[i] = b[jb]
		}
	})
}
