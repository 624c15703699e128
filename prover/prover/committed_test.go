package prover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"github.com/prove-model/prove-model/prover/verifier"
)

// committedTo commits to an input. The second result counts the positions that are reserved.
func committedTo(t testing.TB, sec proof.Security, shape []int, values []int32, proofs int) (InputSecret, *int) {
	t.Helper()
	c, err := PlanInput(sec, shape, 0, proofs)
	if err != nil {
		t.Fatal(err)
	}
	key := InputKey(c, values, [32]byte{3})
	if err := CommitInput(t.Context(), c, values, key); err != nil {
		t.Fatal(err)
	}
	again, err := proof.DecodeInput(c.Encode())
	if err != nil || again.Digest() != c.Digest() {
		t.Fatal("another commitment when it is read again", err)
	}
	reserved := new(int)
	return InputSecret{again, key, func(_ [16]byte, n int) error { *reserved += n; return nil }}, reserved
}

// reading is a model of an input of 5 × 6 entries, in units of 2^(−finer): it multiplies with weights of its own, or adds entries up.
func reading(sum bool, finer int) *builder {
	b := &builder{}
	x := b.input(5, 6)
	b.g.Tensors[x].Min, b.g.Tensors[x].Max, b.g.Tensors[x].Frac = -200<<finer-1, 200<<finer, finer
	clamp := b.table(model.Table{Name: "any", Kind: model.TablePiecewise, Bits: 12, Min: -1 << 11, Pieces: []model.Piece{{End: 1 << 12, Offset: 3}}})
	acc := model.Acc{Linear: []model.Linear{{Coef: 3, Src: x}}}
	shape := []int{5, 6}
	if !sum {
		w := b.fixed(rand.New(rand.NewPCG(3, 4)), 3, 6, 4)
		acc, shape = model.Acc{Products: []model.Product{{Coef: 1, A: x, B: w, LabelsA: []int{0, 2}, LabelsB: []int{2, 1}}}}, []int{5, 4}
	}
	b.g.Outputs = []model.TensorID{b.requantise("y", shape, acc, 2, clamp)}
	b.g.Finish(0)
	return b
}

// provedCommitted is a proof of a model on an input that was committed to, under a plain key or one that hides weights.
func provedCommitted(t testing.TB, b *builder, sec proof.Security, hides bool, values []int32, s InputSecret) (proved, error) {
	t.Helper()
	security := linkSecurity
	defer func() { linkSecurity = security }()
	linkSecurity = sec
	h := &Hiding{}
	var key *proof.Key
	var trees Trees
	if hides {
		l, _ := hidingKey(t.(*testing.T), b, b.w, 3, 5)
		key, trees, h = l.Key, Trees{l.Tree}, l.Hiding
	} else {
		var err error
		if key, trees, err = Commit(t.Context(), b.g.Template(), b.w, sec, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	h.Inputs = []InputSecret{s}
	in := b.g.Instance
	in.HiddenInputs, in.Committed = []int{0}, []model.Committed{s.Of(0)}
	p, err := key.Plan(in)
	if err != nil {
		t.Fatal(err)
	}
	read := slices.Clone(values)
	for i := range read {
		read[i] <<= b.g.Tensors[b.g.Inputs[0]].Frac
	}
	run, err := forward.Run(t.Context(), &b.g, b.w, [][]int32{read})
	if err != nil {
		t.Fatal(err)
	}
	wit, err := forward.Restate(t.Context(), nil, run, p.Graph)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, err = Prove(t.Context(), key, in, trees, wit, &out, Options{Hiding: h})
	return proved{b, key, out.Bytes()}, err
}

// TestCommittedInput: proofs of two models, of a plain key and of one that hides weights, are of one commitment, whose budget they use up
// together. They are of no other input than the one that was committed to.
func TestCommittedInput(t *testing.T) {
	sec := proof.Security{TargetBits: 50, GrindBits: 6}
	values := make([]int32, 30)
	for i := range values {
		values[i] = int32(i*i%401) - 200
	}
	eachSuite(t, func(t *testing.T, suite hash.Suite) {
		sec := sec
		sec.Hash = suite
		s, counted := committedTo(t, sec, []int{5, 6}, values, 3)
		want := 0
		for _, c := range []struct {
			sum, hides bool
			finer      int
		}{{true, false, 0}, {false, false, 0}, {false, true, 2}, {true, false, 3}} {
			p, err := provedCommitted(t, reading(c.sum, c.finer), sec, c.hides, values, s)
			if err != nil {
				t.Fatal(err)
			}
			got, err := verifier.Verify(p.key, bytes.NewReader(p.proof))
			if err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
			if len(got.Inputs) != 0 || !got.Masked || len(got.Committed) != 1 || got.Committed[0].Digest() != s.Digest() || !slices.Equal(got.CommittedInputs, []int{0}) {
				t.Fatalf("%+v: of other inputs or commitments", c)
			}
			header := p.split(t).header
			pl, err := p.key.PlanOf(&header)
			if err != nil {
				t.Fatal(err)
			}
			if want += pl.Params.Levels[0].Queries; *counted != want {
				t.Errorf("%+v: %d positions, %d counted", c, want, *counted)
			}
		}
		other := slices.Clone(values)
		other[7]++
		if _, err := provedCommitted(t, reading(true, 0), sec, false, other, s); !errors.Is(err, errOtherInput) {
			t.Errorf("another input: %v", err)
		}
		usedUp := errors.New("used up")
		s.Reserve = func([16]byte, int) error { return usedUp }
		if p, err := provedCommitted(t, reading(true, 0), sec, false, values, s); !errors.Is(err, usedUp) {
			t.Errorf("a budget that is used up: %v", err)
		} else if _, err := verifier.Verify(p.key, bytes.NewReader(p.proof)); err == nil {
			t.Error("a proof although the budget is used up")
		}
	})
}

// commitsInput commits to the trees that a header names as another backend does, and opens one or the other's.
type commitsInput struct {
	backend.Backend
	named  backend.Backend
	opened bool
}

func (o commitsInput) Commit(ctx context.Context, c backend.Commitment) (*whir.Tree, error) {
	if len(c.Parts) == 1 && c.Secrets != nil && c.Secrets.Pads == nil {
		return o.named.Commit(ctx, c)
	}
	return o.Backend.Commit(ctx, c)
}

func (o commitsInput) Opening(ctx context.Context, op backend.Opening) (whir.Passes, error) {
	if o.opened {
		return o.named.Opening(ctx, op)
	}
	return o.Backend.Opening(ctx, op)
}

// TestDishonestCommitted: provers who know everything prove of another input under a root, with either opened, and of one with an
// entry out of its range.
func TestDishonestCommitted(t *testing.T) {
	for _, chunk := range []int{0, 100} {
		f := &fixture{b: everything(rand.New(rand.NewPCG(7, 7))), in: [][]int32{make([]int32, 90)}}
		f.b.g.Tensors[f.b.g.Inputs[0]].Min, f.b.g.Tensors[f.b.g.Inputs[0]].Max = -100, 90
		f.commit(t, hash.Blake3, chunk)
		for i := range f.in[0] {
			f.in[0][i] = int32(i%100) - 50
		}
		shape := f.b.g.Tensors[f.b.g.Inputs[0]].Shape
		frac := f.b.g.Tensors[f.b.g.Inputs[0]].Frac
		plain := f.b.g
		// to has the fixture be of a commitment to values, which it runs on as well.
		to := func(values []int32) fixture {
			own := *f
			b := *f.b
			b.g, own.b = plain, &b
			own.in = [][]int32{slices.Clone(values)}
			c, err := PlanInput(f.key.Security, shape, frac, 4)
			if err != nil {
				t.Fatal(err)
			}
			key := InputKey(c, values, [32]byte{9})
			if err := CommitInput(t.Context(), c, values, key); err != nil {
				t.Fatal(err)
			}
			s := InputSecret{c, key, func([16]byte, int) error { return nil }}
			own.hiding = &Hiding{Inputs: []InputSecret{s}}
			in := plain.Instance
			in.HiddenInputs, in.Committed = []int{0}, []model.Committed{s.Of(0)}
			p, err := planOf(own.key, in, &Options{Hiding: own.hiding})
			if err != nil {
				t.Fatal(err)
			}
			b.g = *p.Graph
			return own
		}
		honest := to(f.in[0])
		if err := honest.try(t, cheat{}); err != nil {
			t.Fatalf("the honest control is rejected: %v", err)
		}
		with := func(i int, v int32) []int32 {
			values := slices.Clone(f.in[0])
			values[i] = v
			return values
		}
		x := honest.b.g.Hidden[0]
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
		for name, c := range map[string]struct {
			committed []int32
			run       []int32 // another input, nil for the one that was committed to
			opened    bool    // what was committed to is opened
			cheat     cheat
			honest    bool
		}{
			"the same input":                {committed: f.in[0], run: f.in[0], opened: true, honest: true},
			"above the range":               {committed: with(17, 91), cheat: cheat{graph: wider(-1, 20)}},
			"below the range":               {committed: with(17, -101), cheat: cheat{graph: wider(1, 20)}},
			"another input, opened":         {committed: f.in[0], run: with(5, 1)},
			"another input, the first open": {committed: f.in[0], run: with(5, 1), opened: true},
		} {
			t.Run(fmt.Sprintf("%d chunks/%s", f.b.g.Chunks, name), func(t *testing.T) {
				own := to(c.committed)
				if c.run != nil {
					own.in = [][]int32{c.run}
					c.cheat.witness = func(b *builder, w *forward.Witness) {
						named := *w
						named.Values = slices.Clone(w.Values)
						named.Values[x] = c.committed
						own.named = cpu.New(&own.b.g, honestGraph{&named, &own.b.g})
					}
				}
				if err := own.tryCommitted(t, c.cheat, c.opened); (err == nil) != c.honest || err != nil && !errors.Is(err, verifier.ErrInvalid) {
					t.Errorf("%v, of an honest prover %v", err, c.honest)
				}
			})
		}
	}
}

// TestDishonestScale: what is committed to in coarser units than a model's is kept to a range itself. Else an entry that is not small could
// be one that is when it is multiplied modulo p: twice 2^30 is 1.
func TestDishonestScale(t *testing.T) {
	b := reading(true, 1)
	f := &fixture{b: b}
	var err error
	if f.key, f.tree, err = Commit(t.Context(), b.g.Template(), b.w, proof.Security{TargetBits: 60, GrindBits: 4}, Options{}); err != nil {
		t.Fatal(err)
	}
	plain := b.g
	try := func(values []int32, read int32, c cheat) error {
		own := *f
		builder := *f.b
		builder.g, own.b = plain, &builder
		commitment, err := PlanInput(f.key.Security, []int{5, 6}, 0, 4)
		if err != nil {
			t.Fatal(err)
		}
		key := InputKey(commitment, values, [32]byte{9})
		if err := CommitInput(t.Context(), commitment, values, key); err != nil {
			t.Fatal(err)
		}
		s := InputSecret{commitment, key, func([16]byte, int) error { return nil }}
		own.hiding = &Hiding{Inputs: []InputSecret{s}}
		in := plain.Instance
		in.HiddenInputs, in.Committed = []int{0}, []model.Committed{s.Of(0)}
		p, err := planOf(own.key, in, &Options{Hiding: own.hiding})
		if err != nil {
			t.Fatal(err)
		}
		builder.g = *p.Graph
		own.in = [][]int32{slices.Repeat([]int32{read}, 30), values}
		return own.try(t, c)
	}
	if err := try(slices.Repeat([]int32{-7}, 30), -14, cheat{}); err != nil {
		t.Fatalf("the honest control is rejected: %v", err)
	}
	const big = 1 << 30
	err = try(slices.Repeat([]int32{big}, 30), 1, cheat{graph: func(b *builder) {
		b.g.Steps = slices.Clone(b.g.Steps)
		x := b.g.Apart[0].Tensors[0]
		b.g.Tensors[x].Max = big
		for i := range b.g.Steps {
			switch s := &b.g.Steps[i]; {
			case s.Name == "scale":
				s.Acc = model.Acc{}
			case s.Name == "range" && s.Acc.Linear[0].Src == x:
				s.Acc.Const -= s.Acc.Linear[0].Coef * big
			}
		}
	}})
	if !errors.Is(err, verifier.ErrInvalid) {
		t.Errorf("an entry that is 2^30: %v, want a verdict that it is not valid", err)
	}
}

// tryCommitted is try with a backend that commits to what is named.
func (f *fixture) tryCommitted(t *testing.T, c cheat, opened bool) error {
	t.Helper()
	c.backend = func(b backend.Backend) backend.Backend {
		if f.named == nil {
			return b
		}
		return commitsInput{b, f.named, opened}
	}
	return f.try(t, c)
}

// TestCommittedRefused: no field of what a header says of an input's tree can be another, and none of a commitment's file.
func TestCommittedRefused(t *testing.T) {
	sec := proof.Security{TargetBits: 40, GrindBits: 4}
	values := slices.Repeat([]int32{5, -6, 7}, 10)
	s, _ := committedTo(t, sec, []int{5, 6}, values, 3)
	p, err := provedCommitted(t, reading(true, 0), sec, false, values, s)
	if err != nil {
		t.Fatal(err)
	}
	honest := p.split(t)
	if err := honest.verify(t, p.key); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(h *proof.Header, tree *proof.FirstTree){
		"root":             func(_ *proof.Header, tree *proof.FirstTree) { tree.Root[3] ^= 1 },
		"row length":       func(_ *proof.Header, tree *proof.FirstTree) { tree.RowVars-- },
		"longer rows":      func(_ *proof.Header, tree *proof.FirstTree) { tree.RowVars++ },
		"rate":             func(_ *proof.Header, tree *proof.FirstTree) { tree.LogBlowup++ },
		"rows":             func(_ *proof.Header, tree *proof.FirstTree) { tree.Rows++ },
		"tokens":           func(_ *proof.Header, tree *proof.FirstTree) { tree.Tokens = 1 },
		"shorter tails":    func(_ *proof.Header, tree *proof.FirstTree) { tree.TailLog++ },
		"longer tails":     func(_ *proof.Header, tree *proof.FirstTree) { tree.TailLog-- },
		"no tails":         func(_ *proof.Header, tree *proof.FirstTree) { tree.TailLog = 0 },
		"no input":         func(_ *proof.Header, tree *proof.FirstTree) { tree.Input = 0 },
		"another input":    func(_ *proof.Header, tree *proof.FirstTree) { tree.Input = 2 },
		"another scale":    func(_ *proof.Header, tree *proof.FirstTree) { tree.Frac++ },
		"two trees":        func(h *proof.Header, tree *proof.FirstTree) { h.Trees = append(h.Trees, *tree) },
		"no tree":          func(h *proof.Header, _ *proof.FirstTree) { h.Trees = nil },
		"not hidden":       func(h *proof.Header, _ *proof.FirstTree) { h.HiddenInputs = nil },
		"not masked":       func(h *proof.Header, _ *proof.FirstTree) { h.TailLog = 0 },
		"of a segment too": func(h *proof.Header, _ *proof.FirstTree) { h.Segment = &proof.Segment{} },
	} {
		f := honest
		f.header.Trees = slices.Clone(honest.header.Trees)
		change(&f.header, &f.header.Trees[0])
		if err := f.verify(t, p.key); !errors.Is(err, verifier.ErrInvalid) && !errors.Is(err, proof.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	digest := s.Digest()
	for at := range s.Encode() {
		b := s.Encode()
		b[at] ^= 1 << (at % 8)
		if c, err := proof.DecodeInput(b); err == nil && c.Digest() == digest || err != nil && !errors.Is(err, proof.ErrMalformed) {
			t.Errorf("byte %d of a commitment: %v", at, err)
		}
	}
}

func FuzzDecodeInput(f *testing.F) {
	s, _ := committedTo(f, proof.Security{TargetBits: 40}, []int{3, 1, 5}, make([]int32, 15), 2)
	f.Add(s.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := proof.DecodeInput(b); err == nil && !bytes.Equal(c.Encode(), b) {
			t.Error("two encodings of one commitment")
		}
	})
}

// TestCommittedTails: commitments to one input from other seeds, and to another input, rows or scale from one seed, share no tails.
func TestCommittedTails(t *testing.T) {
	values := slices.Repeat([]int32{5, -6, 7}, 10)
	c, err := PlanInput(proof.Security{TargetBits: 40}, []int{5, 6}, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	root := func(c proof.InputCommitment, values []int32, key *prf.Key) hash.Digest {
		if err := CommitInput(t.Context(), &c, values, key); err != nil {
			t.Fatal(err)
		}
		return c.Root
	}
	key := InputKey(c, values, [32]byte{1})
	seen := map[prf.Key]string{*key: "the same"}
	longer, scaled := *c, *c
	longer.RowVars++
	scaled.Frac++
	other := slices.Clone(values)
	other[3]++
	for name, k := range map[string]*prf.Key{
		"another seed": InputKey(c, values, [32]byte{2}), "other values": InputKey(c, other, [32]byte{1}),
		"longer rows": InputKey(&longer, values, [32]byte{1}), "another scale": InputKey(&scaled, values, [32]byte{1}),
	} {
		if was, ok := seen[*k]; ok {
			t.Errorf("%s and %s have the same tails", name, was)
		}
		seen[*k] = name
		if root(*c, values, k) == root(*c, values, key) {
			t.Errorf("%s: the same root of the same values", name)
		}
	}
	if again := InputKey(c, values, [32]byte{1}); root(*c, values, again) != root(*c, values, key) {
		t.Error("two roots of one seed")
	}
}
