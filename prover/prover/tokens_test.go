package prover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/verifier"
)

// vocabulary is the number of rows of the embedding, longest that of positions.
const (
	tokenCount   = 13
	longestInput = 11
)

// ids adds an input of indexes below a number.
func (b *builder) ids(below int, shape ...int) model.TensorID {
	id := b.input(shape...)
	b.g.Tensors[id].Name, b.g.Tensors[id].Min, b.g.Tensors[id].Max = "ids", 0, int64(below-1)
	return id
}

// gathered is the group that reads a source axis at the entries of an input.
func gathered(ids model.TensorID, in int, out ...int) model.Group {
	return model.Group{Out: out, In: []int{in}, Map: model.MapPublic, Ids: ids}
}

// tokens is a batch of n texts of length t: rows of an embedding at the tokens,
// rows of another at the positions, and a dense layer.
func tokens(n, t int) *builder {
	rng := rand.New(rand.NewPCG(40, 41))
	b := &builder{}
	ids := b.ids(tokenCount, n, t)
	words, places := b.fixed(rng, 100, tokenCount, 6), b.fixed(rng, 50, longestInput, 6)
	w := b.fixed(rng, 20, 5, 6)
	x := b.virtual([]int{n, t, 6},
		model.Linear{Coef: 1, Src: words, View: &model.View{Groups: []model.Group{gathered(ids, 0, 0, 1), axis(2, 1)}}},
		model.Linear{Coef: 2, Src: places, View: &model.View{Groups: []model.Group{{Out: []int{0}, Strides: []int{0}}, axis(1, 0), axis(2, 1)}}})
	y := b.requantise("dense", []int{n, t, 5}, model.Acc{Products: []model.Product{
		{Coef: 1, A: x, B: w, LabelsA: []int{0, 1, 9}, LabelsB: []int{2, 9}}}}, 6, b.relu())
	b.g.Outputs = []model.TensorID{y}
	return b
}

// picked is tokens, with rows of its result at indexes that are another input, in
// another order of axes and padded, times a number that there is one of.
func picked() *builder {
	rng := rand.New(rand.NewPCG(42, 43))
	b := tokens(2, 5)
	y := b.g.Outputs[0]
	rows, one := b.ids(5, 3, 2), b.ids(1, 3)
	alone := b.fixed(rng, 9, 1)
	z := b.virtual([]int{2, 7, 3, 2},
		model.Linear{Coef: 3, Src: y, View: &model.View{Fill: -7, Groups: []model.Group{
			gathered(rows, 1, 2, 3), axis(0, 0), {Out: []int{1}, In: []int{2}, Base: -1, Strides: []int{1}}}}},
		model.Linear{Coef: 1, Src: alone, View: &model.View{Groups: []model.Group{gathered(one, 0, 2),
			{Out: []int{0, 1}, Strides: []int{0, 0}}, {Out: []int{3}, Strides: []int{0}}}}},
		// Indexes are numbers like others.
		model.Linear{Coef: 2, Src: rows, View: &model.View{Groups: []model.Group{{Out: []int{0, 1}, Strides: []int{0, 0}}, axis(2, 0), axis(3, 1)}}})
	b.g.Outputs = []model.TensorID{z, y}
	return b
}

// TestPickedRows proves views of every kind with public indexes, and compares the
// outputs with what the indexes say.
func TestPickedRows(t *testing.T) {
	for _, chunk := range []int{0, 60} {
		rng := rand.New(rand.NewPCG(44, 45))
		b := picked()
		b.g.Finish(chunk)
		p := b.prove(t, rng, proof.Security{TargetBits: 60, GrindBits: 4})
		r, err := verifier.Verify(p.key, bytes.NewReader(p.proof))
		if err != nil {
			t.Fatal(err)
		}
		rows, y, z := r.Inputs[1], r.Outputs[1], r.Outputs[0]
		alone := make([]int32, 1)
		b.w[b.find("weights")+8].Read(alone, 0)
		for i := range z {
			k, j, c, n := i%2, i/2%3, i/6%7, i/42
			at, want := rows[2*j+k], int32(-7)
			if c >= 1 && c < 6 {
				want = y[(5*n+int(at))*5+c-1]
			}
			if want = 3*want + alone[0] + 2*at; z[i] != want {
				t.Fatalf("entry %d is %d, not %d", i, z[i], want)
			}
		}
	}
}

// freeTokens commits to tokens with free dimensions.
func freeTokens(t *testing.T) (*proof.Key, func(n, l int, ids []int32) (*builder, []byte)) {
	t.Helper()
	ctx := context.Background()
	var builds []model.Build
	for _, s := range [][]int{{2, 3}, {3, 5}, {5, 7}} {
		builds = append(builds, model.Build{Sizes: s, Graph: &tokens(s[0], s[1]).g})
	}
	c, err := model.Lift([]model.FreeDim{{Name: "batch", Bound: 8}, {Name: "tokens", Bound: longestInput}}, builds...)
	if err != nil {
		t.Fatal(err)
	}
	w := tokens(2, 3).w
	key, tree, err := Commit(ctx, c, w, proof.Security{TargetBits: 60, GrindBits: 4}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return key, func(n, l int, ids []int32) (*builder, []byte) {
		g, err := c.At(model.Instance{Sizes: []int{n, l}})
		if err != nil {
			t.Fatal(err)
		}
		wit, err := forward.Run(ctx, g, w, [][]int32{ids})
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if _, err := Prove(ctx, key, g.Instance, tree, wit, &file, Options{}); err != nil {
			t.Fatal(err)
		}
		return &builder{g: *g, w: w}, file.Bytes()
	}
}

// TestOneKeyForTexts proves texts of several lengths for one key, and that no other
// text passes for one of them.
func TestOneKeyForTexts(t *testing.T) {
	t.Parallel()
	key, prove := freeTokens(t)
	rng := rand.New(rand.NewPCG(46, 47))
	for _, s := range [][]int{{1, 1}, {1, longestInput}, {3, 4}} {
		ids := make([]int32, s[0]*s[1])
		for i := range ids {
			ids[i] = rng.Int32N(tokenCount)
		}
		b, file := prove(s[0], s[1], ids)
		p := proved{b, key, file}
		if err := p.verify(); err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		for name, change := range map[string]struct {
			why string
			do  func(f *frames)
		}{
			"another token":           {"", func(f *frames) { f.in[0][0] = (f.in[0][0] + 1) % tokenCount }},
			"a token beyond the last": {"is not in [0, 12]", func(f *frames) { f.in[0][0] = tokenCount }},
			"a token before the first": {"is not in [0, 12]", func(f *frames) {
				f.in[0][len(f.in[0])-1] = -1
			}},
			"a longer text": {"", func(f *frames) {
				f.header.Sizes, f.in[0], f.out[0] = []int{s[0], s[1] + 1}, append(f.in[0], make([]int32, s[0])...), append(f.out[0], make([]int32, 5*s[0])...)
			}},
		} {
			f := p.split(t)
			change.do(&f)
			if err := f.verify(t, key); err == nil || !strings.Contains(err.Error(), change.why) {
				t.Errorf("%v, %s: %v", s, name, err)
			}
		}
	}
}

// TestLongestText: the bound of the positions' rows is that of the text.
func TestLongestText(t *testing.T) {
	key, _ := freeTokens(t)
	if _, err := key.Circuit.At(model.Instance{Sizes: []int{1, longestInput + 1}}); err == nil {
		t.Error("a text beyond the bound")
	}
}

// tokenCheat is what a prover with full knowledge does about the tokens.
type tokenCheat struct {
	run     []int32           // the tokens that it runs, those that it states otherwise
	stated  []int32           // the tokens that it states
	graph   func(b *builder)  // runs another circuit
	weights func(b *builder)  // runs and opens other weights
	late    func(ids []int32) // alters the tokens between forward pass and proof
	inner   int               // −1: lies in every sum it sends, by as much as a multiple of it
}

func TestDishonestTokens(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := tokens(2, 5)
	b.g.Finish(0)
	key, tree, err := Commit(ctx, b.g.Template(), b.w, proof.Security{TargetBits: 60, GrindBits: 4}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ids := []int32{0, 12, 3, 3, 7, 1, 4, 4, 0, 5}
	other := slices.Clone(ids)
	other[6] = 9
	swapped := slices.Clone(ids)
	swapped[0], swapped[1] = ids[1], ids[0]
	try := func(c tokenCheat) error {
		if c.stated == nil {
			c.stated = ids
		}
		if c.run == nil {
			c.run = c.stated
		}
		own := (&fixture{b: b}).clone()
		if c.graph != nil {
			c.graph(own)
		}
		if c.weights != nil {
			c.weights(own)
		}
		wit, err := forward.Run(ctx, &own.g, own.w, [][]int32{slices.Clone(c.run)})
		if err != nil {
			t.Fatal(err)
		}
		wit.Values[b.g.Inputs[0]] = slices.Clone(c.stated)
		p, err := key.Plan(b.g.Instance)
		if err != nil {
			t.Fatal(err)
		}
		// What follows from the statement is computed by it.
		r := newRun(ctx, key, p, tree, honestGraph{wit, b.g.WithIds([][]int32{c.stated})}, Options{})
		defer r.close()
		r.role = reduce.NewUncheckedProver
		if c.inner != 0 {
			r.backend = &liar{Backend: r.backend, inners: map[int]field.QM31{c.inner: field.One}}
		}
		if c.late != nil {
			r.backend = laterTokens{r.backend, func() { c.late(wit.Values[b.g.Inputs[0]]) }}
		}
		var file bytes.Buffer
		if err := r.prove(&file); errors.Is(err, proof.ErrPublic) {
			return fmt.Errorf("%w: %w", verifier.ErrInvalid, err) // no file says so
		} else if err != nil {
			t.Fatal(err)
		}
		_, err = verifier.Verify(key, &file)
		return err
	}
	if err := try(tokenCheat{}); err != nil {
		t.Fatalf("the honest control: %v", err)
	}
	if err := try(tokenCheat{stated: other}); err != nil {
		t.Fatalf("the honest control with other tokens: %v", err)
	}
	for name, c := range map[string]tokenCheat{
		"one token is another":                 {run: other},
		"two tokens change places":             {run: swapped},
		"the last token stated as another":     {run: ids, stated: append(slices.Clone(ids[:9]), 0)},
		"tokens altered while proving":         {late: func(ids []int32) { ids[3]++ }},
		"a row of the embedding":               {weights: func(b *builder) { b.edit(b.find("weights"))[3*6]++ }},
		"two rows of the embedding change":     {weights: func(b *builder) { v := b.edit(b.find("weights")); v[0], v[6*12] = v[6*12], v[0]+1 }},
		"a row of the positions":               {weights: func(b *builder) { b.edit(b.find("weights") + 1)[5]++ }},
		"rows at indexes of its own":           {graph: func(b *builder) { rowGroup(b).Base = 1 }},
		"the rows of another axis":             {graph: func(b *builder) { rowGroup(b).Strides = []int{0} }},
		"positions moved by one":               {graph: func(b *builder) { b.g.Tensors[b.find("virtual")].Def[1].View.Groups[1].Base = 1 }},
		"sums that are not those of the rows":  {inner: -1},
		"one sum that is not that of the rows": {inner: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if err := try(c); !errors.Is(err, verifier.ErrInvalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// rowGroup puts a list of its own in the place of the public indexes, and returns
// the group of the embedding's columns.
func rowGroup(b *builder) *model.Group {
	v := b.g.Tensors[b.find("virtual")].Def[0].View
	v.Groups = slices.Clone(v.Groups)
	return &v.Groups[1]
}

// laterTokens changes the tokens when the witness has been committed to.
type laterTokens struct {
	backend.Backend
	change func()
}

func (l laterTokens) Fractions(ctx context.Context, leaves backend.Leaves) (tree logup.Tree, err error) {
	l.change()
	return l.Backend.Fractions(ctx, leaves)
}

// TestDeadFieldsOfTokens is TestDeadFields for public indexes.
func TestDeadFieldsOfTokens(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(48, 49))
	b := picked()
	b.g.Finish(60)
	p := b.prove(t, rng, proof.Security{TargetBits: 30, GrindBits: 2})
	deadFields(t, p, 700, 200, deadNames, deadFrac, deadRange,
		deadField{`^Circuit\.Graph\.Tensors$`, "a virtual tensor more that nothing reads"})
	mutatedKeys(t, rng, p)
}
