package quantise

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// integers is a lowering without a float model, to try parts of circuits on.
type integers struct {
	*lowering
}

func newIntegers() *integers {
	l := newLowering(&graph.Graph{}, nil, Options{Headroom: 2}, &weightStats{})
	l.plan = plan{tableBits: 16, bits: 13}
	l.node = &graph.Node{Name: "test", Op: graph.Identity{}}
	return &integers{lowering: l}
}

func (l *integers) input(shape []int, lo, hi int64) model.TensorID {
	id := l.add(model.Tensor{Name: "x", Shape: shape, Kind: model.Input, Min: lo, Max: hi})
	l.g.Inputs = append(l.g.Inputs, id)
	return id
}

// run runs the circuit, which must be valid, with the tensors as outputs, and
// checks every constraint and bound.
func (l *integers) run(t *testing.T, outputs []model.TensorID, in ...[]int32) *forward.Witness {
	t.Helper()
	l.g.Outputs = outputs
	m, err := l.finish(&model.Template{Graph: l.g}, model.Instance{})
	if err != nil {
		t.Fatal(err)
	}
	l.stats.fill(m)
	w, err := forward.Run(context.Background(), m.Graph, m.Weights, in)
	if err != nil {
		t.Fatal(err)
	}
	checkWitness(t, m, w)
	return w
}

// Limbs make the number that they were cut from, from any of them on rounded, at
// the ends of its range too.
func TestLimbs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		lo, hi                 int64
		bits, top, least, want int
	}{
		{-1 << 27, 1<<27 - 1, 6, 9, 1, 4}, {-1 << 27, 1 << 27, 7, 6, 1, 4}, {-1 << 19, 1 << 19, 10, 9, 1, 2}, {0, 1<<20 - 1, 10, 10, 1, 2},
		{-100, 100, 6, 9, 1, 1}, {-100, 100, 6, 9, 3, 3}, {-1 << 28, 1 << 28, 10, 10, 1, 3}, {5, 1 << 24, 8, 8, 1, 3}, {-1 << 20, -1 << 10, 6, 9, 1, 3},
	} {
		l := newIntegers()
		const n = 500
		id := l.input([]int{n}, c.lo, c.hi)
		limbs := l.limbs(id, c.bits, c.top, c.least)
		if len(limbs) != c.want {
			t.Errorf("%+v: %d limbs", c, len(limbs))
		}
		x := make([]int32, n)
		for i := range x {
			x[i] = int32(c.lo + rng.Int64N(c.hi-c.lo+1))
		}
		for i := range min(c.hi-c.lo+1, 200) { // near the ends
			x[2*i], x[2*i+1] = int32(c.lo+i), int32(c.hi-i)
		}
		w := l.run(t, limbs, x)
		for i := range x {
			sum := int64(0)
			for k := len(limbs) - 1; k >= 0; k-- {
				v := int64(w.Tensor(limbs[k])[i])
				if k == len(limbs)-1 && (v < -1<<c.top || v > 1<<c.top) {
					t.Fatalf("%+v: the last limb of %d is %d", c, x[i], v)
				}
				sum = sum<<c.bits + v
				unit := int64(1) << (k * c.bits)
				if d := int64(x[i]) - sum*unit; max(d, -d) > unit/2+unit>>c.bits {
					t.Fatalf("%+v: %d from limb %d on is %d", c, x[i], k, sum)
				}
			}
			if sum != int64(x[i]) {
				t.Fatalf("%+v: the limbs of %d make %d", c, x[i], sum)
			}
		}
	}
}
