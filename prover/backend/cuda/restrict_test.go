package cuda

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/cpu"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
)

// tensors is a witness of given values without look-ups.
type tensors [][]int32

func (t tensors) Tensor(id model.TensorID) []int32 { return t[id] }

func (tensors) StepKeys(int) []int32 { panic("no look-ups") }

// TestRestrict compares restrictions and evaluations with the CPU's: axes kept
// and bound in any pattern and order, entries of every width.
func TestRestrict(t *testing.T) {
	dev := devicetest.NewFaulty(devicetest.Open(t), -1)
	check := func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		shape := make([]int, rapid.IntRange(0, 5).Draw(t, "rank"))
		r := backend.Restriction{Bound: make([][]field.QM31, len(shape))}
		var point []field.QM31
		for i := range shape {
			shape[i] = rapid.SampledFrom([]int{1, 2, 3, 4, 5, 16, 37}).Draw(t, "dim")
			if model.Size(shape[:i+1]) > 1<<14 {
				shape[i] = 1
			}
			part := randomVec(rng, model.Log2Ceil(shape[i]))
			point = append(point, part...)
			if rapid.Bool().Draw(t, "kept") {
				r.Keep = append(r.Keep, i)
			} else {
				r.Bound[i] = append([]field.QM31{}, part...)
			}
		}
		if len(r.Keep) > 1 {
			r.Keep = rapid.Permutation(r.Keep).Draw(t, "order")
		}
		bits := rapid.SampledFrom([]int{8, 16, 31}).Draw(t, "bits")
		data := make([]int32, model.Size(shape))
		for i := range data {
			data[i] = int32(rng.Uint32()) >> (32 - bits)
		}
		g := &model.Graph{Tensors: []model.Tensor{{Kind: model.Witness, Shape: shape}}}
		machine := NewMachine(dev)
		defer machine.Close()
		b, want := machine.Backend(g, tensors{data}), cpu.New(g, tensors{data})
		defer b.Close()
		if !slices.Equal(b.Download(b.Restrict(r)), want.Restrict(r).([]field.QM31)) {
			t.Fatalf("shape %v, keep %v, %d bits: the tables differ", shape, r.Keep, bits)
		}
		if b.Eval(0, point) != want.Eval(0, point) {
			t.Fatalf("shape %v, %d bits: the evaluations differ", shape, bits)
		}
	}
	rapid.Check(t, check)
	if n := dev.Live(); n != 0 {
		t.Errorf("%d bytes are left on the device", n)
	}
}
