package whir

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"pgregory.net/rapid"
)

// memory is a stack in memory.
type memory [][]int32

func (m memory) Rows() int                        { return len(m) }
func (m memory) FillRow(i, from int, dst []int32) { copy(dst, m[i][from:]) }

func randomStack(rng *rand.Rand, rows, rowVars int) memory {
	m := make(memory, rows)
	for i := range m {
		m[i] = make([]int32, 1<<rowVars)
		for j := range m[i] {
			m[i][j] = rng.Int32N(1<<31-1) - 1<<30 + 1
		}
	}
	return m
}

func randomQM31(rng *rand.Rand) field.QM31 {
	m := func() field.M31 { return field.M31(rng.Uint32N(field.P)) }
	return field.NewQM31(m(), m(), m(), m())
}

// opening is a statement with what the prover needs besides.
type opening struct {
	params  *soundness.Params
	srcs    []RowSource
	trees   []*Tree
	offsets []uint64
	terms   List
	value   field.QM31
}

// rows returns the layout of a tree of single rows in these groups, with a gap of
// as many slots before each as its number.
func rows(rowVars int, groups ...int) Layout {
	l := Layout{RowVars: rowVars}
	var end uint64
	for i, n := range groups {
		l.Groups = append(l.Groups, Group{First: end + uint64(i), Rows: n})
		end += uint64(i + n)
	}
	return l
}

// newOpening commits to random rows of the given layouts, each starting at a table
// row that is a multiple of align, and sets the value by its definition.
func newOpening(c soundness.Config, rng *rand.Rand, layouts []Layout, align uint64, termVars []int) (*opening, error) {
	o := &opening{}
	rowVars := 0
	for _, l := range layouts {
		rowVars = max(rowVars, l.RowVars)
	}
	var end uint64
	for _, l := range layouts {
		l.LogBlowup, l.Hash = c.LogBlowup, c.Hash
		src := randomStack(rng, l.Rows(), l.RowVars)
		o.srcs = append(o.srcs, src)
		o.trees = append(o.trees, commit(l, src))
		end = (end + align - 1) / align * align
		o.offsets = append(o.offsets, end)
		end += (l.Slots()<<l.RowVars + 1<<rowVars - 1) >> rowVars
	}
	var err error
	if o.params, err = soundness.Derive(c, rowVars, end); err != nil {
		return nil, err
	}
	for _, v := range termVars {
		t := o.randomTerm(rng, v)
		o.terms = append(o.terms, t)
		o.value = o.value.Add(o.termValue(t))
	}
	return o, nil
}

// randomTerm returns a term of a random tree with that many variables, or as many
// as there is room for.
func (o *opening) randomTerm(rng *rand.Rand, vars int) Term {
	tree := rng.IntN(len(o.trees))
	l, rowVars := o.trees[tree].layout, o.params.RowVars()
	end := (l.Slots()<<l.RowVars + 1<<rowVars - 1) >> rowVars << rowVars
	for 1<<vars > end {
		vars--
	}
	step := uint64(1) << min(vars, rowVars)
	offset := rng.Uint64N((end-1<<vars)/step+1) * step
	t := Term{randomQM31(rng), tree, offset, make([]field.QM31, vars)}
	for j := range t.Point {
		t.Point[j] = randomQM31(rng)
	}
	return t
}

// at returns value i of a tree, counted as in Term.
func (o *opening) at(tree int, i uint64) int32 {
	l := &o.trees[tree].layout
	row := 0
	for _, g := range l.tableGroups() {
		if slot := i >> l.RowVars; slot >= g.First && slot < g.First+uint64(g.Rows) {
			var v [1]int32
			o.srcs[tree].FillRow(row+int(slot-g.First), int(i&(1<<l.RowVars-1)), v[:])
			return v[0]
		}
		row += g.Rows
	}
	return 0
}

// termValue returns the sum of a term's weights times values.
func (o *opening) termValue(t Term) field.QM31 {
	block := make([]int32, 1<<len(t.Point))
	for i := range block {
		block[i] = o.at(t.Tree, t.Offset+uint64(i))
	}
	return t.Coef.Mul(poly.EvalInt32(block, t.Point))
}

// commit commits in memory, where there are no errors.
func commit(l Layout, src RowSource) *Tree {
	tree, err := Commit(context.Background(), l, src)
	if err != nil {
		panic(err)
	}
	return tree
}

func (t *Tree) layers() [][]hash.Digest { return t.nodes.(localNodes).Tree.Layers() }

func (o *opening) passes() Passes {
	_, layouts := o.committed()
	return NewPasses(nil, o.params, layouts, o.srcs, o.offsets)
}

func (o *opening) stack() *stackRows { return o.passes().(*local).rows }

func (o *opening) prove() []byte {
	proof, err := o.proveOver(context.Background(), o.passes())
	if err != nil {
		panic(err)
	}
	return proof
}

func (o *opening) proveOver(ctx context.Context, p Passes) ([]byte, error) {
	w := transcript.NewWriter(transcript.New(o.params.Config.Hash, "test"))
	err := Open(ctx, w, o.params, o.trees, p, o.offsets, o.terms, o.value)
	return w.Bytes(), err
}

// committed returns what the verifier knows of the trees.
func (o *opening) committed() (roots []hash.Digest, layouts []Layout) {
	for _, t := range o.trees {
		roots, layouts = append(roots, t.Root()), append(layouts, t.Layout())
	}
	return roots, layouts
}

func (o *opening) statement() *statement {
	s, err := proverStatement(o.params, o.trees, o.offsets, o.terms, o.value)
	if err != nil {
		panic(err)
	}
	return s
}

func (o *opening) verify(proof []byte) error {
	roots, layouts := o.committed()
	r := transcript.NewReader(transcript.New(o.params.Config.Hash, "test"), proof)
	Verify(r, o.params, roots, layouts, o.offsets, o.terms, o.value)
	return r.Done()
}

// quick has few bits, so that a test sees many shapes.
func quick(mode soundness.Mode) soundness.Config {
	return soundness.Config{TargetBits: 20, GrindBits: 8, LogBlowup: 2, Mode: mode}
}

func TestHonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := quick(soundness.Mode(rapid.IntRange(0, 1).Draw(t, "mode")))
		c.LogBlowup = rapid.IntRange(1, 3).Draw(t, "blowup")
		c.Hash = rapid.SampledFrom(hash.All()).Draw(t, "suite")
		var layouts []Layout
		for range rapid.IntRange(1, 3).Draw(t, "trees") {
			rowVars := rapid.IntRange(0, 10).Draw(t, "row variables")
			groups := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 3).Draw(t, "groups")
			layouts = append(layouts, rows(rowVars, groups...))
		}
		align := rapid.Uint64Range(1, 4).Draw(t, "alignment")
		vars := rapid.SliceOfN(rapid.IntRange(0, 14), 0, 6).Draw(t, "term variables")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		o, err := newOpening(c, rng, layouts, align, vars)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.verify(o.prove()); err != nil {
			t.Fatalf("%+v, %+v: %v", layouts, o.params.Levels, err)
		}
	})
}

// TestSameBytes proves with several numbers of threads.
func TestSameBytes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want []byte
	for _, procs := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(procs)
		got := sampleOpening(t, hash.Blake3, soundness.Johnson).prove()
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d threads give another proof", procs)
		}
	}
}

// TestLayers opens with a tree that was stored and loaded again.
func TestLayers(t *testing.T) {
	o := sampleOpening(t, hash.Blake3, soundness.Unique)
	for i, tree := range o.trees {
		again, err := FromLayers(tree.Layout(), tree.layers())
		if err != nil {
			t.Fatal(err)
		}
		o.trees[i] = again
	}
	if err := o.verify(o.prove()); err != nil {
		t.Error(err)
	}
	layers := o.trees[0].layers()
	other := func(change func(*Layout)) Layout {
		l := o.trees[0].Layout()
		change(&l)
		return l
	}
	for name, err := range map[string]error{
		"depth":  secondOf(FromLayers(other(func(l *Layout) { l.LogBlowup++ }), layers)),
		"rows":   secondOf(FromLayers(other(func(l *Layout) { l.Groups = nil }), layers)),
		"layers": secondOf(FromLayers(other(func(*Layout) {}), layers[1:])),
		"none":   secondOf(FromLayers(other(func(*Layout) {}), nil)),
	} {
		if err == nil {
			t.Errorf("other %s: accepted", name)
		}
	}
}

func secondOf(_ *Tree, err error) error { return err }

// cancels ends a context in a round.
type cancels struct {
	Passes
	cancel func()
	rounds int // until then
}

func (c *cancels) Round(ctx context.Context) (Sums, error) {
	if c.rounds--; c.rounds < 0 {
		c.cancel()
	}
	return c.Passes.Round(ctx)
}

// TestCancelled: a context that ends stops the prover, at any round.
func TestCancelled(t *testing.T) {
	o := sampleOpening(t, hash.Blake3, soundness.Johnson)
	for rounds := 0; ; rounds++ {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := o.proveOver(ctx, &cancels{o.passes(), cancel, rounds})
		if err == nil && ctx.Err() == nil {
			cancel()
			if rounds == 0 {
				t.Fatal("an opening without rounds")
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled in round %d: %v", rounds, err)
		}
	}
}

// mixed is an opening of trees with rows of three lengths, in groups with gaps, with
// terms of every size.
func mixed(t *testing.T, rowVars int) *opening {
	var vars []int
	for v := range rowVars + 3 {
		vars = append(vars, v, v, v)
	}
	layouts := []Layout{rows(rowVars-1, 2, 3), rows(rowVars, 3), rows(rowVars-3, 5, 17, 2)}
	o, err := newOpening(quick(soundness.Unique), rand.New(rand.NewPCG(3, 4)), layouts, 2, vars)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestGrid compares the grid with its definition, for all numbers of variables:
// at a point of {0,1}^w it is the product of a long row and the functional's, and
// ∞ in a variable gives the product of differences. Blocks of columns are shorter
// than rows.
func TestGrid(t *testing.T) {
	o := mixed(t, 9)
	q := o.statement().functional()
	stack := o.stack()
	for vars := range o.params.Levels[0].FoldVars + 1 {
		cross := crossGrid(stack, vars, q).values
		for i, v := range recursiveGrid(stack, vars, q).values {
			if cross[i] != v {
				t.Fatalf("%d variables: grid point %d by cross products is %v, want %v", vars, i, cross[i], v)
			}
			weights := make([]field.QM31, 1<<vars)
			for h := range weights {
				weights[h] = gridSign(i, h, vars)
			}
			want := field.Dot(stack.fold(nil, weights), q.folded(nil, weights, len(stack.rows)))
			if v != want {
				t.Fatalf("%d variables: grid point %d is %v, want %v", vars, i, v, want)
			}
		}
	}
}

// TestColumns compares opened columns with the codewords of all rows.
func TestColumns(t *testing.T) {
	o := mixed(t, 9)
	stack := o.stack()
	for tree, src := range o.srcs {
		l := &o.trees[tree].layout
		positions := []uint64{0, 1, 5, 1<<l.LogDomain() - 2, 1<<l.LogDomain() - 1}
		columns := stack.columns(tree, positions)
		word, coeffs := make([]field.M31, 1<<l.LogDomain()), make([]field.M31, 1<<l.RowVars)
		for i, row := range src.(memory) {
			field.FromInt32Vec(coeffs, row)
			code.Encode(word, coeffs)
			for k, p := range positions {
				if columns[k][i] != word[p] {
					t.Fatalf("tree %d, row %d at %d: %d, want %d", tree, i, p, columns[k][i], word[p])
				}
			}
		}
	}
}

// gridSign returns the sign, or 0, with which long row h enters grid point i.
func gridSign(i, h, vars int) field.QM31 {
	sign := field.One
	for j := range vars { // from the last variable
		digit, bit := i%3, h>>j&1
		switch {
		case digit == 2 && bit == 0:
			sign = sign.Neg()
		case digit != 2 && bit != digit:
			return field.Zero
		}
		i /= 3
	}
	return sign
}

// table returns the table of all rows and that of the functional by their
// definitions: value c of the row in slot R·2^s + l of a tree is value c·2^s + l' of
// table row R, l' the s bits of l in reverse.
func (o *opening) table() (f []int32, q []field.QM31) {
	f, q = make([]int32, 1<<o.params.NumVars()), make([]field.QM31, 1<<o.params.NumVars())
	index := func(tree int, i uint64) uint64 {
		l, rowVars := o.trees[tree].layout, o.params.RowVars()
		shift := rowVars - l.RowVars
		slot, c := i>>l.RowVars, i&(1<<l.RowVars-1)
		at := (o.offsets[tree]+slot>>shift)<<rowVars + c<<shift
		for k := range shift {
			at += slot >> k & 1 << (shift - 1 - k)
		}
		return at
	}
	for tree := range o.trees {
		l := o.trees[tree].layout
		for i := range l.Slots() << l.RowVars {
			f[index(tree, i)] = o.at(tree, i)
		}
	}
	for _, term := range o.terms {
		for i, e := range poly.EqTable(term.Point) {
			at := index(term.Tree, term.Offset+uint64(i))
			q[at] = q[at].Add(term.Coef.Mul(e))
		}
	}
	return f, q
}

// TestFold compares the folded rows and functional with single products.
func TestFold(t *testing.T) {
	o := mixed(t, 5)
	rng := rand.New(rand.NewPCG(5, 6))
	q := o.statement().functional()
	stack := o.stack()
	tableF, tableQ := o.table()
	for vars := range o.params.Levels[0].FoldVars + 1 {
		weights := make([]field.QM31, 1<<vars)
		for h := range weights {
			weights[h] = randomQM31(rng)
		}
		f, table := stack.fold(nil, weights), q.folded(nil, weights, len(stack.rows))
		for i := range f {
			var wantF, wantQ field.QM31
			for h, w := range weights {
				at := h*len(f) + i
				wantF = wantF.Add(w.MulM31(field.FromInt32(tableF[at])))
				wantQ = wantQ.Add(w.Mul(tableQ[at]))
			}
			if f[i] != wantF || table[i] != wantQ {
				t.Fatalf("%d variables: entry %d is %v and %v, want %v and %v", vars, i, f[i], table[i], wantF, wantQ)
			}
		}
	}
}

// TestTerms compares the functional's value at a point with its table.
func TestTerms(t *testing.T) {
	o := mixed(t, 6)
	rng := rand.New(rand.NewPCG(7, 8))
	point := make([]field.QM31, o.params.NumVars())
	for i := range point {
		point[i] = randomQM31(rng)
	}
	_, q := o.table()
	got, err := o.statement().evalTerms(point)
	if want := poly.Eval(q, point); err != nil || got != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestShorterRows: the leaves of a tree with short rows give the values of the
// table's codewords, at every position.
func TestShorterRows(t *testing.T) {
	o := mixed(t, 6)
	rng := rand.New(rand.NewPCG(9, 10))
	rowVars := o.params.RowVars()
	weights := make([]field.QM31, 1<<o.params.Levels[0].FoldVars)
	for i := range weights {
		weights[i] = randomQM31(rng)
	}
	table, _ := o.table()
	folded := make([]field.QM31, 1<<rowVars)
	for i, v := range table {
		c := i & (1<<rowVars - 1)
		folded[c] = folded[c].Add(weights[i>>rowVars].MulM31(field.FromInt32(v)))
	}
	want := make([]field.QM31, 1<<(rowVars+2))
	for l := range limbs {
		row, word := make([]field.M31, len(folded)), make([]field.M31, len(want))
		for i := range row {
			row[i] = folded[i].Limbs()[l]
		}
		code.Encode(word, row)
		for i, v := range word {
			want[i] = want[i].Add(padBasis[l].MulM31(v))
		}
	}
	positions := make([]uint64, 0, len(want))
	for p := range want {
		if p%5 != 3 {
			positions = append(positions, uint64(p))
		}
	}
	s, stack := o.statement(), o.stack()
	points := domainPoints(o.params.Levels[0], positions)
	got := make([]field.QM31, len(positions))
	for i := range o.trees {
		leaves := stack.columns(i, leafPositions(positions, s.shift(i)))
		s.addValues(got, i, leaves, positions, points, rowWeights{table: weights})
	}
	for k, p := range positions {
		if got[k] != want[p] {
			t.Fatalf("position %d: %v, want %v", p, got[k], want[p])
		}
	}
}
