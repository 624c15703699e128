package backend

import (
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/sumcheck"
	"github.com/prove-model/prove-model/prover/transcript"
	"github.com/prove-model/prove-model/prover/whir"
)

// DefaultThreshold is the size, in entries of the tables concerned, from which
// on a step is worth a device.
const DefaultThreshold = 1 << 14

// Fallback runs large steps on a device and the others on the CPU. When the
// device fails, it runs the step again from its beginning on the CPU, and all
// later ones there: the transcript is put back to where the step began, so the
// bytes are the same. It is for one goroutine.
type Fallback struct {
	graph       *model.Graph
	device, cpu Backend
	policy      Policy
	lost        bool
}

// Policy says what a Fallback does where.
type Policy struct {
	// Threshold is the least size of a step that goes to the device.
	Threshold int
	// Warn is told the device's error, once. Without it the error goes on as a
	// Failure, and nothing is done again.
	Warn func(error)
}

var _ Backend = (*Fallback)(nil)

// NewFallback returns a backend that uses both of two backends over one witness
// of g.
func NewFallback(g *model.Graph, device, cpu Backend, p Policy) *Fallback {
	return &Fallback{graph: g, device: device, cpu: cpu, policy: p}
}

// worth says whether a step over n entries goes to the device.
func (b *Fallback) worth(n int) bool { return !b.lost && n >= b.policy.Threshold }

// try runs f, which uses the device, and says whether the device did its part.
func (b *Fallback) try(f func()) bool {
	err := Catch(f)
	if err == nil {
		return true
	}
	if b.policy.Warn == nil {
		panic(Failure{err})
	}
	if !b.lost {
		b.lost = true
		b.policy.Warn(err)
	}
	return false
}

// run does a step on the device if it is worth that, otherwise or failing that
// on the CPU. f does it on the backend it is given.
func (b *Fallback) run(n int, f func(Backend)) {
	if b.worth(n) && b.try(func() { f(b.device) }) {
		return
	}
	f(b.cpu)
}

// send is run for a step that writes to the transcript.
func (b *Fallback) send(w *transcript.Writer, n int, f func(Backend)) {
	begin := w.Snapshot()
	if b.worth(n) {
		if b.try(func() { f(b.device) }) {
			return
		}
		w.Restore(begin)
	}
	f(b.cpu)
}

// Eval implements Backend.
func (b *Fallback) Eval(id model.TensorID, point []field.QM31) (v field.QM31) {
	b.run(b.size(id), func(on Backend) { v = on.Eval(id, point) })
	return v
}

func (b *Fallback) size(id model.TensorID) int { return model.Size(b.graph.Tensors[id].Shape) }

// Restrict implements Backend.
func (b *Fallback) Restrict(r Restriction) Table {
	vars := 0
	for _, axis := range r.Keep {
		vars += model.Log2Ceil(b.graph.Tensors[r.Tensor].Shape[axis])
	}
	return b.table(b.size(r.Tensor), vars, func(on Backend) Table { return on.Restrict(r) })
}

// Upload implements Backend.
func (b *Fallback) Upload(values []field.QM31) Table {
	return b.table(len(values), model.Log2Ceil(len(values)), func(on Backend) Table { return on.Upload(values) })
}

// Download implements Backend.
func (b *Fallback) Download(t Table) []field.QM31 { return b.cpu.Download(t.(*movable).local()) }

// Inner implements Backend. It goes where the tables are.
func (b *Fallback) Inner(eq []field.QM31, x, y Table) (v field.QM31) {
	s, t := x.(*movable), y.(*movable)
	n := 0
	if s.device != nil || t.device != nil {
		n = b.policy.Threshold
	}
	b.run(n, func(on Backend) { v = on.Inner(eq, s.on(on), t.on(on)) })
	return v
}

// Sumcheck implements Backend.
func (b *Fallback) Sumcheck(w *transcript.Writer, instances []Instance) (finals []sumcheck.Final) {
	n := 0
	for _, in := range instances {
		n += 2 << in.A.(*movable).vars
	}
	b.send(w, n, func(on Backend) {
		moved := make([]Instance, len(instances))
		for i, in := range instances {
			moved[i] = Instance{Claim: in.Claim, Eq: in.Eq, A: in.A.(*movable).on(on), B: in.B.(*movable).on(on)}
		}
		finals = on.Sumcheck(w, moved)
	})
	return finals
}

// LogUp implements Backend.
func (b *Fallback) LogUp(w *transcript.Writer, l Leaves) (point []field.QM31, num, den field.QM31) {
	b.send(w, l.Size, func(on Backend) { point, num, den = on.LogUp(w, l) })
	return point, num, den
}

// Commit implements Backend.
func (b *Fallback) Commit(s Stack) (t *whir.Tree) {
	b.run(int(s.Layout.Size), func(on Backend) {
		t = on.Commit(s)
		if on == b.device {
			t = whir.NewTree(s.RowVars, s.LogBlowup, s.Rows, &nodes{Nodes: t.Nodes(), b: b, stack: s})
		}
	})
	return t
}

// Open implements Backend.
func (b *Fallback) Open(w *transcript.Writer, o Opening) {
	n := 0
	for _, s := range o.Stacks {
		n += s.Rows << s.RowVars
	}
	b.send(w, n, func(on Backend) { on.Open(w, o) })
}

// Close implements Backend.
func (b *Fallback) Close() {
	// A device that is lost cannot be asked to give anything back.
	_ = Catch(b.device.Close)
	b.cpu.Close()
}
