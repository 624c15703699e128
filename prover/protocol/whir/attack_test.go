package whir

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// What somebody learns of rows that many proofs open: each opened column is one linear equation a row, in
// its values and, if it has one, its tail. scripts/recover.sh does the same to proofs of the bundled
// model, where it ends in the weights.

// watched are passes that keep the columns of the first tree.
type watched struct {
	*local
	columns map[uint64][]field.M31
}

func (w watched) Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error) {
	leaves, err := w.local.Columns(ctx, tree, positions)
	for k := range leaves {
		if tree == 0 {
			w.columns[positions[k]] = leaves[k]
		}
	}
	return leaves, err
}

// watch proves the opening under another label each time, and returns the columns of the first tree that
// the proofs have opened after each of them. Every proof is one that a verifier accepts.
func watch(t *testing.T, o *opening, proofs int) []map[uint64][]field.M31 {
	t.Helper()
	var after []map[uint64][]field.M31
	columns := map[uint64][]field.M31{}
	for i := range proofs {
		label := fmt.Sprint("proof ", i)
		w := transcript.NewWriter(transcript.New(o.params.Config.Hash, label))
		passes := watched{o.passes().(*local), columns}
		if err := Open(context.Background(), w, o.params, o.trees, passes, o.offsets, o.terms, o.value); err != nil {
			t.Fatal(err)
		}
		roots, layouts := o.committed()
		r := transcript.NewReader(transcript.New(o.params.Config.Hash, label), w.Bytes())
		Verify(r, o.params, roots, layouts, o.offsets, o.terms, o.value)
		if err := r.Done(); err != nil {
			t.Fatal(err)
		}
		now := map[uint64][]field.M31{}
		for at, column := range columns {
			now[at] = column
		}
		after = append(after, now)
	}
	return after
}

// equations returns a row for each opened position: the coefficients of the values of a row of the
// tree, those of its tail, and the opened value of each row.
func equations(l *Layout, columns map[uint64][]field.M31) [][]field.M31 {
	var positions []uint64
	for at := range columns {
		positions = append(positions, at)
	}
	slices.Sort(positions)
	n, tail := 1<<l.RowVars, l.Groups[0].Tail
	m := make([][]field.M31, len(positions))
	scratch, values := make([]field.M31, n), make([]field.M31, len(positions))
	for i := range n + tail {
		unit := make([]field.M31, n+tail)
		unit[i] = 1
		code.EncodeAt(values, unit[:n], unit[n:], l.LogDomain(), positions, scratch)
		for k, v := range values {
			m[k] = append(m[k], v)
		}
	}
	for k, at := range positions {
		m[k] = append(m[k], columns[at]...)
	}
	return m
}

// reduce brings the first n columns of a matrix into reduced echelon form, in the given order of these, and
// returns the columns of the pivots.
func reduce(m [][]field.M31, order []int) []int {
	var pivots []int
	room := make([]field.M31, len(m[0]))
	for _, c := range order {
		r := len(pivots)
		p := r
		for p < len(m) && m[p][c] == 0 {
			p++
		}
		if p == len(m) {
			continue
		}
		m[r], m[p] = m[p], m[r]
		field.ScaleVec(m[r], m[r], m[r][c].Inv())
		for i := range m {
			if i != r && m[i][c] != 0 {
				field.ScaleVec(room, m[r], m[i][c])
				field.SubVec(m[i], m[i], room)
			}
		}
		pivots = append(pivots, c)
	}
	return pivots
}

// known returns how many dimensions of each row's values the opened columns determine, and the values if
// that is all: tails are eliminated first, and what is left says something of values alone.
func known(l *Layout, columns map[uint64][]field.M31) (dimensions int, rows [][]field.M31) {
	m := equations(l, columns)
	n, tail := 1<<l.RowVars, l.Groups[0].Tail
	var order []int
	for i := range n + tail {
		order = append(order, (n+i)%(n+tail)) // tails first
	}
	pivots := reduce(m, order)
	for _, p := range pivots {
		if p < n {
			dimensions++
		}
	}
	if dimensions < n {
		return dimensions, nil
	}
	rows = make([][]field.M31, l.Rows())
	for i := range rows {
		rows[i] = make([]field.M31, n)
		for k, p := range pivots {
			if p < n {
				rows[i][p] = m[k][n+tail+i]
			}
		}
	}
	return dimensions, rows
}

// isRows says whether rows are those of the first tree's source.
func (o *opening) isRows(rows [][]field.M31) bool {
	for i, row := range rows {
		values, want := make([]int32, len(row)), make([]field.M31, len(row))
		o.srcs[0].FillRow(i, 0, values)
		field.FromInt32Vec(want, values)
		if !slices.Equal(row, want) {
			return false
		}
	}
	return true
}

// TestPlainProofsGiveRows: as soon as proofs have opened as many positions as a row has values, every
// row follows.
func TestPlainProofsGiveRows(t *testing.T) {
	o, err := newOpening(quick(soundness.Unique), rand.New(rand.NewPCG(61, 62)), []Layout{rows(6, 4), rows(6, 3)}, 1, []int{8, 6, 5})
	if err != nil {
		t.Fatal(err)
	}
	layout := o.trees[0].Layout()
	recovered := 0
	for i, columns := range watch(t, o, 12) {
		dimensions, rows := known(&layout, columns)
		if want := min(len(columns), 1<<layout.RowVars); dimensions != want {
			t.Fatalf("%d proofs, %d positions: %d dimensions", i+1, len(columns), dimensions)
		}
		if rows != nil {
			if !o.isRows(rows) {
				t.Fatal("other rows than those committed to")
			}
			recovered++
		}
	}
	if recovered == 0 {
		t.Error("twelve proofs do not determine the rows")
	}
}

// TestHidingProofsGiveNothing: within the budget opened columns say nothing of the rows, not one
// equation. Each position beyond it gives one, and in the end all rows follow again.
func TestHidingProofsGiveNothing(t *testing.T) {
	s := hidingShape{rowVars: 7, fixed: 4, witness: 1, tailLog: 2, blowup: 2, suite: hash.Blake3}
	o, err := s.open(rand.New(rand.NewPCG(63, 64)))
	if err != nil {
		t.Fatal(err)
	}
	layout := o.trees[0].Layout()
	budget := int(soundness.Budget(layout.RowVars, s.tailLog))
	within, beyond, all := 0, 0, 0
	for i, columns := range watch(t, o, 14) {
		dimensions, rows := known(&layout, columns)
		if want := min(max(0, len(columns)-budget), 1<<layout.RowVars); dimensions != want {
			t.Fatalf("%d proofs, %d positions of a budget of %d: %d dimensions", i+1, len(columns), budget, dimensions)
		}
		switch {
		case rows != nil:
			if !o.isRows(rows) {
				t.Fatal("other rows than those committed to")
			}
			all++
		case dimensions > 0:
			beyond++
		default:
			within++
		}
	}
	if within == 0 || beyond == 0 || all == 0 {
		t.Errorf("%d times within the budget, %d beyond it, %d with all rows known", within, beyond, all)
	}
}

// apart returns two tables, rows with tails, whose codewords agree on as many positions as those of different ones
// can, one less than a table has values, and these positions' number.
func apart(rng *rand.Rand, l *Layout) (a, b *masked, agree int) {
	n, tail := 1<<l.RowVars, l.Groups[0].Tail
	columns := map[uint64][]field.M31{}
	for at := range uint64(n + tail - 1) {
		columns[at] = nil
	}
	m := equations(l, columns)
	var order []int
	for i := range n + tail {
		order = append(order, i)
	}
	pivots := reduce(m, order)
	free := slices.IndexFunc(order, func(i int) bool { return !slices.Contains(pivots, i) })
	difference := make([]field.M31, n+tail) // of the kernel
	difference[free] = 1
	for k, p := range pivots {
		difference[p] = m[k][free].Neg()
	}
	a = randomMasked(rng, *l)
	b = &masked{memory{slices.Clone(a.memory[0])}, [][]field.M31{slices.Clone(a.tails[0])}, a.salts}
	for i := range n {
		b.memory[0][i] = int32(field.FromInt32(a.memory[0][i]).Add(difference[i]).Int64())
	}
	field.AddVec(b.tails[0], b.tails[0], difference[n:])
	return a, b, n + tail - 1
}

// TestBetweenHiding commits to a word midway between two rows with tails and opens it as either. Each is accepted as
// often as the word agrees with it, which is less than what the bound says: the radius is shorter than half the
// distance, by what keeps roots from standing for two tables under two fractions.
func TestBetweenHiding(t *testing.T) {
	s := hidingShape{rowVars: 5, fixed: 1, witness: 1, tailLog: 2, blowup: 2, suite: hash.Blake3, queries: 1}
	rng := rand.New(rand.NewPCG(65, 66))
	c := rankCase{hidingShape: s}
	layouts, witness, _, _ := s.layouts(3)
	l := layouts[0]
	a, b, agree := apart(rng, &l)
	words := make([][]field.M31, 2)
	for i, m := range []*masked{a, b} {
		row := make([]field.M31, 1<<l.RowVars)
		field.FromInt32Vec(row, m.memory[0])
		words[i] = make([]field.M31, 1<<l.LogDomain())
		code.EncodeTail(words[i], row, m.tails[0])
	}
	between, turn := slices.Clone(words[0]), 0
	agrees := [2]int{agree, agree}
	for i := range between {
		if words[0][i] == words[1][i] {
			continue
		}
		between[i] = words[turn][i]
		agrees[turn]++
		turn ^= 1
	}
	if agrees[0]+agrees[1] != 1<<l.LogDomain()+agree {
		t.Fatalf("the word agrees with the codewords on %d positions", agrees)
	}
	digests := leafDigests(s.suite, transpose([][]field.M31{between}), []int{1}, a.salts)
	other := randomMasked(rng, layouts[1])
	for queries := 1; queries <= 3; queries++ {
		c.queries = queries
		params := c.params()
		for i, m := range []*masked{a, b} {
			o := &opening{
				params: params, srcs: []RowSource{m, other}, offsets: []uint64{0, uint64(witness)},
				trees: []*Tree{{l, localNodes{merkle.New(s.suite, slices.Clone(digests))}}, commit(layouts[1], other)},
				terms: List{{Coef: field.One, Point: []field.QM31{{}, field.One, {}, field.One, field.One}}},
			}
			o.value = o.termValue(o.terms[0])
			rate := attack(t, o, func() Passes { return betweenColumns{o.passes().(*local), between} })
			compare(t, fmt.Sprintf("%d queries, codeword %d", queries, i), rate, math.Pow(float64(agrees[i])/float64(len(between)), float64(queries)))
			if bound := queryError(params, 0); rate > bound+5*math.Sqrt(bound*(1-bound)/trials) {
				t.Errorf("%d queries, codeword %d: accepted %.3f of the time, the bound is %.3f", queries, i, rate, bound)
			}
		}
	}
	// Between a table without a tail and one with it: a word that half of either distance would allow to be
	// both is too far from one under the radii in use.
	positions := 1 << l.LogDomain()
	plain, tailed := float64(positions)*queryBound(0), float64(positions)*queryBound(s.tailLog)
	half := float64(positions) * (1 + 0.25 + 1 + 0.3125) / 2
	if most := float64(positions + agree); half > most || plain+tailed <= most {
		t.Errorf("a word may agree with two tables on %v positions: half distances ask for %v, the radii for %v", most, half, plain+tailed)
	}
}

// queryBound is 1 − δ at base rate 1/4.
func queryBound(tailLog int) float64 {
	p := &soundness.Params{Config: soundness.DefaultConfig, TailLog: tailLog, Levels: []soundness.Level{
		{FoldVars: 1, RowVars: 8, LogBlowup: 2, Queries: 1}, {FoldVars: 7, RowVars: 2, LogBlowup: 2, Queries: 1},
	}}
	return queryError(p, 0)
}

// betweenColumns are passes that open a word in the place of the first tree's row.
type betweenColumns struct {
	*local
	word []field.M31
}

func (b betweenColumns) Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error) {
	if tree > 0 {
		return b.local.Columns(ctx, tree, positions)
	}
	leaves := make([][]field.M31, len(positions))
	for k, p := range positions {
		leaves[k] = []field.M31{b.word[p]}
	}
	return leaves, nil
}
