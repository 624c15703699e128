// Package cudatest has witnesses for tests of the GPU backend.
package cudatest

import (
	"math/rand/v2"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Values is a witness that has tensors, by their IDs, and no look-ups.
type Values []ints.Ints

// Fixed implements backend.Witness, as the other methods do.
func (v Values) Fixed(id model.TensorID) ints.Ints { return v[id] }
func (v Values) Tensor(id model.TensorID) []int32  { return v[id].(ints.Int32s) }
func (v Values) StepKeys(int) []int32              { panic("no look-ups here") }

// Fixed is a graph of fixed tensors of all widths alone, and their witness.
type Fixed struct {
	Graph   *model.Graph
	Weights model.Weights
}

// Fixed implements backend.Witness, as the other methods do.
func (m Fixed) Fixed(id model.TensorID) ints.Ints { return m.Weights[id] }
func (Fixed) Tensor(model.TensorID) []int32       { panic("there is none") }
func (Fixed) StepKeys(int) []int32                { panic("there are none") }

// NewFixed draws fixed tensors of these shapes, of 8, 16 and 31 bits in turn.
func NewFixed(rng *rand.Rand, shapes ...[]int) Fixed {
	m := Fixed{Graph: &model.Graph{Chunks: 1}}
	for i, shape := range shapes {
		bits := []int{8, 16, 31}[i%3]
		m.Graph.Tensors = append(m.Graph.Tensors, model.Tensor{Kind: model.Fixed, Shape: shape, Min: -1 << (bits - 1), Max: 1<<(bits-1) - 1})
		v := make([]int32, model.Size(shape))
		for j := range v {
			v[j] = int32(rng.Uint32()) >> (32 - bits)
		}
		m.Weights = append(m.Weights, ints.Of(v))
	}
	return m
}
