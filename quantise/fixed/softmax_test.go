package fixed

import (
	"math"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Shares of scores in limbs are right where a score is as far below the maximum as the range of scores allows, whatever the number of
// their high limbs is beside the rows of a table.
func TestFineSharesAtTheEnds(t *testing.T) {
	const frac, cut, bits = 20, 10, 18
	for _, spread := range []int64{256, 509, 510, 511, 512, 1022, 1023, 1<<15 - 2} {
		l := newIntegers()
		top := (spread+1)<<cut - 1
		x := l.Add(model.Tensor{Name: "x", Shape: []int{3, 4}, Kind: model.Input, Frac: frac, Min: 0, Max: top})
		l.Circuit.Inputs = append(l.Circuit.Inputs, x)
		m := l.Scores(&Block{Kind: SoftmaxBlock, Of: x, Mask: model.None})
		if c, ok := l.FineCut(m); c != cut || !ok {
			t.Fatalf("a spread of %d: a low limb of %d bits, %v", spread, c, ok)
		}
		id := l.SharesOf(m, "shares", bits, bits)
		in := []int32{0, int32(top), int32(top), int32(top), 0, 1 << cut, int32(top), int32(top) / 2, 0, 0, 0, 0}
		got := l.run(t, []model.TensorID{id}, in).Tensor(id)
		for row := 0; row < len(in); row += 4 {
			sum := 0.0
			for _, v := range in[row:][:4] {
				sum += math.Exp(float64(v) * Pow2(-frac))
			}
			for i, v := range in[row:][:4] {
				want := math.Exp(float64(v)*Pow2(-frac)) / sum
				if have := float64(got[row+i]) * Pow2(-bits); math.Abs(have-want) > 1e-3*want+2*Pow2(-bits) {
					t.Errorf("a spread of %d: a share of %v is %g, not %g", spread, in[row:][:4], have, want)
				}
			}
		}
	}
}

// Scores far from 0 are not taken in limbs where the high one has too many bits for a table, however little they differ.
func TestFineCutFarFromZero(t *testing.T) {
	for at, want := range map[int64]bool{0: true, -1 << 23: true, 1<<24 - 1<<20: true, 1 << 25: false, -1 << 26: false} {
		l := newIntegers()
		id := l.Add(model.Tensor{Name: "x", Shape: []int{2, 4}, Kind: model.Input, Frac: 12, Min: at, Max: at + 1<<19})
		l.Circuit.Inputs = append(l.Circuit.Inputs, id)
		m := l.Scores(&Block{Kind: SoftmaxBlock, Of: id, Mask: model.None})
		if _, ok := l.FineCut(m); ok != want {
			t.Errorf("from %d on: %v", at, ok)
		} else if ok {
			in := make([]int32, 8)
			for i := range in {
				in[i] = int32(at) + int32(i)<<16
			}
			l.run(t, []model.TensorID{l.SharesOf(m, "shares", 18, 18)}, in)
		}
		l.Circuit.Tensors[id].Frac = 0 // so coarse that there is no low limb
		if _, ok := l.FineCut(m); ok {
			t.Errorf("from %d on: whole numbers are taken in limbs", at)
		}
	}
}

// A Softmax whose mask is its scores has bounds for scores of 0 and 1 in the range that the circuit states, and for no others: an
// accumulator of what it computes is not shown to stay within that range if the scores need not.
func TestMaskOfItself(t *testing.T) {
	for _, stated := range [][2]int64{{0, 1}, {1 << 20, 1 << 20}} {
		l := newIntegers()
		x := l.NotNegative("x", l.Of(l.input([]int{2, 4}, -8, 7)))
		of := &l.Circuit.Tensors[x]
		of.Min, of.Max = stated[0], stated[1]
		l.Begin(Block{Kind: SoftmaxBlock, Of: x, Mask: x, Labels: []int{0, 1}, Summed: 12, Bits: 12})
		m := l.Scores(&l.Blocks[0])
		id := l.SharesOf(m, "shares", 12, 12)
		out := l.Exact("out", l.Of(m.ID).Times(1<<12))
		l.Circuit.Outputs = []model.TensorID{id, out}
		g, err := (&model.Template{Graph: l.Circuit}).At(model.Instance{})
		if err != nil {
			t.Fatal(err)
		}
		columns, weights := map[model.TensorID][]int32{}, make(model.Weights, len(g.Tensors))
		for _, f := range l.FixedTensors {
			weights[f.ID] = f.Values(&g.Tensors[f.ID])
			columns[f.ID] = ints.All(weights[f.ID])
		}
		a, _, err := l.Blocks[0].Replay(g, 1, NewColumns(columns))
		if err != nil {
			t.Fatal(err)
		}
		err = bounds.Check(g, bounds.Measure(g, weights), a)
		if shown := err == nil; shown != (stated[0] == 0) {
			t.Errorf("scores stated to be in %v: %v", stated, err)
		}
	}
}
