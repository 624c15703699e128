package transcript

import "github.com/prove-model/prove-model/prover/math/field"

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
	at    int32      // of the tape's entries
}

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
	return a.tape.form(known, entry{a: a.at, ca: a.scale, b: b.at, cb: b.scale})
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
	x, y := t.entries[a.at], b.tape.entries[b.at]
	if x.b != padEntry || y.b != padEntry || a.scale != field.One || b.scale != field.One || t != b.tape {
		panic("transcript: a product of forms that were not received")
	}
	t.triples = append(t.triples, [2]int{int(x.a), int(y.a)})
	z := t.form(field.Zero, entry{a: int32(len(t.triples) - 1), b: productEntry})
	return a.Mul(b.known).Add(Form{scale: a.known, tape: t, at: b.at}).Add(z)
}

// Tape records what a verifier computes of the elements of a masked transcript.
type Tape struct {
	entries   []entry
	pads      int
	triples   [][2]int
	equations []Form
}

// entriesOfAPad is how many entries there are in the end for each element that is received: itself, one for what a round of a
// sumcheck makes of it, and some for what is made of the end.
const entriesOfAPad = 3

// NewTape returns a tape with room for what is computed of so many elements.
func NewTape(pads int) *Tape { return &Tape{entries: make([]entry, 0, entriesOfAPad*pads)} }

// entry is ca·(entry a) + cb·(entry b), or a pad, or a product of pads, of number a.
type entry struct {
	ca, cb field.QM31
	a, b   int32
}

// What b is in place of an entry.
const (
	padEntry int32 = -1 - iota
	productEntry
)

// form records an entry, and returns it with a known part.
func (t *Tape) form(known field.QM31, e entry) Form {
	t.entries = append(t.entries, e)
	return Form{known, field.One, t, int32(len(t.entries) - 1)}
}

// receive returns the form of an element that was sent less the next pad.
func (t *Tape) receive(sent field.QM31) Form {
	t.pads++
	return t.form(sent, entry{a: int32(t.pads - 1), b: padEntry})
}

// Pads returns the number of pads so far: one for each element that was sent.
func (t *Tape) Pads() int { return t.pads }

// Triples returns the numbers of the pads x and y of every product, in order.
func (t *Tape) Triples() [][2]int { return t.triples }

// Equations returns the forms that must be zero, in order.
func (t *Tape) Equations() []Form { return t.equations }

// Weighted is a form with a weight.
type Weighted struct {
	Form
	Weight field.QM31
}

// Back returns Σ weight·form as a known part and the coefficients of all pads and of all products of pads. Forms
// without pads may be among them.
func (t *Tape) Back(forms []Weighted) (known field.QM31, pads, products []field.QM31) {
	sums := make([]field.QM31, len(t.entries))
	for _, f := range forms {
		known = known.Add(f.known.Mul(f.Weight))
		if f.tape == nil {
			continue
		}
		if f.tape != t {
			panic("transcript: a form of another transcript")
		}
		sums[f.at] = sums[f.at].Add(times(f.scale, f.Weight))
	}
	pads, products = make([]field.QM31, t.pads), make([]field.QM31, len(t.triples))
	for i := len(t.entries) - 1; i >= 0; i-- {
		e, s := &t.entries[i], sums[i]
		switch {
		case s.IsZero():
		case e.b == padEntry:
			pads[e.a] = pads[e.a].Add(s)
		case e.b == productEntry:
			products[e.a] = products[e.a].Add(s)
		default:
			sums[e.a] = sums[e.a].Add(times(e.ca, s))
			sums[e.b] = sums[e.b].Add(times(e.cb, s))
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
