package plan

import (
	"encoding/binary"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/colsum"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// reducer follows the claim reduction of one sub-transcript, with names in place of
// challenges.
type reducer struct {
	p    *Plan
	f    *Fork
	cost spent
	// seen finds the node of a tensor at a point that has been evaluated before.
	seen     seen
	key      []byte              // room for the keys of products and alike
	products map[string]*Product // by the key that product makes
	alike    map[string]*Wiring  // by wiringKey
	lists    []Point             // by list of challenges: the names of all its challenges, nil if not used yet
	room     room
	elements int64 // how many elements of K have been sent so far
}

// elementBytes is the length of an element of K in a stream.
const elementBytes = 4 * transcript.LimbBytes

func newReducer(p *Plan, chunk int) *reducer {
	return &reducer{p: p, f: &Fork{Chunk: chunk}, cost: spent{cost: &p.cost}, seen: newSeen(0)}
}

// nodesAStep is roughly how many nodes a step takes; a table takes about two.
const nodesAStep = 5

// chunk plans the reduction of a chunk: of its steps, which have the given indexes, and of
// its multiplicities.
func (r *reducer) chunk(steps []int, mults []*model.Mult) *Fork {
	g, f := r.p.Graph, r.f
	r.cost.work(workFork)
	f.Nodes = make([]Node, 0, nodesAStep*len(steps)+2*len(mults))
	r.seen = newSeen(cap(f.Nodes) / 2)
	f.Sums = make([]Sum, 0, len(steps))
	if f.Leaves = NewLeaves(g, steps, mults); f.Leaves.Size > 0 {
		r.lookUps()
	}
	f.JoinNodes = len(f.Nodes)
	any := false
	for _, i := range steps {
		if s := &g.Steps[i]; isEquation(s) {
			f.Tau, any = max(f.Tau, model.Vars(s.Shape)), true
		}
	}
	for _, i := range steps {
		if s := &g.Steps[i]; any && isEquation(s) {
			at := r.challenges(EquationPoint, f.Tau, model.Vars(s.Shape))
			e := Equation{Step: i, Left: r.acc(&s.Acc, s.Shape, at), Right: None}
			if s.Kind == model.StepExact {
				e.Right = r.eval(s.Out, at)
			}
			f.Equations = append(f.Equations, e)
		}
	}
	return r.finish()
}

func isEquation(s *model.Step) bool { return s.Kind == model.StepExact || s.Kind == model.StepZero }

// outputs plans the reduction of the public outputs.
func (r *reducer) outputs() *Fork {
	g, f := r.p.Graph, r.f
	r.cost.work(workFork)
	for _, id := range g.Outputs {
		if g.Tensors[id].Kind != model.Empty {
			f.Tau = max(f.Tau, model.Vars(g.Tensors[id].Shape))
		}
	}
	for i, id := range g.Outputs {
		if g.Tensors[id].Kind == model.Empty { // there is nothing to prove
			continue
		}
		shape := g.Tensors[id].Shape
		at := r.challenges(EquationPoint, f.Tau, model.Vars(shape))
		f.Equations = append(f.Equations, Equation{Step: -1, Output: i, Left: r.eval(id, at), Right: None})
		r.cost.public(shape)
	}
	return r.finish()
}

// finish plans the batches of sums and returns the fork.
func (r *reducer) finish() *Fork {
	r.f.EquationNodes = len(r.f.Nodes)
	r.batches()
	r.cost.flush()
	r.f.Bytes += r.elements * elementBytes
	return r.f
}

// lookUps plans the values with which the end of the look-up tree is checked: those of the
// columns of every step and table (docs/protocol.md, "Look-ups", 4 to 7).
func (r *reducer) lookUps() {
	g, f := r.p.Graph, r.f
	vars := model.Log2Ceil(f.Leaves.Size)
	r.elements += int64(logup.Elements(vars))
	r.cost.work(workRound * uint64(vars*(vars+1)/2+1))
	f.Steps = make([]Row, len(f.Leaves.Steps))
	for i := range f.Leaves.Steps {
		s := &f.Leaves.Steps[i]
		r.cost.work(workBlock * uint64(len(s.Blocks)))
		if !s.IsCut() {
			f.Steps[i] = r.stepRow(s, r.challenges(LookUpPoint, vars, s.Blocks[0].Bits))
		}
	}
	for i := range f.Leaves.Tables {
		b := &f.Leaves.Tables[i]
		t := &g.Tables[b.Table]
		at := r.challenges(LookUpPoint, vars, b.Block.Bits)
		r.cost.work(workBlock + uint64(len(t.Pieces)*(t.Bits-t.Drop+1))*workPieceBit)
		row := Row{Num: r.eval(b.Mult, at), Acc: None, Out: None, Lo: None}
		if t.Kind == model.TableFunc {
			row.Out = r.eval(t.Values, at)
		}
		f.Tables = append(f.Tables, row)
		r.saturated(b)
	}
	f.RowNodes = len(f.Nodes)
	f.JoinVars = colsum.Vars(g, &f.Leaves)
	r.elements += int64(colsum.Elements(f.JoinVars))
	r.cost.work(workRound * uint64(f.JoinVars))
	for i := range f.Leaves.Steps {
		if s := &f.Leaves.Steps[i]; s.IsCut() {
			f.Steps[i] = r.stepRow(s, r.challenges(JoinPoint, f.JoinVars, model.Vars(g.Steps[s.Step].Shape)))
		}
	}
}

// saturated adds the count of look-ups of a table's saturated rows, if it has such rows.
func (r *reducer) saturated(b *backend.LeafTable) {
	blocks := r.p.Graph.Tables[b.Table].SaturatedBlocks()
	if len(blocks) == 0 {
		return
	}
	r.f.Claims = append(r.f.Claims, r.add(Node{Kind: Count, Tensor: b.Mult, Table: b.Table}))
	r.f.Bytes += transcript.LimbBytes
	r.cost.opens(uint64(len(blocks)))
}

// stepRow plans the values of the columns of a look-up step at a point.
func (r *reducer) stepRow(b *backend.LeafStep, at Point) Row {
	s := &r.p.Graph.Steps[b.Step]
	row := Row{Num: None, Acc: r.acc(&s.Acc, s.Shape, at), Out: None, Lo: None}
	if s.Lo != model.None {
		row.Lo = r.eval(s.Lo, at)
	}
	if s.Out != model.None {
		row.Out = r.eval(s.Out, at)
	}
	return row
}

// challenges returns the names of the last n challenges of a list; `of` is the length of the
// list, the same in the whole sub-transcript.
func (r *reducer) challenges(list, of, n int) Point {
	for len(r.lists) <= list {
		r.lists = append(r.lists, nil)
	}
	if len(r.lists[list]) != of {
		r.lists[list] = challenges(list, of, of)
	}
	return r.lists[list][of-n : of : of]
}

// add appends a node, with its cost, and returns its index.
func (r *reducer) add(n Node) Value {
	r.f.Nodes = append(r.f.Nodes, n)
	r.cost.node(&n)
	return Value(len(r.f.Nodes) - 1)
}

// eval returns the node of a tensor at a point. If there is none yet it adds one, preceded by
// the nodes that it is computed from. It returns None if a limit of the cost was passed.
func (r *reducer) eval(id model.TensorID, at Point) Value {
	if r.cost.failed() {
		return None
	}
	known, ok, hash := r.seen.find(r.f.Nodes, id, at)
	if ok {
		return known
	}
	t := &r.p.Graph.Tensors[id]
	n := Node{Tensor: id, At: at}
	switch t.Kind {
	case model.Input:
		n.Kind = Public
		if d := t.Derived; d != nil && d.Kind == model.Marks {
			indexes := model.Size(r.p.Graph.Tensors[d.At].Shape)
			r.cost.work(uint64(indexes*(model.Vars(t.Shape[len(t.Shape)-1:])+1)) * workFormulaBit)
		} else {
			r.cost.public(t.Shape)
		}
	case model.ByFormula:
		n.Kind = Public
		r.cost.work(uint64(model.Vars(t.Shape)+30) * workFormulaBit)
	case model.Virtual:
		n.Kind, n.Combined = Combination, r.combined(t.Shape, 0)
		if t.Product != nil {
			n.Terms = r.factors(carve(&r.room.terms, 1)[:0], []model.Product{*t.Product}, t.Shape, at)
			break
		}
		n.Terms = r.linear(carve(&r.room.terms, len(t.Def))[:0], t.Def, t.Shape, at)
	default:
		n.Kind = Sent
		r.elements++
	}
	v := r.add(n)
	r.seen.add(r.f.Nodes, v, hash)
	if n.Kind == Sent {
		r.claim(v)
	}
	return v
}

// claim makes a node of a committed tensor a claim.
func (r *reducer) claim(v Value) {
	r.f.Claims = append(r.f.Claims, v)
	r.cost.claim(r.p, r.f.Nodes[v].Tensor)
}

// linear plans the values in Σ Coef·View(Src)~(at), and appends the terms of this sum to a list.
func (r *reducer) linear(list []Term, terms []model.Linear, out []int, at Point) []Term {
	for i := range terms {
		if r.cost.failed() {
			return nil
		}
		l := &terms[i]
		t := Term{Coef: l.Coef, Value: None}
		if l.View == nil {
			t.Value = r.eval(l.Src, at)
		} else {
			t.View = r.wiring(l, out)
			t.Value = r.view(t.View, l.Src, at)
		}
		list = append(list, t)
	}
	return list
}

// view returns the node of a view at a point, None if nothing is wired. If the wiring does
// more than rename variables, the value is sent, and a sum of the next batch reduces it
// to a value of the source.
func (r *reducer) view(w *Wiring, src model.TensorID, at Point) Value {
	r.cost.wiring(w)
	if r.cost.failed() || w.Empty {
		return None
	}
	if len(w.Keep) == 0 {
		return r.eval(src, w.renamed(at, &r.room))
	}
	return r.sum(Sum{Vars: w.Vars, A: Operand{Tensor: src, Bound: w.boundAt(at, &r.room), Keep: w.Keep}, View: w, At: at})
}

// acc returns the node of an accumulator at a point.
func (r *reducer) acc(a *model.Acc, shape []int, at Point) Value {
	terms := carve(&r.room.terms, len(a.Linear)+len(a.Products))[:0]
	c := r.combined(shape, a.Const)
	c.Terms = r.factors(r.linear(terms, a.Linear, shape, at), a.Products, shape, at)
	return r.add(Node{Kind: Combination, At: at, Combined: c})
}

// combined returns a Combined without terms.
func (r *reducer) combined(shape []int, constant int64) *Combined {
	c := &carve(&r.room.combined, 1)[0]
	c.Shape, c.Const = shape, constant
	return c
}

// factors adds a sum for each product, at a point of their output, and appends a term for
// each to a list.
func (r *reducer) factors(list []Term, products []model.Product, shape []int, at Point) []Term {
	for i := range products {
		p := &products[i]
		c := r.product(p, shape)
		v := r.sum(c.at(p, len(r.p.Graph.Tensors[p.A].Shape), len(r.p.Graph.Tensors[p.B].Shape), at, &r.room))
		list = append(list, Term{Coef: p.Coef, Value: v, Product: c})
	}
	return list
}

// product returns the Product for a product of the circuit. Products with the same
// labels and shapes share one.
func (r *reducer) product(p *model.Product, out []int) *Product {
	g := r.p.Graph
	r.key = r.key[:0]
	for _, list := range [][]int{p.LabelsA, p.LabelsB, g.Tensors[p.A].Shape, g.Tensors[p.B].Shape, out} {
		r.key = binary.AppendUvarint(r.key, uint64(len(list)))
		for _, n := range list {
			r.key = binary.AppendUvarint(r.key, uint64(n))
		}
	}
	c := r.products[string(r.key)]
	if c == nil {
		c = newProduct(g, p, out)
		if r.products == nil {
			r.products = map[string]*Product{}
		}
		r.products[string(r.key)] = c
	}
	return c
}

// sum adds a sum to the next batch and returns its value's node.
func (r *reducer) sum(s Sum) Value {
	s.Value = r.add(Node{Kind: SumValue, Sum: int32(len(r.f.Sums))})
	r.elements++
	r.f.Sums = append(r.f.Sums, s)
	return s.Value
}

// end returns the point at which an operand's tensor is needed at the end of its sum: bound
// axes are at their points, and the axes in Keep at the parts of kept, the challenges of the
// sum's rounds.
func (r *reducer) end(o *Operand, kept Point) Point {
	shape := r.p.Graph.Tensors[o.Tensor].Shape
	r.room.parts = append(r.room.parts[:0], o.Bound...)
	for _, a := range o.Keep {
		v := model.Log2Ceil(shape[a])
		r.room.parts[a], kept = kept[:v], kept[v:]
	}
	at := carve(&r.room.coords, model.Vars(shape))[:0]
	for _, part := range r.room.parts {
		at = append(at, part...)
	}
	return at
}

// someEq is a supply of coordinates for sumcheck.Shape.Eq where only their number matters.
var someEq [1 << indexBits]field.QM31

// batches plans batches until no sum is left. A batch has all the sums that are there when it
// begins. The values that are needed at its end may add further sums, for the next batch.
func (r *reducer) batches() {
	f := r.f
	for from := 0; from < len(f.Sums) && !r.cost.failed(); {
		b := Batch{From: from, To: len(f.Sums), Degree: 2}
		shapes := make([]sumcheck.Shape, 0, b.To-b.From)
		for _, s := range f.Sums[b.From:b.To] {
			shapes = append(shapes, sumcheck.Shape{NumVars: s.Vars, Eq: someEq[:len(s.Eq)]})
			b.Rounds = max(b.Rounds, s.Vars)
			if len(s.Eq) > 0 {
				b.Degree = 3
			}
		}
		r.elements += int64(sumcheck.Elements(shapes))
		r.cost.work(workRound * uint64(b.Rounds))
		list := FirstBatch + len(f.Batches)
		for i := b.From; i < b.To; i++ {
			s := &f.Sums[i]
			kept := r.challenges(list, b.Rounds, s.Vars)
			s.A.End = r.end(&s.A, kept)
			if s.View == nil {
				s.B.End = r.end(&s.B, kept)
			}
			// bind may append sums, which may move f.Sums: s is not used after it.
			product := s.View == nil
			r.bind(&b, i, false)
			if product {
				r.bind(&b, i, true)
			}
		}
		b.Nodes = len(f.Nodes)
		f.Batches = append(f.Batches, b)
		from = b.To
	}
}

// bind plans what happens to the value of an operand's tensor at the point End, which the end
// of the sum gives. If the tensor is committed and has not been evaluated there, that value
// becomes a claim. Otherwise the tensor is evaluated as well, and a check compares the two.
func (r *reducer) bind(b *Batch, sum int, isB bool) {
	if r.cost.failed() {
		return
	}
	o := r.f.Sums[sum].Operand(isB)
	kind := r.p.Graph.Tensors[o.Tensor].Kind
	if _, ok, hash := r.seen.find(r.f.Nodes, o.Tensor, o.End); !ok && (kind == model.Fixed || kind == model.Witness) {
		v := r.add(Node{Kind: End, Tensor: o.Tensor, At: o.End, Sum: int32(sum), IsB: isB})
		r.seen.add(r.f.Nodes, v, hash)
		r.claim(v)
		return
	}
	b.Checks = append(b.Checks, Check{Sum: sum, IsB: isB, Value: r.eval(o.Tensor, o.End)})
}
