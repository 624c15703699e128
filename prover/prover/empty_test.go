package prover

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// none adds a tensor without entries.
func (b *builder) none(shape ...int) model.TensorID {
	b.g.Tensors = append(b.g.Tensors, model.Tensor{Name: "none", Shape: shape, Kind: model.Empty})
	b.w = append(b.w, nil)
	return model.TensorID(len(b.g.Tensors) - 1)
}

// TestEmptyTensors: inputs and outputs without entries, beside others and alone. A proof
// states them with their shapes, and is refused with any of its bytes changed, or cut; so
// is another key's, of another shape of what has no entries.
func TestEmptyTensors(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(rng *rand.Rand, shape ...int) *builder{
		"beside others": func(rng *rand.Rand, shape ...int) *builder {
			b := small(rng)
			in, out := b.none(4, 0), b.none(shape...)
			b.g.Inputs = append([]model.TensorID{in}, b.g.Inputs...)
			b.g.Outputs = []model.TensorID{out, b.g.Outputs[0], in}
			return b
		},
		"alone": func(rng *rand.Rand, shape ...int) *builder {
			b := &builder{}
			b.g.Inputs, b.g.Outputs = []model.TensorID{b.none(3, 0)}, []model.TensorID{b.none(shape...)}
			return b
		},
		"of no input": func(rng *rand.Rand, shape ...int) *builder {
			b := &builder{}
			b.g.Outputs = []model.TensorID{b.none(shape...)}
			return b
		},
		"of an input that nothing reads": func(rng *rand.Rand, shape ...int) *builder {
			b := &builder{}
			b.input(2, 3)
			b.g.Outputs = []model.TensorID{b.none(shape...)}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(61, 62))
			security := proof.Security{TargetBits: 60, GrindBits: 4}
			prove := func(shape ...int) proved {
				b := build(rand.New(rand.NewPCG(61, 62)), shape...)
				b.g.Finish(0)
				return b.prove(t, rng, security)
			}
			p := prove(0, 5)
			r, err := verifier.Verify(p.key, bytes.NewReader(p.proof))
			if err != nil {
				t.Fatal(err)
			}
			out := &r.Circuit.Tensors[r.Circuit.Outputs[0]]
			if len(r.Outputs[0]) != 0 || out.Kind != model.Empty || out.Shape[1] != 5 {
				t.Errorf("the output is %v of shape %v", r.Outputs[0], out.Shape)
			}
			for at := 0; at < len(p.proof); at += 1 + len(p.proof)/200 {
				bit := byte(1) << rng.IntN(8)
				p.proof[at] ^= bit
				if p.verify() == nil {
					t.Fatalf("accepted with byte %d of %d changed by %#x", at, len(p.proof), bit)
				}
				p.proof[at] ^= bit
				if _, err := verifier.Verify(p.key, bytes.NewReader(p.proof[:at])); err == nil {
					t.Fatalf("accepted when cut to %d bytes", at)
				}
			}
			if _, err := verifier.Verify(p.key, bytes.NewReader(append(p.proof[:len(p.proof):len(p.proof)], 0))); err == nil {
				t.Error("accepted with a byte more")
			}
			if _, err := verifier.Verify(prove(5, 0).key, bytes.NewReader(p.proof)); err == nil {
				t.Error("accepted for a key with an output of another shape")
			}
			file, err := proof.EncodeKey(p.key)
			if err != nil {
				t.Fatal(err)
			}
			key, err := proof.DecodeKey(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := verifier.Verify(key, bytes.NewReader(p.proof)); err != nil {
				t.Errorf("with the key as it was read: %v", err)
			}
		})
	}
}
