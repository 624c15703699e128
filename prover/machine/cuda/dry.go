package cuda

import (
	"context"
	"errors"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/peers"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// dry is a run of a circuit on a device that only counts its memory (kernels.Dry). The memory that a proof takes is found by
// making the proof there: it is allocated by the same code as in a real proof. Tensors and keys have the width of their
// range, which is the most that they need.
type dry struct {
	m       *Machine // the machine whose memory is estimated; its settings are used
	g       *model.Graph
	mode    device.Mode
	weights model.Weights
	on      *device.Context // the device that only counts
	kept    *run.Run        // nil if no device can run the circuit
	values  int64           // bytes that the forward pass leaves
	forward int64           // bytes that it takes at most besides
}

// newDry runs the forward pass of a circuit dry, in a mode.
func (m *Machine) newDry(g *model.Graph, mode device.Mode) *dry {
	d := &dry{m: m, g: g, mode: mode, weights: make(model.Weights, len(g.Tensors))}
	for i := range g.Tensors {
		if t := &g.Tensors[i]; t.Kind.Constant() {
			d.weights[i] = d.constant(t)
		}
	}
	d.on = d.context()
	inputs := make([][]int32, len(g.Inputs)+len(g.Unmade()))
	for i := range inputs {
		inputs[i] = make([]int32, 1)
	}
	f := &run.Forward{Contexts: []*device.Context{d.on}, Host: m.Threshold}
	kept, _ := f.Run(context.Background(), g, d.weights, inputs) // an error means sizes that no device can run
	d.kept, _ = kept.(*run.Run)
	t := d.on.Traffic()
	d.values, d.forward = t.Live, t.Peak-t.Live
	return d
}

// close frees the run and the device.
func (d *dry) close() {
	if d.kept != nil {
		d.kept.Close()
	}
	d.on.Close()
}

// context returns a device that only counts, with the settings of the machine. It has the fixed tensors, but does not count their memory.
func (d *dry) context() *device.Context {
	c := device.New(kernels.NewDry(d.m.Dev.Multiprocessors()))
	c.Piece, c.HostPair, c.ShortRow, c.LowVars, c.MostMoved, c.Streams = d.m.Piece, d.m.HostPair, d.m.ShortRow, d.m.LowVars, d.m.MostMoved, d.m.Streams
	c.ThreeRounds, c.Dry = d.m.ThreeRounds, true
	c.SetMode(d.mode)
	for i := range d.g.Tensors {
		if t := &d.g.Tensors[i]; t.Kind == model.Fixed && model.Size(t.Shape) > 0 {
			c.Adopt(d.weights[i], &device.Tensor{Ptr: dryAddress, Len: model.Size(t.Shape), Width: device.WidthOfRange(t.Min, t.Max)})
		}
	}
	return c
}

// dryAddress is the address of all fixed tensors of a dry device, which are not allocated. It is aligned as any address is.
const dryAddress = 256

// constant returns a list in place of a constant tensor's values. For a small tensor, which the processor may read, it has all
// entries, as zeros; for a large one a single entry.
func (d *dry) constant(t *model.Tensor) ints.Ints {
	n := model.Size(t.Shape)
	if n >= max(d.m.Threshold, smallConstant) {
		n = 1
	}
	switch device.WidthOfRange(t.Min, t.Max) {
	case 1:
		return make(ints.Int8s, n)
	case 2:
		return make(ints.Int16s, n)
	}
	return make(ints.Int32s, n)
}

// smallConstant is more entries than any tensor has that the processor reads even with a lower threshold.
const smallConstant = 1 << 10

// Fixed implements backend.Witness, as the other methods do.
func (d *dry) Fixed(id model.TensorID) ints.Ints { return d.weights[id] }

// Tensor returns zeros, but for one entry that is an end of the tensor's range, so that the list has its width.
func (d *dry) Tensor(id model.TensorID) []int32 {
	t := &d.g.Tensors[id]
	return ranged(model.Size(t.Shape), t.Min, t.Max)
}

// StepKeys returns zeros, but for one key that is an end of the table's range, so that the list has its width.
func (d *dry) StepKeys(step int) []int32 {
	s := &d.g.Steps[step]
	t := &d.g.Tables[s.Table]
	return ranged(model.Size(s.Shape), t.Min, t.Min+1<<t.Bits-1)
}

// ranged returns n integers that need as many bits as [lo, hi]: zeros, but for the first entry, which is the end of the range
// with the larger absolute value.
func ranged(n int, lo, hi int64) []int32 {
	v := make([]int32, n)
	if n > 0 {
		if v[0] = int32(lo); lo == 0 || hi > -lo {
			v[0] = int32(hi)
		}
	}
	return v
}

// Kept returns the dry run, which has the values, nil if there is none.
func (d *dry) Kept() forward.Kept {
	if d.kept == nil {
		return nil
	}
	return d.kept
}

// task makes the proof of a sub-transcript dry. It returns the most bytes that a stream takes for it, and the claims, whose points
// have the shape of a real proof's.
func (d *dry) task(p *plan.Plan, f *plan.Fork) (bytes int64, claims []plan.Claim, err error) {
	s := run.NewStream(d.on, d.g, d)
	defer s.Close()
	b := backend.NewFallback(d.g, newBackend(s, nil), cpu.New(d.g, d), backend.Policy{Threshold: d.m.Threshold})
	role := reduce.NewDryProver(context.Background(), dryWriter(uint64(f.Chunk)), b)
	claims = reduce.Run(p, f, role, reduce.Public{})
	return b.Peak(), claims, role.Err()
}

// dryWriter returns the transcript of a dry proof.
func dryWriter(n uint64) *transcript.Writer {
	return transcript.NewWriter(transcript.New(hash.Blake3, "dry").Fork(n))
}

// tasks is what the sub-transcripts of a plan take.
type tasks struct {
	bytes  map[*plan.Fork]int64 // without sub-transcripts that no device can prove
	most   int64                // the maximum of bytes
	claims []plan.Claim         // of all sub-transcripts
}

// tasks makes the proofs of all sub-transcripts dry.
func (d *dry) tasks(p *plan.Plan) *tasks {
	needs, claims, errs := make([]int64, len(p.Forks)), make([][]plan.Claim, len(p.Forks)), make([]error, len(p.Forks))
	parallel.For(len(p.Forks), 1, func(from, to int) {
		for i := from; i < to; i++ {
			needs[i], claims[i], errs[i] = d.task(p, p.Forks[i])
		}
	})
	t := &tasks{bytes: map[*plan.Fork]int64{}, claims: slices.Concat(claims...)}
	for i, f := range p.Forks {
		if errs[i] == nil {
			t.bytes[f], t.most = needs[i], max(t.most, needs[i])
		}
	}
	return t
}

// errNoTask is the error of a sub-transcript that no device can prove.
var errNoTask = errors.New("a chunk of sizes that no device takes")

// shared calls f with the leader of a team of devices that only count, as many as share commitments (Machine.Sharing). It returns the
// most bytes that f takes on any of them.
func (d *dry) shared(f func(l *peers.Leader) error) (int64, error) {
	group := &peers.Group{}
	for range d.m.Sharing - 1 {
		group.Others = append(group.Others, d.context())
	}
	s := run.NewStream(d.on, d.g, d, group.Others...)
	defer s.Close()
	l := peers.NewLeader(s, group)
	defer l.Close()
	err := f(l)
	most := s.Dev.Peak()
	for _, x := range group.Others {
		most = max(most, x.Traffic().Peak)
	}
	return most, err
}

// commit returns the most bytes that a commitment takes on any of the machines that share it.
func (d *dry) commit(c *backend.Commitment) (int64, error) {
	return d.shared(func(l *peers.Leader) error {
		_, err := l.Commit(context.Background(), *c)
		return err
	})
}

// open returns the most bytes that the opening of a proof takes on any of the machines that share it. Recomputed segments count as
// values already (needForward), up to Mode.Together at a time. The opening has fewer of them at a time; so what it takes besides is
// counted only as far as the total exceeds those.
func (d *dry) open(p *plan.Plan, claims []plan.Claim) (int64, error) {
	ctx, o := context.Background(), p.Opening()
	trees := make([]*whir.Tree, len(p.Trees))
	s := run.NewStream(d.on, d.g, d)
	defer s.Close()
	for i := range trees {
		var err error
		if trees[i], err = peers.NewLeader(s, nil).Commit(ctx, p.Trees[i].Commitment); err != nil {
			return 0, err
		}
	}
	w := dryWriter(0)
	tau := w.Challenges(p.TailVars())
	terms, value := p.Combine(claims, tau, w.Challenge())
	if p.Pads != nil { // pads have weights of their own
		terms = p.Pads.Terms(terms, w.Challenges(p.Pads.Elements()))
	}
	s.DropSegments()
	before := d.on.Dev.Live()
	d.on.Dev.Watch()
	most, err := d.shared(func(l *peers.Leader) error {
		passes, err := l.Opening(ctx, o)
		if err != nil {
			return err
		}
		defer passes.Close()
		return whir.Open(ctx, w, o.Params, trees, passes, o.RowOffsets, terms, value)
	})
	if d.kept != nil && d.mode.Values {
		most = max(0, d.on.Dev.Watched()-before-d.kept.Recomputed(d.mode.Together()))
	}
	return most, err
}
