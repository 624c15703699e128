package certify

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
)

var anyBits = verifier.Policy{MinBits: 1}

// committed is a circuit with its key.
type committed struct {
	key  *proof.Key
	tree prover.Trees
	w    model.Weights
}

// quick is enough for tests: the checks are the same.
var quick = proof.Security{TargetBits: 40, GrindBits: 2}

func commit(t *testing.T, c *model.Template, w model.Weights, sec proof.Security) committed {
	t.Helper()
	key, tree, err := prover.Commit(context.Background(), c, w, sec, prover.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return committed{key, tree, w}
}

func (c committed) certify() ([]byte, error) {
	var b bytes.Buffer
	_, err := Prove(context.Background(), c.key, c.tree, c.w, nil, &b, prover.Options{})
	return b.Bytes(), err
}

// The golden circuits, but for those with a Softmax, of whose blocks nothing is said, have
// certificates, and their bounds follow.
func TestGolden(t *testing.T) {
	cases, err := golden.ReadAll("../../testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		of := commit(t, c.Template, c.Weights, c.Security)
		file, err := of.certify()
		if c.Name == "attention" || c.Name == "formulas" || c.Name == "text" || c.Name == "texts" || c.Name == "segment" {
			if !errors.Is(err, ErrNotShown) || !strings.Contains(err.Error(), "Softmax") {
				t.Errorf("%s: %v", c.Name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		said, err := Verify(of.key, bytes.NewReader(file), anyBits)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		g, err := of.key.Circuit.At(c.Instance)
		if err != nil {
			t.Fatal(err)
		}
		if err := said.Check(g); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		if said.Bytes != int64(len(file)) {
			t.Errorf("%s: %d bytes, not %d", c.Name, said.Bytes, len(file))
		}
		// It says what the weights are, but for room up to powers of two.
		is := bounds.Measure(g, c.Weights)
		for id, in := range is.Ranges {
			if r := said.Ranges[id]; in.Min < r.Min || in.Max > r.Max {
				t.Errorf("%s: tensor %d in %v, certified %v", c.Name, id, in, r)
			}
		}
		for s, parts := range is.Sums {
			if said.Sums[s] != parts {
				t.Errorf("%s: sums %v, certified %v", c.Name, parts, said.Sums[s])
			}
		}
	}
}

// layer is y = round((x·w + bias)/2^15) with weights of shape [5, count].
func layer(count int, weight, bias int64) *model.Template {
	const x, w, b, y, lo = 0, 1, 2, 3, 4
	shape := []int{5}
	g := &model.Graph{
		Tensors: []model.Tensor{
			x:  {Name: "x", Shape: []int{count}, Min: -8, Max: 7},
			w:  {Name: "w", Shape: []int{5, count}, Kind: model.Fixed, Min: -weight, Max: weight},
			b:  {Name: "bias", Shape: shape, Kind: model.Fixed, Min: -3, Max: bias},
			y:  {Name: "y", Shape: shape, Kind: model.Witness, Min: -1 << 14, Max: 1<<14 - 1},
			lo: {Name: "lo", Shape: shape, Kind: model.Witness, Max: 1<<15 - 1},
		},
		Tables: []model.Table{
			{Name: "clamp", Kind: model.TablePiecewise, Bits: 15, Min: -1 << 14, Values: model.None, Pieces: []model.Piece{{End: 1 << 15, Slope: 1}}},
			{Name: "range", Kind: model.TableRange, Bits: 15, Values: model.None},
		},
		Steps: []model.Step{
			{Kind: model.StepLookup, Name: "layer", Shape: shape, Shift: 15, Lo: lo, Table: 0, Out: y, Den: model.None, Acc: model.Acc{
				Linear:   []model.Linear{{Coef: 1, Src: b}},
				Products: []model.Product{{Coef: 1, A: x, B: w, LabelsA: []int{1}, LabelsB: []int{0, 1}}}}},
			{Kind: model.StepLookup, Name: "layer", Shape: shape, Lo: model.None, Table: 1, Out: model.None, Den: model.None,
				Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: lo}}}},
		},
		Inputs: []model.TensorID{x}, Outputs: []model.TensorID{y},
	}
	return &model.Template{Graph: g}
}

// random returns weights for layer.
func random(count int, weight, bias int64) model.Weights {
	rng := rand.New(rand.NewPCG(uint64(count), 3))
	w, b := make([]int32, 5*count), make([]int32, 5)
	for i := range w {
		w[i] = int32(rng.Int64N(2*weight+1) - weight)
	}
	for i := range b {
		b[i] = int32(rng.Int64N(bias+4) - 3)
	}
	return model.Weights{1: ints.Of(w), 2: ints.Of(b)}
}

// Weights of every width: of one look-up, of an upper and a lower part, and with sums that
// are taken piece by piece.
func TestWidths(t *testing.T) {
	for _, weight := range []int64{1, 2, 127, 1 << 12, 1<<16 - 1, 1 << 19, 1 << 21, 1 << 24} {
		const count = 70
		w := random(count, weight, 1000)
		of := commit(t, layer(count, weight, 1000), w, quick)
		file, err := of.certify()
		if fits := 8*count*weight < 1<<31-1-1<<29; !fits && err != nil {
			if !errors.Is(err, ErrNotShown) || !strings.Contains(err.Error(), "step 0 (layer)") {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(weight, err)
		}
		said, err := Verify(of.key, bytes.NewReader(file), anyBits)
		if err != nil {
			t.Fatal(weight, err)
		}
		is := bounds.Measure(of.key.Circuit.Graph, w)
		for s, parts := range is.Sums {
			got := said.Sums[s]
			if got.Positive < parts.Positive || got.Negative < parts.Negative || got.Both < parts.Both || float64(got.Both) > 1.01*float64(parts.Both) {
				t.Errorf("weights of ±%d: sums %v, certified %v", weight, parts, got)
			}
		}
		if got := said.Ranges[2]; got != (bounds.Interval{Min: -3, Max: 1000}) {
			t.Errorf("bias certified in %v", got)
		}
	}
}

// Sums that p does not hold are taken piece by piece, and ranges that no look-up holds are
// refused.
func TestPieces(t *testing.T) {
	of := commit(t, layer(70, 1<<24, 5), random(70, 1<<24, 5), quick)
	c, err := derive(of.key, &extras{})
	if err != nil {
		t.Fatal(err)
	}
	// 26 bits: 15 entries at once, so 5 pieces for each of three sums, of two look-ups each.
	n := 0
	for i := range c.key.Circuit.Graph.Steps {
		if s := &c.key.Circuit.Graph.Steps[i]; s.Name == "w" && len(s.Acc.Linear) > 1 {
			n++
		}
	}
	if n != 15 {
		t.Errorf("%d sums", n)
	}
	of = commit(t, layer(70, 1<<30-1, 5), random(70, 3, 5), quick)
	if _, err := derive(of.key, &extras{}); err == nil || !strings.Contains(err.Error(), `"w"`) {
		t.Errorf("31 bits: %v", err)
	}
	// A hostile key may ask for more look-ups than anyone should make.
	g := layer(1<<18, 1<<27, 5)
	of = commit(t, g, model.Weights{1: make(ints.Int8s, 5<<18), 2: make(ints.Int8s, 5)}, quick)
	if _, err := derive(of.key, &extras{}); !errors.Is(err, errSteps) {
		t.Errorf("2^18 pieces: %v", err)
	}
}

// An issuer whose weights are not what the key says gets no certificate by honest means.
func TestIssuerIsRefused(t *testing.T) {
	for name, change := range map[string]func(w, b []int32){
		"a weight out of range": func(w, b []int32) { w[7] = 128 },
		"below":                 func(w, b []int32) { w[7] = -129 },
		"a bias above":          func(w, b []int32) { b[4] = 1001 },
		"below its range":       func(w, b []int32) { b[4] = -4 },
	} {
		w := random(9, 127, 1000)
		x, y := ints.All(w[1]), ints.All(w[2])
		change(x, y)
		of := commit(t, layer(9, 127, 1000), model.Weights{1: ints.Of(x), 2: ints.Of(y)}, quick)
		if _, err := of.certify(); err == nil || !strings.Contains(err.Error(), "not what the key says") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// In their range, but too large together.
	of := commit(t, layer(1200, 1<<19, 5), random(1200, 1<<19, 5), quick)
	if _, err := of.certify(); !errors.Is(err, ErrNotShown) || !strings.Contains(err.Error(), "step 0 (layer)") {
		t.Errorf("sums beyond p: %v", err)
	}
}

// A certificate is one key's, to the last byte of both.
func TestOtherKey(t *testing.T) {
	w := random(9, 127, 1000)
	of := commit(t, layer(9, 127, 1000), w, quick)
	file, err := of.certify()
	if err != nil {
		t.Fatal(err)
	}
	again, err := of.certify()
	if err != nil || !bytes.Equal(file, again) {
		t.Errorf("another certificate of the same: %v", err)
	}
	other := layer(9, 127, 1000)
	other.Graph.Tensors[3].Frac++ // the same arithmetic, and another meaning
	changed := ints.All(w[1])
	changed[3]++
	for name, of := range map[string]committed{
		"meaning": commit(t, other, w, quick),
		"range":   commit(t, layer(9, 126, 1000), w, quick),
		"weights": commit(t, layer(9, 127, 1000), model.Weights{1: ints.Of(changed), 2: w[2]}, quick),
		"bits":    commit(t, layer(9, 127, 1000), w, proof.Security{TargetBits: 41, GrindBits: 2}),
	} {
		if _, err := Verify(of.key, bytes.NewReader(file), anyBits); !errors.Is(err, verifier.ErrInvalid) {
			t.Errorf("a key of other %s: %v", name, err)
		}
	}
	var weak *verifier.WeakError
	if _, err := Verify(of.key, bytes.NewReader(file), verifier.Policy{}); !errors.As(err, &weak) {
		t.Errorf("40 bits: %v", err)
	}
}

// Every byte counts.
func TestFlipped(t *testing.T) {
	of := commit(t, layer(9, 127, 1000), random(9, 127, 1000), quick)
	file, err := of.certify()
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, at int, b []byte) {
		t.Helper()
		if _, err := Verify(of.key, bytes.NewReader(b), anyBits); !errors.Is(err, verifier.ErrInvalid) && !errors.Is(err, proof.ErrMalformed) {
			t.Fatalf("%s at %d: %v", what, at, err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 600 {
		at := n // all of the beginning, and some of the rest
		if n >= 200 {
			at = rng.IntN(len(file))
		}
		b := slices.Clone(file)
		b[at] ^= byte(1 + rng.IntN(255))
		refused("flipped", at, b)
	}
	for range 50 {
		at := rng.IntN(len(file))
		refused("cut", at, file[:at])
	}
	refused("longer", len(file), append(slices.Clone(file), 0))
}

// Bounds that do not follow are not taken for granted because the certificate is valid.
func TestBoundsMustFollow(t *testing.T) {
	of := commit(t, layer(1200, 1<<19, 5), random(1200, 1<<19, 5), quick)
	c, err := derive(of.key, &extras{})
	if err != nil {
		t.Fatal(err)
	}
	said, err := Verify(of.key, bytes.NewReader(c.forge(t, of, nil)), anyBits)
	if err != nil {
		t.Fatal(err)
	}
	g, err := of.key.Circuit.At(of.key.Circuit.Unit())
	if err != nil {
		t.Fatal(err)
	}
	if err := said.Check(g); !errors.Is(err, ErrNotShown) || !errors.Is(err, verifier.ErrInvalid) {
		t.Errorf("sums beyond p: %v", err)
	}
}
