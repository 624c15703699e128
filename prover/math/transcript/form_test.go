package transcript

import (
	"errors"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// one is a form with weight 1.
func one(f Form) iter.Seq2[Form, field.QM31] {
	return func(yield func(Form, field.QM31) bool) { yield(f, field.One) }
}

// TestForms computes with forms at random, and with the true values beside them: what a tape says at the pads is these.
func TestForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() field.QM31 {
		m := func() field.M31 { return field.M31(rng.Uint32N(field.P)) }
		return field.NewQM31(m(), m(), m(), m())
	}
	for _, masked := range []bool{false, true} {
		const received = 6
		pads, values := make([]field.QM31, received), make([]field.QM31, received)
		for i := range pads {
			pads[i], values[i] = draw(), draw()
		}
		w := NewWriter(New(hash.Blake3, "test"))
		if masked {
			w.Mask(pads)
		}
		w.SendQM31(values...)
		if masked {
			w.Unmask()
		}
		r, tape := NewReader(New(hash.Blake3, "test"), w.Bytes()), &Tape{}
		if masked {
			r.Mask(tape)
		}
		var forms []Form
		for range received {
			forms = append(forms, r.Form())
		}
		forms, values = append(forms, Form{}, Known(draw())), append(values, field.Zero, field.Zero)
		values[received+1] = forms[received+1].Plain()
		add := func(f Form, v field.QM31) { forms, values = append(forms, f), append(values, v) }
		for range 1000 { // more than a block of entries
			i, j, c := rng.IntN(len(forms)), rng.IntN(len(forms)), draw()
			switch rng.IntN(6) {
			case 0:
				add(forms[i].Add(forms[j]), values[i].Add(values[j]))
			case 1:
				add(forms[i].Sub(forms[j]), values[i].Sub(values[j]))
			case 2:
				add(forms[i].Mul(c), values[i].Mul(c))
			case 3:
				add(forms[i].AddKnown(c), values[i].Add(c))
			case 4:
				add(forms[i].Neg().MulM31(7), values[i].Neg().MulM31(7))
			default:
				i, j = i%received, j%(received+2) // as received, or known
				add(forms[i].Product(forms[j]), values[i].Mul(values[j]))
			}
		}
		for i, f := range forms {
			known, own, products := tape.Back(one(f))
			v := known
			if masked {
				v = v.Add(field.Dot(own, pads))
				for k, p := range products {
					v = v.Add(p.Mul(pads[tape.triples[k][0]].Mul(pads[tape.triples[k][1]])))
				}
			} else if v != f.Plain() || tape.Pads() != 0 {
				t.Fatal("a plain form with pads")
			}
			if v != values[i] {
				t.Fatalf("masked %v: form %d is another value", masked, i)
			}
		}
		wrong := errors.New("wrong")
		r.Zero(forms[0], wrong)
		if (r.Err() == wrong) == masked || len(tape.Equations()) != map[bool]int{true: 1}[masked] {
			t.Errorf("masked %v: %v, %d equations", masked, r.Err(), len(tape.Equations()))
		}
	}
}

// TestMaskedMisuse: what would give a pad away, or a value without one, is a programmer's error.
func TestMaskedMisuse(t *testing.T) {
	sponge := func() *Sponge { return New(hash.Blake3, "test") }
	masked := func() *Reader {
		r := NewReader(sponge(), make([]byte, 1000))
		r.Mask(&Tape{})
		return r
	}
	for name, f := range map[string]func(){
		"more elements than pads": func() { w := NewWriter(sponge()); w.Mask(make([]field.QM31, 1)); w.SendQM31(field.One, field.One) },
		"pads left":               func() { w := NewWriter(sponge()); w.Mask(make([]field.QM31, 1)); w.Unmask() },
		"an element of F sent":    func() { w := NewWriter(sponge()); w.Mask(make([]field.QM31, 1)); w.SendM31(1) },
		"an element read":         func() { masked().QM31() },
		"elements read":           func() { masked().QM31s(1) },
		"an element of F read":    func() { masked().M31s(1) },
		"a form's value":          func() { masked().Form().Plain() },
		"a product of sums":       func() { r := masked(); r.Form().Add(r.Form()).Product(r.Form()) },
		"a product of a product":  func() { r := masked(); r.Form().Product(r.Form()).Product(r.Form()) },
		"two transcripts":         func() { masked().Form().Add(masked().Form()) },
		"another's form":          func() { (&Tape{}).Back(one(masked().Form())) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
