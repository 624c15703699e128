package cuda

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/cpu"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/transcript"
	"github.com/prove-model/prove-model/prover/whir"
)

// stacks is a graph of committed tensors with an opening of two stacks of them.
func stacks(t *testing.T, rng *rand.Rand, mode soundness.Mode, rowVars int) (*model.Graph, values, backend.Opening) {
	g := &model.Graph{}
	var w values
	add := func(span int32, shape ...int) model.TensorID {
		v := make([]int32, model.Size(shape))
		for i := range v {
			v[i] = rng.Int32N(2*span-1) - span + 1
		}
		g.Tensors = append(g.Tensors, model.Tensor{Shape: shape, Kind: model.Fixed})
		w = append(w, v)
		return model.TensorID(len(w) - 1)
	}
	c := soundness.Config{TargetBits: 20, GrindBits: 4, LogBlowup: 2, Mode: mode}
	var o backend.Opening
	var end uint64
	for _, ids := range [][]model.TensorID{
		{add(1<<7, 12, 33), add(1<<15, 7), add(1<<30, 3, 5, 6), add(1<<7, 64, 16)},
		{add(1<<30, 1), add(1<<15, 5, 32), add(1 << 7), add(1<<7, 100)},
	} {
		s := backend.Stack{Layout: model.NewStack(g, ids), RowVars: rowVars, LogBlowup: c.LogBlowup}
		s.Rows = int((s.Layout.Size + 1<<rowVars - 1) >> rowVars)
		// Aligned to the size rounded up, as package plan does.
		size := uint64(1) << model.Log2Ceil(s.Rows)
		end = (end + size - 1) / size * size
		o.Stacks, o.RowOffsets = append(o.Stacks, s), append(o.RowOffsets, end)
		end += uint64(s.Rows)
	}
	var err error
	if o.Params, err = soundness.Derive(c, rowVars, end); err != nil {
		t.Fatal(err)
	}
	// Terms of all sizes, some on the same places and some where no rows are.
	n := o.Params.NumVars()
	for i := range 7 {
		vars := rng.IntN(n + 1)
		if i == 0 {
			vars = n
		}
		term := whir.Term{Coef: element(rng), Offset: rng.Uint64N(1<<(n-vars)) << vars, Point: make([]field.QM31, vars)}
		for j := range term.Point {
			term.Point[j] = element(rng)
		}
		o.Terms = append(o.Terms, term)
	}
	o.Value = element(rng) // a wrong one takes the same steps
	return g, w, o
}

func element(rng *rand.Rand) field.QM31 {
	m := func() field.M31 { return field.M31(rng.Uint32N(field.P)) }
	return field.NewQM31(m(), m(), m(), m())
}

// TestOpen compares commitments and openings with the CPU's, whose proofs package
// whir checks.
func TestOpen(t *testing.T) {
	dev := devicetest.NewFaulty(devicetest.Open(t), -1)
	for i, c := range []struct {
		mode    soundness.Mode
		rowVars int
		limit   int // bytes for tensors
	}{
		{soundness.Unique, 5, 0}, {soundness.Johnson, 7, 0}, {soundness.Johnson, 10, 4},
	} {
		g, w, o := stacks(t, rand.New(rand.NewPCG(uint64(i), 3)), c.mode, c.rowVars)
		machine := NewMachine(dev)
		machine.Limit(c.limit, 0)
		device := machine.Backend(g, w)
		var want []byte
		for _, b := range []backend.Backend{cpu.New(g, w), device} {
			o.Trees = nil
			for _, s := range o.Stacks {
				o.Trees = append(o.Trees, b.Commit(s))
			}
			tw := transcript.NewWriter(transcript.New("test"))
			for _, tree := range o.Trees {
				tw.SendDigest(tree.Root())
			}
			b.Open(tw, o)
			if b != device {
				want = tw.Bytes()
			} else if !bytes.Equal(tw.Bytes(), want) {
				t.Errorf("%+v: another proof than the CPU's", c)
			}
		}
		// A tree whose layers are known outlives the backend, others do not.
		o.Trees[0].Layers()
		device.Close()
		open := func(tree *whir.Tree) []byte {
			tw := transcript.NewWriter(transcript.New("test"))
			tree.Nodes().Open(tw, []uint64{0})
			return tw.Bytes()
		}
		cpuTree := cpu.New(g, w).Commit(o.Stacks[0])
		if !bytes.Equal(open(o.Trees[0]), open(cpuTree)) {
			t.Errorf("%+v: another path than the CPU's", c)
		}
		if err := backend.Catch(func() { open(o.Trees[1]) }); err == nil && o.Trees[1].Nodes().Depth() > 0 {
			t.Errorf("%+v: a tree outlives its backend", c)
		}
		machine.Close()
		if n := dev.Live(); n != 0 {
			t.Fatalf("%+v: %d bytes are left on the device", c, n)
		}
	}
}

// TestOpenFails lets each allocation fail in turn.
func TestOpenFails(t *testing.T) {
	under := devicetest.Open(t)
	g, w, o := stacks(t, rand.New(rand.NewPCG(8, 3)), soundness.Johnson, 8)
	var proof []byte
	run := func(dev *devicetest.Faulty) error {
		machine := NewMachine(dev)
		defer machine.Close()
		b := machine.Backend(g, w)
		defer b.Close()
		return backend.Catch(func() {
			o.Trees = nil
			for _, s := range o.Stacks {
				o.Trees = append(o.Trees, b.Commit(s))
			}
			tw := transcript.NewWriter(transcript.New("test"))
			b.Open(tw, o)
			proof = tw.Bytes()
		})
	}
	count := devicetest.NewFaulty(under, -1)
	if err := run(count); err != nil {
		t.Fatal(err)
	}
	want := proof
	for i := 0; i < count.Allocs(); i += 53 {
		dev := devicetest.NewFaulty(under, i)
		// Rows come from the host if there is no room for a tensor.
		if err := run(dev); err == nil && !bytes.Equal(proof, want) {
			t.Errorf("allocation %d: another proof, and no error", i)
		}
		if n := dev.Live(); n != 0 {
			t.Fatalf("allocation %d: %d bytes are left on the device", i, n)
		}
	}
}
