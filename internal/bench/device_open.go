package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// MaxOpening is log2 of the largest number of values that DeviceOpenings opens.
const MaxOpening = 34

// DeviceOpenings measures, for each n of sizes, the commitment to 2^n weights of one
// byte, and its opening at eight points, and calls report after each. The opening is
// measured as a whole, and then pass by pass. The latter waits for the device after
// each pass, so all passes together take longer than the whole.
func DeviceOpenings(ctx context.Context, dev kernels.Device, sizes []int, report func(DeviceKernel)) (err error) {
	defer must.Catch(&err)
	b := &deviceBench{ctx: ctx, dev: dev, report: report}
	for _, n := range sizes {
		must.OK(ctx.Err())
		b.opening(n)
	}
	return nil
}

// opening commits to a matrix of 2^vars bytes and opens it.
func (b *deviceBench) opening(vars int) {
	s := newWeightStack(vars)
	machine := cuda.NewMachine(b.dev)
	defer machine.Close()
	m := machine.Backend(s.graph, s.witness)
	defer func() { m.Close() }()
	name := func(what string) string { return fmt.Sprintf("%s 2^%d", what, vars) }
	fresh := func() {
		m.Close()
		m = machine.Backend(s.graph, s.witness)
	}
	var tree *whir.Tree
	b.step(name("upload and commit"), "value", 1<<vars, func() {
		fresh()
		machine.Close()
	}, func() { tree = must.Get(m.Commit(b.ctx, s.commitment)) })
	b.step(name("commit, weights resident"), "value", 1<<vars, fresh, func() { tree = must.Get(m.Commit(b.ctx, s.commitment)) })
	open := func(watch func(whir.Passes) whir.Passes) {
		passes := watch(must.Get(m.Opening(b.ctx, s.opening)))
		defer passes.Close()
		w := transcript.NewWriter(transcript.New(hash.Poseidon2, "bench"))
		// The value is wrong, which takes the prover as long as if it were right.
		must.OK(whir.Open(b.ctx, w, s.opening.Params, []*whir.Tree{tree}, passes, s.opening.RowOffsets, s.terms, field.Zero))
	}
	b.resetPeaks()
	b.step(name("open"), "value", 1<<vars, func() {}, func() { open(func(p whir.Passes) whir.Passes { return p }) })
	b.reportPeak(name("open: most memory"))
	t := &timedPasses{dev: b.dev}
	start := time.Now()
	open(func(p whir.Passes) whir.Passes {
		must.OK(b.dev.Sync())
		t.add("rows", time.Since(start))
		t.of = p
		return backend.Openings{Relay: t}
	})
	for _, p := range t.passes {
		b.add(name("open: "+p.name), "call", p.calls, 0, p.time)
	}
}

// meter is a device that knows how much memory was allocated.
type meter interface {
	Memory() (kernels.Memory, error)
	ResetPeaks() error
}

// resetPeaks starts the measurement of the peak of memory anew.
func (b *deviceBench) resetPeaks() {
	if m, ok := b.dev.(meter); ok {
		must.OK(m.ResetPeaks())
	}
}

// reportPeak reports the most memory that was in use since resetPeaks, including
// weights and trees.
func (b *deviceBench) reportPeak(name string) {
	if m, ok := b.dev.(meter); ok {
		b.report(DeviceKernel{Name: name, Unit: "byte", Units: int(must.Get(m.Memory()).Peak)})
	}
}

// weightStack is a matrix of bytes, with its commitment and its opening.
type weightStack struct {
	graph      *model.Graph
	witness    fixedOnly
	commitment backend.Commitment
	opening    backend.Opening
	terms      whir.List
}

// randomBytes returns n random weights.
func randomBytes(n int) ints.Int8s {
	values := make(ints.Int8s, n)
	parallel.For(n, 1<<16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			values[i] = int8(splitmix(uint64(i)) >> 56)
		}
	})
	return values
}

// newWeightStack returns a weightStack of 2^vars random weights.
func newWeightStack(vars int) *weightStack {
	s := &weightStack{graph: &model.Graph{Tensors: []model.Tensor{{Name: "weights", Shape: []int{1 << (vars / 2), 1 << ((vars + 1) / 2)}, Kind: model.Fixed}}}}
	s.witness = fixedOnly{randomBytes(1 << vars)}
	layout := model.NewStack(s.graph, []model.TensorID{0})
	c := soundness.DefaultConfig
	rowVars := must.Get(soundness.ChooseRowVars(c, []uint64{layout.Size}))
	s.commitment = backend.SingleStack(c.Hash, layout, rowVars, c.LogBlowup)
	s.opening = backend.Opening{Commitments: []backend.Commitment{s.commitment}, RowOffsets: []uint64{0}}
	s.opening.Params = must.Get(soundness.Derive(c, rowVars, s.commitment.Slots()))
	for i := range 8 {
		s.terms = append(s.terms, whir.Term{Coef: challenge, Point: extensions(vars-i, uint64(i))})
	}
	return s
}

// timedPasses is a backend.Relay that measures the passes of an opening, and adds up their times by name.
type timedPasses struct {
	of     whir.Passes
	dev    kernels.Device
	passes []timedPass
}

type timedPass struct {
	name  string
	calls int
	time  time.Duration
}

// add adds the time of a pass.
func (t *timedPasses) add(name string, d time.Duration) {
	for i := range t.passes {
		if p := &t.passes[i]; p.name == name {
			p.calls, p.time = p.calls+1, p.time+d
			return
		}
	}
	t.passes = append(t.passes, timedPass{name, 1, d})
}

// Call implements backend.Relay. It runs a pass and measures it.
func (t *timedPasses) Call(ctx context.Context, k backend.Kind, f func(context.Context, whir.Passes) error) error {
	start := time.Now()
	err := f(ctx, t.of)
	if err == nil {
		err = t.dev.Sync()
	}
	t.add(k.Name, time.Since(start))
	return err
}

// Close implements backend.Relay.
func (t *timedPasses) Close() { t.of.Close() }
