package prover

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/pads"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/verifier"
)

// maskedProof is a proof whose sub-transcripts are masked, up to the opening.
type maskedProof struct {
	t       testing.TB
	plan    *plan.Plan
	public  reduce.Public
	start   func() *transcript.Sponge
	stack   *pads.Stack
	values  []field.QM31 // of the stack
	forks   [][]byte
	ends    []byte
	claims  [][]plan.Claim // of each sub-transcript, with their true values
	backend backend.Backend
}

// proveMasked proves a graph's run with masked sub-transcripts. change may alter the stack before.
func proveMasked(t testing.TB, b *builder, change func(s *pads.Stack, values []field.QM31)) *maskedProof {
	rng := rand.New(rand.NewPCG(71, 72))
	wit := b.run(t, rng)
	key, _, err := Commit(t.Context(), b.g.Template(), b.w, proof.Security{TargetBits: 40, GrindBits: 4}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	pl, err := key.Plan(b.g.Instance)
	if err != nil {
		t.Fatal(err)
	}
	m := &maskedProof{t: t, plan: pl, backend: cpu.New(pl.Graph, wit)}
	of := func(ids []model.TensorID) (list [][]int32) {
		for _, id := range ids {
			list = append(list, ints.All(backend.Values(pl.Graph, wit, id)))
		}
		return list
	}
	m.public = reduce.Public{Inputs: of(pl.Graph.Inputs), Outputs: of(pl.Graph.Outputs)}
	m.start = func() *transcript.Sponge { return transcript.New(pl.Config.Hash, "masked test") }
	var forks []pads.Fork
	for _, f := range pl.Forks {
		n, triples := f.Masked()
		forks = append(forks, pads.Fork{Pads: n, Triples: triples})
	}
	m.stack = pads.NewStack(forks)
	secret := prf.Derive("test", []byte("masks"))
	m.values = m.stack.Fill(&secret)
	if change != nil {
		change(m.stack, m.values)
	}
	main := m.start()
	var sponges []*transcript.Sponge
	for i, f := range pl.Forks {
		w := transcript.NewWriter(main.Fork(uint64(i)))
		w.Mask(m.stack.Of(i, m.values))
		role := reduce.NewProver(t.Context(), w, m.backend)
		m.claims = append(m.claims, reduce.Run(pl, f, role, m.public))
		if err := role.Err(); err != nil {
			t.Fatal(err)
		}
		w.Unmask()
		m.forks, sponges = append(m.forks, w.Bytes()), append(sponges, w.Sponge)
	}
	main.Join(sponges...)
	w := transcript.NewWriter(main)
	m.stack.Prove(w, m.values)
	m.ends = w.Bytes()
	return m
}

// read follows a masked proof with the verifier's code, with one altered, and says whether its joined claim is one that
// is true of the witness and the stack's values: all that an opening would show.
func (m *maskedProof) read(forks [][]byte, ends []byte) (reads []pads.Read, holds bool) {
	main := m.start()
	var sponges []*transcript.Sponge
	var claims [][]plan.Claim
	for i, f := range m.plan.Forks {
		r := transcript.NewReader(main.Fork(uint64(i)), forks[i])
		tape := &transcript.Tape{}
		r.Mask(tape)
		own := reduce.Run(m.plan, f, reduce.NewVerifier(r), m.public)
		r.Unmask()
		if r.Done() != nil {
			return nil, false
		}
		read := pads.Read{Tape: tape, Claims: len(own), Claim: func(i int) transcript.Form { return own[i].Value }}
		reads, claims, sponges = append(reads, read), append(claims, own), append(sponges, r.Sponge)
	}
	main.Join(sponges...)
	r := transcript.NewReader(main, ends)
	e := m.stack.Verify(r)
	if r.Done() != nil {
		return nil, false
	}
	zeta := r.Challenge()
	value, weights := m.stack.Join(reads, 5, e, zeta)
	sum, power := field.Zero, field.One
	for _, own := range claims {
		for _, v := range m.evaluate(own) {
			sum = sum.Add(power.Mul(v))
			power = power.Mul(zeta)
		}
	}
	return reads, sum.Add(field.Dot(weights, m.values)) == value
}

// evaluate returns the true values of claims.
func (m *maskedProof) evaluate(claims []plan.Claim) []field.QM31 {
	values := make([]field.QM31, len(claims))
	for i, c := range claims {
		if c.Saturated != nil {
			n, err := m.backend.Total(m.t.Context(), c.Tensor, c.Saturated.Saturated)
			if err != nil {
				m.t.Fatal(err)
			}
			values[i] = field.FromM31(n)
			continue
		}
		v, err := m.backend.Eval(m.t.Context(), []backend.Evaluation{{Tensor: c.Tensor, Point: c.Point}})
		if err != nil {
			m.t.Fatal(err)
		}
		values[i] = v[0]
	}
	return values
}

// eachMasked runs a test for a circuit with every kind of site, in one chunk and in several.
func eachMasked(t *testing.T, test func(t *testing.T, b *builder)) {
	for _, chunk := range []int{0, 100} {
		t.Run(fmt.Sprintf("chunks of %d", chunk), func(t *testing.T) {
			b := everything(rand.New(rand.NewPCG(1, 2)))
			b.g.Finish(chunk)
			test(t, b)
		})
	}
}

// TestMasked: the joined claim of a masked proof holds; what a verifier's tape says at the true pads are the prover's values,
// and its equations are zero there; and every element has a pad, as planned.
func TestMasked(t *testing.T) {
	eachMasked(t, func(t *testing.T, b *builder) {
		m := proveMasked(t, b, nil)
		reads, holds := m.read(m.forks, m.ends)
		if !holds {
			t.Fatal("the joined claim does not hold")
		}
		for i, r := range reads {
			n, triples := m.plan.Forks[i].Masked()
			if r.Tape.Pads() != n || !slices.Equal(r.Tape.Triples(), triples) {
				t.Fatalf("%s: %d pads and %d products, planned %d and %d", m.plan.Forks[i].Name(), r.Tape.Pads(), len(r.Tape.Triples()), n, len(triples))
			}
			if got, want := len(r.Tape.Equations()), m.plan.Forks[i].MaskedEquations(); got != want {
				t.Errorf("%s: %d equations, planned %d", m.plan.Forks[i].Name(), got, want)
			}
			own := m.stack.Of(i, m.values)
			at := func(f transcript.Form) field.QM31 {
				known, pads, products := r.Tape.Back(func(yield func(transcript.Form, field.QM31) bool) { yield(f, field.One) })
				v := known.Add(field.Dot(pads, own))
				for k, p := range products {
					v = v.Add(p.Mul(own[triples[k][0]].Mul(own[triples[k][1]])))
				}
				return v
			}
			for k := range r.Claims {
				if at(r.Claim(k)) != m.claims[i][k].Value.Plain() {
					t.Errorf("%s: claim %d is another value", m.plan.Forks[i].Name(), k)
				}
			}
			for k, e := range r.Tape.Equations() {
				if !at(e).IsZero() {
					t.Errorf("%s: equation %d is not zero", m.plan.Forks[i].Name(), k)
				}
			}
		}
	})
}

// TestMaskedElementsCount: an element that is altered, of any sub-transcript or of the proof of products, makes the joined
// claim false, and so does a committed pad, product or dummy that is not the one in use.
func TestMaskedElementsCount(t *testing.T) {
	eachMasked(t, func(t *testing.T, b *builder) {
		m := proveMasked(t, b, nil)
		all := append(slices.Clone(m.forks), m.ends)
		for i, bytes := range all {
			step := 4 * max(1, len(bytes)/4/25) // of words
			for at := 0; at < len(bytes); at += step {
				altered := slices.Clone(all)
				altered[i] = slices.Clone(bytes)
				altered[i][at] ^= 1
				if _, holds := m.read(altered[:len(m.forks)], altered[len(m.forks)]); holds {
					t.Fatalf("message %d, byte %d of %d altered: the joined claim holds", i, at, len(bytes))
				}
			}
		}
		for i := range m.values {
			if step := max(1, len(m.values)/50); i%step != 0 && i < len(m.values)-12 {
				continue
			}
			v := m.values[i]
			m.values[i] = v.AddM31(1)
			if _, holds := m.read(m.forks, m.ends); holds {
				t.Errorf("element %d of the stack altered: the joined claim holds", i)
			}
			m.values[i] = v
		}
	})
}

// TestDishonestPads: a prover who commits to other products, and proves with these, is refused.
func TestDishonestPads(t *testing.T) {
	b := everything(rand.New(rand.NewPCG(1, 2)))
	b.g.Finish(0)
	elements := 0
	for _, back := range []int{0, 1, 12, 13, 40} { // a dummy's z, y, and products
		m := proveMasked(t, b, func(s *pads.Stack, values []field.QM31) {
			elements = s.Elements()
			at := elements - 1 - back
			values[at] = values[at].AddM31(1)
		})
		if _, holds := m.read(m.forks, m.ends); holds {
			t.Errorf("element %d of %d is no product: the joined claim holds", elements-1-back, elements)
		}
	}
}

// TestDishonestPadsOpened goes on to the opening: provers that are honest in everything else, with pads that are altered for
// all of the proof, or in sub-transcripts alone, commit, open and prove what they have, and are refused by the check at the end of
// the opening, of the joined claim, and by no other.
func TestDishonestPadsOpened(t *testing.T) {
	b := everything(rand.New(rand.NewPCG(1, 2)))
	b.g.Finish(100)
	sec := proof.Security{TargetBits: 40, GrindBits: 4}
	key, tree, err := Commit(t.Context(), b.g.Template(), b.w, sec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wit := b.run(t, rand.New(rand.NewPCG(71, 72)))
	p, err := key.HidingPlan(b.g.Instance, 2)
	if err != nil {
		t.Fatal(err)
	}
	last := p.Pads.Elements() - 1
	forks := 0 // elements of sub-transcripts, which come first
	for _, f := range p.Forks {
		n, _ := f.Masked()
		forks += n
	}
	for name, tc := range map[string]struct {
		at        int
		sentAlone bool // committed to and opened as it should be
		honest    bool
	}{
		"honest":                            {at: -1, honest: true},
		"a dummy's product":                 {at: last},
		"a dummy's factor":                  {at: last - 1},
		"the last product":                  {at: last - 12},
		"a product":                         {at: last - 40},
		"a pad of the first sub-transcript": {at: 0, sentAlone: true},
		"a pad in the middle":               {at: forks / 2, sentAlone: true},
		"the last pad":                      {at: forks - 1, sentAlone: true},
	} {
		var secrets *backend.Secrets
		alter := func() {
			if tc.at >= 0 {
				secrets.Pads[tc.at] = secrets.Pads[tc.at].AddM31(1)
			}
		}
		opts := Options{Hiding: &Hiding{TailLog: 2, seed: &[32]byte{1}, weaken: func(s *backend.Secrets) {
			if secrets = s; !tc.sentAlone {
				alter()
			}
		}}}
		opts.Progress = func(ph Phase, done, _ int) {
			switch {
			case !tc.sentAlone || done > 0:
			case ph == PhaseChunks:
				alter()
			case ph == PhaseOpen: // the pad as it was committed to
				secrets.Pads[tc.at] = secrets.Pads[tc.at].Sub(field.One)
			}
		}
		var out bytes.Buffer
		if _, err := Prove(t.Context(), key, b.g.Instance, tree, wit, &out, opts); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, err := verifier.Verify(key, bytes.NewReader(out.Bytes()))
		const refused = "the committed values do not give the claimed one"
		if tc.honest && err != nil || !tc.honest && (err == nil || !strings.Contains(err.Error(), refused)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// provedHiding is a hiding proof of a circuit's run.
func provedHiding(t testing.TB, b *builder, sec proof.Security, tailLog int) (*proof.Key, []byte, *Stats) {
	t.Helper()
	wit := b.run(t, rand.New(rand.NewPCG(71, 72)))
	key, tree, err := Commit(t.Context(), b.g.Template(), b.w, sec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	stats, err := Prove(t.Context(), key, b.g.Instance, tree, wit, &out, Options{Hiding: &Hiding{TailLog: tailLog, seed: &[32]byte{1}}})
	if err != nil {
		t.Fatal(err)
	}
	return key, out.Bytes(), stats
}

// TestHiding: hiding proofs verify, for both suites, in one chunk and in several, and state what plain ones do.
func TestHiding(t *testing.T) {
	eachSuite(t, func(t *testing.T, suite hash.Suite) {
		for _, chunk := range []int{0, 100} {
			for _, tailLog := range []int{2, 4} {
				b := everything(rand.New(rand.NewPCG(1, 2)))
				b.g.Finish(chunk)
				key, file, stats := provedHiding(t, b, proof.Security{TargetBits: 60, GrindBits: 8, Hash: suite}, tailLog)
				got, err := verifier.Verify(key, bytes.NewReader(file))
				if err != nil {
					t.Fatalf("chunks of %d, tails of 2^-%d: %v", chunk, tailLog, err)
				}
				if stats.Strength != got.Strength || got.Saturated != nil || !got.Masked {
					t.Errorf("chunks of %d: %v of strength, %v stated; saturated %v", chunk, stats.Strength, got.Strength, got.Saturated)
				}
			}
		}
	})
}

// TestFlippedHiding: a hiding proof with a bit changed is refused.
func TestFlippedHiding(t *testing.T) {
	b := everything(rand.New(rand.NewPCG(1, 2)))
	b.g.Finish(100)
	key, file, _ := provedHiding(t, b, proof.Security{TargetBits: 40, GrindBits: 4}, 2)
	step := len(file)/150 + 1
	for at := 0; at < len(file); at += step {
		bad := slices.Clone(file)
		bad[at] ^= 1 << (at % 8)
		if _, err := verifier.Verify(key, bytes.NewReader(bad)); err == nil {
			t.Fatalf("byte %d of %d changed: accepted", at, len(file))
		}
	}
}

// TestMaskedElementsAreFree: whatever the elements of masked sub-transcripts and of the proof of products are, a verifier finds
// nothing wrong with them by themselves, and the joined claim has some value. So they are as good as random: they are sent
// less pads, and a simulator of the opening (package whir) makes one of any value.
func TestMaskedElementsAreFree(t *testing.T) {
	eachMasked(t, func(t *testing.T, b *builder) {
		m := proveMasked(t, b, nil)
		rng := rand.New(rand.NewPCG(73, 74))
		for i := range m.forks {
			from := 0
			if m.plan.Forks[i].Leaves.Size > 0 {
				from = transcript.LimbBytes // the nonce, which comes first
			}
			for at := from; at < len(m.forks[i]); at += transcript.LimbBytes {
				binary.LittleEndian.PutUint32(m.forks[i][at:], rng.Uint32N(field.P))
			}
		}
		for at := 0; at < len(m.ends); at += transcript.LimbBytes {
			binary.LittleEndian.PutUint32(m.ends[at:], rng.Uint32N(field.P))
		}
		if reads, holds := m.read(m.forks, m.ends); reads == nil || holds {
			t.Errorf("random elements: read %v, true %v", reads != nil, holds)
		}
	})
}

// maskedKey commits to a circuit's weights with tails, for so many proofs.
func maskedKey(t testing.TB, b *builder, seed [32]byte, proofs int) (*proof.Key, Trees, *prf.Key, error) {
	t.Helper()
	c, sec := b.g.Template(), proof.Security{TargetBits: 40, GrindBits: 8}
	p, err := PlanMasked(c, sec, proofs)
	if err != nil {
		t.Fatal(err)
	}
	tails, err := TailsKey(c, p, b.w, sec, seed)
	if err != nil {
		t.Fatal(err)
	}
	key, tree, err := CommitMasked(t.Context(), c, p, b.w, sec, tails, Options{})
	return key, tree, tails, err
}

// TestMasksAreOfOneProof: masks are others when anything of what tells proofs apart is another, and no pad of one proof is one
// of another.
func TestMasksAreOfOneProof(t *testing.T) {
	base := circumstances{state: []byte("state"), release: "v1", host: "a", time: time.Unix(1, 2)}
	others := map[string]func(c *circumstances){
		"nothing":   func(c *circumstances) {},
		"fresh":     func(c *circumstances) { c.fresh[31]++ },
		"weights":   func(c *circumstances) { c.weights[0]++ },
		"statement": func(c *circumstances) { c.state = []byte("another") },
		"plan":      func(c *circumstances) { c.plan[3]++ },
		"hidden":    func(c *circumstances) { c.hidden = []byte{0} },
		"input":     func(c *circumstances) { c.hidden = []byte{1} },
		"release":   func(c *circumstances) { c.release = "v2" },
		"host":      func(c *circumstances) { c.host = "b" },
		"time":      func(c *circumstances) { c.time = c.time.Add(1) },
		"parts":     func(c *circumstances) { c.release, c.host = "v1a", "" },
	}
	stack := pads.NewStack([]pads.Fork{{Pads: 40, Triples: [][2]int{{0, 1}}}, {Pads: 40}})
	seen := map[field.QM31]string{}
	for name, change := range others {
		c := base
		change(&c)
		key := c.masks()
		for _, pad := range stack.Fill(&key) {
			if other, ok := seen[pad]; ok && !pad.IsZero() {
				t.Fatalf("%q and %q share a pad", name, other)
			}
			seen[pad] = name
		}
	}
}

// TestTailsAreOfOneKey: one seed gives other tails to another circuit, other weights, another security, and rows or tails of
// another length.
func TestTailsAreOfOneKey(t *testing.T) {
	b := everything(rand.New(rand.NewPCG(1, 2)))
	b.g.Finish(0)
	sec := proof.Security{TargetBits: 40, GrindBits: 8}
	c := b.g.Template()
	p, err := PlanMasked(c, sec, 3)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[prf.Key]string{}
	add := func(name string, p *plan.Plan, w model.Weights, sec proof.Security, seed [32]byte) {
		t.Helper()
		k, err := TailsKey(c, p, w, sec, seed)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[*k]; ok {
			t.Errorf("%q and %q have the same tails", name, other)
		}
		seen[*k] = name
	}
	add("first", p, b.w, sec, [32]byte{1})
	add("seed", p, b.w, sec, [32]byte{2})
	weights := slices.Clone(b.w)
	for i, v := range weights {
		if v != nil {
			values := slices.Clone(ints.All(v))
			values[len(values)-1]++
			weights[i] = ints.Of(values)
			break
		}
	}
	add("weights", p, weights, sec, [32]byte{1})
	for _, rows := range [][2]int{{p.Choice.FixedRowVars + 1, p.Choice.FixedTailLog}, {p.Choice.FixedRowVars + 1, p.Choice.FixedTailLog%4 + 2}} {
		other, err := PlanMaskedAs(c, sec, rows[0], rows[1])
		if err != nil {
			t.Fatal(err)
		}
		add(fmt.Sprint(rows), other, b.w, sec, [32]byte{1})
	}
	more := proof.Security{TargetBits: 50, GrindBits: 8}
	if p, err = PlanMaskedAs(c, more, p.Choice.FixedRowVars, p.Choice.FixedTailLog); err != nil {
		t.Fatal(err)
	}
	add("security", p, b.w, more, [32]byte{1})
	if _, err := TailsKey(c, &plan.Plan{}, b.w, sec, [32]byte{1}); err == nil {
		t.Error("a plan without tails: no error")
	}
}

// TestIntegersDigest: lists have the digest of their entries, whatever these take in memory, and no two lists the same.
func TestIntegersDigest(t *testing.T) {
	v := make([]int32, digested+3)
	for i := range v {
		v[i] = int32(i % 100)
	}
	digest := func(last int32) [32]byte {
		v[len(v)-1] = last
		of := integersDigest([]ints.Ints{nil, ints.Int32s(v)})
		if narrow := integersDigest([]ints.Ints{nil, ints.Of(v)}); narrow != of {
			t.Errorf("%d bytes each: another digest", ints.Of(v).Width())
		}
		return of
	}
	seen := map[[32]byte]int32{}
	for _, last := range []int32{0, 1, -1, 256, 1 << 16, 1 << 20} {
		of := digest(last)
		if other, ok := seen[of]; ok {
			t.Errorf("%d and %d at the end: one digest", last, other)
		}
		seen[of] = last
	}
	small := []ints.Ints{ints.Int8s{1}, ints.Int8s{2}}
	if integersDigest(small) == integersDigest([]ints.Ints{ints.Int8s{2}, ints.Int8s{1}}) {
		t.Error("exchanged lists: one digest")
	}
}

func BenchmarkIntegersDigest(b *testing.B) {
	lists := make([]ints.Ints, 4)
	for i := range lists {
		lists[i] = make(ints.Int8s, 1<<26)
	}
	b.SetBytes(int64(len(lists)) << 26)
	for b.Loop() {
		integersDigest(lists)
	}
}

// TestMaskedKey: proofs of a key whose tree has tails verify, with secrets of its own and no others; its reserve is asked
// first; and there are no other proofs of it.
func TestMaskedKey(t *testing.T) {
	b := everything(rand.New(rand.NewPCG(1, 2)))
	b.g.Finish(0)
	wit := b.run(t, rand.New(rand.NewPCG(71, 72)))
	key, tree, secret, err := maskedKey(t, b, [32]byte{1}, 3)
	if err != nil {
		t.Fatal(err)
	}
	file, err := proof.EncodeKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if key, err = proof.DecodeKey(file); err != nil {
		t.Fatal(err)
	}
	reserved := 0
	prove := func(opts Options) ([]byte, error) {
		var out bytes.Buffer
		_, err := Prove(t.Context(), key, b.g.Instance, tree, wit, &out, opts)
		return out.Bytes(), err
	}
	ids := map[[16]byte]bool{}
	reserve := func(id [16]byte, n int) error {
		reserved += n
		ids[id] = true
		return nil
	}
	for i := range 3 {
		file, err := prove(Options{Hiding: &Hiding{Weights: secret, Reserve: reserve}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verifier.Verify(key, bytes.NewReader(file)); err != nil {
			t.Fatalf("proof %d: %v", i, err)
		}
	}
	if most := soundness.Budget(key.Trees[0].RowVars, key.Trees[0].TailLog); reserved == 0 || uint64(reserved) > most {
		t.Errorf("three proofs take %d positions of a budget of %d", reserved, most)
	}
	if len(ids) != 3 {
		t.Errorf("three proofs are identified as %d", len(ids))
	}
	fixed := Options{Hiding: &Hiding{Weights: secret, Reserve: reserve, seed: &[32]byte{1}}}
	one, err := prove(fixed)
	if err != nil {
		t.Fatal(err)
	}
	if two, err := prove(fixed); err != nil || !bytes.Equal(one, two) || len(ids) != 4 {
		t.Errorf("the same proof twice: %v, identified as %d with three others", err, len(ids))
	}
	full := errors.New("used up")
	if _, err := prove(Options{Hiding: &Hiding{Weights: secret, Reserve: func([16]byte, int) error { return full }}}); !errors.Is(err, full) {
		t.Errorf("a budget that is used up: %v", err)
	}
	other := prf.Derive("another", nil)
	if file, err := prove(Options{Hiding: &Hiding{Weights: &other, Reserve: reserve}}); err == nil {
		if _, err := verifier.Verify(key, bytes.NewReader(file)); err == nil {
			t.Error("another secret: accepted")
		}
	}
	for name, opts := range map[string]Options{
		"a plain proof": {}, "no secret": {Hiding: &Hiding{TailLog: 2, Reserve: reserve}}, "no budget": {Hiding: &Hiding{Weights: secret}},
	} {
		if _, err := prove(opts); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Roots(t.Context(), key, b.w, Options{}); err == nil {
		t.Error("the root without its secret: no error")
	}
	again, _, _, err := maskedKey(t, b, [32]byte{2}, 3)
	if err != nil || again.Trees[0].Root == key.Trees[0].Root {
		t.Errorf("a second key of the same weights: %v, or the same root", err)
	}
	plain, plainTree, err := Commit(t.Context(), b.g.Template(), b.w, proof.Security{TargetBits: 40, GrindBits: 8}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Prove(t.Context(), plain, b.g.Instance, plainTree, wit, io.Discard, Options{Hiding: &Hiding{TailLog: 2, Weights: secret}}); err == nil {
		t.Error("a secret for a key without tails: no error")
	}
}

// TestMaskedLayouts: masked proofs of keys with rows of any length verify, shorter and longer than the witness's; and the plan
// has what hides where it has to be.
func TestMaskedLayouts(t *testing.T) {
	b := everything(rand.New(rand.NewPCG(1, 2)))
	b.g.Finish(100)
	wit := b.run(t, rand.New(rand.NewPCG(71, 72)))
	sec := proof.Security{TargetBits: 40, GrindBits: 8}
	for _, rows := range [][2]int{{2, 9}, {5, 8}, {8, 8}, {11, 8}, {13, 10}, {13, 13}} { // of the key and of the witness
		c := b.g.Template()
		g, err := c.At(c.Unit())
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.WithRows(g, sec.Config(), rows[0])
		if err != nil {
			t.Fatal(err)
		}
		key, tree, err := CommitPlanned(t.Context(), c, p, b.w, sec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		masked := maskedWith(t, &b.g, sec, plan.Choice{FixedRowVars: rows[0], WitnessRowVars: rows[1], TailLog: 2})
		checkMasks(t, masked)
		r := newRun(t.Context(), key, masked, tree, wit, Options{Hiding: &Hiding{}})
		var out bytes.Buffer
		err = r.prove(&out)
		r.close()
		if err != nil {
			t.Fatal(err)
		}
		if n, most := int64(out.Len()), maskedBytes(masked); n > most {
			t.Errorf("rows of 2^%d values: %d bytes, %d at most", rows, n, most)
		}
		if _, err := verifier.Verify(key, &out); err != nil {
			t.Errorf("rows of 2^%d values: %v", rows, err)
		}
	}
}

// maskedWith returns the plan of masked proofs with these row lengths.
func maskedWith(t *testing.T, g *model.Graph, sec proof.Security, c plan.Choice) *plan.Plan {
	t.Helper()
	for fold := 4; ; fold++ {
		params, err := soundness.DeriveHiding(sec.Config(), c.TailLog, max(c.FixedRowVars, c.WitnessRowVars), 1<<fold)
		if err != nil {
			t.Fatal(err)
		}
		c.Levels = params.Levels
		if p, err := plan.WithChoice(g, sec.Config(), c); err == nil {
			return p
		} else if fold > 12 {
			t.Fatal(err)
		}
	}
}

// maskedBytes is about the most bytes of a proof.
func maskedBytes(p *plan.Plan) int64 {
	n := int64(1 << 12)
	for _, f := range p.Frames {
		n += f.Bytes
	}
	return n
}

// checkMasks checks that the witness's tree has eight table rows of masks, from a multiple of eight on, an auxiliary row,
// and tails for all queries, and that what claims and pads touch is none of it.
func checkMasks(t *testing.T, p *plan.Plan) {
	t.Helper()
	w, shift := p.WitnessTree(), p.Params.RowVars()-p.Choice.WitnessRowVars
	rows, first, tail := 0, uint64(0), int(soundness.Budget(w.RowVars, p.Choice.TailLog))
	for i, part := range w.Parts {
		g := w.Groups[i]
		switch part.Kind {
		case backend.Masks:
			if rows == 0 {
				first = g.First
			}
			if rows += g.Rows; g.First != first+uint64(rows-g.Rows) || g.Tail != tail {
				t.Errorf("masks in group %+v", g)
			}
		case backend.Auxiliary:
			if i != len(w.Parts)-1 || !w.Auxiliary || g.Rows != 1<<shift || g.Tail != tail {
				t.Errorf("the auxiliary row is group %d, %+v", i, g)
			}
		default:
			if rows > 0 || g.Tail != p.Params.Levels[0].Queries || g.Tail > tail {
				t.Errorf("a stack in group %d, %+v", i, g)
			}
		}
	}
	if at := w.RowOffset + first>>shift; rows != soundness.Masks<<shift || first&(1<<shift-1) != 0 || at%soundness.Masks != 0 {
		t.Errorf("%d rows of masks from table row %d on", rows, at)
	}
}
