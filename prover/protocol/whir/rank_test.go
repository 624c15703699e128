package whir

import (
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// With all challenges fixed, what an opening sends is linear in what it is about: secrets, and the
// random values that hide them. So "it says nothing of the secrets" is a statement on ranks: what a
// change of a secret changes is also what some change of the random values does. Below, Open itself is
// run for a basis of all values, and the ranks are computed exactly.
//
// What is sent besides elements are digests: a function of elements and salts.

var full = flag.Bool("full", false, "compute ranks over several proofs of a key as well, and commit to the longest rows with every suite; make full does")

// rankCase is a hiding opening, or several with one key, of which something may be left out.
type rankCase struct {
	hidingShape
	proofs int
	claims int
	// What is left out, if it is set: by how many elements tails of the key, of the witness and of the masks are
	// too short, and from which number on masks are zero.
	noPads, noRoundPads, noRest bool // noRest: the auxiliary row is zero behind the pads
	fixedShort, witnessShort    int
	maskShort, masks            int
	// forced are challenges for the last row variables, and narrow functionals are on the columns
	// that the pads of the rounds are in.
	forced []field.QM31
	narrow bool
	// plain is a key that hides nothing: its rows are known, and have no tails. Secret is the witness alone, hidden inputs in it.
	plain bool
}

// variables numbers the values that rows are made of.
type variables struct{ secret []bool }

func (v *variables) take(n int, secret bool) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = len(v.secret)
		v.secret = append(v.secret, secret)
	}
	return at
}

// linearRows is a source whose values and tails are entries of a vector, or zero where the number is −1.
type linearRows struct {
	x             []field.M31
	values, tails [][]int
}

func (l *linearRows) Rows() int { return len(l.values) }
func (l *linearRows) FillRow(i, from int, dst []int32) {
	for k := range dst {
		dst[k] = int32(l.at(l.values[i][from+k]).Int64())
	}
}
func (l *linearRows) FillTail(i int, dst []field.M31) {
	for k := range dst {
		dst[k] = l.at(l.tails[i][k])
	}
}
func (l *linearRows) FillSalts(_ uint64, dst []hash.Digest) { clear(dst) }
func (l *linearRows) at(n int) field.M31 {
	if n < 0 {
		return 0
	}
	return l.x[n]
}

// fixedChallenges is a transcript that gives the same challenges whatever it absorbs, and records
// that.
type fixedChallenges struct {
	hash.Transcript
	rng    *rand.Rand
	sent   []field.M31
	drawn  int
	forced map[int]field.QM31 // by number of the draw
}

func (f *fixedChallenges) AbsorbElements(v []field.M31) { f.sent = append(f.sent, v...) }
func (f *fixedChallenges) AbsorbDigests([]hash.Digest)  {}
func (f *fixedChallenges) AbsorbUint64(uint64)          {}
func (f *fixedChallenges) AbsorbBytes([]byte)           {}
func (f *fixedChallenges) Draw(dst []field.M31) {
	for i := range dst {
		dst[i] = field.M31(f.rng.Uint32N(field.P))
	}
	if v, ok := f.forced[f.drawn]; ok {
		l := v.Limbs()
		copy(dst, l[:])
	}
	f.drawn++
}
func (f *fixedChallenges) DrawIndices(dst []uint64, bits int) {
	for i := range dst {
		for {
			dst[i] = f.rng.Uint64N(1 << bits)
			if !slices.Contains(dst[:i], dst[i]) {
				break
			}
		}
	}
}

// recorded are passes that record opened leaves, and the row that level 1 commits to.
type recorded struct {
	*local
	to *fixedChallenges
}

func (r recorded) Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error) {
	leaves, err := r.local.Columns(ctx, tree, positions)
	for _, leaf := range leaves {
		r.to.sent = append(r.to.sent, leaf...)
	}
	return leaves, err
}

func (r recorded) Commit(ctx context.Context, l soundness.Level) (hash.Digest, error) {
	for _, v := range r.pair.F {
		limbs := v.Limbs()
		r.to.sent = append(r.to.sent, limbs[:]...)
	}
	return r.local.Commit(ctx, l)
}

// noNodes stand for a tree's digests.
type noNodes struct {
	Nodes
	depth int
}

func (n noNodes) Depth() int                                            { return n.depth }
func (n noNodes) Root() hash.Digest                                     { return hash.Digest{} }
func (n noNodes) Path(context.Context, []uint64) ([]hash.Digest, error) { return nil, nil }

// params returns those of a small opening.
func (c *rankCase) params() *soundness.Params {
	_, _, _, end := c.layouts(1)
	k := 0
	for 1<<k < end {
		k++
	}
	return &soundness.Params{
		Config:  soundness.Config{TargetBits: 1, LogBlowup: 2, Hash: c.suite},
		TailLog: c.tailLog,
		Levels: []soundness.Level{
			{FoldVars: k, RowVars: c.rowVars, LogBlowup: 2, Queries: c.queries},
			{FoldVars: 3, RowVars: c.rowVars - 2, LogBlowup: 2, Queries: 4},
		},
	}
}

// leaks returns the dimension over F of what the messages say of the secrets.
func (c *rankCase) leaks(t *testing.T) int {
	t.Helper()
	var v variables
	params := c.params()
	layouts, witness, masks, _ := c.layouts(c.queries)
	if c.plain {
		layouts[0].Groups[0].Tail = 0
	}
	take := func(n, short int, secret bool) []int {
		at := v.take(n-short, secret)
		for range short {
			at = append(at, -1)
		}
		return at
	}
	fixed := &linearRows{}
	for range layouts[0].Rows() {
		known := 0
		if c.plain {
			known = 1 << layouts[0].RowVars
		}
		fixed.values = append(fixed.values, take(1<<layouts[0].RowVars, known, true))
		fixed.tails = append(fixed.tails, take(layouts[0].Groups[0].Tail, c.fixedShort, false))
	}
	own := make([]*linearRows, c.proofs)
	for p := range own {
		own[p] = &linearRows{}
		for i, g := range layouts[1].Groups {
			for r := range g.Rows {
				auxiliary := i == len(layouts[1].Groups)-1
				secret := i == 0 || i == 3 && !auxiliary
				n, short, left := 1<<layouts[1].RowVars, 0, 0 // left out
				switch {
				case i == 2:
					short = c.maskShort
				case !auxiliary:
					short = c.witnessShort
				}
				if i == 1 && c.noPads || i == 2 && r>>c.shift >= c.masks {
					left = n
				}
				values := take(n, left, secret)
				for k := range values {
					pad := k<<c.shift|int(reverse(uint64(r), c.shift)) < soundness.PadLimbs*params.Levels[0].FoldVars
					if auxiliary && (pad && c.noRoundPads || !pad && c.noRest) {
						values[k] = -1
					}
				}
				if i == 2 && left > 0 {
					short = g.Tail
				}
				own[p].values, own[p].tails = append(own[p].values, values), append(own[p].tails, take(g.Tail, short, false))
			}
		}
	}

	// The same functionals and challenges for every vector.
	type statement struct {
		claims [][]Term
		zeta   field.QM31
	}
	rng := rand.New(rand.NewPCG(41, 42))
	statements := make([]statement, c.proofs)
	for p := range statements {
		statements[p].zeta = randomQM31(rng)
		for range c.claims {
			var claim []Term
			for _, of := range [][3]int{{0, 0, c.fixed}, {1, 0, c.witness}, {1, masks + soundness.Masks, masks + soundness.Masks + c.behind}} {
				for row := of[1]; row < of[2]; row++ {
					term := Term{randomQM31(rng), of[0], uint64(row) << c.rowVars, nil}
					for range c.rowVars {
						term.Point = append(term.Point, randomQM31(rng))
					}
					claim = append(claim, term)
					if c.narrow { // the first values alone, one by one
						claim = claim[:len(claim)-1]
						for i := range uint64(soundness.PadLimbs * params.Levels[0].FoldVars) {
							claim = append(claim, Term{randomQM31(rng), of[0], uint64(row)<<c.rowVars + i, nil})
						}
					}
				}
			}
			statements[p].claims = append(statements[p].claims, claim)
		}
	}
	messages := func(x []field.M31) []field.M31 {
		fixed.x = x
		var sent []field.M31
		for p, s := range statements {
			own[p].x = x
			o := &opening{params: params, srcs: []RowSource{fixed, own[p]}, offsets: []uint64{0, uint64(witness)}}
			for i := range layouts {
				o.trees = append(o.trees, &Tree{layouts[i], noNodes{depth: layouts[i].LogDomain()}})
			}
			to := &fixedChallenges{rng: rand.New(rand.NewPCG(43, uint64(p))), forced: map[int]field.QM31{}}
			for i, r := range c.forced {
				to.forced[params.Levels[0].FoldVars-len(c.forced)+i] = r
			}
			w := transcript.NewWriter(transcript.Over(c.suite, to))
			power := field.One
			for j, claim := range s.claims {
				var value field.QM31
				for _, term := range claim {
					value = value.Add(o.termValue(term))
					term.Coef = term.Coef.Mul(power)
					o.terms = append(o.terms, term)
				}
				pad := LimbsTerm(field.One.Neg(), 1, uint64(c.witness)<<c.rowVars+4*uint64(j))
				value = value.Add(o.termValue(pad))
				pad.Coef = pad.Coef.Mul(power)
				o.terms = append(o.terms, pad)
				to.sent = appendLimbs(to.sent, value)
				o.value = o.value.Add(power.Mul(value))
				power = power.Mul(s.zeta)
			}
			passes := recorded{NewPasses(nil, params, layouts, o.srcs, o.offsets).(*local), to}
			if err := Open(context.Background(), w, params, o.trees, passes, o.offsets, o.terms, o.value); err != nil {
				t.Fatal(err)
			}
			sent = append(sent, to.sent...)
		}
		return sent
	}
	if masks != soundness.Masks-witness {
		t.Fatal("the masks are in another place than the test thinks")
	}
	var random, secret eliminator
	x := make([]field.M31, len(v.secret))
	for i := range x {
		x[i] = 1
		m := messages(x)
		x[i] = 0
		if v.secret[i] {
			secret.rows = append(secret.rows, m)
		} else {
			random.add(m)
		}
	}
	before := len(random.rows)
	for _, m := range secret.rows {
		random.add(m)
	}
	return len(random.rows) - before
}

func appendLimbs(to []field.M31, v field.QM31) []field.M31 {
	l := v.Limbs()
	return append(to, l[:]...)
}

// eliminator keeps vectors that are linearly independent, each with 1 in a place where those behind it have 0.
type eliminator struct {
	rows  [][]field.M31
	pivot []int
}

func (e *eliminator) add(v []field.M31) {
	room := make([]field.M31, len(v))
	for i, row := range e.rows {
		if f := v[e.pivot[i]]; f != 0 {
			from := e.pivot[i]
			field.ScaleVec(room[from:], row[from:], f)
			field.SubVec(v[from:], v[from:], room[from:])
		}
	}
	for j := range v {
		if v[j] != 0 {
			field.ScaleVec(v, v, v[j].Inv())
			e.rows, e.pivot = append(e.rows, v), append(e.pivot, j)
			return
		}
	}
}

// TestHidingRanks: an opening says nothing of what is committed to but what the claims say that are not
// padded, and each of the means that this takes is needed.
func TestHidingRanks(t *testing.T) {
	good := rankCase{
		hidingShape: hidingShape{rowVars: 6, fixed: 3, witness: 1, tailLog: 2, queries: 6, blowup: 2, suite: hash.Blake3},
		proofs:      1, claims: 3, masks: soundness.Masks,
	}
	two := func(c *rankCase) { c.proofs = 2 }
	inner := func(rng *rand.Rand) field.QM31 {
		return field.NewQM31(field.M31(rng.Uint32N(field.P)), field.M31(rng.Uint32N(field.P)), 0, 0)
	}
	rng := rand.New(rand.NewPCG(51, 52))
	for _, c := range []struct {
		name   string
		change func(*rankCase)
		leaks  bool
	}{
		{"as it is", func(*rankCase) {}, false},
		{"shorter rows of the witness", func(c *rankCase) { c.shift, c.queries = 1, 4 }, false},
		{"shorter rows of the key", func(c *rankCase) { c.fixedShift, c.queries = 1, 4 }, false},
		{"two proofs of a key", two, false},
		{"two proofs, shorter rows of the key", func(c *rankCase) { two(c); c.fixedShift = 1; c.queries = 4 }, false},
		{"a plain key", func(c *rankCase) { c.plain = true }, false},
		{"a plain key, shorter rows of the witness", func(c *rankCase) { c.plain, c.shift, c.queries = true, 1, 4 }, false},
		{"a plain key, tails of the witness one short", func(c *rankCase) { c.plain, c.witnessShort = true, 1 }, true},
		{"a plain key, claims without pads", func(c *rankCase) { c.plain, c.noPads = true, true }, true},
		{"a plain key, three masks", func(c *rankCase) { c.plain, c.masks = true, 3 }, true},
		{"claims without pads", func(c *rankCase) { c.noPads = true }, true},
		{"rounds without pads", func(c *rankCase) { c.noRoundPads, c.behind = true, 1 }, true},
		{"rows behind the masks", func(c *rankCase) { c.behind = 1 }, false},
		{"no masks", func(c *rankCase) { c.masks = 0 }, true},
		{"three masks", func(c *rankCase) { c.masks = 3 }, true},
		{"tails of the witness one short", func(c *rankCase) { c.witnessShort = 1 }, true},
		{"tails of the key one short of two proofs", func(c *rankCase) { two(c); c.fixedShort = 5 }, true},
		{"tails of masks one short, two proofs", func(c *rankCase) { two(c); c.maskShort = 5 }, true},
		{"three proofs, a budget of two", func(c *rankCase) { c.proofs, c.fixed = 3, 1 }, true},
		// What random challenges would not show: weights of four masks that do not span K, where those
		// of eight do.
		{"eight masks, two challenges in CM31", func(c *rankCase) { c.forced = []field.QM31{inner(rng), inner(rng), randomQM31(rng)} }, false},
		{"four masks, two challenges in CM31", func(c *rankCase) {
			c.masks, c.forced = 4, []field.QM31{inner(rng), inner(rng), inner(rng)}
		}, true},
		// Masks have more to give than the folded row takes: they make up for an auxiliary row that is
		// zero behind its pads, and for functionals that meet nothing else of it.
		{"an auxiliary row of pads alone", func(c *rankCase) { c.noRest, c.behind = true, 1 }, false},
		{"functionals on the pads of rounds alone", func(c *rankCase) { c.narrow, c.behind = true, 1 }, false},
		{"both", func(c *rankCase) { c.noRest, c.narrow, c.behind = true, true, 1 }, false},
		{"eight masks, three challenges in CM31", func(c *rankCase) { c.forced = []field.QM31{inner(rng), inner(rng), inner(rng)} }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := good
			c.change(&x)
			if !*full && (x.proofs > 1 || x.narrow || x.noRest || x.behind > 0 && !x.noRoundPads) {
				t.Skip("several proofs take some seconds, and these are no means of hiding: make full")
			}
			if !*full && x.behind == 0 {
				x.rowVars = 5 // as many values as pads of rounds
			}
			leaks := x.leaks(t)
			t.Logf("%d dimensions", leaks)
			if (leaks > 0) != c.leaks {
				t.Errorf("the messages say %d dimensions of the secrets", leaks)
			}
		})
	}
}
