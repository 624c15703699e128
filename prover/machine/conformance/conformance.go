// Package conformance tests that a backend returns the numbers that its interface
// specifies, so that proofs have the same bytes wherever they are made. The tests of
// every backend call [Run]: the CPU, the GPU backend on the host's stand-in for a
// device and on a GPU, and backend.Fallback over devices that fail ([Faulty]).
//
// Tables are compared with their definitions. Passes are called by the prover of
// their package (sumcheck, logup, whir). Its proof is verified, and compared with one
// that it makes with that package's own passes in memory.
package conformance

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Open makes a backend for a test. Run closes it.
type Open func(g *model.Graph, w backend.Witness) backend.Backend

// Run runs the suite, or only the parts that are named.
func Run(t *testing.T, open Open, parts ...string) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"tensors", tensors},
		{"product tensors", productTensors},
		{"tables", tables},
		{"sums", sums},
		{"fractions", fractions},
		{"openings, poseidon2", func(t *testing.T, open Open) { openings(t, open, hash.Poseidon2, 0, 2) }},
		{"openings, blake3", func(t *testing.T, open Open) { openings(t, open, hash.Blake3, 0, 2) }},
		{"other openings, poseidon2", func(t *testing.T, open Open) { openings(t, open, hash.Poseidon2, 2, 4) }},
		{"other openings, blake3", func(t *testing.T, open Open) { openings(t, open, hash.Blake3, 2, 4) }},
		{"hiding, poseidon2", func(t *testing.T, open Open) { hiding(t, open, hash.Poseidon2, 0, 2) }},
		{"hiding, blake3", func(t *testing.T, open Open) { hiding(t, open, hash.Blake3, 0, 2) }},
		{"other hiding, poseidon2", func(t *testing.T, open Open) { hiding(t, open, hash.Poseidon2, 2, 4) }},
		{"other hiding, blake3", func(t *testing.T, open Open) { hiding(t, open, hash.Blake3, 2, 4) }},
		{"cancelled", cancelled},
	} {
		if len(parts) == 0 || slices.Contains(parts, test.name) {
			t.Run(test.name, func(t *testing.T) { test.run(t, open) })
		}
	}
}

// witness has the values of tensors and the keys of look-up steps.
type witness struct {
	tensors []ints.Ints
	keys    [][]int32
}

// add adds the values of the next tensor. Those of a fixed tensor are kept in the width that they need.
func (w *witness) add(kind model.Kind, values []int32) {
	v := ints.Ints(ints.Int32s(values))
	if kind == model.Fixed {
		v = ints.Of(values)
	}
	w.tensors = append(w.tensors, v)
}

// values returns the values of a tensor of any kind.
func (w *witness) values(id model.TensorID) []int32 { return ints.All(w.tensors[id]) }

// Tensor implements backend.Witness.
func (w *witness) Tensor(id model.TensorID) []int32 { return w.tensors[id].(ints.Int32s) }

// Fixed implements backend.Witness.
func (w *witness) Fixed(id model.TensorID) ints.Ints { return w.tensors[id] }

// StepKeys implements backend.Witness.
func (w *witness) StepKeys(step int) []int32 { return w.keys[step] }

// random draws elements of K. Their limbs are often 0 or −1.
type random struct{ *rand.Rand }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, 1))} }

func (r random) limb() field.M31 {
	switch r.IntN(8) {
	case 0:
		return 0
	case 1:
		return field.P - 1
	}
	return field.M31(r.Uint32N(field.P))
}

func (r random) element() field.QM31 {
	return field.NewQM31(r.limb(), r.limb(), r.limb(), r.limb())
}

func (r random) elements(n int) []field.QM31 {
	v := make([]field.QM31, n)
	for i := range v {
		v[i] = r.element()
	}
	return v
}

// integers returns n signed integers of so many bits.
func (r random) integers(n, bits int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(r.Uint32()) >> (32 - bits)
	}
	return v
}

// must returns a function that ends the test if err is not nil, and otherwise returns v. Its use is must(f())(t).
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

var background = context.Background()
