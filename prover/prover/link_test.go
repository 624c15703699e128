package prover

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"github.com/prove-model/prove-model/prover/verifier"
)

var linkSecurity = proof.Security{TargetBits: 40, GrindBits: 4}

// hidingKey commits to weights with rows and tails for so many proofs. The second result counts the positions that are reserved.
func hidingKey(t *testing.T, b *builder, w model.Weights, proofs int, seed byte) (Linked, *int) {
	t.Helper()
	p, err := PlanMasked(b.g.Template(), linkSecurity, proofs)
	if err != nil {
		t.Fatal(err)
	}
	tails, err := TailsKey(b.g.Template(), p, w, linkSecurity, [32]byte{seed})
	if err != nil {
		t.Fatal(err)
	}
	key, tree, err := CommitMasked(t.Context(), b.g.Template(), p, w, linkSecurity, tails, Options{})
	if err != nil {
		t.Fatal(err)
	}
	reserved := new(int)
	return Linked{key, tree[0], &Hiding{Weights: tails, Reserve: func(_ [16]byte, n int) error { *reserved += n; return nil }}}, reserved
}

// altered are weights of which one is another.
func altered(w model.Weights) model.Weights {
	w = slices.Clone(w)
	for i := len(w) - 1; ; i-- {
		if w[i] != nil {
			values := slices.Clone(ints.All(w[i]))
			values[len(values)/2] ^= 1
			w[i] = ints.Of(values)
			return w
		}
	}
}

// TestLink: two keys of the same weights, of rows of one length or not, are linked, which takes positions of both. Keys are not of
// which one weight differs, whatever is said to be in the trees, and no byte of a link can be another.
func TestLink(t *testing.T) {
	b := everything(rand.New(rand.NewPCG(1, 2)))
	b.g.Finish(0)
	old, counted := hidingKey(t, b, b.w, 2, 1)
	link := func(first, second Linked, w model.Weights) *proof.Link {
		t.Helper()
		l, err := Link(t.Context(), [2]Linked{first, second}, w, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if l, err = proof.DecodeLink(l.Encode()); err != nil {
			t.Fatal(err)
		}
		return l
	}
	invalid := func(name string, first, second *proof.Key, l *proof.Link) {
		t.Helper()
		if _, err := verifier.VerifyLink(first, second, l, 1); !errors.Is(err, verifier.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, proofs := range []int{2, 40} {
		*counted = 0
		renewed, also := hidingKey(t, b, b.w, proofs, 2)
		l := link(old, renewed, b.w)
		s, err := verifier.VerifyLink(old.Key, renewed.Key, l, 40)
		if err != nil || s.Total < soundness.WholeBits(40) {
			t.Fatalf("keys for 2 and %d proofs: %v, %v", proofs, s, err)
		}
		if n := l.Levels[0].Queries; *counted != n || *also != n {
			t.Errorf("%d positions, %d and %d counted", n, *counted, *also)
		}
		if _, err := verifier.VerifyLink(old.Key, renewed.Key, l, 41); !errors.As(err, new(*verifier.WeakError)) {
			t.Errorf("41 bits: %v", err)
		}
		invalid("keys exchanged", renewed.Key, old.Key, l)
		for range 60 {
			i := rand.IntN(len(l.Body))
			bad := *l
			bad.Body = slices.Clone(l.Body)
			bad.Body[i] ^= 1 << rand.IntN(8)
			invalid("a byte", old.Key, renewed.Key, &bad)
		}
		bad := *l
		bad.Body = append(slices.Clone(l.Body), 0)
		invalid("a byte more", old.Key, renewed.Key, &bad)
		bad = *l
		bad.Levels = nil
		invalid("no parameters", old.Key, renewed.Key, &bad)
		bad.Levels = slices.Clone(l.Levels)
		bad.Levels[0].Queries--
		invalid("a query less", old.Key, renewed.Key, &bad)

		// Provers who know everything.
		w := altered(b.w)
		lie, _ := hidingKey(t, b, w, proofs, 3)
		for name, claimed := range map[string]model.Weights{"those of the first": b.w, "those of the second": w} {
			invalid("other weights, "+name+" in both trees", old.Key, lie.Key, link(old, lie, claimed))
		}
		invalid("other weights, opened as they are", old.Key, lie.Key, openedAsTheyAre(t, old, lie, b.w, w))
		if _, err := verifier.VerifyLink(old.Key, renewed.Key, openedAsTheyAre(t, old, renewed, b.w, b.w), 1); err != nil {
			t.Errorf("the same weights, opened as they are: %v", err)
		}
		both := link(old, renewed, b.w)
		both.Keys[1] = lie.Key.Digest
		invalid("a link of another key", old.Key, lie.Key, both)
	}
}

// openedAsTheyAre is Link by a prover who opens both trees as they are, whether they have the same weights or not.
func openedAsTheyAre(t *testing.T, first, second Linked, w0, w1 model.Weights) *proof.Link {
	t.Helper()
	p, err := proof.LinkPlan(first.Key, second.Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := first.Key.Circuit.At(first.Key.Circuit.Unit())
	if err != nil {
		t.Fatal(err)
	}
	l := &proof.Link{Keys: [2][32]byte{first.Key.Digest, second.Key.Digest}, Levels: p.Params.Levels}
	o := p.Opening()
	var srcs []whir.RowSource
	for i, w := range []model.Weights{w0, w1, w0} {
		o.Commitments[i].Secrets = &backend.Secrets{Key: *[]*prf.Key{first.Hiding.Weights, second.Hiding.Weights, {7}}[i]}
		srcs = append(srcs, cpu.NewRows(g, fixedOnly{w}, o.Commitments[i]))
	}
	masks, err := whir.Commit(t.Context(), p.Trees[2].Layout, srcs[2])
	if err != nil {
		t.Fatal(err)
	}
	out := transcript.NewWriter(l.Statement(first.Key))
	out.SendDigest(masks.Root())
	point := out.Challenges(p.Vars())
	terms := p.Terms(point, out.Challenge())
	passes := whir.NewPasses(nil, p.Params, p.Layouts(), srcs, p.RowOffsets())
	defer passes.Close()
	trees := []*whir.Tree{first.Tree, second.Tree, masks}
	if err := whir.Open(t.Context(), out, p.Params, trees, passes, p.RowOffsets(), terms, field.Zero); err != nil {
		t.Fatal(err)
	}
	l.Body = out.Bytes()
	return l
}

// TestLinkRefused: what is not two keys of one circuit that hide weights is refused by both sides, and so is what is no link.
func TestLinkRefused(t *testing.T) {
	b := everything(rand.New(rand.NewPCG(1, 2)))
	b.g.Finish(0)
	first, _ := hidingKey(t, b, b.w, 2, 1)
	other := everything(rand.New(rand.NewPCG(1, 2)))
	other.g.Tensors[0].Max--
	other.g.Finish(0)
	another, _ := hidingKey(t, other, other.w, 2, 2)
	plainKey, tree, err := Commit(t.Context(), b.g.Template(), b.w, linkSecurity, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := hidingKey(t, b, b.w, 2, 3)
	none := text
	none.Hiding = &Hiding{}
	for _, c := range []struct {
		name string
		with Linked
		want string
	}{
		{"the same key", first, "and this is one"},
		{"another circuit", another, "of two circuits"},
		{"a plain key", Linked{plainKey, tree[0], first.Hiding}, "that hide weights"},
		{"no secret", none, "with the secret"},
	} {
		if _, err := Link(t.Context(), [2]Linked{first, c.with}, b.w, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		l := &proof.Link{Keys: [2][32]byte{first.Key.Digest, c.with.Key.Digest}, Levels: []soundness.Level{{}}}
		if _, err := verifier.VerifyLink(first.Key, c.with.Key, l, 1); !errors.Is(err, verifier.ErrInvalid) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	withBase := *text.Key
	withBase.Trees = append(slices.Clone(withBase.Trees), withBase.Trees[0])
	for _, keys := range [][2]*proof.Key{{first.Key, &withBase}, {&withBase, first.Key}} {
		l := &proof.Link{Keys: [2][32]byte{keys[0].Digest, keys[1].Digest}, Levels: []soundness.Level{{}}}
		if _, err := verifier.VerifyLink(keys[0], keys[1], l, 1); !errors.Is(err, verifier.ErrInvalid) || !strings.Contains(err.Error(), "with a base") {
			t.Errorf("a key with a base: %v", err)
		}
	}
	usedUp := errors.New("used up")
	none.Hiding = &Hiding{Weights: text.Hiding.Weights, Reserve: func([16]byte, int) error { return usedUp }}
	if _, err := Link(t.Context(), [2]Linked{first, none}, b.w, Options{}); !errors.Is(err, usedUp) {
		t.Errorf("a budget that is used up: %v", err)
	}
	for _, file := range []string{"", proof.LinkMagic, "PM.proof", proof.LinkMagic + "\x08\x63"} {
		if _, err := proof.DecodeLink([]byte(file)); !errors.Is(err, proof.ErrMalformed) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func FuzzDecodeLink(f *testing.F) {
	l := proof.Link{Keys: [2][32]byte{{1}, {2}}, Levels: []soundness.Level{{FoldVars: 3, RowVars: 8, LogBlowup: 2, Queries: 9}}, Body: []byte{1, 2, 3}}
	f.Add(l.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := proof.DecodeLink(b); err == nil && !bytes.Equal(l.Encode(), b) {
			t.Error("two encodings of one link")
		}
	})
}

// TestLinkRanks is TestJointRanks for a link: it says nothing of the weights.
func TestLinkRanks(t *testing.T) {
	security := linkSecurity
	defer func() { linkSecurity = security }()
	linkSecurity = proof.Security{TargetBits: 1, GrindBits: 0}
	first := toy(1)
	old, _ := hidingKey(t, first, first.w, 1, 1)
	renewed, _ := hidingKey(t, first, first.w, 1, 2)
	l, err := proof.LinkPlan(old.Key, renewed.Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := first.g.Template().At(first.g.Template().Unit())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(15, 16))
	var point []field.QM31
	for range l.Vars() {
		point = append(point, random(rng))
	}
	terms := l.Terms(point, random(rng))
	var others []*secrets
	for seed := range uint64(6) {
		others = append(others, &secrets{wit: fixedOnly{toy(seed + 1).w}, terms: terms})
	}
	for _, c := range []struct {
		name   string
		change func(*joint)
		leaks  bool
	}{
		{"as it is", func(*joint) {}, false},
		{"three masks", func(j *joint) { j.masks = 3 }, true},
		{"tails of the keys too short", func(j *joint) { j.fixedShort = l.Trees[0].Groups[0].Tail - 1 }, true},
	} {
		j := &joint{t: t, masks: soundness.Masks, graph: g, trees: slices.Clone(l.Trees[:]), opening: l.Opening()}
		j.plan = &plan.Plan{Config: l.Params.Config}
		c.change(j)
		if leaks := j.leaks(others); (leaks > 0) != c.leaks {
			t.Errorf("%s: %d dimensions of the weights", c.name, leaks)
		}
	}
}
