package provemodel

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/audio"
	"github.com/prove-model/prove-model/quantise"
)

// A model that was calibrated on other texts, or pictures, gives on the one that the
// reference was run on outputs within 0.5 % of their range of the reference's, and every
// largest entry that leads by more than 2 % of it. It writes the tokens of the reference, up to
// where two are closer than the error that is aimed at.
func TestFamiliesQuantised(t *testing.T) {
	paths, err := filepath.Glob("hf/testdata/*/expected.json")
	if err != nil || len(paths) < 25 {
		t.Fatal(len(paths), err)
	}
	all := os.Getenv("PROVE_MODEL_HF")
	if all != "" {
		if paths, err = filepath.Glob(filepath.Join(all, "*", "expected.json")); err != nil || len(paths) == 0 {
			t.Fatal(all, err)
		}
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		name := filepath.Base(dir)
		// The rest is for `PROVE_MODEL_HF=FOLDER go test -run FamiliesQuantised .`
		if all == "" && !slices.Contains([]string{"gpt2", "vit-classifier"}, name) || testing.Short() {
			continue
		}
		t.Run(name, func(t *testing.T) { quantisedFamily(t, dir) })
	}
}

func quantisedFamily(t *testing.T, dir string) {
	var want struct {
		IDs      []float64 `json:"input_ids"`
		Answer   []float64 `json:"decoder_input_ids"`
		Pixels   []float64 `json:"pixel_values"`
		Texts    int       `json:"texts"`
		Features []float64 `json:"input_features"`
		Audio    string    `json:"audio"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	output := readFloats(t, filepath.Join(dir, "expected.npy"))
	path := dir
	if file := filepath.Join(dir, "model.gguf"); exists(file) {
		path = file
	}
	tokens := len(want.IDs) / max(1, want.Texts)
	options := &OpenOptions{Tokens: tokens, MaxTokens: len(want.Answer)}
	if want.Features != nil {
		options = &OpenOptions{Tokens: len(want.Answer)}
	}
	var samples []float64
	if want.Audio != "" { // after the four tokens that the decoder begins with
		options = &OpenOptions{Tokens: 32, MaxTokens: len(want.Answer) - 3, Language: "en"}
		samples = floatsOf(audioOf(t, filepath.Join(dir, want.Audio)))
	}
	if want.Texts > 0 {
		options.Input = Arrays{{Name: "input_ids", Shape: []int{want.Texts, tokens}, Values: want.IDs}}
	}
	m, err := Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var in Input
	for _, values := range [][]float64{want.IDs, want.Answer, want.Pixels, want.Features, samples} {
		if values != nil {
			in = append(in, values)
		}
	}
	c, err := Quantise(t.Context(), m, others(m, in, tokens), quantiseWith(withSecurityBits(60)))
	if err != nil {
		t.Fatal(err)
	}
	run, err := c.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range run.Outputs {
		if len(got.Values) > len(output) {
			t.Fatalf("%d values of %s, and %d are left", len(got.Values), got.Name, len(output))
		}
		nearReference(t, got, output[:len(got.Values)], len(run.Saturated))
		output = output[len(got.Values):]
	}
	if len(output) > 0 {
		t.Fatalf("the reference has %d more values", len(output))
	}
	if want.Audio != "" {
		transcribesLikeReference(t, dir, m, c)
	} else if exists(filepath.Join(dir, "greedy.json")) {
		writesLikeReference(t, dir)
	}
}

// nearReference compares an output of a run, in which so many values were clipped, with the reference's.
func nearReference(t *testing.T, got Tensor, output []float64, clipped int) {
	t.Helper()
	size := got.Shape[len(got.Shape)-1]
	span, worst, sure := slices.Max(output)-slices.Min(output), 0.0, 0
	for i := range output {
		worst = math.Max(worst, math.Abs(got.Values[i]-output[i]))
	}
	most := 0.005
	if clipped > 0 { // of which the command tells
		most = 0.01
	}
	if worst > most*span {
		t.Errorf("off by %.3g %% of the range", 100*worst/span)
	}
	for at := 0; at < len(output); at += size {
		g, w := got.Values[at:at+size], output[at:at+size]
		sorted := slices.Sorted(slices.Values(w))
		if sorted[size-1]-sorted[size-2] > 0.02*span {
			if sure++; slices.Index(g, slices.Max(g)) != slices.Index(w, slices.Max(w)) {
				t.Errorf("row %d: another largest entry", at/size)
			}
		}
	}
	t.Logf("off by %.3f %% of the range; %d of %d rows are sure; clipped at %d places", 100*worst/span, sure, len(output)/size, clipped)
}

// writesLikeReference has a model that was calibrated on other texts go on after the
// prompt of greedy.json.
func writesLikeReference(t *testing.T, dir string) {
	var want struct {
		Prompt []int `json:"prompt"`
		Mask   []int `json:"attention_mask"`
		Tokens []int `json:"tokens"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "greedy.json"))
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	n := len(want.Tokens)
	m, err := Open(dir, &OpenOptions{Tokens: len(want.Prompt) + n, MaxTokens: n})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.language.Ends = nil // so that all tokens are written
	float := floatGreedy(t, m, want.Prompt, n)
	// Without a mask the reference takes token 0 for padding, which is not looked at.
	given := want.Mask != nil || !slices.Contains(want.Prompt, 0)
	if given && !slices.Equal(float, want.Tokens) {
		t.Fatalf("the float model writes %v, not %v", float, want.Tokens)
	}
	rng := rand.New(rand.NewPCG(3, 7))
	vocabulary := m.Graph().Rows(m.Graph().Inputs[0].Name)
	samples := make([]Input, 4)
	for i := range samples {
		text := make([]int, len(want.Prompt)+n)
		for j := range text {
			text[j] = rng.IntN(vocabulary)
		}
		if samples[i], err = m.TextInput(text[:len(want.Prompt)], text[len(want.Prompt):]); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Quantise(t.Context(), m, samples, quantiseWith(withSecurityBits(60)))
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := c.Generate(t.Context(), want.Prompt, nil)
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for same < n && got.Tokens[same] == float[same] {
		same++
	}
	if t.Logf("%d of %d tokens", same, n); same < n {
		if by := behind(t, m, want.Prompt, float, same, got.Tokens[same]); by > quantise.Target {
			t.Errorf("it writes %v, not %v: token %d is %.4f %% of the range behind", got.Tokens, float, got.Tokens[same], 100*by)
		} else {
			t.Logf("a tie: after %v the float model has token %d %.5f %% of the range behind %d", float[:same], got.Tokens[same], 100*by, float[same])
		}
	}
}

// transcribesLikeReference has a model that was calibrated on other sounds write what it hears in the audio of greedy.json.
func transcribesLikeReference(t *testing.T, dir string, m *Model, c *Circuit) {
	var want struct {
		Audio  string `json:"audio"`
		Tokens []int  `json:"tokens"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "greedy.json"))
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.language.Ends = nil // so that all tokens are written
	got, _, err := c.Generate(t.Context(), audioOf(t, filepath.Join(dir, want.Audio)), &GenerateOptions{MaxTokens: len(want.Tokens)})
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for same < len(want.Tokens) && got.Tokens[same] == want.Tokens[same] {
		same++
	}
	if t.Logf("%d of %d tokens", same, len(want.Tokens)); same < len(want.Tokens) {
		t.Errorf("it writes %v, not %v", got.Tokens, want.Tokens)
	}
}

// audioOf are the samples of a file, as many as the tiny models of speech listen to.
func audioOf(t *testing.T, path string) []int {
	t.Helper()
	s, err := audio.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return s.At(16000)
}

func floatsOf(v []int) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// voice is a sound that no test has: harmonics of a pitch that falls, with noise between them.
func voice(rng *rand.Rand, n int) []float64 {
	v, pitch, phase := make([]float64, n), 100+150*rng.Float64(), 0.0
	for i := range v {
		phase += 2 * math.Pi * pitch * (1 - 0.4*float64(i)/float64(n)) / 16000
		x := 0.03 * rng.NormFloat64()
		for k := 1.0; k < 20; k++ {
			x += math.Sin(k*phase) / math.Pow(k, 1.5)
		}
		if i > n*3/4 {
			x *= 0.001
		}
		v[i] = math.Round(min(max(8000*x, math.MinInt16), math.MaxInt16))
	}
	return v
}

// behind is by how much, in units of the logits' range, the float model has a token behind that
// which it writes at some place of its text.
func behind(t *testing.T, m *Model, prompt, text []int, at, token int) float64 {
	all, row := logitsAfter(t, m, prompt, text[:at], len(text))
	return (row[text[at]] - row[token]) / (slices.Max(all) - slices.Min(all))
}

// others are samples that are not the input: random tokens, or pictures. Texts, each of so many tokens, that the model refuses as they
// are end as those of the input do.
func others(m *Model, in Input, tokens int) []Input {
	rng := rand.New(rand.NewPCG(3, 5))
	samples := make([]Input, 4)
	for i := range samples {
		for k, of := range in {
			v := make([]float64, len(of))
			for j := range v {
				if v[j] = rng.Float64(); !m.Graph().Inputs[k].DType.IsFloat() {
					v[j] = float64(rng.IntN(m.Graph().Rows(m.Graph().Inputs[0].Name)))
				}
			}
			if m.Graph().Inputs[k].DType == graph.Int16 {
				v = voice(rng, len(of))
			}
			if k == 0 && m.refuse != nil && m.refuse(v) != nil {
				for j := tokens - 1; j < len(v); j += tokens {
					v[j] = of[j]
				}
			}
			samples[i] = append(samples[i], v)
		}
	}
	return samples
}

// readFloats reads the numbers of a .npy file.
func readFloats(t *testing.T, path string) []float64 {
	t.Helper()
	arrays, err := ReadArrays(path)
	if err != nil || len(arrays) != 1 {
		t.Fatal(len(arrays), err)
	}
	return arrays[0].Values
}
