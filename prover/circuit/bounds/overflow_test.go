package bounds_test

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
)

// times is a virtual tensor that is c times another one.
func times(name string, c int64, src model.TensorID) model.Tensor {
	return model.Tensor{Name: name, Shape: []int{1}, Kind: model.Virtual, Def: []model.Linear{{Coef: c, Src: src}}}
}

// Sums of numbers that are too large to be known do not cancel: x + 2^61·x − 2^62·x is not x, though all that is known
// of the two large ones is that they are at least 2^61. The circuit maps 6 to another number than x modulo p.
func TestLargeDoNotCancel(t *testing.T) {
	const x, a, b, large, larger, y = 0, 1, 2, 3, 4, 5
	for name, terms := range map[string][]model.Linear{
		"difference":     {{Coef: 1, Src: x}, {Coef: 1, Src: large}, {Coef: -1, Src: larger}},
		"the other way":  {{Coef: 1, Src: x}, {Coef: 1, Src: larger}, {Coef: -1, Src: large}},
		"of three terms": {{Coef: 1, Src: x}, {Coef: 3, Src: large}, {Coef: -1, Src: larger}, {Coef: -2, Src: large}},
	} {
		g := &model.Graph{
			Tensors: []model.Tensor{
				x:      {Name: "x", Shape: []int{1}, Min: 5, Max: 9},
				a:      times("a", 1<<29, x),
				b:      times("b", 1<<29, a),
				large:  times("large", 1<<3, b),
				larger: times("larger", 1<<4, b),
				y:      {Name: "y", Shape: []int{1}, Kind: model.Witness, Min: 0, Max: 1 << 20},
			},
			Steps: []model.Step{{Kind: model.StepExact, Name: "sum", Shape: []int{1}, Acc: model.Acc{Linear: terms},
				Lo: model.None, Table: model.TableID(model.None), Out: y, Den: model.None}},
			Inputs: []model.TensorID{x}, Outputs: []model.TensorID{y},
		}
		g.Finish(0)
		if all, err := bounds.Intervals(g, &bounds.Certified{}); err == nil {
			t.Errorf("%s: certified, with y in %v", name, all[y])
		}
	}
}

// A circuit of random sums, products and look-ups without remainder, of numbers of any size: whatever is shown of it
// holds for the integers that it computes.
func TestShownIsTrue(t *testing.T) {
	shown := 0
	rapid.Check(t, func(t *rapid.T) {
		least := rapid.Int64Range(-9, 9).Draw(t, "least")
		most := least + rapid.Int64Range(0, 9).Draw(t, "width")
		given := big.NewInt(rapid.Int64Range(least, most).Draw(t, "x"))
		g := &model.Graph{Tensors: []model.Tensor{{Name: "x", Shape: []int{1}, Min: least, Max: most}}, Inputs: []model.TensorID{0}}
		values := []*big.Int{given}
		wraps := false // a look-up takes an accumulator for another number
		number := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Custom(func(t *rapid.T) int64 {
			x := int64(1)<<rapid.IntRange(0, 29).Draw(t, "power") - rapid.Int64Range(0, 1).Draw(t, "less")
			return x * (1 - 2*rapid.Int64Range(0, 1).Draw(t, "sign"))
		}))
		sum := func() (terms []model.Linear, value *big.Int) {
			value = new(big.Int)
			for range rapid.IntRange(1, 4).Draw(t, "terms") {
				c, src := number.Draw(t, "coefficient"), rapid.IntRange(max(0, len(values)-4), len(values)-1).Draw(t, "source")
				if c == 0 {
					continue
				}
				terms = append(terms, model.Linear{Coef: c, Src: model.TensorID(src)})
				value.Add(value, new(big.Int).Mul(big.NewInt(c), values[src]))
			}
			return terms, value
		}
		add := func(x model.Tensor, value *big.Int) model.TensorID {
			x.Name, x.Shape = fmt.Sprint(len(values)), []int{1}
			g.Tensors, values = append(g.Tensors, x), append(values, value)
			return model.TensorID(len(values) - 1)
		}
		step := func(s model.Step) {
			s.Name, s.Shape, s.Lo, s.Den = fmt.Sprint(len(g.Steps)), []int{1}, model.None, model.None
			g.Steps = append(g.Steps, s)
		}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			terms, value := sum()
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				add(model.Tensor{Kind: model.Virtual, Def: terms}, value)
			case 1:
				acc := model.Acc{Linear: terms, Const: number.Draw(t, "constant")}
				value.Add(value, big.NewInt(acc.Const))
				if rapid.Bool().Draw(t, "product") {
					c := number.Draw(t, "times")
					a, b := rapid.IntRange(0, len(values)-1).Draw(t, "a"), rapid.IntRange(0, len(values)-1).Draw(t, "b")
					acc.Products = []model.Product{{Coef: c, A: model.TensorID(a), B: model.TensorID(b), LabelsA: []int{0}, LabelsB: []int{0}}}
					value.Add(value, new(big.Int).Mul(big.NewInt(c), new(big.Int).Mul(values[a], values[b])))
				}
				out := add(model.Tensor{Kind: model.Witness, Min: -1 << 30, Max: 1 << 30}, value)
				step(model.Step{Kind: model.StepExact, Acc: acc, Table: model.TableID(model.None), Out: out})
			default: // a clamp to [−8, 8): of an accumulator within 2^bits of its table, or else no run gets here
				bits := 20
				table := model.Table{Kind: model.TablePiecewise, Bits: bits, Min: -1 << (bits - 1), Values: model.None, Pieces: []model.Piece{
					{End: 1<<(bits-1) - 8, Offset: -8}, {End: 1<<(bits-1) + 8, Slope: 1}, {End: 1 << bits, Offset: 7}}}
				centred := new(big.Int).Mod(new(big.Int).Add(value, big.NewInt(field.P/2)), big.NewInt(field.P))
				if centred.Sub(centred, big.NewInt(field.P/2)); centred.CmpAbs(big.NewInt(1<<(bits-1))) >= 0 {
					return // the run has no proof
				}
				wraps = wraps || centred.Cmp(value) != 0
				value = centred
				g.Tables = append(g.Tables, table)
				out := add(model.Tensor{Kind: model.Witness, Min: -8, Max: 7}, big.NewInt(max(-8, min(7, value.Int64()))))
				step(model.Step{Kind: model.StepLookup, Acc: model.Acc{Linear: terms}, Table: model.TableID(len(g.Tables) - 1), Out: out})
			}
		}
		all, err := bounds.Intervals(g, &bounds.Certified{})
		if err != nil {
			return
		}
		shown++
		if wraps {
			t.Fatal("a run wraps, and it is shown that none does")
		}
		for _, s := range g.Steps {
			half, value := big.NewInt((field.P-1)/2), values[s.Out]
			if value.CmpAbs(half) > 0 {
				t.Fatalf("step %s is shown to be within p/2, and is %v", s.Name, value)
			}
			if i := all[s.Out]; value.Cmp(big.NewInt(i.Min)) < 0 || value.Cmp(big.NewInt(i.Max)) > 0 {
				t.Fatalf("step %s is shown to be in %v, and is %v", s.Name, i, value)
			}
		}
	})
	if shown == 0 {
		t.Error("nothing was shown of any circuit")
	}
}
