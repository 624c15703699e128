package sums

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda/cudatest"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

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
		want := cpu.New(g, cudatest.Values{v})
		for piece := 1; piece < 4*len(v); piece *= 3 {
			m := device.New(d)
			m.MaxResident, m.Piece = 1, piece
			s := run.NewStream(m, g, cudatest.Values{v})
			b := NewPasses(s)
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
				if _, err := b.Restrict(context.Background(), []backend.Restriction{r}); !errors.Is(err, kernels.ErrMemory) {
					t.Errorf("%v, axes turned around: %v", shape, err)
				}
			}
			s.Close()
			m.Close()
			if d.Live() != 0 {
				t.Fatalf("%d bytes are left on the device", d.Live())
			}
		}
	}
}
