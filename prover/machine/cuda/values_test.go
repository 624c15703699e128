package cuda

import (
	"math/rand/v2"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// values is a witness of tensors alone.
type values []ints.Ints

func (v values) Fixed(id model.TensorID) ints.Ints { return v[id] }
func (v values) Tensor(id model.TensorID) []int32  { return v[id].(ints.Int32s) }
func (v values) StepKeys(int) []int32              { panic("no look-ups here") }

// manyFixed are fixed tensors of all widths, as a graph and as a witness.
type manyFixed struct {
	g *model.Graph
	w model.Weights
}

func (m manyFixed) Fixed(id model.TensorID) ints.Ints { return m.w[id] }
func (manyFixed) Tensor(model.TensorID) []int32       { panic("there is none") }
func (manyFixed) StepKeys(int) []int32                { panic("there are none") }

func newManyFixed(rng *rand.Rand, shapes ...[]int) manyFixed {
	m := manyFixed{g: &model.Graph{}}
	for i, shape := range shapes {
		bits := []int{8, 16, 31}[i%3]
		m.g.Tensors = append(m.g.Tensors, model.Tensor{Kind: model.Fixed, Shape: shape, Min: -1 << (bits - 1), Max: 1<<(bits-1) - 1})
		v := make([]int32, model.Size(shape))
		for j := range v {
			v[j] = int32(rng.Uint32()) >> (32 - bits)
		}
		m.w = append(m.w, ints.Of(v))
	}
	return m
}
