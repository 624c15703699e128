package provemodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
)

// TestAdaptersQuantised holds adapters against PEFT: those of testdata, or of PROVE_MODEL_ADAPTERS, to models of PROVE_MODEL_HF.
func TestAdaptersQuantised(t *testing.T) {
	adapters, models := "hf/families/testdata/adapters", "hf/testdata"
	if dir := os.Getenv("PROVE_MODEL_ADAPTERS"); dir != "" {
		adapters, models = dir, os.Getenv("PROVE_MODEL_HF")
	}
	paths, err := filepath.Glob(filepath.Join(adapters, "*", "expected.json"))
	if err != nil || len(paths) == 0 {
		t.Fatal(adapters, err)
	}
	for i, path := range paths {
		if !*full && os.Getenv("PROVE_MODEL_ADAPTERS") == "" && i%2 != 0 {
			continue
		}
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) { quantisedAdapter(t, filepath.Join(models, filepath.Base(dir)), dir) })
	}
}

func quantisedAdapter(t *testing.T, path, dir string) {
	var want struct {
		IDs    []float64 `json:"input_ids"`
		Prompt []int     `json:"prompt"`
		Tokens []int     `json:"tokens"`
	}
	for _, name := range []string{"expected.json", "greedy.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = json.Unmarshal(data, &want)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	output := readFloats(t, filepath.Join(dir, "expected.npy"))
	m, err := Open(path, &OpenOptions{Adapter: dir, Tokens: len(want.IDs)})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in := Input{want.IDs}
	c, err := Quantise(t.Context(), m, others(m, in, len(want.IDs)), quantiseWith(withSecurityBits(60)))
	if err != nil {
		t.Fatal(err)
	}
	run, err := c.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	got := run.Outputs[0].Values
	span, worst := slices.Max(output)-slices.Min(output), 0.0
	for i := range output {
		worst = math.Max(worst, math.Abs(got[i]-output[i]))
	}
	if len(got) != len(output) || worst > 0.003*span {
		t.Errorf("%d values off by %.3g %% of the range of %d", len(got), 100*worst/span, len(output))
	}
	base, own := c.base.quantised, c.quantised
	apart := 0
	for _, id := range own.Circuit.Graph.FixedIDs() {
		if !slices.Contains(own.Circuit.Graph.Base, id) {
			apart += own.Weights[id].Len()
		}
	}
	t.Logf("off by %.3f %% of the range; %d fixed tensors of the base, %d of all, %d values of the adapter's; %d look-ups for %d", 100*worst/span,
		len(own.Circuit.Graph.Base), len(own.Circuit.Graph.FixedIDs()), apart, lookUps(c), lookUps(c.base))
	if !slices.EqualFunc(own.Circuit.Graph.Base, base.Circuit.Graph.FixedIDs(), func(a, b model.TensorID) bool { return own.Weights[a].Len() == base.Weights[b].Len() }) {
		t.Error("the base's tensors are not those of its circuit")
	}
	if filepath.Base(dir) == "llama" && os.Getenv("PROVE_MODEL_ADAPTERS") == "" {
		return // writing takes as long again, and gpt2 is held against it
	}
	n := len(want.Tokens)
	w, err := Open(path, &OpenOptions{Adapter: dir, Tokens: len(want.Prompt) + n, MaxTokens: n})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.language.Ends = nil // so that all tokens are written
	if float := floatGreedy(t, w, want.Prompt, n); !slices.Equal(float, want.Tokens) {
		t.Fatalf("the float model writes %v, not %v", float, want.Tokens)
	}
	rng := rand.New(rand.NewPCG(3, 7))
	var samples []Input
	for range 4 {
		text := make([]int, len(want.Prompt)+n)
		for i := range text {
			text[i] = rng.IntN(m.Graph().Rows(m.Graph().Inputs[0].Name))
		}
		sample, err := w.TextInput(text[:len(want.Prompt)], text[len(want.Prompt):])
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, sample)
	}
	if c, err = Quantise(t.Context(), w, samples, quantiseWith(withSecurityBits(60))); err != nil {
		t.Fatal(err)
	}
	wrote, _, err := c.Generate(t.Context(), want.Prompt, nil)
	if err != nil || !slices.Equal(wrote.Tokens, want.Tokens) {
		t.Errorf("it writes %v, not %v: %v", wrote, want.Tokens, err)
	}
}

func lookUps(c *Circuit) int {
	n := 0
	for _, of := range c.Graph().LookedUp() {
		n += of
	}
	return n
}

// adapted quantises and commits to a model of testdata with its adapter, scaled, or without one.
func adapted(t *testing.T, adapter string, base *Key, cache string) *Committed {
	t.Helper()
	m, err := Open("hf/testdata/gpt2", &OpenOptions{Adapter: adapter, Tokens: 6})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	opts := quantiseWith(withSecurityBits(40), withCache(cache))
	opts.BaseKey = base
	c, err := Quantise(t.Context(), m, []Input{{{5, 40, 2, 2, 17, 30}}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	made, err := Commit(t.Context(), c, commitWith(withSecurityBits(40), withCache(cache)))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// otherAdapter is the adapter of gpt2 with another scale.
func otherAdapter(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("hf/families/testdata/adapters/gpt2")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "adapter_config.json")
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.Replace(data, []byte(`"lora_alpha": 5`), []byte(`"lora_alpha": 3`), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Keys of all adapters have the root of the base's own key, whose commitment is made once.
func TestAdapterKeys(t *testing.T) {
	cache := t.TempDir()
	base := adapted(t, "", nil, cache)
	a, b := adapted(t, "hf/families/testdata/adapters/gpt2", nil, cache), adapted(t, otherAdapter(t), base.Key(), cache)
	root := base.Key().Roots()[0]
	for _, c := range []*Committed{a, b} {
		if roots := c.Key().Roots(); len(roots) != 2 || roots[0] != root || roots[1] == root {
			t.Fatalf("roots %v, of the base %v", roots, root)
		}
	}
	if a.Key().Roots()[1] == b.Key().Roots()[1] {
		t.Error("two adapters have one root")
	}
	for range 2 { // as it was made, and from the cache
		again := adapted(t, "hf/families/testdata/adapters/gpt2", base.Key(), cache)
		if again.Commitment() != a.Commitment() {
			t.Error("with the base's key: another key")
		}
	}
	if again := adapted(t, "hf/families/testdata/adapters/gpt2", nil, cache); !again.Cached() || again.trees[0].Root() != base.trees[0].Root() {
		t.Error("the commitment is not taken from the cache")
	}
	made, err := Prove(t.Context(), a, Input{{5, 40, 2, 2, 17, 30}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(opts VerifyOptions) error {
		opts.MinBits = 1
		s, err := VerifyFiles(bytes.NewReader(a.KeyFile()), bytes.NewReader(made.File), &opts)
		if err == nil && (s.Base == nil || *s.Base != root || *s.Adapter != a.Key().Roots()[1]) {
			t.Errorf("it states the roots %v and %v", s.Base, s.Adapter)
		}
		return err
	}
	other := adapted(t, "", nil, "")
	other.key.Trees[0].Root[0] ^= 1
	wrong := root
	wrong[0] ^= 1
	for name, c := range map[string]struct {
		opts  VerifyOptions
		holds bool
	}{
		"any base":              {VerifyOptions{}, true},
		"the base's root":       {VerifyOptions{ExpectBase: (*Commitment)(&root)}, true},
		"the base's key":        {VerifyOptions{ExpectBaseKey: base.Key()}, true},
		"another root":          {VerifyOptions{ExpectBase: (*Commitment)(&wrong)}, false},
		"a key of another root": {VerifyOptions{ExpectBaseKey: other.Key()}, false},
		"the adapter's own key": {VerifyOptions{ExpectBaseKey: a.Key()}, false},
	} {
		if err := verify(c.opts); (err == nil) != c.holds || err != nil && !errors.Is(err, errOtherBase) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := verify(VerifyOptions{ExpectBaseKey: renamed(t, base.Key())}); !errors.Is(err, errOtherBase) {
		t.Errorf("a base whose tensors are others: %v", err)
	}
	if _, err := VerifyFiles(bytes.NewReader(b.KeyFile()), bytes.NewReader(made.File), &VerifyOptions{MinBits: 1}); !errors.Is(err, ErrInvalid) {
		t.Errorf("under another adapter's key: %v", err)
	}
	check := &CheckKeyOptions{Adapter: "hf/families/testdata/adapters/gpt2", BaseKey: base.Key()}
	if err := CheckKey(t.Context(), "hf/testdata/gpt2", a.Key(), check); err != nil {
		t.Error(err)
	}
	if err := CheckKey(t.Context(), "hf/testdata/gpt2", b.Key(), check); !errors.Is(err, ErrOtherModel) {
		t.Errorf("the key of another adapter: %v", err)
	}
}

// renamed is a key that calls its fixed tensors by other names.
func renamed(t *testing.T, k *Key) *Key {
	t.Helper()
	read, err := proof.DecodeKey(k.Encoded())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range read.Circuit.Graph.FixedIDs() {
		read.Circuit.Graph.Tensors[id].Name += "'"
	}
	return read
}

func TestAdapterRefused(t *testing.T) {
	dir := "hf/families/testdata/adapters/gpt2"
	for path, want := range map[string]string{
		"testdata/digits/digits.onnx":       "an ONNX file takes no adapter",
		"hf/testdata/llama-gguf/model.gguf": "a GGUF file takes no adapter",
		"hf/testdata/bert":                  "adapters are understood of language models that write",
	} {
		if _, err := Open(path, &OpenOptions{Adapter: dir, Tokens: 4}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	m, err := Open("hf/testdata/gpt2", &OpenOptions{Adapter: dir, Tokens: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := Quantise(t.Context(), m, []Input{{{1, 2, 3, 4}}}, &QuantiseOptions{Hide: true}); err == nil || !strings.Contains(err.Error(), "keys hide one") {
		t.Errorf("with hidden weights: %v", err)
	}
	alone, err := Open("hf/testdata/gpt2", &OpenOptions{Tokens: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	if _, err := Quantise(t.Context(), alone, []Input{{{1, 2, 3, 4}}}, &QuantiseOptions{BaseKey: &Key{}}); err == nil || !strings.Contains(err.Error(), "no adapter") {
		t.Errorf("the key of a base without an adapter: %v", err)
	}
}
