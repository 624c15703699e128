package whir

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// sampleOpening is what the tests below start from: two trees with rows of two
// lengths, one of them in two groups, a tail of at least one level, out-of-domain
// samples in Johnson mode.
func sampleOpening(t *testing.T, suite hash.Suite, mode soundness.Mode) *opening {
	t.Helper()
	c := quick(mode)
	c.TargetBits, c.Hash = 24, suite
	rng := rand.New(rand.NewPCG(7, uint64(mode)))
	o, err := newOpening(c, rng, []Layout{rows(12, 3), rows(10, 3, 2)}, 2, []int{14, 13, 12, 9, 3, 0, 11, 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.params.Levels) < 2 {
		t.Fatal("the sample has no tail")
	}
	return o
}

// inEveryWay runs a test for both modes and all hash suites.
func inEveryWay(t *testing.T, f func(t *testing.T, o *opening)) {
	for _, suite := range hash.All() {
		for _, mode := range []soundness.Mode{soundness.Unique, soundness.Johnson} {
			t.Run(suite.String()+"/"+mode.String(), func(t *testing.T) { f(t, sampleOpening(t, suite, mode)) })
		}
	}
}

// TestRejectOtherStatement verifies an honest proof against statements that
// differ in one thing.
func TestRejectOtherStatement(t *testing.T) {
	inEveryWay(t, func(t *testing.T, o *opening) {
		proof := o.prove()
		if err := o.verify(proof); err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(roots []hash.Digest, l []Layout, s *opening){
			"value":       func(_ []hash.Digest, _ []Layout, s *opening) { s.value = s.value.AddM31(1) },
			"coefficient": func(_ []hash.Digest, _ []Layout, s *opening) { s.terms[3].Coef = s.terms[3].Coef.AddM31(1) },
			"point":       func(_ []hash.Digest, _ []Layout, s *opening) { s.terms[0].Point[5] = field.One },
			"offset":      func(_ []hash.Digest, _ []Layout, s *opening) { s.terms[4].Offset ^= 8 },
			"no term":     func(_ []hash.Digest, _ []Layout, s *opening) { s.terms = s.terms[1:] },
			"tree":        func(_ []hash.Digest, _ []Layout, s *opening) { s.terms[5].Tree ^= 1 },
			"no tree":     func(_ []hash.Digest, _ []Layout, s *opening) { s.terms[5].Tree = 2 },
			"root":        func(roots []hash.Digest, _ []Layout, _ *opening) { roots[1][3] = (roots[1][3] + 1) % field.P },
			"roots":       func(roots []hash.Digest, _ []Layout, _ *opening) { roots[0], roots[1] = roots[1], roots[0] },
			"rows":        func(_ []hash.Digest, l []Layout, _ *opening) { l[1].Groups[1].Rows-- },
			"no rows":     func(_ []hash.Digest, l []Layout, _ *opening) { l[1].Groups[1].Rows = 0 },
			"slot":        func(_ []hash.Digest, l []Layout, _ *opening) { l[1].Groups[1].First++ },
			"groups": func(_ []hash.Digest, l []Layout, _ *opening) {
				l[0].Groups = []Group{{First: 0, Rows: 2}, {First: 2, Rows: 1}}
			},
			"group order":  func(_ []hash.Digest, l []Layout, _ *opening) { l[1].Groups[1].First = 2 },
			"no groups":    func(_ []hash.Digest, l []Layout, _ *opening) { l[0].Groups = nil },
			"past end":     func(_ []hash.Digest, l []Layout, _ *opening) { l[1].Groups[1].First = 1 << 38 },
			"far past end": func(_ []hash.Digest, l []Layout, _ *opening) { l[1].Groups[1].First = 1<<64 - 1 },
			"many rows":    func(_ []hash.Digest, l []Layout, _ *opening) { l[1].Groups[1].Rows = 1 << 40 },
			"row length":   func(_ []hash.Digest, l []Layout, _ *opening) { l[1].RowVars-- },
			"longer rows":  func(_ []hash.Digest, l []Layout, _ *opening) { l[0].RowVars++ },
			"shorter rows": func(_ []hash.Digest, l []Layout, _ *opening) { l[0].RowVars = 10 },
			"suite":        func(_ []hash.Digest, l []Layout, _ *opening) { l[1].Hash ^= 1 },
			"rate":         func(_ []hash.Digest, l []Layout, _ *opening) { l[1].LogBlowup++ },
			"row offset":   func(_ []hash.Digest, _ []Layout, s *opening) { s.offsets[1]++ },
			"overlap":      func(_ []hash.Digest, _ []Layout, s *opening) { s.offsets[1] = 2 },
			"unaligned":    func(_ []hash.Digest, _ []Layout, s *opening) { s.terms[0].Offset++ },
			"outside":      func(_ []hash.Digest, _ []Layout, s *opening) { s.terms[5].Offset = 1 << 40 },
			"params": func(_ []hash.Digest, _ []Layout, s *opening) {
				p := *s.params
				p.Levels = slices.Clone(p.Levels)
				p.Levels[0].Queries--
				s.params = &p
			},
		} {
			s := *o
			s.terms = slices.Clone(o.terms)
			for i := range s.terms {
				s.terms[i].Point = slices.Clone(o.terms[i].Point)
			}
			s.offsets = slices.Clone(o.offsets)
			roots, layouts := o.committed()
			for i := range layouts {
				layouts[i].Groups = slices.Clone(layouts[i].Groups)
			}
			change(roots, layouts, &s)
			r := transcript.NewReader(transcript.New(o.params.Config.Hash, "test"), proof)
			Verify(r, s.params, roots, layouts, s.offsets, s.terms, s.value)
			if r.Done() == nil {
				t.Errorf("other %s: accepted", name)
			}
		}
	})
}

// TestRejectTampered flips a bit of every 53rd byte, adds p to every 17th word, truncates and extends.
func TestRejectTampered(t *testing.T) {
	inEveryWay(t, func(t *testing.T, o *opening) {
		proof := o.prove()
		for i := 0; i < len(proof); i += 53 {
			bad := slices.Clone(proof)
			bad[i] ^= 1 << (i / 53 % 8)
			if o.verify(bad) == nil {
				t.Fatalf("byte %d of %d changed: accepted", i, len(proof))
			}
		}
		for i := 0; i < len(proof); i += 17 * transcript.LimbBytes {
			bad := slices.Clone(proof)
			word := bad[i:][:transcript.LimbBytes]
			binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)+field.P) // the same element
			if o.verify(bad) == nil {
				t.Fatalf("the word at byte %d of %d is not below p: accepted", i, len(proof))
			}
		}
		for n := 0; n < len(proof); n += 1 + len(proof)/30 {
			if err := o.verify(proof[:n]); err == nil {
				t.Fatalf("%d of %d bytes: accepted", n, len(proof))
			}
		}
		if err := o.verify(append(slices.Clone(proof), 0, 0, 0, 0)); !errors.Is(err, transcript.ErrTrailing) {
			t.Errorf("bytes behind the proof: %v", err)
		}
	})
}

// TestRejectWrongValue has an honest prover run on a false claim: the sumcheck's
// messages are those of the true value and do not add up.
func TestRejectWrongValue(t *testing.T) {
	inEveryWay(t, func(t *testing.T, o *opening) {
		o.value = o.value.Add(field.One)
		if o.verify(o.prove()) == nil {
			t.Error("accepted")
		}
	})
}

// TestRejectOtherRows has the prover change a value after the commitment, with
// the value of the claim changed to match: its proof is consistent but for the
// leaves.
func TestRejectOtherRows(t *testing.T) {
	inEveryWay(t, func(t *testing.T, o *opening) {
		o.changeValue()
		if o.verify(o.prove()) == nil {
			t.Error("accepted")
		}
	})
}

// changeValue changes one committed value of each tree and the claim with them.
func (o *opening) changeValue() {
	for i := range o.terms {
		o.value = o.value.Sub(o.termValue(o.terms[i]))
	}
	o.srcs = slices.Clone(o.srcs)
	for i := range o.srcs {
		m := slices.Clone(o.srcs[i].(memory))
		m[1] = slices.Clone(m[1])
		m[1][77] += 3
		o.srcs[i] = m
	}
	for i := range o.terms {
		o.value = o.value.Add(o.termValue(o.terms[i]))
	}
}

// cheat says where a dishonest prover departs from Open.
type cheat struct {
	opened      *opening                                    // its rows and trees answer the first queries
	folded      func(f []field.QM31)                        // changes a folded row before it is committed to
	words       func(t *foldedWords, l soundness.Level)     // changes a level's codewords before they are hashed
	sample      func(s *sample)                             // changes an out-of-domain answer
	positions   func(p []uint64) []uint64                   // opens other positions
	final       func(row, q []field.QM31, claim field.QM31) // changes the last row
	adjustClaim func(p *Pair, claim field.QM31)             // changes the tables after constraints are joined
}

// cheating are the passes of a dishonest prover. Whatever they open are true
// leaves of its trees.
type cheating struct {
	*local
	cheat      *cheat
	o          *opener
	first      *local   // answers the first queries
	asked, got []uint64 // positions, of the latest query
}

// at returns the positions to open in place of p.
func (c *cheating) at(p []uint64) []uint64 {
	if c.cheat.positions == nil {
		return p
	}
	if !slices.Equal(p, c.asked) {
		c.asked, c.got = p, c.cheat.positions(slices.Clone(p))
	}
	return c.got
}

func (c *cheating) Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error) {
	leaves, err := c.first.Columns(ctx, tree, c.at(positions))
	for len(leaves) < len(positions) { // as many as the prover works on
		leaves = append(leaves, leaves[len(leaves)-1])
	}
	return leaves, err
}

func (c *cheating) Leaves(ctx context.Context, n int, positions []uint64) (Leaves, error) {
	return c.local.Leaves(ctx, n, c.at(positions))
}

func (c *cheating) Commit(ctx context.Context, l soundness.Level) (hash.Digest, error) {
	if c.cheat.folded != nil {
		c.cheat.folded(c.pair.F)
	}
	root, err := c.local.Commit(ctx, l)
	if c.cheat.words != nil {
		t := c.folded[len(c.folded)-1]
		c.cheat.words(t, l)
		root = t.nodes.Root()
	}
	return root, err
}

func (c *cheating) At(ctx context.Context, z field.QM31) (field.QM31, error) {
	v, err := c.local.At(ctx, z)
	s := sample{z, v}
	if c.cheat.sample != nil {
		c.cheat.sample(&s)
	}
	return s.value, err
}

func (c *cheating) Add(ctx context.Context, cs *Constraints) error {
	err := c.local.Add(ctx, cs)
	if c.cheat.adjustClaim != nil {
		c.cheat.adjustClaim(&c.pair, c.o.claim)
	}
	return err
}

func (c *cheating) Values(ctx context.Context) ([]field.QM31, error) {
	if c.cheat.final != nil {
		c.cheat.final(c.pair.F, c.pair.Q, c.o.claim)
	}
	return c.local.Values(ctx)
}

// cheatingNodes open the positions that their prover likes.
type cheatingNodes struct {
	Nodes
	c *cheating
}

func (n cheatingNodes) Path(ctx context.Context, positions []uint64) ([]hash.Digest, error) {
	return n.Nodes.Path(ctx, n.c.at(positions))
}

// prove is Open with a cheat.
func (c *cheat) prove(t *testing.T, o *opening) []byte {
	t.Helper()
	w := transcript.NewWriter(transcript.New(o.params.Config.Hash, "test"))
	s, err := proverStatement(o.params, o.trees, o.offsets, o.terms, o.value)
	if err != nil {
		t.Fatal(err)
	}
	a := c.opened
	if a == nil {
		a = o
	}
	p := &cheating{local: o.passes().(*local), cheat: c, first: a.passes().(*local)}
	var trees []*Tree
	for _, tree := range a.trees {
		own := *tree
		own.nodes = cheatingNodes{tree.nodes, p}
		trees = append(trees, &own)
	}
	p.o = &opener{context.Background(), w, s, trees, p, o.value, nil}
	p.o.open()
	return w.Bytes()
}

// fixClaim changes one entry of the row so that Σ row·q = claim.
func fixClaim(row, q []field.QM31, claim field.QM31) {
	for i := range q {
		if !q[i].IsZero() {
			row[i] = row[i].Add(claim.Sub(field.Dot(row, q)).Mul(q[i].Inv()))
			return
		}
	}
}

func TestRejectDishonest(t *testing.T) {
	inEveryWay(t, func(t *testing.T, o *opening) {
		honest := cheat{}
		if err := o.verify(honest.prove(t, o)); err != nil {
			t.Fatalf("the dishonest prover with no cheat is not Open: %v", err)
		}
		wrong := *o
		wrong.value = o.value.AddM31(1)
		other := *o
		other.changeValue()
		for name, c := range map[string]struct {
			*opening
			cheat
		}{
			// Proves a claim on other rows, but opens the committed ones.
			"other rows": {&other, cheat{opened: o}},
			// Makes a false claim true of the folded row.
			"wrong fold": {&wrong, cheat{adjustClaim: func(p *Pair, claim field.QM31) { fixClaim(p.F, p.Q, claim) }}},
			// Commits to another folded row than the one that fits the queries.
			"other folded row": {o, cheat{folded: func(f []field.QM31) { f[9] = f[9].AddM31(1) }}},
			// Commits to a word far from the code: one row is random.
			"no codeword": {o, cheat{words: func(t *foldedWords, l soundness.Level) {
				rng := rand.New(rand.NewPCG(1, 2))
				for i := range t.words[0] {
					t.words[0][i] = field.M31(rng.Uint32N(field.P))
				}
				t.rehash(o.params.Config.Hash, l)
			}}},
			// Changes the last row so that the claim holds.
			"last row":       {&wrong, cheat{final: fixClaim}},
			"last row alone": {o, cheat{final: func(row, _ []field.QM31, _ field.QM31) { row[0] = row[0].AddM31(1) }}},
			// Opens positions of its choice, or one of them twice.
			"other positions":  {o, cheat{positions: func(p []uint64) []uint64 { p[len(p)-1] ^= 1; return merkle.Distinct(p) }}},
			"fewer positions":  {o, cheat{positions: func(p []uint64) []uint64 { return p[1:] }}},
			"reused positions": {o, cheat{positions: firstAgain()}},
		} {
			if c.opening.verify(c.cheat.prove(t, c.opening)) == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		if o.params.Config.Mode == soundness.Johnson {
			c := cheat{sample: func(s *sample) { s.value = s.value.AddM31(1) }}
			if o.verify(c.prove(t, o)) == nil {
				t.Error("wrong out-of-domain answer: accepted")
			}
		}
	})
}

// firstAgain opens the positions of the first level in the later ones too, as
// far as they have them.
func firstAgain() func([]uint64) []uint64 {
	var first []uint64
	return func(p []uint64) []uint64 {
		if first == nil {
			first = p
			return p
		}
		again := slices.Clone(p)
		for i := range again {
			again[i] = first[i%len(first)] & 15
		}
		return merkle.Distinct(again)
	}
}

// rehash builds the tree over changed codewords.
func (t *foldedWords) rehash(suite hash.Suite, l soundness.Level) {
	h := suite.NewColumns(1<<l.LogDomain(), len(t.words))
	h.AbsorbRows(t.words)
	leaves := make([]hash.Digest, 1<<l.LogDomain())
	h.Sum(leaves)
	t.nodes = merkle.New(suite, leaves)
}
