package prover

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/verifier"
)

// revealing is a circuit whose output has two rows of five entries, of which some are equal.
type revealing struct {
	t   *testing.T
	b   *builder
	key *proof.Key
	in  [][]int32

	hiding *Hiding // of its proofs; nil: plain
	hidden []int   // inputs
	texts  int     // of which one proof is; 0: it is of one run
}

func newRevealing(t *testing.T, suite hash.Suite) *revealing {
	b := &builder{}
	x := b.input(2, 5)
	b.g.Outputs = []model.TensorID{b.requantise("logits", []int{2, 5}, model.Acc{Linear: []model.Linear{{Coef: 1, Src: x}}}, 0, b.relu())}
	if err := b.g.Finish(0); err != nil {
		t.Fatal(err)
	}
	key, _, err := Commit(t.Context(), b.g.Template(), b.w, proof.Security{TargetBits: 60, GrindBits: 4, Hash: suite}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &revealing{t: t, b: b, key: key, in: [][]int32{{3, 7, -5, 7, 1, 0, -3, 0, -9, 0}}}
}

// states returns what the verifier says to a proof that states these indexes. Its prover follows the protocol whatever its checks say:
// the keys of comparisons that fail are as near as the table has them.
func (r *revealing) states(top int, at ...int32) error {
	t := r.t
	t.Helper()
	in := r.b.g.Instance
	in.Texts = r.texts
	one, err := r.key.Circuit.At(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Reveals, in.HiddenInputs = []model.Reveal{{Output: 0, Top: top}}, r.hidden
	opts := Options{Hiding: r.hiding}
	p, err := planOf(r.key, in, &opts)
	if err != nil {
		t.Fatal(err)
	}
	g := p.Graph
	base, err := forward.Run(context.Background(), one, r.b.w, r.in)
	if err != nil {
		t.Fatal(err)
	}
	honest := in.Reveals[0].Greatest(base.Tensor(r.b.g.Outputs[0]), 5)
	given, hidden := r.in, [][]int32(nil)
	if len(r.hidden) > 0 {
		given, hidden = nil, r.in
	}
	wit, err := forward.Run(context.Background(), g, r.b.w, append(g.Widen(given, [][]int32{honest}, true), hidden...))
	if err != nil {
		t.Fatal(err)
	}
	inside := slices.Clone(at)
	for i := range inside {
		inside[i] = min(max(inside[i], 0), 4)
	}
	inputs := g.Widen(given, [][]int32{inside}, true)
	for i, id := range g.Inputs {
		wit.Values[id] = inputs[i]
	}
	wit.Values[g.Outputs[0]] = at
	bound := g.WithIds(inputs)
	of := honestGraph{wit, bound}
	for i := len(r.b.g.Steps); i < len(g.Steps); i++ {
		s := &bound.Steps[i]
		if s.Name != "greatest" { // a range, which is kept
			continue
		}
		acc := make([]int64, model.Size(s.Shape))
		for _, l := range s.Acc.Linear {
			l.View.Accumulate(acc, l.Coef, ints.Int32s(of.Tensor(l.Src)), g.Tensors[l.Src].Shape, s.Shape)
		}
		for j, x := range acc {
			table := &g.Tables[s.Table]
			key := int32(min(max(x, 0), 1<<table.Bits-1))
			for _, m := range g.Mults {
				if m.Table == s.Table {
					wit.Values[m.Tensor][wit.Keys[i][j]]--
					wit.Values[m.Tensor][key]++
				}
			}
			wit.Keys[i][j] = key
		}
	}
	run := newRun(context.Background(), r.key, p, nil, of, opts)
	defer run.close()
	run.role = reduce.NewUncheckedProver
	var buf bytes.Buffer
	if err := run.prove(&buf); errors.Is(err, proof.ErrPublic) {
		return err
	} else if err != nil {
		t.Fatal(err)
	}
	_, err = verifier.Verify(r.key, &buf)
	return err
}

// TestDishonestReveals: of all indexes only those of the greatest entries can be stated, equal ones by index.
// So with masked proofs.
func TestDishonestReveals(t *testing.T) {
	eachSuite(t, func(t *testing.T, suite hash.Suite) { dishonestReveals(t, suite, nil) })
	t.Run("hiding", func(t *testing.T) { dishonestReveals(t, hash.Blake3, &Hiding{TailLog: 2}) })
	t.Run("a hidden input", func(t *testing.T) { dishonestReveals(t, hash.Blake3, &Hiding{}, 0) })
}

func dishonestReveals(t *testing.T, suite hash.Suite, hiding *Hiding, hidden ...int) {
	r := newRevealing(t, suite)
	r.hiding, r.hidden = hiding, hidden
	for a := range int32(5) {
		for b := range int32(5) {
			if err := r.states(0, a, b); (err == nil) != (a == 1 && b == 0) {
				t.Errorf("argmax %d, %d: %v", a, b, err)
			}
		}
	}
	// 7 at 1 and 3, 3 at 0, 1 at 4, 0 at 2; then zeros.
	right := []int32{1, 3, 0, 0, 1, 2}
	if err := r.states(3, right...); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string][]int32{
		"equal ones in the other order":   {3, 1, 0, 0, 1, 2},
		"unequal ones in the other order": {1, 0, 3, 0, 1, 2},
		"one left out":                    {1, 3, 4, 0, 1, 2},
		"the first left out":              {3, 0, 4, 0, 1, 2},
		"a later equal one at the end":    {1, 3, 0, 0, 1, 3},
		"a later equal one":               {1, 3, 0, 0, 2, 3},
		"not in order of indexes":         {1, 3, 0, 1, 0, 2},
		"twice":                           {1, 1, 0, 0, 1, 2},
		"the last twice":                  {1, 3, 3, 0, 1, 2},
		"beyond the axis":                 {1, 3, 5, 0, 1, 2},
		"before it":                       {1, 3, -1, 0, 1, 2},
	} {
		err := r.states(3, at...)
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		if !errors.Is(err, verifier.ErrInvalid) && !errors.Is(err, proof.ErrMalformed) && !errors.Is(err, proof.ErrPublic) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Of several texts in one proof each has the indexes of its own greatest entries, and no others: not those of another text, nor the later of
// equal ones.
func TestDishonestRevealsOfTexts(t *testing.T) {
	r := newRevealing(t, hash.Blake3)
	r.texts = 3
	r.in = [][]int32{{3, 7, -5, 7, 1, 0, -3, 0, -9, 0 /**/, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1 /**/, 9, 8, 9, 9, 9, 1, 1, 6, 6, 1}}
	right := []int32{1, 0, 4, 0, 0, 2}
	if err := r.states(0, right...); err != nil {
		t.Fatal(err)
	}
	for row := range right {
		for other := range int32(6) {
			at := slices.Clone(right)
			if at[row] = other; other == right[row] {
				continue
			}
			if err := r.states(0, at...); !errors.Is(err, verifier.ErrInvalid) && !errors.Is(err, proof.ErrMalformed) && !errors.Is(err, proof.ErrPublic) {
				t.Errorf("%v: %v", at, err)
			}
		}
	}
	for _, at := range [][]int32{{4, 0, 1, 0, 0, 2}, {0, 2, 4, 0, 1, 0}, {1, 0, 1, 0, 1, 0}} { // texts exchanged, or one in the place of all
		if err := r.states(0, at...); !errors.Is(err, verifier.ErrInvalid) {
			t.Errorf("%v: %v", at, err)
		}
	}
}

// TestRevealRefuses: where differences of entries could wrap, or there are no entries to compare, nothing is revealed.
func TestRevealRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		shape    []int
		min, max int64
		reveal   model.Reveal
		want     string
	}{
		"a wide range":              {[]int{5}, -1 << 29, 1<<29 - 1, model.Reveal{}, "too wide"},
		"the widest":                {[]int{5}, 1 - model.Bound, model.Bound - 1, model.Reveal{}, "too wide"},
		"the widest that is narrow": {[]int{5}, -1 << 29, 1<<29 - 2, model.Reveal{Top: 2}, ""},
		"no axis":                   {nil, 0, 1, model.Reveal{}, "no axis"},
		"more than there are":       {[]int{5}, 0, 1, model.Reveal{Top: 6}, "the 6 greatest of 5"},
		"another output":            {[]int{5}, 0, 1, model.Reveal{Output: 1}, "output 1 of 1"},
		"too many rows":             {[]int{1<<23 + 1, 17}, 0, 1, model.Reveal{}, "are more than"},
		"the most rows":             {[]int{1 << 23, 17}, 0, 1, model.Reveal{}, ""},
	} {
		b := &builder{}
		x := b.input(c.shape...)
		b.g.Tensors[x].Min, b.g.Tensors[x].Max = c.min, c.max
		b.g.Outputs = []model.TensorID{x}
		in := b.g.Template().Unit()
		in.Reveals = []model.Reveal{c.reveal}
		_, err := b.g.Template().At(in)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, model.ErrReveal) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := &builder{}
	x := b.input(5)
	b.g.Outputs = []model.TensorID{x, x}
	for _, list := range [][]model.Reveal{{{Output: 1}, {Output: 0}}, {{Output: 0}, {Output: 0}}} {
		if _, err := b.g.Template().At(model.Instance{Reveals: list}); !errors.Is(err, model.ErrReveal) {
			t.Errorf("%v: %v", list, err)
		}
	}
}

// TestTamperedReveals: what a header says of outputs is bound, as all of it is.
func TestTamperedReveals(t *testing.T) {
	r := newRevealing(t, hash.Blake3)
	in := r.b.g.Instance
	in.Reveals = []model.Reveal{{Output: 0, Top: 1}}
	p, err := r.key.Plan(in)
	if err != nil {
		t.Fatal(err)
	}
	wit, err := forward.Run(t.Context(), p.Graph, r.b.w, p.Graph.Widen(r.in, [][]int32{{1, 0}}, true))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := Prove(t.Context(), r.key, in, nil, wit, &file, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := verifier.Verify(r.key, bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	honest := proved{key: r.key, proof: file.Bytes()}.split(t)
	for name, list := range map[string][]model.Reveal{
		"none": nil, "argmax": {{Output: 0}}, "two": {{Output: 0, Top: 2}}, "another output": {{Output: 1, Top: 1}}, "twice": {{Output: 0, Top: 1}, {Output: 0, Top: 1}},
	} {
		f := honest
		f.header.Reveals = slices.Clone(list)
		if err := f.verify(t, r.key); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
