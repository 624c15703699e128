package prover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"github.com/prove-model/prove-model/prover/verifier"
)

// cheat is a prover with full knowledge that runs something else than the
// committed model, or alters what came out of it, and follows the protocol
// from there without looking at its own failed checks.
type cheat struct {
	graph   func(b *builder)                     // runs another graph
	weights func(b *builder)                     // runs (and opens) other weights
	witness func(b *builder, w *forward.Witness) // alters the finished witness
	backend func(b backend.Backend) backend.Backend
	// openHonestly opens the weights that were committed.
	openHonestly bool
}

// fixture is an honest model; every cheat is tried against its key.
type fixture struct {
	b    *builder
	key  *proof.Key
	tree Trees
	in   [][]int32
	// hiding makes cheats prove in masked sub-transcripts, where a verifier notes equations that it does not check.
	hiding *Hiding
	named  backend.Backend // commits to the trees that a header names, if it is another
}

func newFixture(t *testing.T, suite hash.Suite, chunk int) *fixture {
	rng := rand.New(rand.NewPCG(7, 7))
	f := &fixture{b: everything(rng)}
	f.commit(t, suite, chunk)
	f.in = [][]int32{make([]int32, 90)}
	for i := range f.in[0] {
		f.in[0][i] = rng.Int32N(256) - 128
	}
	return f
}

// commit lays the model out and makes its key.
func (f *fixture) commit(t *testing.T, suite hash.Suite, chunk int) {
	t.Helper()
	f.b.g.Finish(chunk)
	// Little security makes the test quick; the checks are the same.
	var err error
	if f.key, f.tree, err = Commit(context.Background(), f.b.g.Template(), f.b.w, proof.Security{TargetBits: 60, GrindBits: 4, Hash: suite}, Options{}); err != nil {
		t.Fatal(err)
	}
}

// clone copies the graph so that a cheat can change it.
func (f *fixture) clone() *builder {
	c := &builder{g: f.b.g, w: slices.Clone(f.b.w)}
	c.g.Tensors = slices.Clone(c.g.Tensors)
	c.g.Tables = slices.Clone(c.g.Tables)
	c.g.Steps = slices.Clone(c.g.Steps)
	for i := range c.g.Tensors {
		c.g.Tensors[i].Def = slices.Clone(c.g.Tensors[i].Def)
		for j := range c.g.Tensors[i].Def {
			if v := c.g.Tensors[i].Def[j].View; v != nil {
				c.g.Tensors[i].Def[j].View = &model.View{Fill: v.Fill, Groups: slices.Clone(v.Groups)}
			}
		}
	}
	for i := range c.g.Tables {
		c.g.Tables[i].Pieces = slices.Clone(c.g.Tables[i].Pieces)
	}
	for i := range c.g.Steps {
		a := &c.g.Steps[i].Acc
		a.Linear, a.Products = slices.Clone(a.Linear), slices.Clone(a.Products)
	}
	return c
}

func (f *fixture) try(t *testing.T, c cheat) error {
	t.Helper()
	b := f.clone()
	if c.graph != nil {
		c.graph(b)
	}
	if c.weights != nil {
		c.weights(b)
	}
	wit, err := forward.Run(context.Background(), &b.g, b.w, f.in)
	if err != nil {
		t.Fatalf("the cheat does not run: %v", err)
	}
	if c.witness != nil {
		c.witness(b, wit)
	}
	opts := Options{Hiding: f.hiding}
	p, err := planOf(f.key, f.b.g.Instance, &opts)
	if err != nil {
		t.Fatal(err)
	}
	g := f.b.g.WithIds(f.in)
	r := newRun(context.Background(), f.key, p, f.tree, honestGraph{wit, g}, opts)
	defer r.close()
	r.role = reduce.NewUncheckedProver
	if c.openHonestly {
		honest := *wit
		honest.Weights = f.b.w
		r.backend = opensOther{r.backend, cpu.New(g, honestGraph{&honest, g})}
	}
	if c.backend != nil {
		r.backend = c.backend(r.backend)
	}
	var buf bytes.Buffer
	if err := r.prove(&buf); errors.Is(err, proof.ErrPublic) {
		return fmt.Errorf("%w: %w", verifier.ErrInvalid, err) // no file says so
	} else if err != nil {
		t.Fatal(err)
	}
	_, err = verifier.Verify(f.key, &buf)
	return err
}

// opensOther commits to one witness and opens another.
type opensOther struct {
	backend.Backend
	opened backend.Backend
}

func (o opensOther) Opening(ctx context.Context, op backend.Opening) (whir.Passes, error) {
	return o.opened.Opening(ctx, op)
}

// honestGraph computes virtual tensors by the key's graph from the cheat's
// committed ones: their claims are derived that way whatever the prover does.
type honestGraph struct {
	*forward.Witness
	g *model.Graph
}

func (h honestGraph) Tensor(id model.TensorID) []int32 {
	t := &h.g.Tensors[id]
	if t.Kind != model.Virtual {
		return h.Values[id]
	}
	acc := make([]int64, model.Size(t.Shape))
	for _, l := range t.Def {
		l.View.Accumulate(acc, l.Coef, backend.Values(h.g, h, l.Src), h.g.Tensors[l.Src].Shape, t.Shape)
	}
	out := make([]int32, len(acc))
	for i, v := range acc {
		out[i] = int32(v)
	}
	return out
}

// reformulate gives a summand of the masked step's, counted through its linear ones and
// products, a formula with another offset.
func (b *builder) reformulate(i int, offset int64) {
	acc := &b.step("masked").Acc
	id := acc.Products[0].B
	if i < len(acc.Linear) {
		id = acc.Linear[i].Src
	}
	f := *b.g.Tensors[id].Formula
	f.Offset = offset
	b.g.Tensors[id].Formula = &f
}

// edit returns a copy of a fixed tensor's values that takes their place.
func (b *builder) edit(id model.TensorID) []int32 {
	v := make(ints.Int32s, b.w[id].Len())
	b.w[id].Read(v, 0)
	b.w[id] = v
	return v
}

func (b *builder) find(name string) model.TensorID {
	for i := range b.g.Tensors {
		if b.g.Tensors[i].Name == name {
			return model.TensorID(i)
		}
	}
	panic("no tensor " + name)
}

func (b *builder) step(name string) *model.Step {
	for i := range b.g.Steps {
		if b.g.Steps[i].Name == name {
			return &b.g.Steps[i]
		}
	}
	panic("no step " + name)
}

// count adds n to a row of the multiplicities of a table, in all chunks.
func (b *builder) count(w *forward.Witness, table string, key int64, n int32) {
	for _, m := range b.g.Mults {
		if t := &b.g.Tables[m.Table]; t.Name == table && t.Contains(key) {
			w.Values[m.Tensor][key-t.Min] += n
			return
		}
	}
}

func TestDishonestProvers(t *testing.T) {
	cheats := map[string]cheat{
		// Another model.
		"a leaky ReLU": {graph: func(b *builder) { b.g.Tables[b.relu()].Pieces[0].Offset = 1 }},
		"a longer ReLU": {graph: func(b *builder) {
			b.g.Tables[b.relu()].Pieces = []model.Piece{{End: 1 << 11}, {End: 1<<11 + 127, Slope: 1}, {End: 1 << 12, Offset: 126}}
		}},
		"a low limb of a bit more": {graph: func(b *builder) {
			t := &b.g.Tables[b.step("limbs low").Table]
			t.Drop, t.Pieces = 2, []model.Piece{{End: 1 << 7, Slope: 1}}
		}},
		"a low limb plus one":     {graph: func(b *builder) { b.g.Tables[b.step("limbs low").Table].Pieces[0].Offset = 1 }},
		"rounding down":           {graph: func(b *builder) { b.step("conv").Acc.Const = 0 }},
		"another coefficient":     {graph: func(b *builder) { b.step("gram").Acc.Products[0].Coef = 2 }},
		"another constant":        {graph: func(b *builder) { b.step("fc").Acc.Const = 8 }},
		"an exact step times 3":   {graph: func(b *builder) { b.step("fc").Acc.Products[0].Coef = 3 }},
		"windows moved by one":    {graph: func(b *builder) { b.g.Tensors[1].Def[0].View.Groups[1].Base = 0 }},
		"windows with stride one": {graph: func(b *builder) { b.g.Tensors[1].Def[0].View.Groups[2].Strides = []int{1, 1} }},
		"a transposed Gram matrix": {graph: func(b *builder) {
			b.step("gram").Acc.Products[0].LabelsB = []int{0, 2, 9}
			b.step("gram").Acc.Products[0].LabelsA = []int{0, 1, 9}
			b.step("gram").Acc.Linear = []model.Linear{{Coef: 1, Src: b.step("gram").Acc.Products[0].A, View: &model.View{Groups: []model.Group{axis(0, 0), axis(1, 1), {Out: []int{2}, Strides: []int{0}}, {In: []int{2}, Sum: []model.SumIndex{{Dim: 3, Stride: 1}}}}}}}
		}},
		"another index list": {graph: func(b *builder) {
			s := b.step("den")
			v := *s.Acc.Linear[0].View
			v.Groups = slices.Clone(v.Groups)
			v.Groups[0].Index = []int{0, 3, 2, 1, 0, 0, 1, 2, 3, 2}
			s.Acc.Linear[0].View = &v
		}},
		"a mask of another diagonal": {graph: func(b *builder) { b.reformulate(2, 1) }},
		"another identity":           {graph: func(b *builder) { b.reformulate(0, -1) }},
		"other positions":            {graph: func(b *builder) { b.reformulate(1, 21) }},
		"another quotient rounding":  {graph: func(b *builder) { b.step("div").Acc.Const = 5 }},
		// Other weights under the same commitment.
		"one weight of the convolution": {weights: func(b *builder) { b.edit(b.find("weights"))[5]++ }},
		"two weights swapped": {weights: func(b *builder) {
			v := b.edit(b.step("fc").Acc.Products[0].A)
			v[0], v[61] = v[61]+1, v[0]
		}},
		"one weight, opened as committed":     {openHonestly: true, weights: func(b *builder) { b.edit(b.find("weights"))[5]++ }},
		"a table column, opened as committed": {openHonestly: true, weights: func(b *builder) { b.edit(b.find("squares"))[128]++ }},
		"a bias":                              {weights: func(b *builder) { b.edit(b.step("conv").Acc.Linear[0].Src)[2] -= 64 }},
		"a table column":                      {weights: func(b *builder) { slices.Reverse(b.edit(b.find("squares"))) }},
		"a shifted table": {weights: func(b *builder) {
			v := b.edit(b.find("squares"))
			copy(v, slices.Clone(v[1:]))
		}},
		// An altered witness.
		"an activation": {witness: func(b *builder, w *forward.Witness) { w.Values[b.find("conv")][17]++ }},
		"an activation with its count": {witness: func(b *builder, w *forward.Witness) {
			// The best a cheat can do: move the count to the row it claims.
			s := b.step("square")
			y := w.Values[s.Out]
			i := b.index(s)
			b.count(w, "square", int64(w.Keys[i][0]), -1)
			w.Keys[i][0]++
			y[0] = int32(b.g.Tables[s.Table].Value(int64(w.Keys[i][0]), ints.All(b.w[b.find("squares")])))
			b.count(w, "square", int64(w.Keys[i][0]), 1)
		}},
		"a remainder beyond its shift": {witness: func(b *builder, w *forward.Witness) {
			s := b.step("gram")
			i := b.index(s)
			w.Values[s.Lo][3] += 1 << 8
			b.count(w, "relu", int64(w.Keys[i][3]), -1)
			w.Keys[i][3]--
			w.Values[s.Out][3] = int32(b.g.Tables[s.Table].Value(int64(w.Keys[i][3]), nil))
			b.count(w, "relu", int64(w.Keys[i][3]), 1)
		}},
		// Of a rounding to two limbs, whose rest is 2^3·low and what is cut off.
		"a low limb":               {witness: func(b *builder, w *forward.Witness) { w.Values[b.find("limbs low")][7]++ }},
		"a low limb with its rest": {witness: func(b *builder, w *forward.Witness) { b.shiftLimbs(w, 1<<3, 0) }},
		"a rest with its low limb": {witness: func(b *builder, w *forward.Witness) { b.shiftLimbs(w, 1, 0) }},
		"a rest beyond its range":  {witness: func(b *builder, w *forward.Witness) { b.shiftLimbs(w, 1<<9, -1) }},
		"a rest below its range":   {witness: func(b *builder, w *forward.Witness) { b.shiftLimbs(w, -1<<9, 1) }},
		"a rest beyond that is not one": {witness: func(b *builder, w *forward.Witness) {
			low := w.Values[b.find("limbs low")]
			honest := low[0]
			b.shiftLimbs(w, 1<<9, -1)
			low[0] = honest
		}},
		"a negative remainder": {witness: func(b *builder, w *forward.Witness) { w.Values[b.find("gram remainder")][0] -= 256 }},
		"a quotient too large": {witness: func(b *builder, w *forward.Witness) {
			den := w.Values[b.find("den")]
			b.shiftQuotient(w, 1, -den[0])
		}},
		"a quotient too small": {witness: func(b *builder, w *forward.Witness) {
			den := w.Values[b.find("den")]
			b.shiftQuotient(w, -1, den[0])
		}},
		"a count":            {witness: func(b *builder, w *forward.Witness) { w.Values[b.g.Mults[0].Tensor][0]++ }},
		"a count below zero": {witness: func(b *builder, w *forward.Witness) { w.Values[b.g.Mults[0].Tensor][1] = -1 }},
		"an exact result":    {witness: func(b *builder, w *forward.Witness) { w.Values[b.find("fc")][9]-- }},
		"counts of another row": {witness: func(b *builder, w *forward.Witness) {
			v := w.Values[b.g.Mults[0].Tensor]
			slices.Reverse(v)
		}},
		"a saturated look-up counted at another row": {witness: func(b *builder, w *forward.Witness) {
			b.count(w, "relu", int64(b.saturatedKey(w)), -1)
			b.count(w, "relu", 0, 1)
		}},
		// Lies on the way.
		"a look-up less in saturated rows": {backend: func(b backend.Backend) backend.Backend {
			return &saturationLiar{b, -1}
		}},
		"a look-up more in saturated rows": {backend: func(b backend.Backend) backend.Backend {
			return &saturationLiar{b, 1}
		}},
		"an evaluation": {backend: func(b backend.Backend) backend.Backend {
			return &liar{Backend: b, evals: map[int]field.QM31{0: field.One}}
		}},
		"a later evaluation": {backend: func(b backend.Backend) backend.Backend {
			return &liar{Backend: b, evals: map[int]field.QM31{6: field.One}}
		}},
		"a sum": {backend: func(b backend.Backend) backend.Backend {
			return &liar{Backend: b, inners: map[int]field.QM31{1: field.One}}
		}},
		"every sum": {backend: func(b backend.Backend) backend.Backend {
			return &liar{Backend: b, inners: map[int]field.QM31{-1: field.One}}
		}},
		"a sum over rows": {backend: func(b backend.Backend) backend.Backend {
			return &liar{Backend: b, rows: field.One}
		}},
		"a sum over columns": {backend: func(b backend.Backend) backend.Backend {
			return &liar{Backend: b, columns: field.One}
		}},
		// The same look-ups, but at other entries of a step in several blocks, or at
		// another step: only the columns tell.
		"keys exchanged": {witness: func(b *builder, w *forward.Witness) {
			k := slices.Clone(w.Keys[b.index(b.step("div remainder"))])
			w.Keys[b.index(b.step("div remainder"))] = k
			other := slices.IndexFunc(k, func(v int32) bool { return v != k[0] })
			k[0], k[other] = k[other], k[0]
		}},
		"keys of two steps exchanged": {witness: func(b *builder, w *forward.Witness) {
			x, y := b.index(b.step("div remainder")), b.index(b.step("div remainder below divisor"))
			w.Keys[x], w.Keys[y] = slices.Clone(w.Keys[x]), slices.Clone(w.Keys[y])
			for i := range w.Keys[x] {
				if p, q := &w.Keys[x][i], &w.Keys[y][i]; *p != *q {
					*p, *q = *q, *p
					return
				}
			}
			panic("the steps look up the same")
		}},
	}
	kind := 0
	eachSuite(t, func(t *testing.T, suite hash.Suite) {
		dishonestProvers(t, suite, nil, cheats, kind)
		kind++
	})
	t.Run("hiding", func(t *testing.T) { dishonestProvers(t, hash.Blake3, &Hiding{TailLog: 2}, cheats, 2) })
}

// dishonestProvers tries the cheats against proofs of one of three kinds, without -full each against one kind of a circuit in one chunk
// and another kind of one in several.
func dishonestProvers(t *testing.T, suite hash.Suite, hiding *Hiding, cheats map[string]cheat, kind int) {
	for k, chunk := range []int{0, 100} {
		f := newFixture(t, suite, chunk)
		if hiding != nil {
			f.hide(t, hiding, []int{0}, nil)
		}
		if err := f.try(t, cheat{}); err != nil {
			t.Fatalf("the honest control is rejected: %v", err)
		}
		for i, name := range slices.Sorted(maps.Keys(cheats)) {
			if !*full && (i+k+kind)%3 != 0 {
				continue
			}
			c := cheats[name]
			t.Run(fmt.Sprintf("%d chunks/%s", f.b.g.Chunks, name), func(t *testing.T) {
				err := f.try(t, c)
				switch {
				case err == nil:
					t.Error("accepted")
				case !errors.Is(err, verifier.ErrInvalid):
					t.Errorf("%v, which is no verdict", err)
				default:
					t.Log(err)
				}
			})
		}
	}
}

// shiftQuotient moves the first quotient and remainder, and the counts of
// their look-ups as far as there are rows for them.
func (b *builder) shiftQuotient(w *forward.Witness, q, r int32) {
	div := b.step("div")
	for i := range b.g.Steps {
		switch s := &b.g.Steps[i]; s.Name {
		case "div remainder", "div remainder below divisor", "quotient range":
			d := map[string]int32{"div remainder": r, "div remainder below divisor": -r, "quotient range": q}[s.Name]
			table := b.g.Tables[s.Table].Name
			b.count(w, table, int64(w.Keys[i][0]), -1)
			w.Keys[i] = slices.Clone(w.Keys[i])
			w.Keys[i][0] += d
			b.count(w, table, int64(w.Keys[i][0]), 1)
		}
	}
	w.Values[div.Out][0] += q
	w.Values[div.Lo][0] += r
}

// liar adds deltas to the values it sends: to the n-th evaluation and the
// n-th sum (−1: every one).
type liar struct {
	backend.Backend
	evals, inners map[int]field.QM31
	nEval, nInner int
	rows, columns field.QM31 // for the first of all sums over rows, and over columns
}

func (l *liar) RowSums(ctx context.Context, jobs []backend.RowSum) ([][]field.QM31, error) {
	sums, err := l.Backend.RowSums(ctx, jobs)
	sums[0][0] = sums[0][0].Add(l.rows)
	return sums, err
}

func (l *liar) ColumnSums(ctx context.Context, jobs []backend.ColumnSum) ([][]field.QM31, error) {
	sums, err := l.Backend.ColumnSums(ctx, jobs)
	sums[0][0] = sums[0][0].Add(l.columns)
	return sums, err
}

func (l *liar) Eval(ctx context.Context, list []backend.Evaluation) ([]field.QM31, error) {
	values, err := l.Backend.Eval(ctx, list)
	for i := range values {
		values[i] = values[i].Add(l.evals[l.nEval])
		l.nEval++
	}
	return values, err
}

func (l *liar) Inner(ctx context.Context, list []backend.Instance) ([]field.QM31, error) {
	values, err := l.Backend.Inner(ctx, list)
	for i := range values {
		values[i] = values[i].Add(l.inners[l.nInner]).Add(l.inners[-1])
		l.nInner++
	}
	return values, err
}

// saturatedKey is a key of a saturated row that is looked up.
func (b *builder) saturatedKey(w *forward.Witness) int32 {
	for i := range b.g.Steps {
		for _, k := range w.Keys[i] {
			if s := &b.g.Steps[i]; s.Table == b.relu() && k >= 100 {
				return k
			}
		}
	}
	panic("nothing is saturated")
}

// saturationLiar adds to the number of look-ups in saturated rows, which is known from
// its evaluations at points with a coordinate of 1/2.
type saturationLiar struct {
	backend.Backend
	add int64
}

func (l *saturationLiar) Eval(ctx context.Context, list []backend.Evaluation) ([]field.QM31, error) {
	values, err := l.Backend.Eval(ctx, list)
	half := field.M31(1).Div2Exp(1)
	for i := range values {
		halves := 0
		for _, x := range list[i].Point {
			if x == field.FromM31(half) {
				halves++
			}
		}
		if halves > 0 {
			values[i] = values[i].Add(field.FromM31(field.FromInt64(l.add).Div2Exp(uint(halves))))
		}
	}
	return values, err
}

// TestCompensatedLie sends a wrong remainder and a wrong accumulator that
// cancel in the look-up: the equation of the leaves holds, so the sumcheck and
// the opening must notice.
func TestCompensatedLie(t *testing.T) { eachSuite(t, compensatedLie) }

func compensatedLie(t *testing.T, suite hash.Suite) {
	f := newFixture(t, suite, 0)
	conv := f.b.step("gram")
	for _, f.hiding = range []*Hiding{nil, {TailLog: 3}} {
		c := cheat{backend: func(b backend.Backend) backend.Backend { return &compensator{Backend: b, lo: conv.Lo} }}
		if err := f.try(t, c); !errors.Is(err, verifier.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
}

// compensator adds one delta to the product of the Gram step (the only one of
// 4·5·5 padded outputs' contraction with an eq of two variables) and to its
// remainder.
type compensator struct {
	backend.Backend
	lo model.TensorID
}

func (c *compensator) Eval(ctx context.Context, list []backend.Evaluation) ([]field.QM31, error) {
	values, err := c.Backend.Eval(ctx, list)
	for i := range values {
		if list[i].Tensor == c.lo {
			values[i] = values[i].Add(field.One)
		}
	}
	return values, err
}

func (c *compensator) Inner(ctx context.Context, list []backend.Instance) ([]field.QM31, error) {
	values, err := c.Backend.Inner(ctx, list)
	for i := range values {
		if len(list[i].Eq) == 2 {
			values[i] = values[i].Add(field.One)
		}
	}
	return values, err
}

// TestReusedChallenges: a prover that fixes its challenges before it commits
// (here: by leaving the commitments out of its transcript) is not believed.
func TestReusedChallenges(t *testing.T) { eachSuite(t, reusedChallenges) }

func reusedChallenges(t *testing.T, suite hash.Suite) {
	f := newFixture(t, suite, 0)
	wit, err := forward.Run(context.Background(), &f.b.g, f.b.w, f.in)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.key.Plan(f.b.g.Instance)
	if err != nil {
		t.Fatal(err)
	}
	for _, stale := range []bool{false, true} {
		r := newRun(context.Background(), f.key, p, f.tree, wit, Options{})
		defer r.close()
		r.role = func(ctx context.Context, w *transcript.Writer, b backend.Backend) *reduce.Role {
			if stale {
				// The state before any root was absorbed.
				outputs := r.public(f.b.g.Outputs)
				w.Sponge = proof.NewHeader(f.key, p).Statement(f.in, outputs).Fork(0)
			}
			return reduce.NewUncheckedProver(ctx, w, b)
		}
		var buf bytes.Buffer
		if err := r.prove(&buf); err != nil {
			t.Fatal(err)
		}
		if _, err := verifier.Verify(f.key, &buf); (err != nil) != stale {
			t.Errorf("stale challenges %v: %v", stale, err)
		}
	}
}

// shiftLimbs adds to the first entry of what is left beside a high limb, and to that limb,
// with the low limb that goes with the rest and with counts that go with both, as far as
// tables have rows for them.
func (b *builder) shiftLimbs(w *forward.Witness, rest, high int32) {
	move := func(step string, by int32) {
		s := b.step(step)
		i, t := b.index(s), &b.g.Tables[s.Table]
		key := int64(w.Keys[i][0])
		w.Keys[i] = slices.Clone(w.Keys[i]) // which may be a tensor's
		w.Keys[i][0] += by
		w.Values[s.Out][0] = int32(t.Value(key+int64(by), nil))
		for _, m := range b.g.Mults {
			if counts := w.Values[m.Tensor]; m.Chunk == s.Chunk && m.Table == s.Table {
				counts[key-t.Min]--
				if key += int64(by); t.Contains(key) {
					counts[key-t.Min]++
				}
			}
		}
	}
	move("limbs low", rest)
	move("limbs high", high)
	w.Values[b.find("limbs rest")][0] += rest
}

func (b *builder) index(s *model.Step) int {
	for i := range b.g.Steps {
		if &b.g.Steps[i] == s {
			return i
		}
	}
	panic("not a step of the graph")
}
