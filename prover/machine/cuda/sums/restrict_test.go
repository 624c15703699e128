package sums

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda/cudatest"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/logup"
)

// passes are those that are compared.
type passes interface {
	Restrict(ctx context.Context, list []backend.Restriction) ([]backend.Table, error)
	Download(ctx context.Context, t backend.Table) ([]field.QM31, error)
	Eval(ctx context.Context, list []backend.Evaluation) ([]field.QM31, error)
	Fractions(ctx context.Context, l backend.Leaves) (logup.Tree, error)
	RowSums(ctx context.Context, jobs []backend.RowSum) ([][]field.QM31, error)
	ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error)
}

// restricted is a restriction's table.
func restricted(t fataler, b passes, r backend.Restriction) []field.QM31 {
	tables, err := b.Restrict(context.Background(), []backend.Restriction{r, r})
	if err != nil {
		t.Fatal(err)
	}
	values, err := b.Download(context.Background(), tables[0])
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.Download(context.Background(), tables[1])
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(values, again) {
		t.Fatal("one restriction, two tables")
	}
	return values
}

// evaluated is the evaluation of tensor 0.
func evaluated(t fataler, b passes, point []field.QM31) field.QM31 {
	v, err := b.Eval(context.Background(), []backend.Evaluation{{Point: point}})
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

// fataler is a testing.T or a rapid.T.
type fataler interface{ Fatal(...any) }

// TestRestrict compares restrictions, by themselves and together with others, and evaluations with the CPU's: axes kept
// and bound in any pattern and order, entries of every width.
func TestRestrict(t *testing.T) {
	dev := devicetest.NewFaulty(devicetest.Open(t), -1)
	most, scratch := mostSmall, smallScratch
	defer func() { mostSmall, smallScratch = most, scratch }()
	check := func(t *rapid.T) {
		mostSmall = rapid.SampledFrom([]int{0, most}).Draw(t, "most")
		smallScratch = rapid.SampledFrom([]int{1, scratch}).Draw(t, "scratch")
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
		data := make(ints.Int32s, model.Size(shape))
		for i := range data {
			data[i] = int32(rng.Uint32()) >> (32 - bits)
		}
		g := &model.Graph{Tensors: []model.Tensor{{Kind: model.Witness, Shape: shape}}}
		machine := device.New(dev)
		defer machine.Close()
		stream := run.NewStream(machine, g, cudatest.Values{data})
		defer stream.Close()
		b, want := NewPasses(stream), cpu.New(g, cudatest.Values{data})
		all := backend.Restriction{Bound: make([][]field.QM31, len(shape))} // as it stands
		for i := range shape {
			all.Keep = append(all.Keep, i)
		}
		for _, r := range []backend.Restriction{r, all} {
			if !slices.Equal(restricted(t, b, r), restricted(t, want, r)) {
				t.Fatalf("shape %v, keep %v, %d bits: the tables differ", shape, r.Keep, bits)
			}
		}
		if evaluated(t, b, point) != evaluated(t, want, point) {
			t.Fatalf("shape %v, %d bits: the evaluations differ", shape, bits)
		}
	}
	rapid.Check(t, check)
	if n := dev.Live(); n != 0 {
		t.Errorf("%d bytes are left on the device", n)
	}
}
