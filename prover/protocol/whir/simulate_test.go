package whir

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// A simulator that sets the challenges makes openings that a verifier accepts and that have nothing to do with any
// table: it has none. All that it is given is what a verifier is: parameters, layouts, terms and the value. What a real
// opening sends is distributed as what it draws (TestHidingRanks), so a real one says no more than these.

// simulated is an opening without a table.
type simulated struct {
	s         *statement
	rng       *rand.Rand
	challenge func() *fixedChallenges
	roots     []hash.Digest
}

// element draws an element of K.
func (m *simulated) element() field.QM31 { return randomQM31(m.rng) }

// simulate returns the bytes of an opening, for the challenges of the transcript. masks is the table row at which the masks
// of the last tree begin.
func (m *simulated) simulate(masks uint64) []byte {
	s, p := m.s, m.s.params
	first := p.Levels[0]
	// What a verifier will draw is known before anything is sent.
	draws := m.challenge()
	known := transcript.Over(p.Config.Hash, draws)
	point := make([]field.QM31, first.FoldVars)
	for i := range point {
		point[i] = known.Challenge()
	}
	r := known.Challenge()
	known.Challenges(0) // points out of the domain, of which there are none
	positions := drawPositions(known, first)
	points := domainPoints(first, positions)
	weights := rowWeights{table: poly.EqTable(point)}.withAuxiliary(r)

	// The row that level 1 commits to, with its tail: uniform.
	n := 1 << first.RowVars
	row := make([]field.QM31, 2*n)
	for i := range row[:n+n>>p.TailLog] {
		row[i] = m.element()
	}
	word := newEvaluator(row, first.RowVars+1)

	// Columns: uniform, but for those of masks, which make the fold what that row's codeword is.
	salts := make([][]hash.Digest, len(s.layouts))
	leaves := make([][][]field.M31, len(s.layouts))
	values := make([]field.QM31, len(positions))
	for t := range s.layouts {
		l := &s.layouts[t]
		own := leafPositions(positions, s.shift(t))
		leaves[t], salts[t] = make([][]field.M31, len(own)), make([]hash.Digest, len(own))
		for k := range leaves[t] {
			leaves[t][k] = make([]field.M31, l.Rows())
			for i := range leaves[t][k] {
				leaves[t][k][i] = field.M31(m.rng.Uint32N(field.P))
			}
			for i := range salts[t][k] {
				salts[t][k][i] = m.rng.Uint32N(field.P)
			}
		}
	}
	last := len(s.layouts) - 1
	maskAt := m.rowOf(last, masks)
	for t := range s.layouts {
		s.addValues(values, t, leaves[t], positions, points, weights)
	}
	for k := range positions {
		missing := word.eval(points[k]).Sub(values[k])
		// Four masks, random otherwise, take up what is missing: their weights span K over F.
		change := solveF(weights.table[s.rowOffsets[last]+masks:][:4], missing)
		for i, c := range change {
			leaves[last][k][maskAt+i] = leaves[last][k][maskAt+i].Add(c)
		}
	}
	// Trees of the opened leaves and of random digests.
	trees := make([]*merkle.Tree, len(s.layouts))
	for t := range s.layouts {
		l := &s.layouts[t]
		all := make([]hash.Digest, 1<<l.LogDomain())
		for i := range all {
			for j := range all[i] {
				all[i][j] = m.rng.Uint32N(field.P)
			}
		}
		for k, d := range leafDigests(p.Config.Hash, leaves[t], l.groupRows(), salts[t]) {
			all[leafPositions(positions, s.shift(t))[k]] = d
		}
		trees[t] = merkle.New(p.Config.Hash, all)
		m.roots = append(m.roots, trees[t].Root())
	}
	s.roots = m.roots

	// The messages, of which all that are not drawn follow from the verifier's own equations.
	w := transcript.NewWriter(transcript.Over(p.Config.Hash, m.challenge()))
	s.absorb(w.Sponge)
	claim := s.value
	for i := range point {
		zero, top := m.element(), m.element()
		w.SendQM31(zero, top)
		if w.Challenge() != point[i] {
			panic("another challenge")
		}
		claim = field.RoundValue(zero, top, claim, point[i])
	}
	q := m.functional(point, r) // on the row, without its tail
	end, zero := field.Dot(row[:n], q), m.element()
	// end = zero + r·(claim − 2·zero − top) + r²·top
	rest := end.Sub(field.RoundValue(zero, field.Zero, claim, r))
	top := rest.Mul(r.Square().Sub(r).Inv())
	w.SendQM31(zero, top)
	w.Challenge()
	claim = end

	// From here on a prover's own code, for that row.
	passes := drawnLeaves{&local{params: p, pair: Pair{F: row, Q: append(q, make([]field.QM31, n)...)}}, leaves, salts}
	o := &opener{ctx: context.Background(), w: w, s: s, passes: passes, claim: claim, room: transcript.NewRoom(1 << 20)}
	for t := range s.layouts {
		o.trees = append(o.trees, &Tree{s.layouts[t], localNodes{trees[t]}})
	}
	for i := range len(p.Levels) - 1 {
		weights = o.level(i, weights)
	}
	o.finish(weights)
	return w.Bytes()
}

// drawnLeaves are passes over a row, and over first trees of which there are but opened leaves.
type drawnLeaves struct {
	*local
	leaves [][][]field.M31
	salts  [][]hash.Digest
}

func (d drawnLeaves) Columns(_ context.Context, tree int, _ []uint64) ([][]field.M31, error) {
	return d.leaves[tree], nil
}

func (d drawnLeaves) Salts(_ context.Context, tree int, _ []uint64) ([]hash.Digest, error) {
	return d.salts[tree], nil
}

// rowOf returns which of a tree's rows is in a slot.
func (m *simulated) rowOf(tree int, slot uint64) int {
	row := 0
	for _, g := range m.s.layouts[tree].Groups {
		if g.First == slot {
			return row
		}
		row += g.Rows
	}
	panic("no group begins there")
}

// functional returns the functional on the row that level 1 commits to, without its tail.
func (m *simulated) functional(point []field.QM31, r field.QM31) []field.QM31 {
	q := m.s.functional().folded(nil, poly.EqTable(point), 1<<len(point))
	u := padFunctional(point)
	for i := range q {
		if q[i] = q[i].Mul(field.One.Sub(r)); i < len(u) {
			q[i] = q[i].Sub(r.Mul(u[i]))
		}
	}
	return q
}

// solveF returns c over F with Σ c_i·w_i = v, for four w that are a basis of K.
func solveF(w []field.QM31, v field.QM31) [4]field.M31 {
	m := make([][]field.M31, 4) // of the equations of limbs
	for l := range m {
		for _, x := range w {
			m[l] = append(m[l], x.Limbs()[l])
		}
		m[l] = append(m[l], v.Limbs()[l])
	}
	if len(reduce(m, []int{0, 1, 2, 3})) < 4 {
		panic("the weights of masks do not span K")
	}
	return [4]field.M31{m[0][4], m[1][4], m[2][4], m[3][4]}
}

// TestSimulator: a verifier whose challenges are set accepts what the simulator makes, for any value at all. With other
// challenges it does not.
func TestSimulator(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(81, seed))
		c := rankCase{hidingShape: hidingShape{rowVars: 6, fixed: 3, witness: 1, tailLog: 2, queries: 6, blowup: 2, suite: hash.All()[seed%2]}}
		layouts, witness, masks, _ := c.layouts(c.queries)
		params := c.params()
		challenges := func() *fixedChallenges { return &fixedChallenges{rng: rand.New(rand.NewPCG(82, seed))} }
		var terms List
		for tree, rows := range []int{c.fixed, c.witness} {
			for row := range rows {
				term := Term{randomQM31(rng), tree, uint64(row) << c.rowVars, nil}
				for range c.rowVars {
					term.Point = append(term.Point, randomQM31(rng))
				}
				terms = append(terms, term)
			}
		}
		offsets := []uint64{0, uint64(witness)}
		m := &simulated{
			s:   &statement{params, make([]hash.Digest, 2), layouts, offsets, terms, randomQM31(rng)},
			rng: rng, challenge: challenges,
		}
		proof := m.simulate(uint64(masks))
		verify := func(to *fixedChallenges, proof []byte) error {
			r := transcript.NewReader(transcript.Over(c.suite, to), proof)
			Verify(r, params, m.roots, layouts, offsets, terms, m.s.value)
			return r.Done()
		}
		if err := verify(challenges(), proof); err != nil {
			t.Fatalf("a simulated opening: %v", err)
		}
		if verify(&fixedChallenges{rng: rand.New(rand.NewPCG(83, seed))}, proof) == nil {
			t.Error("a simulated opening: accepted under other challenges")
		}
		proof = slices.Clone(proof)
		proof[40] ^= 1
		if verify(challenges(), proof) == nil {
			t.Error("a simulated opening with a bit changed: accepted")
		}
	}
}
