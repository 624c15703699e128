package transcript

import (
	"iter"

	"github.com/prove-model/prove-model/prover/math/field"
)

// Form is a value of K as a verifier sees it (docs/protocol.md, "Masked sub-transcripts"). In a plain transcript the verifier knows the
// value. In a masked one (Reader.Mask) elements are sent minus pads that it does not know. A value that it computes is then
// a known part plus a linear form in the pads. So a Form cannot be compared with another: the condition that one is zero
// (Reader.Zero) is checked at once in a plain transcript, and recorded on the tape as an equation in a masked one.
//
// The zero Form is zero. A prover's forms are its true values, without pads.
type Form struct {
	known field.QM31
	scale field.QM31 // the factor of at, so that multiplying a form by a constant needs no entry on the tape
	tape  *Tape      // nil if the form has no pads
	at    ref        // the linear form in the pads, but for scale
}

// ref names a linear form in the pads. A ref that is not negative is the number of an entry on the tape. A negative one is a single pad or
// product of two pads, so that an element that is received needs no entry.
type ref int32

// padRef returns the ref of pad i.
func padRef(i int) ref { return ^ref(2 * i) }

// productRef returns the ref of product i.
func productRef(i int) ref { return ^ref(2*i + 1) }

// element returns the number of the pad or, if product is set, of the product that a negative ref names.
func (r ref) element() (i int, product bool) { return int(^r) >> 1, ^r&1 == 1 }

// Known returns the Form of a value that the verifier knows.
func Known(v field.QM31) Form { return Form{known: v} }

// Known returns the known part of a form.
func (a Form) Known() field.QM31 { return a.known }

// Plain returns the value of a form without pads. It panics if the form has pads.
func (a Form) Plain() field.QM31 {
	if a.tape != nil {
		panic("transcript: the value of a form with pads")
	}
	return a.known
}

// Add returns a + b.
func (a Form) Add(b Form) Form {
	known := a.known.Add(b.known)
	switch {
	case b.tape == nil:
		a.known = known
		return a
	case a.tape == nil:
		b.known = known
		return b
	case a.tape != b.tape:
		panic("transcript: forms of two transcripts")
	}
	return a.tape.sum(known, entry{a.scale, b.scale, a.at, b.at})
}

// Sub returns a − b.
func (a Form) Sub(b Form) Form { return a.Add(b.Neg()) }

// Neg returns −a.
func (a Form) Neg() Form {
	a.known, a.scale = a.known.Neg(), a.scale.Neg()
	return a
}

// Mul returns c·a.
func (a Form) Mul(c field.QM31) Form {
	a.known = a.known.Mul(c)
	if a.tape != nil {
		a.scale = a.scale.Mul(c)
	}
	return a
}

// MulM31 returns c·a.
func (a Form) MulM31(c field.M31) Form {
	a.known, a.scale = a.known.MulM31(c), a.scale.MulM31(c)
	return a
}

// AddKnown returns a + c.
func (a Form) AddKnown(c field.QM31) Form {
	a.known = a.known.Add(c)
	return a
}

// Product returns a·b. If both have pads, both must be elements as they were received, X = X^ + x and Y = Y^ +
// y. The product is then X^·Y^ + X^·y + Y^·x + z, where z = x·y is a further pad, which the tape records (Triples). The
// proof must show that each z is the product of its x and y.
func (a Form) Product(b Form) Form {
	switch {
	case a.tape == nil:
		return b.Mul(a.known)
	case b.tape == nil:
		return a.Mul(b.known)
	}
	t := a.tape
	if !a.received() || !b.received() || t != b.tape {
		panic("transcript: a product of forms that were not received")
	}
	x, _ := a.at.element()
	y, _ := b.at.element()
	t.triples = append(t.triples, [2]int{x, y})
	z := Form{scale: field.One, tape: t, at: productRef(len(t.triples) - 1)}
	return a.Mul(b.known).Add(Form{scale: a.known, tape: t, at: b.at}).Add(z)
}

// received says whether a form with pads is an element as it was received: a known part plus one pad.
func (a Form) received() bool {
	if a.at >= 0 || a.scale != field.One {
		return false
	}
	_, product := a.at.element()
	return !product
}

// Tape records what a verifier computes from the elements of a masked transcript, so that Back can find the coefficients of the pads.
type Tape struct {
	blocks    [][]entry // each but the last has entriesAtOnce entries
	pads      int       // the number of pads so far
	triples   [][2]int  // by product: the numbers of the pads x and y
	equations []Form    // the forms that must be zero
}

// entriesAtOnce is how many entries are allocated at a time. They are never moved.
const entriesAtOnce = 1 << logEntriesAtOnce

const logEntriesAtOnce = 8

// NewTape returns an empty tape. It allocates memory for the given numbers of products and equations.
func NewTape(products, equations int) *Tape {
	return &Tape{triples: make([][2]int, 0, products), equations: make([]Form, 0, equations)}
}

// entry is the linear form ca·a + cb·b.
type entry struct {
	ca, cb field.QM31
	a, b   ref
}

// sum records an entry, and returns the form of it plus a known part.
func (t *Tape) sum(known field.QM31, e entry) Form {
	last := len(t.blocks) - 1
	if last < 0 || len(t.blocks[last]) == entriesAtOnce {
		t.blocks = append(t.blocks, make([]entry, 0, entriesAtOnce))
		last++
	}
	t.blocks[last] = append(t.blocks[last], e)
	return Form{known, field.One, t, ref(last<<logEntriesAtOnce + len(t.blocks[last]) - 1)}
}

// receive returns the form of an element that was sent minus the next pad: sent plus that pad.
func (t *Tape) receive(sent field.QM31) Form {
	t.pads++
	return Form{sent, field.One, t, padRef(t.pads - 1)}
}

// Pads returns the number of pads so far: one for each element that was sent.
func (t *Tape) Pads() int { return t.pads }

// Triples returns the numbers of the pads x and y of every product, in order.
func (t *Tape) Triples() [][2]int { return t.triples }

// Equations returns the forms that must be zero, in order.
func (t *Tape) Equations() []Form { return t.equations }

// Back returns the sum of forms times their weights, as a known part and the coefficients of all pads and of all
// products of pads. Forms without pads may be among them. It goes through the tape once, from the last entry to the first: an entry
// refers only to entries before it, so its coefficient is complete when it is reached.
func (t *Tape) Back(forms iter.Seq2[Form, field.QM31]) (known field.QM31, pads, products []field.QM31) {
	entries := 0
	if n := len(t.blocks); n > 0 {
		entries = (n-1)<<logEntriesAtOnce + len(t.blocks[n-1])
	}
	all := make([]field.QM31, entries+t.pads+len(t.triples))
	sums := all[:entries]
	pads, products = all[entries:][:t.pads:t.pads], all[entries+t.pads:]
	add := func(at ref, v field.QM31) {
		to := sums
		if at < 0 {
			i, product := at.element()
			if to = pads; product {
				to = products
			}
			at = ref(i)
		}
		to[at] = to[at].Add(v)
	}
	for f, weight := range forms {
		known = known.Add(f.known.Mul(weight))
		if f.tape == nil {
			continue
		}
		if f.tape != t {
			panic("transcript: a form of another transcript")
		}
		add(f.at, times(f.scale, weight))
	}
	for k := len(t.blocks) - 1; k >= 0; k-- {
		block, of := t.blocks[k], sums[k<<logEntriesAtOnce:]
		for i := len(block) - 1; i >= 0; i-- {
			e, s := &block[i], of[i]
			if s.IsZero() {
				continue
			}
			add(e.a, times(e.ca, s))
			add(e.b, times(e.cb, s))
		}
	}
	return known, pads, products
}

// times returns c·v, for c that is often 1.
func times(c, v field.QM31) field.QM31 {
	if c == field.One {
		return v
	}
	return c.Mul(v)
}
