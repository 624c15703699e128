package sites

import (
	"encoding/binary"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poly"
	"github.com/prove-model/prove-model/prover/sumcheck"
)

// Claim says that the MLE of a committed tensor has a value at a point.
type Claim struct {
	Tensor model.TensorID
	Point  []field.QM31
	Value  field.QM31
}

// Session reduces the constraints of one fork of the transcript (a chunk, or
// the public outputs) to claims on committed tensors.
type Session struct {
	g      *model.Graph
	p      *Party
	public func(model.TensorID) []int32
	queue  []instance // sums waiting for the next batched sumcheck
	claims []Claim    // on committed tensors, in the order they arose
	known  map[string]field.QM31
}

// instance is one sum in a batch, with what follows from its end.
type instance struct {
	claim field.QM31
	eq    []field.QM31
	vars  int
	a, b  backend.Table // prover
	then  func(sumcheck.Final)
}

// NewSession starts a reduction. public returns the values of input tensors.
func NewSession(g *model.Graph, p *Party, public func(model.TensorID) []int32) *Session {
	return &Session{g: g, p: p, public: public, known: map[string]field.QM31{}}
}

// Claims returns the claims on committed tensors that are left to open.
func (s *Session) Claims() []Claim { return s.claims }

func key(id model.TensorID, point []field.QM31) string {
	b := make([]byte, 0, 4+16*len(point))
	b = binary.LittleEndian.AppendUint32(b, uint32(id))
	for _, x := range point {
		for _, l := range x.Limbs() {
			b = binary.LittleEndian.AppendUint32(b, uint32(l))
		}
	}
	return string(b)
}

// eval returns T~(point). For a committed tensor the value is sent and becomes
// a claim; a public one is evaluated; a virtual one follows from its sources.
func (s *Session) eval(id model.TensorID, point []field.QM31) field.QM31 {
	t := &s.g.Tensors[id]
	k := key(id, point)
	if v, ok := s.known[k]; ok {
		return v
	}
	var v field.QM31
	switch t.Kind {
	case model.Input:
		if s.p.proving() {
			v = s.p.evaluate(id, point)
		} else {
			v = poly.EvalTensor(t.Shape, s.public(id), point)
		}
	case model.Virtual:
		v = s.linear(t.Def, t.Shape, point)
	default:
		v = s.p.value(func() field.QM31 { return s.p.evaluate(id, point) })
		s.claims = append(s.claims, Claim{id, point, v})
	}
	s.known[k] = v
	return v
}

// bind states that T~(point) = v, a value that the transcript already has.
func (s *Session) bind(id model.TensorID, point []field.QM31, v field.QM31) {
	t := &s.g.Tensors[id]
	k := key(id, point)
	if _, ok := s.known[k]; !ok && (t.Kind == model.Fixed || t.Kind == model.Witness) {
		s.known[k] = v
		s.claims = append(s.claims, Claim{id, point, v})
		return
	}
	s.p.check(s.eval(id, point) == v, "tensor %q: evaluations disagree", t.Name)
}

// linear returns Σ Coef·View(Src)~(r).
func (s *Session) linear(terms []model.Linear, out []int, r []field.QM31) field.QM31 {
	sum := field.Zero
	for i := range terms {
		l := &terms[i]
		var v field.QM31
		if l.View == nil {
			v = s.eval(l.Src, r)
		} else {
			v = s.view(l.View, l.Src, out, r)
		}
		sum = sum.Add(v.MulM31(field.FromInt64(l.Coef)))
	}
	return sum
}

// view returns View(src)~(r). If the wiring does more than rename variables,
// the value is sent and a sum is queued that moves it to the source.
func (s *Session) view(v *model.View, src model.TensorID, out []int, r []field.QM31) field.QM31 {
	in := s.g.Tensors[src].Shape
	w := newWiring(v, out, in, r)
	var value field.QM31
	switch {
	case w.factor.IsZero():
	case len(w.keep) == 0:
		value = w.factor.Mul(s.eval(src, w.source(nil)))
	default:
		value = s.queueWiring(w, src)
	}
	if v.Fill != 0 {
		padding := poly.TensorMask(out, poly.SplitAxes(out, r)).Sub(w.ones)
		value = value.Add(padding.MulM31(field.FromInt64(v.Fill)))
	}
	return value
}

func (s *Session) queueWiring(w *wiring, src model.TensorID) field.QM31 {
	in := instance{vars: w.vars()}
	if s.p.proving() && !s.p.failed() {
		in.a = s.p.restrict(backend.Restriction{Tensor: src, Bound: w.bound, Keep: w.keep})
		in.b = s.p.upload(w.table())
	}
	in.claim = s.p.value(func() field.QM31 { return s.p.inner(nil, in.a, in.b) })
	name := s.g.Tensors[src].Name
	in.then = func(f sumcheck.Final) {
		s.p.check(w.eval(f.Point) == f.B, "wiring of %q: wrong weights", name)
		s.bind(src, w.source(f.Point), f.A)
	}
	s.queue = append(s.queue, in)
	return in.claim
}

// product returns the product's MLE at ρ and queues the sum that proves it.
func (s *Session) product(p *model.Product, shape []int, rho []field.QM31) field.QM31 {
	c := newContraction(s.g, p, shape, rho)
	in := instance{eq: c.eq, vars: c.numVars()}
	if s.p.proving() {
		in.a = s.p.restrict(c.restriction(p.A, p.LabelsA))
		in.b = s.p.restrict(c.restriction(p.B, p.LabelsB))
	}
	in.claim = s.p.value(func() field.QM31 { return s.p.inner(in.eq, in.a, in.b) })
	in.then = func(f sumcheck.Final) {
		s.bind(p.A, c.operand(p.LabelsA, f.Point), f.A)
		s.bind(p.B, c.operand(p.LabelsB, f.Point), f.B)
	}
	s.queue = append(s.queue, in)
	return in.claim.Mul(c.mask)
}

// acc returns the accumulator's MLE at ρ.
func (s *Session) acc(a *model.Acc, shape []int, rho []field.QM31) field.QM31 {
	v := s.linear(a.Linear, shape, rho)
	if a.Const != 0 {
		v = v.Add(poly.TensorMask(shape, poly.SplitAxes(shape, rho)).MulM31(field.FromInt64(a.Const)))
	}
	for i := range a.Products {
		p := &a.Products[i]
		v = v.Add(s.product(p, shape, rho).MulM31(field.FromInt64(p.Coef)))
	}
	return v
}

// reduce runs batched sumchecks until no sum is left.
func (s *Session) reduce() {
	for len(s.queue) > 0 && !s.p.failed() {
		batch := s.queue
		s.queue = nil
		finals := s.p.sumcheck(batch)
		if s.p.failed() {
			return
		}
		for i := range batch {
			batch[i].then(finals[i])
		}
	}
}
