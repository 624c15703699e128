package provemodel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/statement"
)

const digits = "testdata/digits/"

// open opens the bundled model, with the bundled input and calibration samples.
func open(t testing.TB) (m *Model, in Input, samples []Input) {
	t.Helper()
	m, err := Open(digits+"digits.onnx", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, read(t, m, "input.json")[0], read(t, m, "calibration.json")
}

func read(t testing.TB, m *Model, name string) []Input {
	t.Helper()
	arrays, err := ReadArrays(digits + name)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := m.Samples(arrays)
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

// quick are settings whose proofs are small.
var quick = []with{withSecurityBits(60), withGrindBits(8), withMode("w8a8")}

// commit quantises and commits to the bundled model.
func commit(t testing.TB, opts ...with) (c *Committed, in Input) {
	t.Helper()
	m, in, samples := open(t)
	circuit, err := Quantise(t.Context(), m, samples, quantiseWith(opts...))
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Commit(t.Context(), circuit, commitWith(opts...)); err != nil {
		t.Fatal(err)
	}
	return c, in
}

// prove proves the bundled input.
func prove(t testing.TB, opts ...with) (*Committed, *Proof) {
	t.Helper()
	c, in := commit(t, opts...)
	p, err := Prove(t.Context(), c, in, proveWith(opts...))
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

// A proof of a real model with any byte changed does not verify, nor does one
// with a changed key.
func TestEveryByteCounts(t *testing.T) {
	flips := 200
	if *full {
		flips = 1000
	}
	c, p := prove(t)
	verify := func(vk, file []byte) error {
		key, err := ReadKey(bytes.NewReader(vk))
		if err == nil {
			_, err = Verify(key, bytes.NewReader(file), nil)
		}
		return err
	}
	if err := verify(c.KeyFile(), p.File); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	flip := func(b []byte) ([]byte, int) {
		b = bytes.Clone(b)
		at := rng.IntN(len(b))
		b[at] ^= 1 << rng.IntN(8)
		return b, at
	}
	for range flips {
		bad, at := flip(p.File)
		if err := verify(c.KeyFile(), bad); !errors.Is(err, ErrInvalid) {
			t.Fatalf("byte %d of the proof changed: %v", at, err)
		}
		if bad, at = flip(c.KeyFile()); !errors.Is(verify(bad, p.File), ErrInvalid) {
			t.Fatalf("byte %d of the key changed: accepted", at)
		}
	}
}

// Errors of the reader are not taken for those of a proof.
func TestReadErrors(t *testing.T) {
	c, _ := commit(t, quick...)
	failure := errors.New("no cable")
	if _, err := Verify(c.Key(), failing{failure}, nil); !errors.Is(err, failure) || errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := ReadKey(failing{failure}); !errors.Is(err, failure) || errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestOtherInput(t *testing.T) {
	c, p := prove(t)
	arrays, err := ReadArrays(digits + "input.json")
	if err != nil {
		t.Fatal(err)
	}
	verify := func() error {
		_, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{Input: arrays})
		return err
	}
	if err := verify(); err != nil {
		t.Fatal(err)
	}
	// The least change that survives rounding, 2^-10 for this model.
	for i := range arrays[0].Values {
		old := arrays[0].Values[i]
		arrays[0].Values[i] += 1.0 / 1024
		if err := verify(); !errors.Is(err, ErrInvalid) || !errors.Is(err, ErrOtherInput) {
			t.Fatalf("with pixel %d changed: %v", i, err)
		}
		arrays[0].Values[i] = old
	}
}

// FirstValues leaves out values of what is stated, and verifies the same.
func TestFirstValues(t *testing.T) {
	c, p := prove(t)
	all, err := Verify(c.Key(), bytes.NewReader(p.File), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 3, 1000} {
		few, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{FirstValues: n})
		if err != nil {
			t.Fatal(err)
		}
		want := all.Outputs[0].Values
		if got := few.Outputs[0]; !slices.Equal(got.Values, want[:min(n, len(want))]) || !slices.Equal(got.Shape, all.Outputs[0].Shape) {
			t.Errorf("of %d values the first %d are %v", len(want), n, got.Values)
		}
		if !slices.Equal(few.Inputs[0].Values, all.Inputs[0].Values) {
			t.Error("another input")
		}
	}
}

// What an input beyond the range is clamped to has the same proof; both sides
// say that it was clamped.
func TestClamped(t *testing.T) {
	c, in := commit(t)
	in[0][3] = 1e9
	p, err := Prove(t.Context(), c, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Saturated) == 0 || p.Saturated[0] != (statement.Saturation{Where: "the input", Count: 1, Of: 64, Share: 1.0 / 64}) {
		t.Errorf("%+v", p.Saturated)
	}
	s, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{Input: Arrays{{Values: in[0]}}})
	if err != nil || s.Clamped != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Without further options a key with less than 100 bits is not accepted, and the
// error says what it gives.
func TestMinBits(t *testing.T) {
	c, p := prove(t, quick...)
	verify := func(bits int) error {
		_, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: bits})
		return err
	}
	var weak *WeakError
	if err := verify(0); !errors.Is(err, ErrInvalid) || !errors.As(err, &weak) {
		t.Fatal(err)
	}
	if weak.MinBits != 100 || weak.Accepts() != 60 || weak.Strength.Work().Whole() != 8 {
		t.Errorf("%+v", weak)
	}
	if err := verify(weak.Accepts()); err != nil {
		t.Error(err)
	}
	if err := verify(weak.Accepts() + 1); !errors.As(err, &weak) {
		t.Error(err)
	}
	// A proof that does not hold is not made to hold by asking for less.
	p.File[len(p.File)/2] ^= 1
	if err := verify(1); !errors.Is(err, ErrInvalid) || errors.As(err, new(*WeakError)) {
		t.Error(err)
	}
}

// What no proof could be held against is an error of the caller, not of the proof.
func TestVerifyOptionsAreChecked(t *testing.T) {
	c, p := prove(t, quick...)
	for name, opts := range map[string]*VerifyOptions{
		"bits": {MinBits: -1}, "values": {MinBits: 1, FirstValues: -1}, "drawing": {MinBits: 1, Sampling: &Sampling{}},
	} {
		if _, err := Verify(c.Key(), bytes.NewReader(p.File), opts); err == nil || errors.Is(err, ErrInvalid) {
			t.Errorf("%s: Verify: %v", name, err)
		}
		if _, err := VerifyFiles(bytes.NewReader(c.KeyFile()), bytes.NewReader(p.File), opts); err == nil || errors.Is(err, ErrInvalid) {
			t.Errorf("%s: VerifyFiles: %v", name, err)
		}
	}
}

func TestExpectCommitment(t *testing.T) {
	c, p := prove(t, quick...)
	again, err := ParseCommitment(c.Commitment().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 1, ExpectCommitment: &again}); err != nil {
		t.Error(err)
	}
	for i := range again {
		again[i] ^= 0x40
		if _, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 1, ExpectCommitment: &again}); !errors.Is(err, ErrInvalid) || !errors.Is(err, ErrOtherModel) {
			t.Errorf("byte %d: %v", i, err)
		}
		again[i] ^= 0x40
	}
	for _, s := range []string{"", "00", again.String()[:62], again.String() + "00", "g" + again.String()[1:], again.String()[:63]} {
		if _, err := ParseCommitment(s); err == nil {
			t.Errorf("%q: accepted", s)
		}
	}
}

// recorder notes what an observer is told, and may do something at a phase.
type recorder struct {
	mu     sync.Mutex
	log    []string
	at     Phase
	do     func()
	inside bool
	t      testing.TB
}

func (r *recorder) enter() func() {
	if !r.mu.TryLock() {
		r.t.Error("an observer is called twice at once")
		r.mu.Lock()
	}
	return r.mu.Unlock
}

func (r *recorder) Begin(p Phase) {
	defer r.enter()()
	if r.inside {
		r.t.Errorf("%s begins inside of a phase", p)
	}
	r.inside = true
	r.log = append(r.log, string(p))
	if p == r.at {
		r.do()
	}
}

func (r *recorder) Progress(done, total int) {
	defer r.enter()()
	if !r.inside || done < 0 || done > total {
		r.t.Errorf("progress of %d in %d, in a phase: %t", done, total, r.inside)
	}
}

func (r *recorder) End(err error) {
	defer r.enter()()
	if !r.inside {
		r.t.Error("a phase ends twice")
	}
	r.inside = false
	if err != nil {
		r.log = append(r.log, "failed")
	}
}

func (r *recorder) Warn(message string) {
	defer r.enter()()
	r.log = append(r.log, "warning: "+message)
}

// The phases that package prover names.
const (
	phaseCommitWitness = Phase(prover.PhaseCommit)
	phaseProve         = Phase(prover.PhaseChunks)
	phaseOpen          = Phase(prover.PhaseOpen)
)

// all are the phases without a device, in order.
var all = []Phase{phaseHash, phaseCalibrate, phaseQuantise, phaseCommitModel, phaseRun, phaseCommitWitness, phaseProve, phaseOpen, phaseCheck}

func TestObserver(t *testing.T) {
	r := &recorder{t: t}
	prove(t, append(quick, withObserve(r))...)
	var want []string
	for _, p := range all {
		want = append(want, string(p))
	}
	if !slices.Equal(r.log, want) || r.inside {
		t.Errorf("%q", r.log)
	}
}

// Interrupted in any phase, a function returns the context's error at once, and
// tells the observer nothing any more; the model can be closed.
func TestInterrupted(t *testing.T) {
	for _, phase := range all {
		t.Run(string(phase), func(t *testing.T) {
			m, in, samples := open(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := &recorder{t: t, at: phase, do: cancel}
			opts := append(quick, withObserve(r))
			err := func() error {
				circuit, err := Quantise(ctx, m, samples, quantiseWith(opts...))
				if err != nil {
					return err
				}
				c, err := Commit(ctx, circuit, commitWith(opts...))
				if err != nil {
					return err
				}
				_, err = Prove(ctx, c, in, proveWith(opts...))
				return err
			}()
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			r.mu.Lock()
			if n := len(r.log); n < 2 || r.log[n-2] != string(phase) || r.log[n-1] != "failed" {
				t.Errorf("%q", r.log)
			}
			r.mu.Unlock()
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Close waits for work that nobody waits for: it may still read mapped files.
func TestCloseDuringWork(t *testing.T) {
	m, _, _ := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	began, goOn, ended := make(chan bool), make(chan bool), make(chan bool)
	go m.while(ctx, func() error {
		began <- true
		<-goOn
		if len(m.files()) != 1 {
			t.Error("the files are closed")
		}
		close(ended)
		return nil
	})
	<-began
	cancel()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	<-ended
	if _, err := m.Run(t.Context(), Input{make([]float64, 64)}); err == nil {
		t.Error("runs a closed model")
	}
}

// A damaged cache entry is as good as none.
func TestDamagedCache(t *testing.T) {
	dir := t.TempDir()
	opts := append(quick, withCache(dir))
	first, _ := commit(t, opts...)
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 3 || first.Cached() || first.Circuit().Report().Cached {
		t.Fatalf("cache %v, %v", list, err)
	}
	again, _ := commit(t, opts...)
	if !again.Cached() || !again.Circuit().Report().Cached || again.Commitment() != first.Commitment() {
		t.Fatal("no use of the cache")
	}
	for _, f := range list {
		path := filepath.Join(dir, f.Name())
		entry, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		entry[len(entry)/2] ^= 1
		if err := os.WriteFile(path, entry, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &recorder{t: t}
	third, _ := commit(t, append(opts, withObserve(r))...)
	if third.Cached() || third.Circuit().Report().Cached || third.Commitment() != first.Commitment() {
		t.Error("use of a damaged cache")
	}
	warnings := 0
	for _, s := range r.log {
		if len(s) > 8 && s[:8] == "warning:" {
			warnings++
		}
	}
	if warnings != 2 {
		t.Errorf("%q", r.log)
	}
}

// What a key depends on is what the cache goes by.
func TestCacheKeepsApart(t *testing.T) {
	dir := t.TempDir()
	base, _ := commit(t, append(quick, withCache(dir))...)
	for name, opts := range map[string][]with{
		"mode":      {withMode("auto")},
		"headroom":  {withHeadroom(3)},
		"bits":      {withSecurityBits(61)},
		"grinding":  {withGrindBits(7)},
		"soundness": {withSoundness("johnson")},
		"hash":      {withHash("poseidon2")},
	} {
		c, _ := commit(t, slices.Concat(quick, []with{withCache(dir)}, opts)...)
		if c.Cached() || c.Commitment() == base.Commitment() {
			t.Errorf("%s: from the cache %t, commitment %v", name, c.Cached(), c.Commitment())
		}
	}
	m, in, samples := open(t)
	quantise := func(samples []Input, opts ...with) *Circuit {
		c, err := Quantise(t.Context(), m, samples, quantiseWith(append(opts, withCache(dir))...))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if quantise(samples[1:]).Report().Cached {
		t.Error("ranges of other samples")
	}
	// With KeepRanges the first ones are kept.
	if quantise([]Input{in}, withKeepRanges()).Report().Cached {
		t.Error("ranges of given samples are kept for any")
	}
	if !quantise(samples[:1], withKeepRanges()).Report().Cached {
		t.Error("ranges are not kept")
	}
}

func TestNoCacheFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t}
	commit(t, append(quick, withCache(file), withObserve(r))...)
	if len(r.log) == 0 || !slices.ContainsFunc(r.log, func(s string) bool { return len(s) > 18 && s[:18] == "warning: no cache:" }) {
		t.Errorf("%q", r.log)
	}
}

func TestSamples(t *testing.T) {
	m := NewModel(&graph.Graph{Inputs: []graph.Input{
		{Name: "a", Shape: []int{1, 2}, DType: graph.Float}, {Name: "b", Shape: []int{3}, DType: graph.Float},
	}})
	a, b := []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8, 9, 10}
	for name, in := range map[string]Arrays{
		"by position":  {{Values: a}, {Values: b}},
		"by name":      {{Name: "b", Values: b}, {Name: "a", Values: a}},
		"one by name":  {{Name: "b", Values: b}, {Values: a}},
		"with a batch": {{Values: a, Shape: []int{2, 2}}, {Values: b, Shape: []int{6}}},
		"stacked":      {{Values: a, Shape: []int{2, 1, 2}}, {Values: b, Shape: []int{2, 3}}},
	} {
		samples, err := m.Samples(in)
		if err != nil || len(samples) != 2 || samples[1][0][0] != 3 || samples[1][1][2] != 10 {
			t.Errorf("%s: %v, %v", name, samples, err)
		}
	}
	if _, err := m.Samples(Arrays{{Values: []float64{}}, {Values: b}}); err == nil || !strings.Contains(err.Error(), "array 0 is empty") {
		t.Errorf("an empty array: %v", err)
	}
	for name, in := range map[string]Arrays{
		"too few arrays":    {{Values: a}},
		"not a multiple":    {{Values: a[:3]}, {Values: b}},
		"different numbers": {{Values: a}, {Values: b[:3]}},
		"an empty array":    {{Values: nil}, {Values: b}},
		"a misspelt name":   {{Name: "A", Values: a}, {Name: "b", Values: b}},
		"a name twice":      {{Name: "a", Values: a}, {Name: "a", Values: b}},
		"transposed":        {{Values: a, Shape: []int{1, 4}}, {Values: b}},
		"other axes":        {{Values: a, Shape: []int{2, 2}}, {Values: b, Shape: []int{3, 2}}},
	} {
		if _, err := m.Samples(in); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := Quantise(t.Context(), m, nil, nil); err == nil {
		t.Error("quantised without samples")
	}
}

func TestCompare(t *testing.T) {
	one := func(x ...float64) Tensor { return Tensor{Name: "y", Values: x} }
	a, err := Compare(one(1), one(0))
	if err != nil || a.MaxError != 1 || a.RangeError != math.MaxFloat64 {
		t.Errorf("%+v, %v", a, err)
	}
	for name, float := range map[string]Tensor{"not a number": one(math.NaN()), "infinite": one(math.Inf(1)), "another length": one(1, 2)} {
		if _, err := Compare(one(1), float); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A budget changes no byte; one that is too small is warned about.
func TestBudget(t *testing.T) {
	c, p := prove(t, quick...)
	for _, bytes := range []int64{0, 1 << 20, 1 << 40} {
		r := &recorder{t: t}
		other, q := prove(t, slices.Concat(quick, []with{withBudget(bytes), withObserve(r)})...)
		if c.Commitment() != other.Commitment() || !slices.Equal(p.File, q.File) {
			t.Errorf("%d bytes: another key or proof", bytes)
		}
		warned := slices.ContainsFunc(r.log, func(s string) bool { return strings.Contains(s, " GB, and the budget is ") })
		if warned != (bytes == 1<<20) {
			t.Errorf("%d bytes: warned %t", bytes, warned)
		}
	}
}

// One key serves batches of every size, with the numbers that their elements have
// alone, and does not depend on the batch that the model was opened or calibrated
// with.
func TestBatches(t *testing.T) {
	arrays, err := ReadArrays(digits + "test.json")
	if err != nil {
		t.Fatal(err)
	}
	all := arrays[0].Values
	c, _ := commit(t, quick...)
	if free := c.Circuit().Free(); len(free) != 1 || free[0].Name != "batch" || free[0].Bound < 1<<12 {
		t.Fatalf("free dimensions %+v", free)
	}
	key, err := ReadKey(bytes.NewReader(c.KeyFile()))
	if err != nil {
		t.Fatal(err)
	}
	whole := Input{all}
	float, err := c.Circuit().Run(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	sizes := []int{1, 7, 60}
	if *full {
		sizes[2] = 540
	}
	for _, n := range sizes {
		in := Input{all[:64*n]}
		p, err := Prove(t.Context(), c, in, proveWith(quick...))
		if err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		s, err := Verify(key, bytes.NewReader(p.File), &VerifyOptions{MinBits: 60, Input: Arrays{{Values: in[0]}}})
		if err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		if out := s.Outputs[0]; !slices.Equal(out.Shape, []int{n, 10}) || !slices.Equal(out.Values, float.Outputs[0].Values[:10*n]) {
			t.Errorf("%d: output %v, other values than in the whole batch", n, out.Shape)
		}
		if _, err := Verify(key, bytes.NewReader(p.File), &VerifyOptions{MinBits: 60, Input: Arrays{{Values: all[:64*(n%540+1)]}}}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%d: another batch: %v", n, err)
		}
		t.Logf("%d digits: %d bytes", n, len(p.File))
	}
	for _, in := range []Input{{all[:63]}, {all[:65]}, {nil}, {}, {all, all}, {make([]float64, 64*(1<<16+1))}} {
		if _, err := c.Circuit().Run(t.Context(), in); err == nil {
			t.Errorf("an input of %d arrays: accepted", len(in))
		}
	}
	// The model opened for a batch, and calibrated with batches.
	m, err := Open(digits+"digits.onnx", &OpenOptions{Dims: map[string]int{"batch": 7}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	samples := read(t, m, "calibration.json")
	var precise Ranges
	for name, samples := range map[string][]Input{"one by one": samples, "in batches": {{slices.Concat(joined(samples[:40])...)}, {slices.Concat(joined(samples[40:])...)}}} {
		circuit, err := Quantise(t.Context(), m, samples, quantiseWith(quick...))
		if err != nil {
			t.Fatal(err)
		}
		other, err := Commit(t.Context(), circuit, commitWith(quick...))
		if err != nil {
			t.Fatal(err)
		}
		if other.Commitment() != c.Commitment() {
			t.Errorf("calibrated %s: another key", name)
		}
		// Formats are chosen for the same elements.
		if circuit, err = Quantise(t.Context(), m, samples, quantiseWith(withTargetError(1e-4))); err != nil {
			t.Fatal(err)
		}
		if ranges := circuit.Ranges(); precise == nil {
			precise = ranges
		} else if !slices.Equal(ranges, precise) {
			t.Errorf("calibrated %s: other formats", name)
		}
	}
	if !slices.ContainsFunc(precise, func(r ValueRange) bool { return r.Format != 0 }) {
		t.Error("no formats were chosen")
	}
	out, err := m.Run(t.Context(), whole)
	if err != nil || !slices.Equal(out[0].Shape, []int{540, 10}) {
		t.Errorf("float model: %v, %v", out, err)
	}
}

// joined are the values of the samples' first inputs.
func joined(samples []Input) (values [][]float64) {
	for _, s := range samples {
		values = append(values, s[0])
	}
	return values
}

// A model that looks at its whole batch has a circuit for one size, calibrated with
// samples of that size.
func TestOneBatch(t *testing.T) {
	build := func(n int) *graph.Graph {
		b := graph.NewBuilder("mean")
		x := b.Input("x", graph.Float, []int{n, 3}, "batch", "")
		b.Output("y", b.Apply(graph.Sigmoid, b.Reduce(graph.Mean, x, []int{0}, true)))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := build(4)
	g.Rebind = func(sizes map[string]int) (*graph.Graph, error) { return build(sizes["batch"]), nil }
	m := NewModel(g)
	r := &recorder{t: t}
	samples := []Input{{{1, 2, 3}}, {{-1, 0, 1}}}
	c, err := Quantise(t.Context(), m, samples, quantiseWith(withObserve(r)))
	if err != nil {
		t.Fatal(err)
	}
	if c.Report().OneBatch == nil || len(c.Free()) != 0 || !slices.ContainsFunc(r.log, func(s string) bool { return strings.Contains(s, "batches of 4 alone") }) {
		t.Errorf("%v, %q", c.Report().OneBatch, r.log)
	}
	if _, err := c.Run(t.Context(), Input{make([]float64, 12)}); err != nil {
		t.Error(err)
	}
	if _, err := c.Run(t.Context(), Input{make([]float64, 3)}); err == nil {
		t.Error("ran on a batch of one")
	}
}

// One commitment serves several goroutines at once.
func TestConcurrentProofs(t *testing.T) {
	c, in := commit(t, quick...)
	var wg sync.WaitGroup
	files := make([][]byte, 3)
	for i := range files {
		wg.Go(func() {
			p, err := Prove(t.Context(), c, in, proveWith(quick...))
			if err != nil {
				t.Error(err)
				return
			}
			files[i] = p.File
		})
	}
	wg.Wait()
	for i := range files {
		if !bytes.Equal(files[i], files[0]) {
			t.Errorf("proof %d has other bytes", i)
		}
	}
}

// A run that is too far from the float model is not proved, and the error has
// the reason; at the very error that it has it is.
func TestMaxError(t *testing.T) {
	c, in := commit(t)
	in[0][3] = 40 // calibrated to at most 1
	m, _, _ := open(t)
	float, err := m.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t}
	_, err = Prove(t.Context(), c, in, proveWith(withMaxError(0.001, float), withObserve(r)))
	var off *AccuracyError
	if !errors.As(err, &off) {
		t.Fatal(err)
	}
	if slices.ContainsFunc(r.log, func(s string) bool { return strings.Contains(s, string(phaseCommitWitness)) }) {
		t.Errorf("a proof was begun: %q", r.log)
	}
	run, err := c.Circuit().Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Compare(run.Outputs[0], float[0])
	if err != nil || off.Accuracy != want || off.Value != run.Outputs[0].Values[want.At] || off.Float != float[0].Values[want.At] {
		t.Errorf("%+v, want %+v, %v", off, want, err)
	}
	if math.Abs(off.Value-off.Float) != want.MaxError || off.Output != float[0].Name || off.Limit != 0.001 || !slices.Equal(off.Saturated, run.Saturated) {
		t.Errorf("%+v", off)
	}
	if s := off.Saturated[0]; s.Where != "the input" || s.Count != 1 || s.Of != 64 || s.Share != 1.0/64 || !strings.Contains(off.Error(), "1 of 64 values (1.56 %) at the input") {
		t.Errorf("%+v: %v", s, off)
	}
	if _, err := Prove(t.Context(), c, in, proveWith(withMaxError(want.RangeError, float))); err != nil {
		t.Error(err)
	}
	if _, err := Prove(t.Context(), c, in, proveWith(withMaxError(0.001, nil))); err == nil || errors.As(err, &off) {
		t.Error("the outputs of another model are taken:", err)
	}
}

func TestAccuracyErrorNamesTheWorst(t *testing.T) {
	e := &AccuracyError{Output: "y", Accuracy: Accuracy{RangeError: math.MaxFloat64}}
	if s := e.Error(); !strings.Contains(s, "more than 10^8 %") || !strings.HasSuffix(s, "no value was clipped") {
		t.Error(s)
	}
	for i := range 7 {
		e.Saturated = append(e.Saturated, statement.Saturation{Where: fmt.Sprint("node ", i), Count: i, Of: 10, Share: float64(i) / 10})
	}
	if s := e.Error(); !strings.HasSuffix(s, "6 of 10 values (60 %) at node 6, 5 of 10 values (50 %) at node 5, 4 of 10 values (40 %) at node 4, "+
		"3 of 10 values (30 %) at node 3, 2 of 10 values (20 %) at node 2, and 2 other places") {
		t.Error(s)
	}
}
