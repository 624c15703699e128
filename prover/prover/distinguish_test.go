package prover

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"github.com/prove-model/prove-model/prover/verifier"
)

var proofsOfEach = flag.Int("distinguish", 25, "how many proofs of each of two sets of weights TestTwoWeights compares: from 60 on it is tried without pads, too")

// hiddenRun is a circuit with weights and a key that hides them.
type hiddenRun struct {
	t     testing.TB
	b     *builder
	sec   proof.Security
	plan  *plan.Plan
	key   *proof.Key
	tree  Trees
	tails *prf.Key
}

// hiddenWeights commits to the weights that a seed draws, of one circuit for all seeds, with rows for so many proofs.
func hiddenWeights(t testing.TB, seed uint64, proofs int) *hiddenRun {
	t.Helper()
	h := &hiddenRun{t: t, b: everything(rand.New(rand.NewPCG(1, seed))), sec: proof.Security{TargetBits: 8, GrindBits: 0}}
	h.b.g.Finish(100)
	var err error
	if h.plan, err = PlanMasked(h.b.g.Template(), h.sec, proofs); err != nil {
		t.Fatal(err)
	}
	h.commit([32]byte{byte(seed)})
	return h
}

// commit gives the weights a key whose tails and salts follow from secret bytes.
func (h *hiddenRun) commit(secret [32]byte) {
	h.t.Helper()
	c := h.b.g.Template()
	var err error
	if h.tails, err = TailsKey(c, h.plan, h.b.w, h.sec, secret); err != nil {
		h.t.Fatal(err)
	}
	if h.key, h.tree, err = CommitMasked(h.t.Context(), c, h.plan, h.b.w, h.sec, h.tails, Options{}); err != nil {
		h.t.Fatal(err)
	}
}

// prove returns the parts of a proof's file behind the public values: sub-transcripts, and the opening last. weaken, if not nil, alters what
// masks come from.
func (h *hiddenRun) prove(weaken func(*backend.Secrets)) [][]byte {
	h.t.Helper()
	return h.parts(h.b.run(h.t, rand.New(rand.NewPCG(71, 72))), h.b.g.Instance, &Hiding{
		Weights: h.tails, Reserve: func([16]byte, int) error { return nil }, weaken: weaken,
	})
}

// parts is prove for a run of an instance.
func (h *hiddenRun) parts(wit *forward.Witness, of model.Instance, hiding *Hiding) [][]byte {
	h.t.Helper()
	var file bytes.Buffer
	if _, err := Prove(h.t.Context(), h.key, of, h.tree, wit, &file, Options{Hiding: hiding}); err != nil {
		h.t.Fatal(err)
	}
	if hiding.weaken == nil {
		if _, err := verifier.Verify(h.key, bytes.NewReader(file.Bytes())); err != nil {
			h.t.Fatal(err)
		}
	}
	in, err := proof.NewReader(&file)
	if err != nil {
		h.t.Fatal(err)
	}
	p, err := h.key.PlanOf(in.Header())
	if err != nil {
		h.t.Fatal(err)
	}
	in.Limit(proof.LimitsFor(p))
	if _, _, err := in.Public(p.Graph); err != nil {
		h.t.Fatal(err)
	}
	var parts [][]byte
	for range p.Frames {
		part, err := in.Next()
		if err != nil {
			h.t.Fatal(err)
		}
		parts = append(parts, slices.Clone(part))
	}
	return parts
}

// TestTwoWeights (`make hiding` has more proofs): in proofs of two sets of weights, on one circuit, every word of the file behind the public values has the same distribution, as far
// as its upper and its lowest bits tell: a test of two samples for each. It fails of proofs without pads, and of ones whose masks are the same
// each time.
func TestTwoWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a hundred proofs")
	}
	one, two := hiddenWeights(t, 2, 1), hiddenWeights(t, 3, 1)
	if !one.key.Holds(two.key.Circuit) {
		t.Fatal("two circuits")
	}
	tellsApart(t, func(of, n int, weaken func(*backend.Secrets)) []byte {
		h := []*hiddenRun{one, two}[of]
		h.commit([32]byte{byte(of), byte(n), byte(n >> 8)})
		return slices.Concat(h.prove(weaken)...)
	})
}

// TestTwoInputs is TestTwoWeights for two hidden inputs of one model, under a plain key, of which the proofs state the same: which entry
// of an output is the greatest.
func TestTwoInputs(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a hundred proofs")
	}
	h := &hiddenRun{t: t, b: everything(rand.New(rand.NewPCG(1, 2))), sec: proof.Security{TargetBits: 8, GrindBits: 0}}
	h.b.g.Finish(0)
	var err error
	if h.key, h.tree, err = Commit(t.Context(), h.b.g.Template(), h.b.w, h.sec, Options{}); err != nil {
		t.Fatal(err)
	}
	in := h.b.g.Instance
	in.HiddenInputs, in.HiddenOutputs, in.Reveals = []int{0}, []int{1, 2}, []model.Reveal{{Output: 0}}
	if h.plan, err = h.key.Plan(in); err != nil {
		t.Fatal(err)
	}
	stated := func(seed uint64) int32 {
		return in.Reveals[0].Greatest(h.b.run(t, rand.New(rand.NewPCG(seed, 72))).Tensor(h.b.g.Outputs[0]), 19)[0]
	}
	inputs := []uint64{71, 72}
	for stated(inputs[1]) != stated(inputs[0]) { // of a stated output any proof tells
		inputs[1]++
	}
	tellsApart(t, func(of, _ int, weaken func(*backend.Secrets)) []byte {
		wit, err := forward.Restate(t.Context(), nil, h.b.run(t, rand.New(rand.NewPCG(inputs[of], 72))), h.plan.Graph)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(h.parts(wit, in, &Hiding{weaken: weaken})...)
	})
}

// tellsApart fails if words of proofs of two things tell them apart, or do not although their masks are weakened.
func tellsApart(t *testing.T, file func(of, n int, weaken func(*backend.Secrets)) []byte) {
	t.Helper()
	if d := apart(*proofsOfEach, nil, file); d > worst {
		t.Errorf("a word of the proof tells the two apart: %.1f", d)
	}
	var first *backend.Secrets
	for name, weaken := range map[string]func(*backend.Secrets){
		"no pads": func(s *backend.Secrets) { clear(s.Pads) },
		"the same masks": func(s *backend.Secrets) {
			if first == nil {
				first = &backend.Secrets{Key: s.Key, Pads: slices.Clone(s.Pads)}
			}
			s.Key = first.Key
			copy(s.Pads, first.Pads)
		},
	} {
		n := *proofsOfEach
		switch {
		case name == "the same masks":
			n = min(n, 25) // words of which every one is the same or another
		case n < 60: // which tell by little
			continue
		}
		if d := apart(n, weaken, file); d <= worst {
			t.Errorf("%s: no word of the proof tells: %.1f", name, d)
		}
	}
}

// worst is the most of χ² with three degrees of freedom that is accepted for any of some ten thousand words: it is reached with 10^(−9).
const worst = 44

// apart returns the greatest χ² of two samples of so many proofs' words, by pairs of bits of each. Proofs of other weights are each of a new key:
// the digests near a root are the same in all proofs of one key, so that their words tell two keys apart, as the roots do, whatever the weights.
func apart(proofs int, weaken func(*backend.Secrets), proof func(of, n int, weaken func(*backend.Secrets)) []byte) (most float64) {
	var counts [2][][3][4]float64 // of the values of each pair of bits
	words := 1 << 30
	for i := range counts {
		for n := range proofs {
			file := proof(i, n, weaken)
			words = min(words, len(file)/4)
			for len(counts[i]) < len(file)/4 {
				counts[i] = append(counts[i], [3][4]float64{})
			}
			for k := range len(file) / 4 {
				for pair, bits := range []byte{file[4*k+3] >> 5, file[4*k], file[4*k] >> 2} { // 29 and 30 of a word, and the lowest
					counts[i][k][pair][bits&3]++
				}
			}
		}
	}
	for k := range words {
		for pair := range counts[0][k] {
			x := 0.0
			for b := range 4 {
				a, c := counts[0][k][pair][b], counts[1][k][pair][b]
				if a+c > 0 {
					x += (a - c) * (a - c) / (a + c)
				}
			}
			most = max(most, x)
		}
	}
	return most
}

// TestSizesAreOfShapes: proofs of two sets of weights have parts of the same lengths, but for the opening's paths, whose number follows from the
// positions that are drawn.
func TestSizesAreOfShapes(t *testing.T) {
	one, two := hiddenWeights(t, 2, 1).prove(nil), hiddenWeights(t, 3, 1).prove(nil)
	if len(one) != len(two) {
		t.Fatalf("%d and %d parts", len(one), len(two))
	}
	for i := range one[:len(one)-1] {
		if len(one[i]) != len(two[i]) {
			t.Errorf("part %d has %d and %d bytes", i, len(one[i]), len(two[i]))
		}
	}
}

// withoutSource is what a tree's rows come from, without tails or salts.
type withoutSource struct {
	whir.HidingSource
	tails, salts bool
}

func (w withoutSource) FillTail(i int, dst []field.M31) {
	if w.HidingSource.FillTail(i, dst); !w.tails {
		clear(dst)
	}
}

func (w withoutSource) FillSalts(from uint64, dst []hash.Digest) {
	if w.HidingSource.FillSalts(from, dst); !w.salts {
		clear(dst)
	}
}

// TestGuesses: who guesses the weights cannot tell that by a key: neither its root nor a digest under it is what the weights give without tails, or
// without salts. With both it is.
func TestGuesses(t *testing.T) {
	h := hiddenWeights(t, 2, 1)
	c := h.plan.FixedTree().Commitment
	c.Secrets = &backend.Secrets{Key: *h.tails}
	rows := cpu.NewRows(h.plan.Graph, fixedOnly{h.b.w}, c)
	own, err := h.tree[0].Layers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	digests := map[hash.Digest]bool{}
	for _, layer := range own {
		for _, d := range layer {
			digests[d] = true
		}
	}
	for _, guess := range []withoutSource{{rows, false, false}, {rows, true, false}, {rows, false, true}, {rows, true, true}} {
		tree, err := whir.Commit(context.Background(), c.Layout, guess)
		if err != nil {
			t.Fatal(err)
		}
		layers, err := tree.Layers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		known, all := 0, 0
		for _, layer := range layers {
			for _, d := range layer {
				if all++; digests[d] {
					known++
				}
			}
		}
		if both := guess.tails && guess.salts; (known == all) != both || known > 0 && !both {
			t.Errorf("with tails %v and salts %v, %d of %d digests are the key's", guess.tails, guess.salts, known, all)
		}
	}
	plain, _, err := Commit(t.Context(), h.b.g.Template(), h.b.w, h.sec, Options{})
	if err != nil || digests[plain.Trees[0].Root] {
		t.Errorf("the root of a plain key of the same weights: %v", err)
	}
}

// TestPadsOfTwoRuns: with the same fresh bytes, runs of two inputs share no pad, of any two sub-transcripts.
func TestPadsOfTwoRuns(t *testing.T) {
	h := hiddenWeights(t, 2, 1)
	seen := map[field.QM31]string{}
	for _, input := range []uint64{1, 2} {
		wit := h.b.run(t, rand.New(rand.NewPCG(input, 72)))
		p, err := planOf(h.key, h.b.g.Instance, &Options{Hiding: &Hiding{Weights: h.tails, Reserve: func([16]byte, int) error { return nil }}})
		if err != nil {
			t.Fatal(err)
		}
		r := newRun(t.Context(), h.key, p, h.tree, wit, Options{Hiding: &Hiding{Weights: h.tails, seed: &[32]byte{1}}})
		defer r.close()
		header := proof.NewHeader(h.key, p)
		if err := r.hide(header.Statement(r.public(p.Graph.Inputs), r.public(p.Graph.Outputs))); err != nil {
			t.Fatal(err)
		}
		for i, pad := range r.hiding.secrets.Pads {
			at := fmt.Sprintf("input %d, element %d", input, i)
			if other, ok := seen[pad]; ok && !pad.IsZero() {
				t.Fatalf("%s is that of %s", at, other)
			}
			seen[pad] = at
		}
	}
}
