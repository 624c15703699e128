package whir

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// The best known attack on t queries is a word that lies between codewords, near
// none of them: committed to, it can be opened as any, and each query fails with
// probability δ alone. The tests below measure that and compare it with the bound,
// so an error in the bound by a factor, or queries that are drawn badly, show.

// trials is how often each attack is made.
const trials = 500

// attack proves with other randomness each time and returns how often the verifier
// accepts.
func attack(t *testing.T, o *opening, passes func() Passes) float64 {
	t.Helper()
	accepted := 0
	for i := range trials {
		label := fmt.Sprint("trial ", i)
		w := transcript.NewWriter(transcript.New(o.params.Config.Hash, label))
		if err := Open(context.Background(), w, o.params, o.trees, passes(), o.offsets, o.terms, o.value); err != nil {
			t.Fatal(err)
		}
		roots, layouts := o.committed()
		r := transcript.NewReader(transcript.New(o.params.Config.Hash, label), w.Bytes())
		Verify(r, o.params, roots, layouts, o.offsets, o.terms, o.value)
		if r.Done() == nil {
			accepted++
		}
	}
	return float64(accepted) / trials
}

// compare holds a rate against a probability: five standard deviations.
func compare(t *testing.T, what string, rate, want float64) {
	t.Helper()
	if math.Abs(rate-want) > 5*math.Sqrt(want*(1-want)/trials) {
		t.Errorf("%s: accepted %.3f of the time, want %.3f", what, rate, want)
	}
}

// queryError returns the bound of a level's queries.
func queryError(p *soundness.Params, level int) float64 {
	for _, r := range p.Rounds() {
		if strings.HasPrefix(r.Name, fmt.Sprintf("opening %d: %d queries", level, p.Levels[level].Queries)) {
			return math.Exp2(-r.Bits.Float())
		}
	}
	panic("no such round")
}

// farApart returns the tables of two rows of 2^n values whose codewords agree on as
// many positions as those of different rows can, 2^n − 1: their difference is
// Π_j (t_j − c_j), which is 0 where t_j is c_j for some j.
func farApart(rng *rand.Rand, n, logDomain int) (a, b []int32) {
	difference := []field.M31{1}
	for j := range n {
		// t_j is this at positions 2^j to 2^(j+1) − 1.
		c := code.NewDomain(logDomain - j).Point(1)
		next := make([]field.M31, 2*len(difference))
		for i, v := range difference {
			next[i], next[i+len(difference)] = v.Mul(c).Neg(), v
		}
		difference = next
	}
	a, b = make([]int32, 1<<n), make([]int32, 1<<n)
	for i, d := range difference {
		a[i] = rng.Int32N(1<<30) - 1<<29
		v := int64(field.FromInt32(a[i]).Add(d))
		if v > field.P/2 {
			v -= field.P
		}
		b[i] = int32(v)
	}
	return a, b
}

// codewords returns the codewords of rows.
func codewords(m memory, logDomain int) [][]field.M31 {
	words := make([][]field.M31, len(m))
	for i, row := range m {
		coeffs := make([]field.M31, len(row))
		field.FromInt32Vec(coeffs, row)
		words[i] = make([]field.M31, 1<<logDomain)
		code.Encode(words[i], coeffs)
	}
	return words
}

// otherColumns are passes that open given words in place of the first tree's.
type otherColumns struct {
	Passes
	words [][]field.M31
}

func (o otherColumns) Columns(_ context.Context, _ int, positions []uint64) ([][]field.M31, error) {
	leaves := make([][]field.M31, len(positions))
	for k, p := range positions {
		for _, w := range o.words {
			leaves[k] = append(leaves[k], w[p])
		}
	}
	return leaves, nil
}

// TestBetweenUnique commits to a word midway between two codewords and opens it as
// either: two values for one commitment, each accepted with probability (1−δ)^t.
func TestBetweenUnique(t *testing.T) {
	const rowVars, logDomain = 5, 7
	rng := rand.New(rand.NewPCG(11, 12))
	a, b := randomStack(rng, 2, rowVars), make(memory, 2)
	a[0], b[0] = farApart(rng, rowVars, logDomain)
	b[1] = a[1]
	wordsA, wordsB := codewords(a, logDomain), codewords(b, logDomain)

	// A third word that agrees with both where they agree, and by turns elsewhere.
	between := [][]field.M31{make([]field.M31, 1<<logDomain), wordsA[1]}
	agree := [2]int{}
	turn := 0
	for i := range between[0] {
		x, y := wordsA[0][i], wordsB[0][i]
		between[0][i] = []field.M31{x, y}[turn]
		if x != y {
			agree[turn]++
			turn ^= 1
		} else {
			agree[0]++
			agree[1]++
		}
	}
	if agree[0]+agree[1] != 1<<logDomain+1<<rowVars-1 {
		t.Fatalf("the word agrees with the codewords on %d positions", agree)
	}
	layout := rows(rowVars, 2)
	layout.LogBlowup, layout.Hash = logDomain-rowVars, hash.Poseidon2
	tree := &Tree{layout, localNodes{merkle.New(hash.Poseidon2, leafDigests(hash.Poseidon2, transpose(between), []int{2}, nil))}}
	for queries := 1; queries <= 3; queries++ {
		var values [2]field.QM31
		for i, m := range []memory{a, b} {
			o := &opening{
				params: &soundness.Params{Config: soundness.Config{TargetBits: 100, GrindBits: 16, LogBlowup: 2, Mode: soundness.Unique, Hash: hash.Poseidon2}, Levels: []soundness.Level{
					{FoldVars: 1, RowVars: rowVars, LogBlowup: layout.LogBlowup, Queries: queries},
				}},
				srcs: []RowSource{m}, trees: []*Tree{tree}, offsets: []uint64{0},
				terms: List{{Coef: field.One, Point: []field.QM31{{}, field.One, {}, field.One, field.One, {}}}},
			}
			o.value = o.termValue(o.terms[0])
			values[i] = o.value
			what := fmt.Sprintf("%d queries, codeword %d", queries, i)
			rate := attack(t, o, func() Passes { return otherColumns{o.passes(), between} })
			compare(t, what, rate, math.Pow(float64(agree[i])/(1<<logDomain), float64(queries)))
			compare(t, what+", by the bound", rate, queryError(o.params, 0))
		}
		if values[0] == values[1] {
			t.Fatal("the codewords have one value")
		}
	}
}

func transpose(rows [][]field.M31) [][]field.M31 {
	columns := make([][]field.M31, len(rows[0]))
	for k := range columns {
		for _, row := range rows {
			columns[k] = append(columns[k], row[k])
		}
	}
	return columns
}

// otherWords are passes that commit to a word between the codewords of the first
// folded row and others: position i is the row's where i·share crosses an integer.
type otherWords struct {
	*local
	rng   *rand.Rand
	agree int // positions on which it agrees
}

func (o *otherWords) Commit(ctx context.Context, l soundness.Level) (hash.Digest, error) {
	root, err := o.local.Commit(ctx, l)
	if len(o.folded) > 1 || err != nil {
		return root, err
	}
	// Another codeword in the place of the true one: a random row's.
	other := commitFolded(o.params.Config.Hash, randomTable(o.rng, len(o.pair.F)), l, 1<<l.FoldVars)
	row := o.folded[0]
	for p := range 1 << l.LogDomain() {
		if p*o.agree>>l.LogDomain() == (p+1)*o.agree>>l.LogDomain() {
			for i := range row.words {
				row.words[i][p] = other.words[i][p]
			}
		}
	}
	row.rehash(o.params.Config.Hash, l)
	return row.nodes.Root(), nil
}

func randomTable(rng *rand.Rand, n int) []field.QM31 {
	t := make([]field.QM31, n)
	for i := range t {
		t[i] = randomQM31(rng)
	}
	return t
}

// TestBetweenJohnson does the like in the tail: a folded row's word agrees with its
// codeword on 1 − δ of the positions and with another one elsewhere, which is more
// than half.
func TestBetweenJohnson(t *testing.T) {
	const rowVars, fold, blowup = 6, 3, 4
	for queries := 1; queries <= 3; queries++ {
		params := &soundness.Params{
			Config: soundness.Config{TargetBits: 1, LogBlowup: 2, Hash: hash.Poseidon2, Mode: soundness.Johnson},
			Levels: []soundness.Level{
				{FoldVars: 1, RowVars: rowVars, LogBlowup: 2, Queries: 2},
				{FoldVars: fold, RowVars: rowVars - fold, LogBlowup: blowup, Multiplicity: 3, OutOfDomain: 1, Queries: queries},
			},
		}
		// √ρ·(1 + 1/m) = 1/3 of 2^7 positions.
		const positions, agree = 1 << (rowVars - fold + blowup), 43
		rng := rand.New(rand.NewPCG(13, uint64(queries)))
		o, err := newOpening(params.Config, rng, []Layout{rows(rowVars, 2)}, 1, []int{7, 3})
		if err != nil {
			t.Fatal(err)
		}
		o.params = params
		rate := attack(t, o, func() Passes { return &otherWords{o.passes().(*local), rng, agree} })
		what := fmt.Sprintf("%d queries", queries)
		compare(t, what, rate, math.Pow(agree/float64(positions), float64(queries)))
		compare(t, what+", by the bound", rate, queryError(params, 1))
	}
}
