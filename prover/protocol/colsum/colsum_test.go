package colsum

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// lookups are steps with columns in integers, somewhere in a tree that ends at z.
// They implement Columns by definition.
type lookups struct {
	graph      model.Graph
	leaves     backend.Leaves
	keys, outs [][]int32
	z          []field.QM31
}

func element(rng *rand.Rand) field.QM31 {
	limb := func() field.M31 { return field.M31(rng.Uint32N(field.P)) }
	return field.NewQM31(limb(), limb(), limb(), limb())
}

// newLookups puts the blocks of all steps in any aligned places.
func newLookups(rng *rand.Rand, shapes [][]int) *lookups {
	l := &lookups{}
	l.leaves.Beta = element(rng)
	size := 0
	for i, shape := range shapes {
		l.graph.Steps = append(l.graph.Steps, model.Step{Shape: shape})
		s := backend.LeafStep{Step: i}
		for _, parts := range model.Cut(shape) {
			bits := model.PartBits(parts)
			size = (size + rng.IntN(3)<<bits + 1<<bits - 1) >> bits << bits
			s.Blocks = append(s.Blocks, backend.LeafBlock{Box: &model.Box{Parts: parts, Bits: bits}, Offset: size})
			size += 1 << bits
		}
		l.leaves.Steps = append(l.leaves.Steps, s)
		values := func() []int32 {
			v := make([]int32, model.Size(shape))
			for i := range v {
				v[i] = rng.Int32N(1<<30) - 1<<29
			}
			return v
		}
		l.keys, l.outs = append(l.keys, values()), append(l.outs, values())
	}
	for range model.Log2Ceil(size) {
		l.z = append(l.z, element(rng))
	}
	return l
}

// at is an entry of a step's column.
func (l *lookups) at(step, i int) field.QM31 {
	return field.FromM31(field.FromInt32(l.keys[step][i])).Add(l.leaves.Beta.MulM31(field.FromInt32(l.outs[step][i])))
}

// tables returns E and C of a step, with every axis padded.
func (l *lookups) tables(s *backend.LeafStep) (e, c []field.QM31) {
	shape := l.graph.Steps[s.Step].Shape
	e, c = make([]field.QM31, 1<<model.Vars(shape)), make([]field.QM31, 1<<model.Vars(shape))
	for _, b := range s.Blocks {
		for x := range 1 << b.Bits {
			rest, dense, padded, stride, shift := x, 0, 0, 1, 0
			for a := len(shape) - 1; a >= 0; a-- {
				i := b.Parts[a].Start + rest&(1<<b.Parts[a].Bits-1)
				rest >>= b.Parts[a].Bits
				dense, stride = dense+i*stride, stride*shape[a]
				padded, shift = padded|i<<shift, shift+model.Log2Ceil(shape[a])
			}
			e[padded] = poly.EqIndex(l.z, uint64(b.Offset+x))
			c[padded] = l.at(s.Step, dense)
		}
	}
	return e, c
}

// claim is the true one.
func (l *lookups) claim() field.QM31 {
	sum := field.Zero
	for i := range l.leaves.Steps {
		if s := &l.leaves.Steps[i]; s.IsCut() {
			e, c := l.tables(s)
			sum = sum.Add(field.Dot(e, c))
		}
	}
	return sum
}

// value is what must be left at a point.
func (l *lookups) value(r []field.QM31) field.QM31 {
	sum := field.Zero
	for i := range l.leaves.Steps {
		s := &l.leaves.Steps[i]
		if !s.IsCut() {
			continue
		}
		shape := l.graph.Steps[s.Step].Shape
		n := model.Vars(shape)
		own := r[len(r)-n:]
		_, c := l.tables(s)
		sum = sum.Add(Late(r, n).Mul(weight(s, shape, l.z, own)).Mul(poly.Eval(c, own)))
	}
	return sum
}

func (l *lookups) RowSums(_ context.Context, jobs []backend.RowSum) ([][]field.QM31, error) {
	var all [][]field.QM31
	for _, job := range jobs {
		n := len(job.Order)
		sums := make([]field.QM31, len(l.keys[job.Step])/n*len(job.Ends))
		for x := range len(l.keys[job.Step]) / n {
			part := 0
			for k, y := range job.Order {
				for k == job.Ends[part] {
					part++
				}
				at := &sums[x*len(job.Ends)+part]
				*at = at.Add(job.Weights[k].Mul(l.at(job.Step, x*n+y)))
			}
		}
		all = append(all, sums)
	}
	return all, nil
}

func (l *lookups) ColumnSums(_ context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error) {
	var all [][]field.QM31
	for _, job := range jobs {
		n := len(l.keys[job.Step]) / len(job.Weights)
		sums := make([]field.QM31, n)
		for x, w := range job.Weights {
			for y := range sums {
				sums[y] = sums[y].Add(w.Mul(l.at(job.Step, x*n+y)))
			}
		}
		all = append(all, sums)
	}
	return all, nil
}

func (l *lookups) sponge(claim field.QM31) *transcript.Sponge {
	s := transcript.New(hash.Poseidon2, "join test")
	s.AbsorbQM31(claim)
	s.AbsorbQM31(l.z...)
	return s
}

func (l *lookups) prove(claim field.QM31, c Columns) ([]byte, End, error) {
	w := transcript.NewWriter(l.sponge(claim))
	end, err := Prove(context.Background(), w, &l.graph, &l.leaves, l.z, claim, c)
	return w.Bytes(), end, err
}

// verify is what the caller does with Verify.
func (l *lookups) verify(claim field.QM31, proof []byte) error {
	r := transcript.NewReader(l.sponge(claim), proof)
	end := Verify(r, Vars(&l.graph, &l.leaves), transcript.Known(claim))
	if r.Err() == nil && end.Value.Plain() != l.value(end.Point) {
		return errors.New("the columns have another value")
	}
	return r.Done()
}

// byTables proves with the tables E and C, as the sum is defined: over functions of
// as many variables as the longest step has, zero unless the first ones are.
func (l *lookups) byTables(claim field.QM31) []byte {
	return l.byTablesBut(claim, func(zero, top field.QM31) (field.QM31, field.QM31) { return zero, top })
}

// byTablesBut is byTables with another first message.
func (l *lookups) byTablesBut(claim field.QM31, first func(zero, top field.QM31) (field.QM31, field.QM31)) []byte {
	n := Vars(&l.graph, &l.leaves)
	var es, cs [][]field.QM31
	for i := range l.leaves.Steps {
		s := &l.leaves.Steps[i]
		if !s.IsCut() {
			continue
		}
		e, c := l.tables(s)
		long := append(e, make([]field.QM31, 1<<n-len(e))...)
		var same []field.QM31
		for len(same) < 1<<n {
			same = append(same, c...)
		}
		es, cs = append(es, long), append(cs, same)
	}
	w := transcript.NewWriter(l.sponge(claim))
	for round := range n {
		zero, top := field.Zero, field.Zero
		for i := range es {
			h := len(es[i]) / 2
			for x := range h {
				zero = zero.Add(es[i][x].Mul(cs[i][x]))
				top = top.Add(es[i][h+x].Sub(es[i][x]).Mul(cs[i][h+x].Sub(cs[i][x])))
			}
		}
		if round == 0 {
			zero, top = first(zero, top)
		}
		w.SendQM31(zero, top)
		r := w.Challenge()
		for i := range es {
			h := len(es[i]) / 2
			for x := range h {
				es[i][x] = es[i][x].Add(r.Mul(es[i][h+x].Sub(es[i][x])))
				cs[i][x] = cs[i][x].Add(r.Mul(cs[i][h+x].Sub(cs[i][x])))
			}
			es[i], cs[i] = es[i][:h], cs[i][:h]
		}
	}
	return w.Bytes()
}

var shapes = rapid.Custom(func(t *rapid.T) [][]int {
	var all [][]int
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		shape := make([]int, rapid.IntRange(0, 4).Draw(t, "rank"))
		for i := range shape {
			shape[i] = rapid.IntRange(1, 7).Draw(t, "dim")
		}
		all = append(all, shape)
	}
	return append(all, []int{rapid.SampledFrom([]int{3, 5, 6, 11}).Draw(t, "cut")})
})

func TestHonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLookups(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), shapes.Draw(t, "shapes"))
		claim := l.claim()
		proof, end, err := l.prove(claim, l)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.verify(claim, proof); err != nil {
			t.Fatal(err)
		}
		if end.Value.Plain() != l.value(end.Point) {
			t.Fatal("the prover has another value")
		}
		if len(proof) != 16*Elements(Vars(&l.graph, &l.leaves)) {
			t.Fatalf("%d bytes", len(proof))
		}
		if !bytes.Equal(proof, l.byTables(claim)) {
			t.Fatal("another proof than by tables of E and C")
		}
	})
}

// weight is E~ at a point for a step of a tree that ends at z.
func weight(s *backend.LeafStep, shape []int, z, r []field.QM31) field.QM31 {
	return NewWeights(z, r).Of(s, shape, Places([]backend.LeafStep{*s}, poly.NewPrefixes(z))[0])
}

// TestWeight compares with the definition, at a point and at every index.
func TestWeight(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shape := range [][]int{{}, {1}, {6}, {8, 3}, {3, 5, 7}, {2, 1, 9}} {
		l := newLookups(rng, [][]int{shape})
		s := &l.leaves.Steps[0]
		e, _ := l.tables(s)
		r := make([]field.QM31, model.Vars(shape))
		for i := range r {
			r[i] = element(rng)
		}
		if weight(s, shape, l.z, r) != poly.Eval(e, r) {
			t.Errorf("%v: wrong weight", shape)
		}
		for x := range e {
			for i := range r {
				r[i] = field.FromM31(field.M31(x >> (len(r) - 1 - i) & 1))
			}
			if weight(s, shape, l.z, r) != e[x] {
				t.Errorf("%v: wrong weight of entry %d", shape, x)
			}
		}
	}
}

// TestThreads: the bytes do not depend on the number of threads.
func TestThreads(t *testing.T) {
	var all [][]int
	for i := range 20 {
		all = append(all, []int{3 + i%5, 5, 6 + i%3})
	}
	l := newLookups(rand.New(rand.NewPCG(3, 4)), all)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want, _, err := l.prove(l.claim(), l)
	if err != nil {
		t.Fatal(err)
	}
	for _, procs := range []int{2, 5} {
		runtime.GOMAXPROCS(procs)
		if got, _, _ := l.prove(l.claim(), l); !bytes.Equal(got, want) {
			t.Errorf("%d threads give another proof than one", procs)
		}
	}
}

// liar has other columns than the committed ones: it adds to one sum.
type liar struct {
	*lookups
	job, at int
	columns bool
}

func (c *liar) add(sums [][]field.QM31, err error, columns bool) ([][]field.QM31, error) {
	if columns == c.columns {
		own := sums[c.job%len(sums)]
		v := &own[c.at%len(own)]
		*v = v.Add(field.One)
	}
	return sums, err
}

func (c *liar) RowSums(ctx context.Context, jobs []backend.RowSum) ([][]field.QM31, error) {
	sums, err := c.lookups.RowSums(ctx, jobs)
	return c.add(sums, err, false)
}

func (c *liar) ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error) {
	sums, err := c.lookups.ColumnSums(ctx, jobs)
	return c.add(sums, err, true)
}

// TestDishonest: neither a claim other than that of the columns is proved, honestly or
// by a sum that makes it true, nor the true claim of other columns.
func TestDishonest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	l := newLookups(rng, [][]int{{3, 5}, {4, 4}, {7}, {2, 3, 5}})
	claim := l.claim()
	wrong := claim.Add(element(rng))
	if proof, _, _ := l.prove(wrong, l); l.verify(wrong, proof) == nil {
		t.Error("a false claim was accepted")
	}
	for _, columns := range []bool{false, true} {
		for job := range 3 {
			for at := range 5 {
				c := &liar{l, job, at, columns}
				for _, claim := range []field.QM31{claim, wrong} {
					if proof, _, _ := l.prove(claim, c); l.verify(claim, proof) == nil {
						t.Errorf("another sum over step %d was accepted (columns: %v)", job, columns)
					}
				}
			}
		}
	}
	// The sum of the columns of two steps, exchanged.
	other := *l
	other.leaves.Steps = append([]backend.LeafStep{}, l.leaves.Steps...)
	a, b := &other.leaves.Steps[0].Blocks[0].Offset, &other.leaves.Steps[3].Blocks[0].Offset
	*a, *b = *b, *a
	proof, _, _ := other.prove(claim, &other)
	*a, *b = *b, *a
	if l.verify(claim, proof) == nil {
		t.Error("columns at other places in the tree were accepted")
	}
}

// TestGuessedChallenge: a prover of a false claim adds a polynomial to its first
// message that makes up for the error at a challenge that it guesses, and goes on
// honestly. The challenge that it gets depends on the message.
func TestGuessedChallenge(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	l := newLookups(rng, [][]int{{3, 5}, {3}})
	claim, delta, guess := l.claim(), element(rng), element(rng)
	wrong := claim.Add(delta)
	for range 3 {
		proof := l.byTablesBut(wrong, func(zero, top field.QM31) (field.QM31, field.QM31) {
			// q(X) = m·X + n·X² with q(0) + q(1) = δ and q(guess) = 0.
			m := delta.Mul(guess).Mul(guess.Sub(field.One).Inv())
			forged := top.Add(delta.Sub(m))
			if field.RoundValue(zero, forged, wrong, guess) != field.RoundValue(zero, top, claim, guess) {
				t.Fatal("the forgery does not make up for the error")
			}
			return zero, forged
		})
		if l.verify(wrong, proof) == nil {
			t.Error("accepted")
		}
		// The challenge of this attempt, for the next.
		r := transcript.NewReader(l.sponge(wrong), proof)
		r.QM31s(2)
		guess = r.Challenge()
	}
}

func TestAlteredProof(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	l := newLookups(rng, [][]int{{3, 5}, {6}})
	claim := l.claim()
	proof, _, _ := l.prove(claim, l)
	for i := range proof {
		altered := append([]byte(nil), proof...)
		altered[i] ^= 1 << rng.IntN(7)
		if l.verify(claim, altered) == nil {
			t.Errorf("byte %d altered: accepted", i)
		}
	}
	for n := range proof {
		if l.verify(claim, proof[:n]) == nil {
			t.Errorf("the first %d bytes were accepted", n)
		}
	}
	if l.verify(claim, append(proof[:len(proof):len(proof)], 0, 0, 0, 0)) == nil {
		t.Error("a longer proof was accepted")
	}
}

// failing has an error in its n-th pass.
type failing struct {
	*lookups
	n int
}

var errPass = errors.New("the pass fails")

func (f *failing) pass() error {
	if f.n--; f.n < 0 {
		return errPass
	}
	return nil
}

func (f *failing) RowSums(ctx context.Context, jobs []backend.RowSum) ([][]field.QM31, error) {
	if err := f.pass(); err != nil {
		return nil, err
	}
	return f.lookups.RowSums(ctx, jobs)
}

func (f *failing) ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error) {
	if err := f.pass(); err != nil {
		return nil, err
	}
	return f.lookups.ColumnSums(ctx, jobs)
}

func TestFailingPass(t *testing.T) {
	l := newLookups(rand.New(rand.NewPCG(11, 12)), [][]int{{6, 5, 9}, {3, 40}})
	for n := range 3 {
		if _, _, err := l.prove(l.claim(), &failing{l, n}); !errors.Is(err, errPass) {
			t.Errorf("pass %d: %v", n, err)
		}
	}
	if _, _, err := l.prove(l.claim(), &failing{l, 3}); err != nil {
		t.Error(err)
	}
}

// TestPlaces compares with eq itself, for blocks of one size that follow each other and for such with gaps between them.
func TestPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, shapes := range [][][]int{{{3, 5}, {3, 5}, {7}, {}}, {{6}, {6}, {6}, {5, 3}}} {
		l := newLookups(rng, shapes)
		dense := model.BySize{}
		for _, followed := range []bool{false, true} {
			for i := range l.leaves.Steps {
				for k := range l.leaves.Steps[i].Blocks {
					if b := &l.leaves.Steps[i].Blocks[k]; followed {
						_, offset := dense.Next(b.Bits)
						b.Offset = int(offset)
					} else {
						dense.Count(b.Bits)
					}
				}
			}
			if !followed {
				dense.Size()
			}
			got := Places(l.leaves.Steps, poly.NewPrefixes(l.z))
			for i, s := range l.leaves.Steps {
				for k, b := range s.Blocks {
					if want := poly.EqIndex(l.z[:len(l.z)-b.Bits], uint64(b.Offset>>b.Bits)); got[i][k] != want {
						t.Errorf("%v, in one run: %t: step %d, block %d: wrong place", shapes, followed, i, k)
					}
				}
			}
		}
	}
}
