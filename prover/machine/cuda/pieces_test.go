package cuda

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// values is a witness of tensors alone.
type values []ints.Ints

func (v values) Fixed(id model.TensorID) ints.Ints { return v[id] }
func (v values) Tensor(id model.TensorID) []int32  { return v[id].(ints.Int32s) }
func (v values) StepKeys(int) []int32              { panic("no look-ups here") }

// TestPieces: a tensor that has no room on the device is restricted in pieces,
// with the same result; and one that cannot be cut is an error.
func TestPieces(t *testing.T) {
	d := devicetest.NewFaulty(devicetest.Open(t), -1)
	rng := rand.New(rand.NewPCG(5, 6))
	point := func(n int) []field.QM31 {
		p := make([]field.QM31, n)
		for i := range p {
			p[i] = field.NewQM31(field.M31(rng.Uint32N(field.P)), 1, 2, field.M31(rng.Uint32N(field.P)))
		}
		return p
	}
	for _, shape := range [][]int{{13, 5}, {8, 6}, {7}, {2, 3, 4}} {
		v := make(ints.Int8s, model.Size(shape))
		for i := range v {
			v[i] = int8(rng.Uint32())
		}
		g := &model.Graph{Tensors: []model.Tensor{{Shape: shape, Kind: model.Fixed}}}
		want := cpu.New(g, values{v})
		for piece := 1; piece < 4*len(v); piece *= 3 {
			m := NewMachine(d)
			m.Limit(1, piece)
			b := m.Backend(g, values{v})
			x := point(model.Vars(shape))
			if evaluated(t, b, x) != evaluated(t, want, x) {
				t.Errorf("%v in pieces of %d bytes: wrong evaluation", shape, piece)
			}
			// Every set of kept axes, in their order.
			for set := 1; set < 1<<len(shape); set++ {
				r := backend.Restriction{Bound: make([][]field.QM31, len(shape))}
				for a, dim := range shape {
					if set>>a&1 == 0 {
						r.Bound[a] = point(model.Log2Ceil(dim))
					} else {
						r.Keep = append(r.Keep, a)
					}
				}
				if !slices.Equal(restricted(t, b, r), restricted(t, want, r)) {
					t.Errorf("%v in pieces of %d bytes, axes %v kept: wrong table", shape, piece, r.Keep)
				}
			}
			if len(shape) > 1 {
				r := backend.Restriction{Bound: make([][]field.QM31, len(shape))}
				for a := range shape {
					r.Keep = append([]int{a}, r.Keep...)
				}
				if _, err := b.Restrict(context.Background(), r); !errors.Is(err, kernels.ErrMemory) {
					t.Errorf("%v, axes turned around: %v", shape, err)
				}
			}
			b.Close()
			m.Close()
			if d.Live() != 0 {
				t.Fatalf("%d bytes are left on the device", d.Live())
			}
		}
	}
}

// TestForwardPieces runs matrix products whose weights have no room: in pieces where these are
// ranges of one matrix's rows, and else as a whole that is gone afterwards. With room they
// stay.
func TestForwardPieces(t *testing.T) {
	d := devicetest.NewFaulty(devicetest.Open(t), -1)
	defer func(a, b int) { mostByTerms, fewTerms = a, b }(mostByTerms, fewTerms)
	mostByTerms, fewTerms = 0, 1
	rng := rand.New(rand.NewPCG(7, 8))
	random := func(n int) []int32 {
		v := make([]int32, n)
		for i := range v {
			v[i] = rng.Int32N(256) - 128
		}
		return v
	}
	const in, out = 21, 11
	for _, c := range []struct {
		name            string
		x, w, y         []int // shapes
		labelsX, labels []int
		cut             bool // the weights go through in pieces
	}{
		{"by output", []int{3, in}, []int{out, in}, []int{3, out}, []int{0, 2}, []int{1, 2}, true},
		{"by output, one row", []int{1, in}, []int{out, in}, []int{1, out}, []int{0, 2}, []int{1, 2}, true},
		{"by input", []int{3, in}, []int{in, out}, []int{3, out}, []int{0, 2}, []int{2, 1}, true},
		{"by input, one row", []int{1, in}, []int{in, out}, []int{1, out}, []int{0, 2}, []int{2, 1}, true},
		{"a matrix for each of two", []int{2, 3, in}, []int{2, out, in}, []int{2, 3, out}, []int{0, 1, 3}, []int{0, 2, 3}, false},
		{"inputs of two axes, apart", []int{3, 7, 3}, []int{3, out, 7}, []int{3, out}, []int{0, 2, 3}, []int{3, 1, 2}, false},
	} {
		g := &model.Graph{Chunks: 1, Inputs: []model.TensorID{0},
			Tensors: []model.Tensor{{Shape: c.x, Kind: model.Input, Min: -128, Max: 127}, {Shape: c.w, Kind: model.Fixed},
				{Shape: c.y, Kind: model.Witness}, {Shape: []int{1 << 14}, Kind: model.Witness}},
			Tables: []model.Table{{Name: "range", Bits: 14, Min: -1 << 13}},
			Mults:  []model.Mult{{Tensor: 3}},
			Steps: []model.Step{{Kind: model.StepLookup, Shape: c.y, Shift: 8, Lo: 2, Out: model.None,
				Acc: model.Acc{Products: []model.Product{{Coef: 1, A: 0, B: 1, LabelsA: c.labelsX, LabelsB: c.labels}}}}},
		}
		w, inputs := model.Weights{nil, ints.Of(random(model.Size(c.w))), nil, nil}, [][]int32{random(model.Size(c.x))}
		want, err := forward.Run(context.Background(), g, w, inputs)
		if err != nil {
			t.Fatal(c.name, err)
		}
		run := func(m *Machine, how string) {
			t.Helper()
			got, err := forward.RunOn(context.Background(), m, g, w, inputs)
			if err != nil {
				t.Fatal(c.name, how, err)
			}
			if got.Kept() == nil || !slices.Equal(got.StepKeys(0), want.Keys[0]) || !slices.Equal(got.Tensor(2), want.Values[2]) || !slices.Equal(got.Tensor(3), want.Values[3]) {
				t.Errorf("%s, %s: another result", c.name, how)
			}
		}
		most := 0 // with pieces of a row
		for piece := 1; piece < 36*model.Size(c.w); piece *= 9 {
			m := NewMachine(d)
			m.Limit(1, piece)
			d.ResetPeak()
			run(m, fmt.Sprintf("pieces of %d bytes", piece))
			if m.known(w[1]) != nil {
				t.Errorf("%s: weights without room are there", c.name)
			}
			if most == 0 {
				most = d.Peak()
			}
			if whole := piece > 4*model.Size(c.w); whole && c.cut != (d.Peak() > most+model.Size(c.w)/2) {
				t.Errorf("%s: %d bytes at once with pieces of a row, and %d without", c.name, most, d.Peak())
			}
			m.Close()
		}
		m := NewMachine(d)
		run(m, "with room")
		if m.known(w[1]) == nil {
			t.Errorf("%s: the weights have room, and were not kept", c.name)
		}
		m.Close()
	}
	if d.Live() != 0 {
		t.Errorf("%d bytes are left on the device", d.Live())
	}
}
