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
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"github.com/prove-model/prove-model/prover/verifier"
)

// hide has cheats prove the circuit with hidden inputs and outputs.
func (f *fixture) hide(t *testing.T, how *Hiding, inputs, outputs []int) {
	t.Helper()
	f.hiding = how
	in := f.b.g.Instance
	in.HiddenInputs, in.HiddenOutputs = inputs, outputs
	p, err := planOf(f.key, in, &Options{Hiding: how})
	if err != nil {
		t.Fatal(err)
	}
	f.b.g = *p.Graph
}

// commitsOther commits to one witness and proves of another.
type commitsOther struct {
	backend.Backend
	committed backend.Backend
}

func (o commitsOther) Commit(ctx context.Context, c backend.Commitment) (*whir.Tree, error) {
	return o.committed.Commit(ctx, c)
}

func (o commitsOther) Opening(ctx context.Context, op backend.Opening) (whir.Passes, error) {
	return o.committed.Opening(ctx, op)
}

// TestDishonestInputs: a hidden input is one in its range, and the one that the prover committed to. Provers here run other ranges on
// an entry beyond theirs, above or below, give the look-ups keys that are in the table, or put another input in after the commitment.
func TestDishonestInputs(t *testing.T) {
	for _, chunk := range []int{0, 100} {
		f := &fixture{b: everything(rand.New(rand.NewPCG(7, 7))), in: [][]int32{make([]int32, 90)}}
		f.b.g.Tensors[f.b.g.Inputs[0]].Min, f.b.g.Tensors[f.b.g.Inputs[0]].Max = -100, 90 // less than their look-ups have keys
		f.commit(t, hash.Blake3, chunk)
		f.hide(t, &Hiding{}, []int{0}, []int{2})
		for i := range f.in[0] {
			f.in[0][i] = int32(i%100) - 50
		}
		if err := f.try(t, cheat{}); err != nil {
			t.Fatalf("the honest control is rejected: %v", err)
		}
		x := f.b.g.Hidden[0]
		// wider has a prover run a range with another end. The look-up of the other one is as it should be.
		wider := func(coef, by int64) func(b *builder) {
			return func(b *builder) {
				if coef > 0 {
					b.g.Tensors[x].Min -= by
				} else {
					b.g.Tensors[x].Max += by
				}
				for i := range b.g.Steps {
					if s := &b.g.Steps[i]; s.Name == "range" && s.Acc.Linear[0].Src == x && s.Acc.Linear[0].Coef == coef {
						s.Acc.Const += by
					}
				}
			}
		}
		entry := func(v int32) func(*fixture) {
			return func(f *fixture) { f.in[0][17] = v }
		}
		var other forward.Witness
		for name, c := range map[string]struct {
			change func(f *fixture)
			cheat  cheat
		}{
			"above the range": {entry(91), cheat{graph: wider(-1, 20)}},
			"below the range": {entry(-101), cheat{graph: wider(1, 20)}},
			"another after the commitment": {func(*fixture) {}, cheat{
				witness: func(b *builder, w *forward.Witness) {
					other = *w
					other.Values = slices.Clone(other.Values)
					other.Values[x] = slices.Clone(other.Values[x])
					other.Values[x][17]++
				},
				backend: func(b backend.Backend) backend.Backend {
					return commitsOther{b, cpu.New(&f.b.g, honestGraph{&other, &f.b.g})}
				}}},
			"a key of a range": {func(*fixture) {}, cheat{witness: func(b *builder, w *forward.Witness) {
				i := slices.IndexFunc(b.g.Steps, func(s model.Step) bool { return s.Name == "range" })
				w.Keys[i] = slices.Clone(w.Keys[i])
				b.count(w, b.g.Tables[b.g.Steps[i].Table].Name, int64(w.Keys[i][3]), -1)
				w.Keys[i][3]++
				b.count(w, b.g.Tables[b.g.Steps[i].Table].Name, int64(w.Keys[i][3]), 1)
			}}},
		} {
			t.Run(fmt.Sprintf("%d chunks/%s", f.b.g.Chunks, name), func(t *testing.T) {
				own := *f
				own.in = [][]int32{slices.Clone(f.in[0])}
				c.change(&own)
				if err := own.try(t, c.cheat); !errors.Is(err, verifier.ErrInvalid) {
					t.Errorf("%v, want a verdict that it is not valid", err)
				}
			})
		}
	}
}

// provedHidden is a proof that hides inputs and outputs, under a plain key.
func provedHidden(t testing.TB, b *builder, sec proof.Security, inputs, outputs []int, reveals ...model.Reveal) proved {
	t.Helper()
	key, tree, err := Commit(t.Context(), b.g.Template(), b.w, sec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := b.g.Instance
	in.HiddenInputs, in.HiddenOutputs, in.Reveals = inputs, outputs, reveals
	p, err := key.Plan(in)
	if err != nil {
		t.Fatal(err)
	}
	wit, err := forward.Restate(t.Context(), nil, b.run(t, rand.New(rand.NewPCG(71, 72))), p.Graph)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := Prove(t.Context(), key, in, tree, wit, &out, Options{Hiding: &Hiding{}}); err != nil {
		t.Fatal(err)
	}
	return proved{b, key, out.Bytes()}
}

// TestHiddenInputs: proofs verify of which inputs and outputs are not in the statement, for both suites, in one chunk and in several, with
// inputs of a range that is looked up in one part and in two, or whose table the circuit has.
func TestHiddenInputs(t *testing.T) {
	sec := proof.Security{TargetBits: 60, GrindBits: 8}
	eachSuite(t, func(t *testing.T, suite hash.Suite) {
		sec := sec
		sec.Hash = suite
		for _, chunk := range []int{0, 100} {
			b := everything(rand.New(rand.NewPCG(1, 2)))
			b.g.Finish(chunk)
			p := provedHidden(t, b, sec, []int{0}, []int{0, 2}, model.Reveal{Output: 1, Top: 2})
			got, err := verifier.Verify(p.key, bytes.NewReader(p.proof))
			if err != nil {
				t.Fatalf("chunks of %d: %v", chunk, err)
			}
			if len(got.Inputs) != 0 || len(got.Outputs) != 1 || !got.Masked || len(got.Circuit.Hidden) != 1 || len(got.Circuit.HiddenOutputs) != 2 {
				t.Errorf("chunks of %d: states %d inputs and %d outputs", chunk, len(got.Inputs), len(got.Outputs))
			}
		}
	})
	for _, ends := range [][2]int64{{0, 0}, {-3, 4}, {5, 11}, {-1 << 19, 1<<19 + 1}, {-1 << 28, 1<<28 - 1}} {
		b := &builder{}
		x, y := b.input(3, 7), b.input(3, 7)
		b.g.Tensors[x].Min, b.g.Tensors[x].Max = ends[0], ends[1]
		clamp := b.table(model.Table{Name: "any", Kind: model.TablePiecewise, Bits: 12, Min: -1 << 11, Pieces: []model.Piece{{End: 1 << 12, Offset: 3}}})
		b.g.Outputs = []model.TensorID{
			b.requantise("a", []int{3, 7}, model.Acc{Linear: []model.Linear{{Coef: 1, Src: x}, {Coef: 1, Src: y}}}, 18, clamp)}
		b.g.Finish(0)
		p := provedHidden(t, b, sec, []int{0}, nil)
		if got, err := verifier.Verify(p.key, bytes.NewReader(p.proof)); err != nil || len(got.Inputs) != 1 {
			t.Errorf("a range of [%d, %d]: %v", ends[0], ends[1], err)
		}
	}
}

// TestHiddenRefused: a header does not hide what cannot be hidden, nor in a proof that is not masked, and no field of it is something else
// for the verifier.
func TestHiddenRefused(t *testing.T) {
	b := everything(rand.New(rand.NewPCG(1, 2)))
	b.g.Finish(0)
	sec := proof.Security{TargetBits: 40, GrindBits: 4}
	p := provedHidden(t, b, sec, []int{0}, []int{2})
	honest := p.split(t)
	if err := honest.verify(t, p.key); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(h *proof.Header)
		want   string
	}{
		"not masked":          {func(h *proof.Header) { h.TailLog = 0 }, "is not masked"},
		"no such input":       {func(h *proof.Header) { h.HiddenInputs = []int{1} }, "input 1 of 1"},
		"an input twice":      {func(h *proof.Header) { h.HiddenInputs = []int{0, 0} }, "not in order"},
		"no such output":      {func(h *proof.Header) { h.HiddenOutputs = []int{3} }, "output 3 of 3"},
		"not in order":        {func(h *proof.Header) { h.HiddenOutputs = []int{2, 0} }, "not in order"},
		"all outputs":         {func(h *proof.Header) { h.HiddenOutputs = []int{0, 1, 2} }, "states no output"},
		"hidden and revealed": {func(h *proof.Header) { h.Reveals = []model.Reveal{{Output: 2}} }, "something is revealed of it"},
		"another output":      {func(h *proof.Header) { h.HiddenOutputs = []int{1} }, ""},
		"no output":           {func(h *proof.Header) { h.HiddenOutputs = nil }, ""},
		"no input":            {func(h *proof.Header) { h.HiddenInputs = nil }, ""},
	} {
		f := honest
		c.change(&f.header)
		if c.want == "" { // the right number of public values for it
			g, err := p.key.GraphOf(&f.header)
			if err != nil {
				t.Fatal(err)
			}
			f.in, f.out = nil, nil
			for range g.Given() {
				f.in = append(f.in, make([]int32, 90))
			}
			for _, id := range g.Outputs {
				f.out = append(f.out, make([]int32, model.Size(g.Tensors[id].Shape)))
			}
		}
		if err := f.verify(t, p.key); !errors.Is(err, verifier.ErrInvalid) && !errors.Is(err, proof.ErrMalformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for name, c := range map[string]struct {
		change func(b *builder, x model.TensorID)
		want   string
	}{
		"indexes": {func(b *builder, x model.TensorID) { b.g.Tensors[x].Min, b.g.Tensors[x].Max = 0, 3; b.reads(x) }, "by which others are read"},
		"codes":   {func(b *builder, x model.TensorID) { b.g.Tensors[x].Numbers = model.MaskingNumbers }, "not finite"},
		"a wide range": {func(b *builder, x model.TensorID) {
			b.g.Tensors[x].Min, b.g.Tensors[x].Max = 1-model.Bound, model.Bound-1
		}, "too wide"},
	} {
		b := &builder{}
		x := b.input(3)
		b.g.Outputs = []model.TensorID{x}
		c.change(b, x)
		in := b.g.Template().Unit()
		if _, err := b.g.Template().At(in); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		in.HiddenInputs = []int{0}
		if _, err := b.g.Template().At(in); !errors.Is(err, model.ErrHide) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// reads adds an output of the entries of a list that an input points to.
func (b *builder) reads(x model.TensorID) {
	list := b.input(4)
	b.g.Outputs = append(b.g.Outputs, b.virtual([]int{3}, model.Linear{Coef: 1, Src: list, View: &model.View{Groups: []model.Group{
		{Out: []int{0}, In: []int{0}, Map: model.MapPublic, Ids: x}}}}))
}
