package transcript

import (
	"iter"

	"github.com/prove-model/prove-model/prover/math/field"
)

// Form is a value of K as a verifier sees it. In a plain transcript it knows the value. In a masked one
// (Reader.Mask) elements are sent less pads that it does not know, and what it computes of them is a known
// part and a linear form in the pads. A Form cannot be compared: that one is zero is an equation
// (Reader.Zero), which is checked at once in a plain transcript and recorded on the tape in a masked one.
//
// The zero Form is zero. A prover's forms are its true values, without pads.
type Form struct {
	known field.QM31
	scale field.QM31 // of the entry, so that multiplying records nothing
	tape  *Tape      // nil: without pads
	at    ref
}

// ref is what a form is in the pads: the tape's entry of that number or, if it is negative, a pad or a product of two. So what
// is received takes no entry.
type ref int32

func padRef(i int) ref     { return ^ref(2 * i) }
func productRef(i int) ref { return ^ref(2*i + 1) }

// element returns the number of the pad or of the product that a negative ref is.
func (r ref) element() (i int, product bool) { return int(^r) >> 1, ^r&1 == 1 }

// Known returns a value that is known.
func Known(v field.QM31) Form { return Form{known: v} }

// Known returns the known part.
func (a Form) Known() field.QM31 { return a.known }

// Plain returns the value of a form without pads. It panics on another.
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

// Product returns a·b. Of two forms with pads both must be elements as they were received, X = X^ + x and Y = Y^ +
// y: then it is X^·Y^ + X^·y + Y^·x + z, with a further pad z = x·y of which the tape takes note.
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

// received says whether a form with pads is an element as it was received.
func (a Form) received() bool {
	if a.at >= 0 || a.scale != field.One {
		return false
	}
	_, product := a.at.element()
	return !product
}

// Tape records what a verifier computes of the elements of a masked transcript.
type Tape struct {
	blocks    [][]entry // of entriesAtOnce, but for the last
	pads      int
	triples   [][2]int
	equations []Form
}

// entriesAtOnce is how many entries there is room made for at a time. Nothing is moved when there are more.
const entriesAtOnce = 1 << logEntriesAtOnce

const logEntriesAtOnce = 8

// NewTape returns a tape with room for so many products and equations.
func NewTape(products, equations int) *Tape {
	return &Tape{triples: make([][2]int, 0, products), equations: make([]Form, 0, equations)}
}

// entry is ca·a + cb·b.
type entry struct {
	ca, cb field.QM31
	a, b   ref
}

// sum records an entry, and returns it with a known part.
func (t *Tape) sum(known field.QM31, e entry) Form {
	last := len(t.blocks) - 1
	if last < 0 || len(t.blocks[last]) == entriesAtOnce {
		t.blocks = append(t.blocks, make([]entry, 0, entriesAtOnce))
		last++
	}
	t.blocks[last] = append(t.blocks[last], e)
	return Form{known, field.One, t, ref(last<<logEntriesAtOnce + len(t.blocks[last]) - 1)}
}

// receive returns the form of an element that was sent less the next pad.
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

// Back returns Σ weight·form, over forms with their weights, as a known part and the coefficients of all pads and of all
// products of pads. Forms without pads may be among them.
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
