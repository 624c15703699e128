package reduce

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// Public has the values of the public tensors: element i of a list is the i-th input or output of
// the graph, dense and row-major. Inputs that are marks (model.Marks) may be missing: their values
// follow from those of another input.
type Public struct{ Inputs, Outputs [][]int32 }

// Session runs the claim reduction of one sub-transcript (of a chunk, or of the public outputs).
type Session struct {
	pl             *plan.Plan
	g              *model.Graph
	f              *plan.Fork
	p              *Role
	public         Public
	drawn          [][]field.QM31     // lists of challenges, by their numbers in package plan
	values         []transcript.Form  // by node of the fork, as far as they are known
	finals         []sumcheck.Final   // by sum of the fork, for the batches that are done
	tables         []backend.Instance // prover: the tables of the sums of the next batch
	shared         restrictions       // prover: the tables that several sums use
	computed, sums []field.QM31       // prover: evaluations and sums that the next nodes will take
	room           []field.QM31       // memory for points
	factors        weighed            // the factors of views without axes to sum over
}

// Run runs the claim reduction of a sub-transcript and returns the claims that are left to open.
// If something does not hold, the verifier's reader has the error, and the claims are meaningless.
func Run(pl *plan.Plan, f *plan.Fork, p *Role, public Public) []plan.Claim {
	return RunInto(make([]plan.Claim, len(f.Claims)), pl, f, p, public)
}

// RunInto is Run with memory for the claims, of length len(f.Claims), which it returns.
func RunInto(claims []plan.Claim, pl *plan.Plan, f *plan.Fork, p *Role, public Public) []plan.Claim {
	s := &Session{pl: pl, g: pl.Graph, f: f, p: p, public: public, factors: weighed{},
		drawn: make([][]field.QM31, plan.FirstBatch, plan.FirstBatch+len(f.Batches))}
	if p.proving() {
		s.shared = sharedRestrictions(f.Shared(pl.Graph))
	}
	if f.Leaves.Size > 0 {
		s.lookUps(pl.LookupGrind)
	}
	s.equations()
	for i := range f.Batches {
		s.batch(&f.Batches[i])
	}
	if p.failed() {
		return nil
	}
	for i, v := range f.Claims {
		n := &f.Nodes[v]
		claims[i] = plan.Claim{Tensor: n.Tensor, Point: s.at(n.At), Value: s.values[v]}
		if n.Kind == plan.Count {
			claims[i].Saturated = &s.g.Tables[n.Table]
		}
	}
	return claims
}

// pointRoom is how many coordinates of points are allocated at a time.
const pointRoom = 1 << 9

// at returns the coordinates of a point whose challenges have been drawn. The caller must not
// change them.
func (s *Session) at(p plan.Point) []field.QM31 {
	if len(p) == 0 {
		return nil
	}
	if p.Consecutive() {
		i := p[0].Index()
		return s.drawn[p[0].List()][i : i+len(p) : i+len(p)]
	}
	if len(p) > len(s.room) {
		s.room = make([]field.QM31, max(len(p), pointRoom))
	}
	point := s.room[:len(p):len(p)]
	s.room = s.room[len(p):]
	for i, c := range p {
		point[i] = s.drawn[c.List()][c.Index()]
	}
	return point
}

// find finds the values of the nodes before n that are not known yet. A prover first computes all
// evaluations of these nodes in one call of the backend and all sums in another. Their points must
// have been drawn.
func (s *Session) find(n int) {
	if s.p.proving() && !s.p.failed() {
		s.computed = s.p.evaluate(s.evaluations(n))
		s.sums = s.inner(n)
	}
	s.values = slices.Grow(s.values, len(s.f.Nodes)-len(s.values))
	for len(s.values) < n && !s.p.failed() {
		s.values = append(s.values, s.value(&s.f.Nodes[len(s.values)]))
	}
}

// evaluations lists what a prover has to evaluate for the nodes before n whose values are not
// known, in the order in which value takes the results.
func (s *Session) evaluations(n int) []backend.Evaluation {
	var list []backend.Evaluation
	for i := len(s.values); i < n; i++ {
		switch n := &s.f.Nodes[i]; n.Kind {
		case plan.Public:
			if t := &s.g.Tensors[n.Tensor]; t.Kind != model.ByFormula && !isMarks(t) {
				list = append(list, backend.Evaluation{Tensor: n.Tensor, Point: s.at(n.At)})
			}
		case plan.Sent:
			list = append(list, backend.Evaluation{Tensor: n.Tensor, Point: s.at(n.At)})
		case plan.Count:
			for _, p := range saturatedPoints(&s.g.Tables[n.Table]) {
				list = append(list, backend.Evaluation{Tensor: n.Tensor, Point: p})
			}
		}
	}
	return list
}

// take removes and returns the first of the values that a prover has computed.
func (s *Session) take(values *[]field.QM31) field.QM31 {
	if len(*values) == 0 {
		return field.Zero // the prover has failed
	}
	v := (*values)[0]
	*values = (*values)[1:]
	return v
}

// value finds the value of a node: it sends or receives the value of a committed tensor,
// evaluates a public one, and computes a combination from the nodes before it.
func (s *Session) value(n *plan.Node) transcript.Form {
	switch n.Kind {
	case plan.Public:
		t := &s.g.Tensors[n.Tensor]
		switch {
		case s.p.dry && (t.Kind == model.ByFormula || isMarks(t)):
			return transcript.Form{}
		case t.Kind == model.ByFormula:
			return transcript.Known(formula(t, s.at(n.At)))
		case isMarks(t):
			at := &s.g.Tensors[t.Derived.At]
			return transcript.Known(marks(t, s.input(t.Derived.At), model.Size(at.Shape), s.at(n.At)))
		case s.p.proving():
			return transcript.Known(s.take(&s.computed))
		}
		return transcript.Known(poly.EvalTensor(t.Shape, s.input(n.Tensor), s.at(n.At)))
	case plan.Sent:
		return s.p.value(func() field.QM31 { return s.take(&s.computed) })
	case plan.End:
		return s.end(int(n.Sum), n.IsB)
	case plan.SumValue:
		return s.p.value(func() field.QM31 { return s.take(&s.sums) })
	case plan.Count:
		return s.p.count(func() field.M31 { return s.saturated(n.Tensor, &s.g.Tables[n.Table]) })
	default:
		return s.combination(n)
	}
}

// input returns the values of a public input, nil if the tensor is none.
func (s *Session) input(id model.TensorID) []int32 {
	if i := s.pl.Input(id); i >= 0 {
		return s.public.Inputs[i]
	}
	return nil
}

// wired returns a wiring with the values of the public index lists that it refers to.
func (s *Session) wired(w *plan.Wiring) *plan.Wiring { return w.WithIds(s.input) }

// end returns the value of an operand at the end of a sum.
func (s *Session) end(sum int, isB bool) transcript.Form {
	if isB {
		return s.finals[sum].B
	}
	return s.finals[sum].A
}

// combination returns the value of a plan.Combined: Const·mask + Σ Coef·View(…)~ + Σ Coef·mask·Product.
// The sums behind views and products have been found already, as nodes. What is left to do is to
// multiply them with the factor of a view or the mask of a product, and to add fills.
func (s *Session) combination(n *plan.Node) transcript.Form {
	if s.p.dry {
		return transcript.Form{}
	}
	at := s.at(n.At)
	mask := func() field.QM31 { return poly.TensorMask(n.Shape, poly.SplitAxes(n.Shape, at)) }
	var sum transcript.Form
	if n.Const != 0 {
		sum = transcript.Known(mask().MulM31(field.FromInt64(n.Const)))
	}
	for i := range n.Terms {
		t := &n.Terms[i]
		var v transcript.Form
		if t.Value != plan.None {
			v = s.values[t.Value]
		}
		switch {
		case t.View != nil:
			if len(t.View.Keep) == 0 && len(t.View.Single) > 0 && t.Value != plan.None {
				v = v.Mul(s.factors.at(t.View, n.At, func() field.QM31 { return factor(s.wired(t.View), at) }))
			}
			if fill := t.View.Fill; fill != 0 {
				v = v.AddKnown(mask().Sub(ones(s.wired(t.View), at)).MulM31(field.FromInt64(fill)))
			}
		case t.Product != nil:
			parts := poly.SplitAxes(n.Shape, at)
			for _, l := range t.Product.Repeat {
				if l.Dim&(l.Dim-1) != 0 {
					v = v.Mul(poly.MaskEval(parts[l.Out], uint64(l.Dim)))
				}
			}
		}
		sum = sum.Add(v.MulM31(field.FromInt64(t.Coef)))
	}
	return sum
}

// inner returns a prover's values of those nodes before n that are sums and not known yet. It makes
// the tables of these sums, which s.tables keeps for the batch that proves them.
func (s *Session) inner(n int) []field.QM31 {
	var sums []*plan.Sum
	for i := len(s.values); i < n; i++ {
		if n := &s.f.Nodes[i]; n.Kind == plan.SumValue {
			sums = append(sums, &s.f.Sums[n.Sum])
		}
	}
	views := make([][]field.QM31, len(sums))  // by sum: the table B, if that is a wiring
	points := make([][]field.QM31, len(sums)) // by sum: where the view is, likewise
	for i, sum := range sums {
		if sum.View != nil {
			points[i] = s.at(sum.At)
		}
	}
	parallel.For(len(sums), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			switch w := sums[i].View; {
			case w == nil:
			case s.p.dry:
				views[i] = make([]field.QM31, 1<<sums[i].Vars)
			default:
				views[i] = table(s.wired(w), points[i])
			}
		}
	})
	var operands []*plan.Operand
	for _, sum := range sums {
		operands = append(operands, &sum.A)
		if sum.View == nil {
			operands = append(operands, &sum.B)
		}
	}
	tables := s.restrict(operands) // of A and, if it is an operand, of B, sum by sum
	before := len(s.tables)
	for i, sum := range sums {
		in := backend.Instance{Eq: s.at(sum.Eq), A: tables[0]}
		if tables = tables[1:]; sum.View != nil {
			in.B = s.p.upload(views[i])
		} else {
			in.B, tables = tables[0], tables[1:]
		}
		s.tables = append(s.tables, in)
	}
	if s.p.failed() {
		return nil
	}
	return s.p.inner(s.tables[before:])
}

// restriction returns the restriction of a tensor that an operand is, with the challenges drawn.
func (s *Session) restriction(o *plan.Operand) backend.Restriction {
	r := backend.Restriction{Tensor: o.Tensor, Bound: make([][]field.QM31, len(o.Bound)), Keep: o.Keep}
	for a, part := range o.Bound {
		if part != nil {
			r.Bound[a] = s.at(part)
		}
	}
	return r
}

// batch proves or verifies a batch of sums. It then checks the wirings at the ends of the sums,
// finds the values of the nodes that the ends lead to, and does the checks of the batch.
func (s *Session) batch(b *plan.Batch) {
	if s.p.failed() {
		return
	}
	shapes, known := make([]sumcheck.Shape, b.To-b.From), weighed{}
	for i := range shapes {
		sum := &s.f.Sums[b.From+i]
		shapes[i] = sumcheck.Shape{Claim: s.values[sum.Value], NumVars: sum.Vars, Eq: s.at(sum.Eq)}
		if sum.View != nil {
			shapes[i].B = func(end []field.QM31) field.QM31 {
				return known.at(sum.View, sum.At, func() field.QM31 { return weights(s.wired(sum.View), s.at(sum.At), end) })
			}
		}
	}
	finals := s.p.sumcheck(s.tables, shapes)
	s.tables = nil
	if s.p.failed() {
		return
	}
	s.finals = append(slices.Grow(s.finals, len(s.f.Sums)-len(s.finals)), finals...)
	// The longest sum uses all challenges of the batch.
	point := []field.QM31{}
	for _, f := range finals {
		if len(f.Point) > len(point) {
			point = f.Point
		}
	}
	s.drawn = append(s.drawn, point)
	for i := range finals {
		sum := &s.f.Sums[b.From+i]
		// A verifier of a masked transcript has no value to compare with: it has computed B itself.
		if sum.View == nil || s.p.dry || s.p.masked() && !s.p.proving() {
			continue
		}
		s.p.zero(finals[i].B.Sub(transcript.Known(shapes[i].B(finals[i].Point))), func() string {
			return fmt.Sprintf("wiring of %q: wrong weights", s.g.Tensors[sum.A.Tensor].Name)
		})
		if s.p.failed() {
			return
		}
	}
	s.find(b.Nodes)
	if s.p.failed() {
		return
	}
	for _, c := range b.Checks {
		o := s.f.Sums[c.Sum].Operand(c.IsB)
		s.p.zero(s.values[c.Value].Sub(s.end(c.Sum, c.IsB)), func() string {
			return fmt.Sprintf("tensor %q: evaluations disagree", s.g.Tensors[o.Tensor].Name)
		})
	}
}
