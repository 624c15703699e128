package whir

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"pgregory.net/rapid"
)

// masked is a stack in memory with tails and salts.
type masked struct {
	memory
	tails [][]field.M31
	salts []hash.Digest
}

func (m *masked) FillTail(i int, dst []field.M31)          { copy(dst, m.tails[i]) }
func (m *masked) FillSalts(from uint64, dst []hash.Digest) { copy(dst, m.salts[from:]) }

// randomMasked returns random rows of a layout.
func randomMasked(rng *rand.Rand, l Layout) *masked {
	m := &masked{memory: randomStack(rng, l.Rows(), l.RowVars), salts: make([]hash.Digest, 1<<l.LogDomain())}
	for _, n := range l.tails() {
		tail := make([]field.M31, n)
		for i := range tail {
			tail[i] = field.M31(rng.Uint32N(field.P))
		}
		m.tails = append(m.tails, tail)
	}
	for i := range m.salts {
		for j := range m.salts[i] {
			m.salts[i][j] = rng.Uint32N(field.P)
		}
	}
	return m
}

// hidingShape is the shape of a hiding opening.
type hidingShape struct {
	rowVars           int // a of the table's rows
	fixed, witness    int // table rows of secrets of two trees
	fixedShift, shift int // of the trees
	tailLog           int
	plainFixed        bool // the first tree hides nothing
	queries           int  // 0: as many as the security asks for
	blowup            int
	mode              soundness.Mode
	suite             hash.Suite
	behind            int // rows of the witness behind the masks
}

// layouts returns those of both trees, and the table rows of the witness's tree, of its masks in
// it, and behind all. The witness has a table row of pads behind its own.
func (s *hidingShape) layouts(queries int) (l []Layout, witness, masks, end int) {
	tail := func(shift int) int { return 1 << (s.rowVars - shift - s.tailLog) }
	fixed := Layout{Hash: s.suite, RowVars: s.rowVars - s.fixedShift, LogBlowup: s.blowup}
	fixed.Groups = []Group{{First: 0, Rows: s.fixed << s.fixedShift, Tail: tail(s.fixedShift)}}
	if s.plainFixed {
		fixed.Groups[0].Tail = 0
	}
	witness = s.fixed
	masks = (witness+s.witness+1+soundness.Masks-1)/soundness.Masks*soundness.Masks - witness
	own := Layout{Hash: s.suite, RowVars: s.rowVars - s.shift, LogBlowup: s.blowup, Auxiliary: true}
	last := masks + soundness.Masks
	for _, g := range []Group{
		{First: 0, Rows: s.witness << s.shift, Tail: queries},
		{First: uint64(s.witness) << s.shift, Rows: 1 << s.shift, Tail: queries},
		{First: uint64(masks) << s.shift, Rows: soundness.Masks << s.shift, Tail: tail(s.shift)},
		{First: uint64(last) << s.shift, Rows: s.behind << s.shift, Tail: queries},
		{First: 0, Rows: 1 << s.shift, Tail: tail(s.shift)},
	} {
		if g.Rows > 0 {
			own.Groups = append(own.Groups, g)
		}
	}
	return []Layout{fixed, own}, witness, masks, witness + last + s.behind
}

// open returns a random opening of the shape.
func (s *hidingShape) open(rng *rand.Rand) (*opening, error) {
	c := quick(s.mode)
	c.Hash, c.LogBlowup = s.suite, s.blowup
	_, _, _, end := s.layouts(1)
	o := &opening{}
	var err error
	if o.params, err = soundness.DeriveHiding(c, s.tailLog, s.rowVars, uint64(end)); err != nil {
		return nil, err
	}
	if o.params, err = soundness.CheckHiding(c, s.tailLog, o.params.Levels, uint64(end)); err != nil {
		return nil, err
	}
	queries := o.params.Levels[0].Queries
	if uint64(queries) > soundness.Budget(s.rowVars-s.shift, s.tailLog) {
		return nil, errors.New("rows that are too short for so many queries")
	}
	layouts, witness, _, _ := s.layouts(queries)
	o.offsets = []uint64{0, uint64(witness)}
	for i := range layouts {
		src := randomMasked(rng, layouts[i])
		o.srcs, o.trees = append(o.srcs, src), append(o.trees, commit(layouts[i], src))
	}
	for _, vars := range []int{s.rowVars, s.rowVars + 1, s.rowVars - 1, 3, 0} {
		t := o.randomTerm(rng, vars)
		o.terms = append(o.terms, t)
		o.value = o.value.Add(o.termValue(t))
	}
	pad := LimbsTerm(randomQM31(rng), 1, uint64(s.witness)<<s.rowVars+8)
	o.terms = append(o.terms, pad)
	o.value = o.value.Add(o.termValue(pad))
	return o, nil
}

// TestLimbsTerm: the term of an element of K is its coefficient times the element.
func TestLimbsTerm(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	s := hidingShape{rowVars: 10, fixed: 1, witness: 1, tailLog: 2, blowup: 2}
	o, err := s.open(rng)
	if err != nil {
		t.Fatal(err)
	}
	var limb [4]field.M31
	for i := range limb {
		limb[i] = field.FromInt32(o.at(1, 1<<10+4*7+uint64(i)))
	}
	coef := randomQM31(rng)
	if o.termValue(LimbsTerm(coef, 1, 1<<10+4*7)) != coef.Mul(field.NewQM31(limb[0], limb[1], limb[2], limb[3])) {
		t.Error("another value")
	}
}

func TestHonestHiding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := hidingShape{
			rowVars: rapid.IntRange(8, 10).Draw(t, "row variables"),
			fixed:   rapid.IntRange(1, 12).Draw(t, "fixed rows"), witness: rapid.IntRange(1, 4).Draw(t, "rows of the witness"),
			tailLog: rapid.IntRange(2, 3).Draw(t, "tails"), plainFixed: rapid.Bool().Draw(t, "plain key"),
			blowup: rapid.IntRange(1, 3).Draw(t, "blowup"), mode: soundness.Mode(rapid.IntRange(0, 1).Draw(t, "mode")),
			suite: rapid.SampledFrom(hash.All()).Draw(t, "suite"),
		}
		if rapid.Bool().Draw(t, "shorter fixed rows") {
			s.fixedShift = rapid.IntRange(1, 4).Draw(t, "shift")
		} else {
			s.shift = rapid.IntRange(0, 2).Draw(t, "shift")
		}
		o, err := s.open(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
		if err != nil {
			t.Skip(err)
		}
		if err := o.verify(o.prove()); err != nil {
			t.Fatal(err)
		}
		o.value = o.value.AddM31(1)
		if o.verify(o.prove()) == nil {
			t.Fatal("a wrong value: accepted")
		}
	})
}

// sampleHiding is a hiding opening of two trees with rows of two lengths.
func sampleHiding(t *testing.T, suite hash.Suite) *opening {
	t.Helper()
	s := hidingShape{rowVars: 10, fixed: 3, witness: 2, fixedShift: 2, tailLog: 2, blowup: 2, suite: suite}
	o, err := s.open(rand.New(rand.NewPCG(31, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestRejectTamperedHiding flips a bit of every 13th byte, and truncates and extends.
func TestRejectTamperedHiding(t *testing.T) {
	for _, suite := range hash.All() {
		o := sampleHiding(t, suite)
		proof := o.prove()
		if err := o.verify(proof); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(proof); i += 13 {
			bad := slices.Clone(proof)
			bad[i] ^= 1 << (i / 13 % 8)
			if o.verify(bad) == nil {
				t.Fatalf("%s: byte %d of %d changed: accepted", suite, i, len(proof))
			}
		}
		if o.verify(proof[:len(proof)-4]) == nil || o.verify(append(slices.Clone(proof), 0, 0, 0, 0)) == nil {
			t.Errorf("%s: of another length: accepted", suite)
		}
	}
}

// TestRejectOtherHidingStatement verifies an honest proof against statements that differ in what
// hiding ones have besides.
func TestRejectOtherHidingStatement(t *testing.T) {
	o := sampleHiding(t, hash.Blake3)
	proof := o.prove()
	for name, change := range map[string]func(l []Layout, p *soundness.Params){
		"nothing":                func([]Layout, *soundness.Params) {},
		"fraction":               func(_ []Layout, p *soundness.Params) { p.TailLog-- },
		"no fraction":            func(_ []Layout, p *soundness.Params) { p.TailLog = 0 },
		"shorter tails":          func(l []Layout, _ *soundness.Params) { l[0].Groups[0].Tail-- },
		"tails longer than that": func(l []Layout, _ *soundness.Params) { l[0].Groups[0].Tail++ },
		"no tails": func(l []Layout, _ *soundness.Params) {
			for i := range l[0].Groups {
				l[0].Groups[i].Tail = 0
			}
		},
		"a group without tails":  func(l []Layout, _ *soundness.Params) { l[1].Groups[1].Tail = 0 },
		"no auxiliary row":       func(l []Layout, _ *soundness.Params) { l[1].Auxiliary = false },
		"two auxiliary rows":     func(l []Layout, _ *soundness.Params) { l[0].Auxiliary = true },
		"a longer auxiliary row": func(l []Layout, _ *soundness.Params) { l[1].Groups[3].Rows++ },
		"a later auxiliary row":  func(l []Layout, _ *soundness.Params) { l[1].Groups[3].First++ },
		"groups as one": func(l []Layout, _ *soundness.Params) {
			l[1].Groups[0].Rows += l[1].Groups[1].Rows
			l[1].Groups = slices.Delete(l[1].Groups, 1, 2)
		},
	} {
		roots, layouts := o.committed()
		for i := range layouts {
			layouts[i].Groups = slices.Clone(layouts[i].Groups)
		}
		params := *o.params
		change(layouts, &params)
		r := transcript.NewReader(transcript.New(o.params.Config.Hash, "test"), proof)
		Verify(r, &params, roots, layouts, o.offsets, o.terms, o.value)
		if (r.Done() == nil) != (name == "nothing") {
			t.Errorf("other %s: %v", name, r.Done())
		}
	}
}

// TestDishonestHiding: a prover who alters what only hiding openings have is refused.
func TestDishonestHiding(t *testing.T) {
	o := sampleHiding(t, hash.Blake3)
	for name, p := range map[string]func(Passes) Passes{
		"nothing":       func(p Passes) Passes { return p },
		"another pad":   func(p Passes) Passes { return otherAuxiliary{p.(*local), 0} },
		"the last pad":  func(p Passes) Passes { return otherAuxiliary{p.(*local), 8*o.params.Levels[0].FoldVars - 1} },
		"another salt":  func(p Passes) Passes { return otherSalt{p.(*local)} },
		"another u":     func(p Passes) Passes { return otherFunctional{p.(*local)} },
		"a tail as row": func(p Passes) Passes { return tailless{p.(*local), false} },
		"tails dropped": func(p Passes) Passes { return tailless{p.(*local), true} },
	} {
		proof, err := o.proveOver(context.Background(), p(o.passes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := o.verify(proof); (err == nil) != (name == "nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// otherAuxiliary takes a pad that is not the committed one.
type otherAuxiliary struct {
	*local
	limb int
}

func (o otherAuxiliary) Auxiliary(ctx context.Context, n int) ([]field.M31, error) {
	v, err := o.local.Auxiliary(ctx, n)
	v[o.limb] = v[o.limb].Add(1)
	return v, err
}

// otherSalt opens a leaf with another salt.
type otherSalt struct{ *local }

func (o otherSalt) Salts(ctx context.Context, tree int, positions []uint64) ([]hash.Digest, error) {
	s, err := o.local.Salts(ctx, tree, positions)
	s[0][7] ^= 1
	return s, err
}

// otherFunctional proves the last round with other coefficients of pads.
type otherFunctional struct{ *local }

func (o otherFunctional) AuxiliaryRound(ctx context.Context, u []field.QM31) (Sums, error) {
	u = slices.Clone(u)
	u[0] = u[0].AddM31(1)
	return o.local.AuxiliaryRound(ctx, u)
}

// tailless goes on with a folded row that has lost its tail, or an entry of which has moved into it.
type tailless struct {
	*local
	drop bool
}

func (o tailless) BindAuxiliary(ctx context.Context, r field.QM31) error {
	err := o.local.BindAuxiliary(ctx, r)
	f := o.local.pair.F
	if o.drop {
		clear(f[len(f)/2:])
	} else {
		f[0], f[len(f)/2] = f[0].Sub(field.One), f[len(f)/2].Add(field.One)
	}
	return err
}

// TestCommitTails: a tree with tails and salts has the leaves that openings give, of short rows and of those
// that are hashed as they are encoded.
func TestCommitTails(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for _, suite := range hash.All() {
		for _, rowVars := range []int{3, 10, 15} {
			l := Layout{Hash: suite, RowVars: rowVars, LogBlowup: 1, Groups: []Group{{First: 0, Rows: 2, Tail: 3}, {First: 2, Rows: 1, Tail: 1 << rowVars / 4}}}
			m := randomMasked(rng, l)
			tree := commit(l, m)
			var all []uint64
			for i := range uint64(1) << l.LogDomain() {
				all = append(all, i)
			}
			stack := loadRows(nil, rowVars, 2, []Layout{l}, []RowSource{m}, []uint64{0})
			if got := leafDigests(suite, stack.columns(0, all), l.groupRows(), m.salts); !slices.Equal(got, tree.layers()[0]) {
				t.Errorf("%s, rows of 2^%d values: other leaves", suite, rowVars)
			}
		}
	}
}
