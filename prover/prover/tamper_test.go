package prover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/verifier"
)

// small is one dense layer with a ReLU.
func small(rng *rand.Rand) *builder {
	b := &builder{}
	x := b.input(1, 12)
	w := b.fixed(rng, 20, 5, 12)
	y := b.requantise("dense", []int{1, 5}, model.Acc{Products: []model.Product{
		{Coef: 1, A: x, B: w, LabelsA: []int{0, 5}, LabelsB: []int{1, 5}}}}, 4, b.relu())
	b.g.Outputs = []model.TensorID{y}
	return b
}

// flips is the number of bytes that each flip test changes: more with -full.
func flips() int {
	if *full {
		return 1000
	}
	return 250
}

func TestFlippedProof(t *testing.T) { eachSuite(t, flippedProof) }

func flippedProof(t *testing.T, suite hash.Suite) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	b := small(rng)
	b.g.Finish(0)
	p := b.prove(t, rng, proof.Security{TargetBits: 100, GrindBits: 8, Hash: suite})
	if err := p.verify(); err != nil {
		t.Fatal(err)
	}
	for i := range flips() {
		at := i * len(p.proof) / flips()
		bit := byte(1) << rng.IntN(8)
		p.proof[at] ^= bit
		if p.verify() == nil {
			t.Fatalf("accepted with byte %d of %d changed by %#x", at, len(p.proof), bit)
		}
		p.proof[at] ^= bit
	}
	for _, n := range []int{0, 1, 7, len(p.proof) / 2, len(p.proof) - 1} {
		if _, err := verifier.Verify(p.key, bytes.NewReader(p.proof[:n])); err == nil {
			t.Errorf("accepted when cut to %d bytes", n)
		}
	}
}

func TestFlippedKey(t *testing.T) { eachSuite(t, flippedKey) }

func flippedKey(t *testing.T, suite hash.Suite) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	b := small(rng)
	b.g.Finish(0)
	p := b.prove(t, rng, proof.Security{TargetBits: 100, GrindBits: 8, Hash: suite})
	file, err := proof.EncodeKey(p.key)
	if err != nil {
		t.Fatal(err)
	}
	for i := range flips() {
		at := i * len(file) / flips()
		bit := byte(1) << rng.IntN(8)
		file[at] ^= bit
		if key, err := proof.DecodeKey(file); err == nil {
			if _, err := verifier.Verify(key, bytes.NewReader(p.proof)); err == nil {
				t.Fatalf("accepted with byte %d of the key changed by %#x", at, bit)
			}
			// Nor does it pass for the key it was not made for by naming it.
			key.Digest = p.key.Digest
			_, _ = verifier.Verify(key, bytes.NewReader(p.proof)) // must not panic
		}
		file[at] ^= bit
	}
}

// frames are the parts of a proof.
type frames struct {
	header      proof.Header
	graph       *model.Graph // of the statement
	in, out     [][]int32
	commitments []byte
	chunks      [][]byte
	io, opening []byte
}

func (p proved) split(t *testing.T) frames {
	t.Helper()
	r, err := proof.NewReader(bytes.NewReader(p.proof))
	if err != nil {
		t.Fatal(err)
	}
	f := frames{header: *r.Header()}
	pl, err := p.key.PlanOf(&f.header)
	if err != nil {
		t.Fatal(err)
	}
	r.Limit(proof.LimitsFor(pl))
	f.graph = pl.Graph
	if f.in, f.out, err = r.Public(pl.Graph); err != nil {
		t.Fatal(err)
	}
	next := func() []byte {
		body, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	f.commitments = next()
	for range pl.Graph.Chunks {
		f.chunks = append(f.chunks, next())
	}
	f.io, f.opening = next(), next()
	return f
}

// shaped returns a graph of which the parts' public values may be: that of the header,
// that of the honest statement, or one of lists of these lengths.
func (f frames) shaped(key *proof.Key) *model.Graph {
	fits := func(g *model.Graph) bool {
		for i, id := range g.Given() {
			if model.Size(g.Tensors[id].Shape) != len(f.in[i]) {
				return false
			}
		}
		for i, id := range g.Outputs {
			if model.Size(g.Tensors[id].Shape) != len(f.out[i]) {
				return false
			}
		}
		return true
	}
	if g, err := key.GraphOf(&f.header); err == nil && fits(g) {
		return g
	}
	if fits(f.graph) {
		return f.graph
	}
	g := *f.graph
	g.Tensors = slices.Clone(g.Tensors)
	for i, id := range g.Given() {
		g.Tensors[id].Shape = []int{len(f.in[i])}
	}
	for i, id := range g.Outputs {
		g.Tensors[id].Shape = []int{len(f.out[i])}
	}
	return &g
}

func (f frames) verify(t *testing.T, key *proof.Key) error {
	t.Helper()
	var buf bytes.Buffer
	// Streams of any length: that the verifier refuses them is what is tested.
	const most = 1 << 30
	due := []plan.Frame{{Kind: plan.Commitments}}
	for i := range f.chunks {
		due = append(due, plan.Frame{Kind: plan.Chunk, Index: i})
	}
	due = append(due, plan.Frame{Kind: plan.IO}, plan.Frame{Kind: plan.Opening})
	for i := range due {
		due[i].Bytes, due[i].Words = most, !key.Security.Hash.ElementDigests()
	}
	f.header.Key = key.Digest
	w, err := proof.NewWriter(&buf, &f.header, due)
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WritePublic(f.shaped(key), f.in, f.out); errors.Is(err, proof.ErrPublic) {
		return fmt.Errorf("%w: %w", verifier.ErrInvalid, err) // no file says so
	}
	check(w.Write(f.commitments))
	for _, c := range f.chunks {
		check(w.Write(c))
	}
	check(w.Write(f.io))
	check(w.Write(f.opening))
	check(w.Close())
	_, err = verifier.Verify(key, &buf)
	return err
}

// TestTamperedHeader changes every number of a header: what is left well formed
// is bound by the transcript.
func TestTamperedHeader(t *testing.T) { eachSuite(t, tamperedHeader) }

func tamperedHeader(t *testing.T, suite hash.Suite) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(15, 16))
	b := everything(rng)
	b.g.Finish(100)
	sec := proof.DefaultSecurity
	sec.Mode, sec.Hash = proof.Johnson, suite
	p := b.prove(t, rng, sec)
	honest := p.split(t)
	for range 2000 {
		f := honest
		f.header.Sizes, f.header.Levels = slices.Clone(f.header.Sizes), slices.Clone(f.header.Levels)
		list := fields(reflect.ValueOf(&f.header), "header")
		field := list[rng.IntN(len(list))]
		if strings.HasPrefix(field.path, "header.Key") {
			continue // verify puts the right one in its place
		}
		mutate(field.value, rng)
		if cmp.Equal(f.header, honest.header, cmpopts.EquateEmpty()) || field.value.CanInt() && field.value.Int() >= 1<<32 {
			continue // nothing has changed, or the format cuts it off
		}
		err := f.verify(t, p.key)
		if err == nil || strings.Contains(err.Error(), "the verifier failed") {
			t.Errorf("%s: %v", field.path, err)
		}
	}
}

// TestReplayedFrames puts frames of one proof into another of the same key,
// and frames of a proof into each other's places.
func TestReplayedFrames(t *testing.T) { eachSuite(t, replayedFrames) }

func replayedFrames(t *testing.T, suite hash.Suite) {
	t.Parallel()
	b := everything(rand.New(rand.NewPCG(5, 6)))
	b.g.Finish(100)
	sec := proof.Security{TargetBits: 60, GrindBits: 4, Hash: suite}
	p := b.prove(t, rand.New(rand.NewPCG(1, 0)), sec)
	q := b.prove(t, rand.New(rand.NewPCG(2, 0)), sec)
	if err := p.split(t).verify(t, p.key); err != nil {
		t.Fatalf("put together again: %v", err)
	}
	other := q.split(t)
	cases := map[string]func(f *frames){
		"commitments":     func(f *frames) { f.commitments = other.commitments },
		"chunk 0":         func(f *frames) { f.chunks[0] = other.chunks[0] },
		"the last chunk":  func(f *frames) { f.chunks[len(f.chunks)-1] = other.chunks[len(f.chunks)-1] },
		"chunks swapped":  func(f *frames) { f.chunks[0], f.chunks[1] = f.chunks[1], f.chunks[0] },
		"chunk 0 twice":   func(f *frames) { f.chunks[1] = f.chunks[0] },
		"io":              func(f *frames) { f.io = other.io },
		"opening":         func(f *frames) { f.opening = other.opening },
		"inputs":          func(f *frames) { f.in = other.in },
		"outputs":         func(f *frames) { f.out = other.out },
		"inputs, outputs": func(f *frames) { f.in, f.out = other.in, other.out },
		"all but inputs": func(f *frames) {
			in := f.in
			*f = other
			f.in = in
		},
		"one output":  func(f *frames) { f.out[0][3]++ },
		"one input":   func(f *frames) { f.in[0][89]-- },
		"a padded io": func(f *frames) { f.io = append(f.io, 0, 0, 0, 0) },
	}
	for name, change := range cases {
		f := p.split(t)
		change(&f)
		if f.verify(t, p.key) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestAnotherModel: a proof does not verify under the key of a model that
// differs in one weight, one constant, its security, or its hash suite.
func TestAnotherModel(t *testing.T) {
	sec := proof.Security{TargetBits: 60, GrindBits: 4, Hash: hash.Poseidon2}
	make := func(change func(b *builder), sec proof.Security) proved {
		b := small(rand.New(rand.NewPCG(9, 9)))
		change(b)
		b.g.Finish(0)
		return b.prove(t, rand.New(rand.NewPCG(8, 8)), sec)
	}
	p := make(func(*builder) {}, sec)
	others := []proved{
		make(func(b *builder) { b.edit(1)[0]++ }, sec),
		make(func(b *builder) { b.g.Steps[0].Acc.Const++ }, sec),
		make(func(b *builder) {}, proof.Security{TargetBits: 61, GrindBits: 4, Hash: hash.Poseidon2}),
		make(func(b *builder) {}, proof.Security{TargetBits: 60, GrindBits: 4}),
	}
	for i, o := range others {
		if _, err := verifier.Verify(o.key, bytes.NewReader(p.proof)); err == nil {
			t.Errorf("accepted for model %d", i)
		}
		// With the digest in the header changed to fit.
		if p.split(t).verify(t, o.key) == nil {
			t.Errorf("accepted for model %d with its digest", i)
		}
	}
}

// TestSameBytes: the proof does not depend on the number of threads.
func TestSameBytes(t *testing.T) { eachSuite(t, sameBytes) }

func sameBytes(t *testing.T, suite hash.Suite) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want []byte
	for _, procs := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(procs)
		b := everything(rand.New(rand.NewPCG(4, 2)))
		b.g.Finish(100)
		got := b.prove(t, rand.New(rand.NewPCG(3, 3)), proof.Security{TargetBits: 80, GrindBits: 8, Hash: suite}).proof
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d threads: another proof", procs)
		}
	}
}

// TestProveRefusesBadWitness: a witness that does not satisfy the model is an
// error of the prover, not a proof.
func TestProveRefusesBadWitness(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	b := everything(rng)
	b.g.Finish(0)
	wit := b.run(t, rng)
	wit.Values[b.find("conv")][0]++
	key, tree, err := Commit(context.Background(), b.g.Template(), b.w, proof.Security{TargetBits: 40, GrindBits: 4}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if _, err := Prove(context.Background(), key, b.g.Instance, tree, wit, &buf, Options{}); err == nil {
		if _, err := verifier.Verify(key, &buf); err == nil {
			t.Error("a false witness was proved")
		}
	}
}

// TestInterrupted: an ended context stops the prover.
func TestInterrupted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	b := small(rng)
	b.g.Finish(0)
	var wit *forward.Witness = b.run(t, rng)
	key, tree, err := Commit(context.Background(), b.g.Template(), b.w, proof.Security{TargetBits: 40, GrindBits: 4}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Prove(ctx, key, b.g.Instance, tree, wit, &bytes.Buffer{}, Options{}); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}
