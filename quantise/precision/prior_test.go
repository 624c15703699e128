package precision

import (
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// The usual formats are by role.
func TestUsualFormats(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	g := networks.Transformer(t, 3, rng)
	f := (&search{fg: g}).usual(0, 0)
	count := map[int]int{}
	for _, n := range g.Nodes {
		b := f[n.Output].Bits
		count[b]++
		_, norm := n.Op.(graph.Norm)
		if norm && b != normBits || n.Op == (graph.Softmax{}) && b != 0 {
			t.Errorf("%s %s: %d bits", graph.Kind(n.Op), n.Output, b)
		}
	}
	// Three layers of two sums; in each the scores, and what they are made of.
	if count[sumBits] != 6 || count[scoreBits] < 3 || count[productBits] != 0 {
		t.Errorf("%v", count)
	}
	if f := (&search{fg: networks.Tabular(t, rng)}).usual(0, 0); len(f) != 0 {
		t.Errorf("formats without norms: %v", f)
	}
}

// The factors of scores fit an accumulator, and no bit more does.
func TestFactorsOf(t *testing.T) {
	const limit = model.Bound/2 - 1<<fixed.MostShift
	for count := 1; count <= 4096; count++ {
		a, b, ok := factorsOf(count)
		reach := func(a, b int) int64 { return int64(count) * (1<<a - 1) * (1<<b - 1) }
		if reach(a, b) > limit || b < factorBits && reach(a, b+1) <= limit && reach(a+1, b) <= limit {
			t.Errorf("%d products: %d and %d bits", count, a, b)
		}
		if ok != (a >= leastFactors) || a > b || b > a+1 || b > factorBits {
			t.Errorf("%d products: %d and %d bits, %v", count, a, b, ok)
		}
	}
	if a, b, ok := factorsOf(128); a != 11 || b != 11 || !ok {
		t.Errorf("heads of 128: %d and %d bits, %v", a, b, ok)
	}
}
