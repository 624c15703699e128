package cuda

import (
	"fmt"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/machine/cuda/sums"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/colsum"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// Stays is the device memory, in bytes, that a proof takes as long as it lasts, if all
// of it is made there: weights, values and digests.
func (m *Machine) Stays(p *plan.Plan) int64 {
	n := m.Need(p)
	fixed := n.Fixed
	if m.MaxResident > 0 {
		fixed = min(fixed, int64(m.MaxResident))
	}
	return fixed + n.Witness + n.Trees
}

// TaskNeed estimates the device memory, in bytes, that a lane takes at most while it
// proves a fork, beside what stays: steps over less than threshold entries are the
// CPU's, as with backend.Fallback. It follows the fork with a device that only counts,
// through the code that allocates, so that it is off by what depends on values alone:
// keys that fit into fewer bytes than their table's range. Weights for which there is
// no room as a whole take a piece more.
func (m *Machine) TaskNeed(p *plan.Plan, f *plan.Fork, threshold int) (bytes int64, err error) {
	key := taskKey{f, threshold, m.Mode()}
	bytes, ok := m.needs.task(p, key)
	if !ok {
		if bytes, err = m.follow(p, key); err != nil {
			return 0, err
		}
		m.needs.setTask(p, key, bytes)
	}
	if limit := int64(m.MaxResident); limit > 0 && fixedNeed(p.Graph) > limit {
		bytes += int64(m.Piece)
	}
	return bytes, nil
}

// follow is TaskNeed without the piece of weights.
func (m *Machine) follow(p *plan.Plan, k taskKey) (bytes int64, err error) {
	defer device.Catch(&err)
	d := kernels.NewDry(m.Dev.Multiprocessors())
	t := &follower{taskKey: k, m: m, g: p.Graph, f: k.fork, dev: device.NewScope(d), keys: map[int]kernels.Ptr{},
		shared: k.fork.Shared(p.Graph), copied: map[string]sums.Table{}}
	t.box, _ = d.NewMailbox(device.MailboxWords) // never fails
	t.fork()
	return d.Peak(), nil
}

// dryAddress stands for that of a tensor that is not the lane's: aligned as any is.
const dryAddress = 256

// follower follows a fork as package sites does, for its memory.
type follower struct {
	taskKey
	m      *Machine
	g      *model.Graph
	f      *plan.Fork
	dev    *device.Scope
	box    kernels.Mailbox
	keys   map[int]kernels.Ptr // of look-up steps that are cut
	node   int                 // the next one
	tables [][2]sums.Table     // of the sums that wait; at 0 where they are the CPU's
	sums   []*plan.Sum         // these
	shared map[string]int      // uses of tables that several sums have, and those that there are
	copied map[string]sums.Table
}

func (t *follower) worth(n int) bool { return n >= t.threshold }

func (t *follower) fork() {
	f := t.f
	if f.Leaves.Size > 0 {
		t.lookUps()
		t.find(f.RowNodes)
		if f.JoinVars > 0 {
			t.joined()
			t.find(f.JoinNodes)
		}
	}
	t.find(f.EquationNodes)
	for i := range f.Batches {
		t.batch(&f.Batches[i])
	}
}

// lookUps follows Fractions and the tree's rounds.
func (t *follower) lookUps() {
	l := &t.f.Leaves
	vars := logup.NumVars(l.Size)
	if !t.worth(l.Size) || vars < sums.MinTreeVars {
		return
	}
	a := device.NewScope(t.dev)
	defer a.Close()
	nums, dens := device.NewArray[field.M31](a, l.Size), device.NewArray[field.QM31](a, l.Size)
	own := device.NewScope(t.dev)
	words := 0
	for i := range l.Steps {
		words += len(l.Steps[i].Blocks)
	}
	for i := range l.Tables {
		words += 3 * len(t.g.Tables[l.Tables[i].Table].Pieces)
	}
	if words > 0 {
		device.NewArray[uint64](own, words)
	}
	for i := range l.Steps {
		t.loadKeys(&l.Steps[i])
	}
	device.NewArray[kernels.LeafJob](own, len(l.Steps)+len(l.Tables))
	for i := range l.Steps {
		if s := &l.Steps[i]; !s.IsCut() {
			t.dropKeys(s.Step)
		}
	}
	own.Close()
	tree := sums.NewTree(a, t.box, nums, dens, l.Size)
	for k := tree.UpperLayer(); k < vars; k++ {
		tree.BeginLayer(k, make([]field.QM31, k), field.Zero)
		tree.Rounds.Eq.Free(a)
	}
}

func (t *follower) loadKeys(s *backend.LeafStep) {
	if _, ok := t.keys[s.Step]; ok {
		return
	}
	if _, _, ok := run.KeyTensor(t.g, s.Step); ok {
		return
	}
	n := model.Size(t.g.Steps[s.Step].Shape)
	t.keys[s.Step] = device.NewArray[uint8](t.dev, run.WidthOfKeys(&t.g.Tables[s.Table])*n)
	if t.mode.Forward().Keys && t.worth(n) {
		productsRoom(device.NewScope(t.dev), t.g, &t.g.Steps[s.Step])
	}
}

// productsRoom allocates what the products of a step take, and frees it, and returns the number of
// accumulators, which does not depend on their operands.
func productsRoom(a *device.Scope, g *model.Graph, s *model.Step) (sums int) {
	defer a.Close()
	if !run.ProductsOf(g, s) {
		return 0
	}
	sums = model.Size(s.Shape)
	acc := device.NewArray[int64](a, sums)
	for i := range s.Acc.Products {
		q := &s.Acc.Products[i]
		if !run.ByLaunch(model.NewContraction(q, g.Tensors[q.A].Shape, g.Tensors[q.B].Shape, s.Shape), sums) {
			continue
		}
		mm, x, y := run.Operands(g, q, s.Shape, func([]int32) kernels.Ptr { return dryAddress })
		mm.A.Width, mm.B.Width = device.WidthOfRange(g.Tensors[x].Min, g.Tensors[x].Max), device.WidthOfRange(g.Tensors[y].Min, g.Tensors[y].Max)
		mm.XBits = run.Magnitude(&g.Tensors[x], mm.A.Width)
		mm.Acc, mm.A.Ptr, mm.B.Ptr = acc, dryAddress, dryAddress
		device.Check(kernels.MultiplyAdd(a, mm))
	}
	return sums
}

func (t *follower) dropKeys(step int) {
	t.dev.Free(t.keys[step])
	delete(t.keys, step)
}

// joined follows RowSums and ColumnSums of the steps that are cut.
func (t *follower) joined() {
	var steps []*backend.LeafStep
	seen := map[string]bool{}
	entries, rowSums, lists, weights := 0, 0, 0, 0
	for i := range t.f.Leaves.Steps {
		s := &t.f.Leaves.Steps[i]
		if !s.IsCut() {
			continue
		}
		shape := t.g.Steps[s.Step].Shape
		rows, columns, parts := colsum.Sizes(shape)
		steps = append(steps, s)
		entries += model.Size(shape)
		rowSums += rows * parts
		if key := fmt.Sprint(shape); !seen[key] { // lists of one shape are there once
			seen[key] = true
			lists += sums.RowSumsRoom(columns, parts)
			weights += 2 * rows
		}
	}
	if !t.worth(entries) || len(steps) == 0 {
		return
	}
	a := device.NewScope(t.dev)
	device.NewArray[field.QM31](a, lists)
	for _, s := range steps {
		t.loadKeys(s)
	}
	device.NewArray[field.QM31](a, rowSums)
	device.NewArray[kernels.RowJob](a, len(steps))
	a.Close()
	device.NewArray[field.QM31](a, weights)
	var list kernels.ColumnJobs
	for _, s := range steps {
		rows, columns, _ := colsum.Sizes(t.g.Steps[s.Step].Shape)
		device.Check(list.Add(kernels.Integers{At: dryAddress, Width: 1}, kernels.Integers{}, rows, columns, dryAddress, dryAddress))
	}
	out := device.NewArray[field.QM31](a, list.Sums)
	device.Check(kernels.LogUpColumnSums(a, out, &list, device.NewCopy(a, list.Jobs)))
	a.Close()
	for _, s := range steps {
		t.dropKeys(s.Step)
	}
}

// find follows the nodes before n: all evaluations first.
func (t *follower) find(n int) {
	var evals []kernels.Evaluation
	add := func(id model.TensorID) {
		if x := &t.g.Tensors[id]; t.worth(model.Size(x.Shape)) {
			evals = append(evals, kernels.Evaluation{Values: kernels.Integers{At: dryAddress, Width: device.WidthOfRange(x.Min, x.Max)},
				Shape: x.Shape, Point: make([]field.QM31, model.Vars(x.Shape))})
		}
	}
	for i := t.node; i < n; i++ {
		switch node := &t.f.Nodes[i]; node.Kind {
		case plan.Public:
			if t.g.Tensors[node.Tensor].Kind != model.ByFormula {
				add(node.Tensor)
			}
		case plan.Sent:
			add(node.Tensor)
		case plan.Count:
			if n := len(t.g.Tables[node.Table].SaturatedBlocks()); n < plan.ManyBlocks {
				for range n {
					add(node.Tensor)
				}
			}
		}
	}
	sums.Evaluate(device.Results{Dev: t.dev, Box: t.box}, evals)
	first := len(t.tables)
	for ; t.node < n; t.node++ {
		if node := &t.f.Nodes[t.node]; node.Kind == plan.SumValue {
			t.sum(&t.f.Sums[node.Sum])
		}
	}
	t.inner(first)
}

// restrict follows Restrict, and returns a table at 0 if it is the CPU's.
func (t *follower) restrict(id model.TensorID, bound [][]field.QM31, keep []int) sums.Table {
	x := &t.g.Tensors[id]
	r := backend.Restriction{Tensor: id, Bound: bound, Keep: keep}
	if !t.worth(model.Size(x.Shape)) {
		vars := 0
		for _, a := range keep {
			vars += model.Log2Ceil(x.Shape[a])
		}
		return sums.Table{Vars: vars}
	}
	return sums.Restrict(t.dev, x.Shape, kernels.Integers{At: dryAddress, Width: device.WidthOfRange(x.Min, x.Max)}, r)
}

func (t *follower) operand(o *plan.Operand) sums.Table {
	left, shared := t.shared[o.Key()]
	if !shared {
		return t.read(o)
	}
	first, ok := t.copied[o.Key()]
	if !ok {
		first = t.read(o)
		t.copied[o.Key()] = first
	}
	t.shared[o.Key()] = left - 1
	if left == 1 || first.At == 0 {
		return first
	}
	return sums.CopyOf(t.dev, first)
}

// read follows the restriction of an operand.
func (t *follower) read(o *plan.Operand) sums.Table {
	bound := make([][]field.QM31, len(o.Bound))
	for a, part := range o.Bound {
		if part != nil {
			bound[a] = make([]field.QM31, len(part))
		}
	}
	return t.restrict(o.Tensor, bound, o.Keep)
}

// sum follows the tables of a sum.
func (t *follower) sum(s *plan.Sum) {
	a := t.operand(&s.A)
	b := sums.Table{Vars: s.Vars}
	if s.View == nil {
		b = t.operand(&s.B)
	} else if t.worth(1 << s.Vars) {
		b.At = device.NewArray[field.QM31](t.dev, 1<<s.Vars)
	}
	t.tables, t.sums = append(t.tables, [2]sums.Table{a, b}), append(t.sums, s)
}

// inner follows Inner, of the sums from one on.
func (t *follower) inner(first int) {
	there := func(i int) bool { return t.tables[i][0].At != 0 || t.tables[i][1].At != 0 }
	n := 0
	for i := first; i < len(t.tables); i++ {
		if !there(i) {
			n += 2 << t.tables[i][0].Vars
		}
	}
	all := t.worth(n)
	var insts []sums.SumcheckInstance
	for i := first; i < len(t.tables); i++ {
		pair := &t.tables[i]
		if !all && !there(i) {
			continue
		}
		t.upload(&pair[0])
		t.upload(&pair[1])
		insts = append(insts, sums.SumcheckInstance{A: pair[0].At, B: pair[1].At, Vars: pair[0].Vars, Eq: make([]field.QM31, len(t.sums[i].Eq))})
	}
	sums.Inner(device.Results{Dev: t.dev, Box: t.box}, insts)
}

// upload puts a table on the device if it is not there.
func (t *follower) upload(x *sums.Table) {
	if x.At == 0 {
		x.At = device.NewArray[field.QM31](t.dev, 1<<x.Vars)
	}
}

// batch follows Sums, its rounds, and the nodes after it.
func (t *follower) batch(b *plan.Batch) {
	n := 0
	for _, pair := range t.tables {
		n += 2 << pair[0].Vars
	}
	if t.worth(n) {
		insts := make([]sums.SumcheckInstance, len(t.tables))
		for i := range t.tables {
			pair := &t.tables[i]
			t.upload(&pair[0])
			t.upload(&pair[1])
			insts[i] = sums.SumcheckInstance{A: pair[0].At, B: pair[1].At, Vars: pair[0].Vars, Eq: make([]field.QM31, len(t.f.Sums[b.From+i].Eq))}
		}
		x := sums.NewBatch(device.NewScope(t.dev), t.box, insts)
		nothing := func(kernels.Post) error { return nil }
		x.Read(kernels.SumcheckTwoRoundsWords*len(insts), nothing)
		round := 0
		for round < x.Rounds && !x.FewLeft(round) {
			round++
		}
		x.Elements(2*len(insts)<<(x.Rounds-round), nothing) // for the host
		x.Close()
	}
	t.tables, t.sums = nil, nil
	t.find(b.Nodes)
}
