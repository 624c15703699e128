package whir

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/poly"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/transcript"
	"pgregory.net/rapid"
)

// memory is a stack in memory.
type memory [][]int32

func (m memory) Rows() int                  { return len(m) }
func (m memory) FillRow(i int, dst []int32) { copy(dst, m[i]) }

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

func randomTerm(rng *rand.Rand, vars, numVars int) Term {
	t := Term{randomQM31(rng), rng.Uint64N(1<<(numVars-vars)) << vars, make([]field.QM31, vars)}
	for j := range t.Point {
		t.Point[j] = randomQM31(rng)
	}
	return t
}

// opening is a statement with what the prover needs besides.
type opening struct {
	params  *soundness.Params
	srcs    []RowSource
	trees   []*Tree
	offsets []uint64
	terms   []Term
	value   field.QM31
}

// newOpening commits to stacks of the given numbers of rows, each starting at a
// multiple of align, and sets the value by its definition.
func newOpening(c soundness.Config, rng *rand.Rand, rowVars int, rowCounts []int, align uint64, termVars []int) (*opening, error) {
	o := &opening{}
	var end uint64
	for _, n := range rowCounts {
		src := randomStack(rng, n, rowVars)
		o.srcs = append(o.srcs, src)
		o.trees = append(o.trees, commit(rowVars, c.LogBlowup, src))
		end = (end + align - 1) / align * align
		o.offsets = append(o.offsets, end)
		end += uint64(n)
	}
	var err error
	if o.params, err = soundness.Derive(c, rowVars, end); err != nil {
		return nil, err
	}
	table := make([]int32, 1<<o.params.NumVars())
	for i, src := range o.srcs {
		for k, row := range src.(memory) {
			copy(table[(o.offsets[i]+uint64(k))<<rowVars:], row)
		}
	}
	for _, v := range termVars {
		t := randomTerm(rng, min(v, o.params.NumVars()), o.params.NumVars())
		o.terms = append(o.terms, t)
		block := table[t.Offset : t.Offset+1<<len(t.Point)]
		o.value = o.value.Add(t.Coef.Mul(poly.EvalInt32(block, t.Point)))
	}
	return o, nil
}

// commit commits in memory, where there are no errors.
func commit(rowVars, logBlowup int, src RowSource) *Tree {
	tree, err := Commit(context.Background(), rowVars, logBlowup, src)
	if err != nil {
		panic(err)
	}
	return tree
}

func (t *Tree) layers() [][]poseidon2.Digest { return t.nodes.(localNodes).Tree.Layers() }

func (o *opening) passes() Passes { return NewPasses(o.params, o.srcs, o.offsets) }

func (o *opening) prove() []byte {
	proof, err := o.proveOver(context.Background(), o.passes())
	if err != nil {
		panic(err)
	}
	return proof
}

func (o *opening) proveOver(ctx context.Context, p Passes) ([]byte, error) {
	w := transcript.NewWriter(transcript.New("test"))
	err := Open(ctx, w, o.params, o.trees, p, o.offsets, o.terms, o.value)
	return w.Bytes(), err
}

func (o *opening) roots() (roots []poseidon2.Digest, rows []int) {
	for _, t := range o.trees {
		roots, rows = append(roots, t.Root()), append(rows, t.Rows())
	}
	return roots, rows
}

func (o *opening) verify(proof []byte) error {
	roots, rows := o.roots()
	r := transcript.NewReader(transcript.New("test"), proof)
	Verify(r, o.params, roots, rows, o.offsets, o.terms, o.value)
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
		rowVars := rapid.IntRange(0, 11).Draw(t, "row variables")
		rows := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 3).Draw(t, "rows")
		align := rapid.Uint64Range(1, 4).Draw(t, "alignment")
		vars := rapid.SliceOfN(rapid.IntRange(0, 16), 0, 6).Draw(t, "term variables")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		o, err := newOpening(c, rng, rowVars, rows, align, vars)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.verify(o.prove()); err != nil {
			t.Fatalf("%+v: %v", o.params.Levels, err)
		}
	})
}

// TestSameBytes proves with several numbers of threads.
func TestSameBytes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want []byte
	for _, procs := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(procs)
		got := sampleOpening(t, soundness.Johnson).prove()
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
	o := sampleOpening(t, soundness.Unique)
	for i, tree := range o.trees {
		again, err := FromLayers(o.params.RowVars(), 2, tree.Rows(), tree.layers())
		if err != nil {
			t.Fatal(err)
		}
		o.trees[i] = again
	}
	if err := o.verify(o.prove()); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"depth":  secondOf(FromLayers(o.params.RowVars(), 3, 3, o.trees[0].layers())),
		"rows":   secondOf(FromLayers(o.params.RowVars(), 2, 0, o.trees[0].layers())),
		"layers": secondOf(FromLayers(o.params.RowVars(), 2, 3, o.trees[0].layers()[1:])),
		"none":   secondOf(FromLayers(o.params.RowVars(), 2, 3, nil)),
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
	o := sampleOpening(t, soundness.Johnson)
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

// TestGrid compares the grid with its definition, for all numbers of variables:
// at a point of {0,1}^w it is the product of a long row and the functional's, and
// ∞ in a variable gives the product of differences.
func TestGrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const rowVars = 9
	o, err := newOpening(quick(soundness.Unique), rng, rowVars, []int{3, 2}, 4, []int{12, 11, 10, 9, 8, 4, 4, 0})
	if err != nil {
		t.Fatal(err)
	}
	q := newFunctional(o.terms, rowVars)
	all := o.params.Levels[0].FoldVars
	stack := loadRows(rowVars, all, o.srcs, o.offsets)
	for vars := range all + 1 {
		for i, v := range productGrid(stack, vars, q).values {
			weights := make([]field.QM31, 1<<vars)
			for h := range weights {
				weights[h] = gridSign(i, h, vars)
			}
			want := field.Dot(stack.fold(weights), q.folded(weights, len(stack.rows)))
			if v != want {
				t.Fatalf("%d variables: grid point %d is %v, want %v", vars, i, v, want)
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

// TestFold compares the folded rows and functional with single products.
func TestFold(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const rowVars = 5
	o, err := newOpening(quick(soundness.Unique), rng, rowVars, []int{3, 1, 2}, 4, []int{9, 8, 7, 6, 5, 3, 0})
	if err != nil {
		t.Fatal(err)
	}
	q := newFunctional(o.terms, rowVars)
	all := o.params.Levels[0].FoldVars
	stack := loadRows(rowVars, all, o.srcs, o.offsets)
	for vars := range all + 1 {
		weights := make([]field.QM31, 1<<vars)
		for h := range weights {
			weights[h] = randomQM31(rng)
		}
		f, table := stack.fold(weights), q.folded(weights, len(stack.rows))
		for i := range f {
			var wantF, wantQ field.QM31
			for h, w := range weights {
				at := h*len(f) + i
				if row := stack.rows[at>>rowVars]; row != nil {
					wantF = wantF.Add(w.MulM31(field.FromInt32(row[at&(1<<rowVars-1)])))
				}
				for _, term := range o.terms {
					if n := len(term.Point); uint64(at)>>n == term.Offset>>n {
						wantQ = wantQ.Add(w.Mul(term.Coef).Mul(poly.EqIndex(term.Point, uint64(at)&(1<<n-1))))
					}
				}
			}
			if f[i] != wantF || table[i] != wantQ {
				t.Fatalf("%d variables: entry %d is %v and %v, want %v and %v", vars, i, f[i], table[i], wantF, wantQ)
			}
		}
	}
}
