package provemodel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
)

// prompt is the start of the tokens that a model of testdata is tested on.
func prompt(t *testing.T, dir string) []int {
	t.Helper()
	var want struct {
		IDs []int `json:"input_ids"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil || len(want.IDs) < 2 {
		t.Fatalf("%d tokens: %v", len(want.IDs), err)
	}
	return want.IDs[:min(5, len(want.IDs)-1)]
}

// decoders lists the models of testdata that write.
func decoders(t *testing.T) []string {
	all, err := filepath.Glob("hf/testdata/*/expected.json")
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	var out []string
	for _, path := range all {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), "config.json"))
		if err != nil || bytes.Contains(data, []byte("ForCausalLM")) || bytes.Contains(data, []byte("LMHeadModel")) { // a GGUF file has no config.json
			out = append(out, filepath.Dir(path))
		}
	}
	return out
}

// floatGreedy is what the float model writes.
func floatGreedy(t *testing.T, m *Model, prompt []int, n int) []int {
	var tokens []int
	for range n {
		_, row := logitsAfter(t, m, prompt, tokens, n)
		tokens = append(tokens, slices.Index(row, slices.Max(row)))
	}
	return tokens
}

// logitsAfter returns the float model's logits for n tokens after a prompt, and those of them behind the given tokens.
func logitsAfter(t *testing.T, m *Model, prompt, tokens []int, n int) (all, row []float64) {
	t.Helper()
	in, err := textInput(prompt, tokens, n, len(prompt)+n, len(prompt)+n, n)
	rows, at := n, len(tokens)
	if start := m.Start(); start != nil {
		in, err = answerInput(prompt, start, tokens, n, m.open.most)
		rows, at = len(in[1]), len(start)-1+len(tokens)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	all = out[0].Values
	width := len(all) / rows
	return all, all[at*width:][:width]
}

// Every family writes what its float model writes; of those with a free length, every row that is computed for a
// token alone has the integers of a run of the whole, whatever fills the tokens to
// come; and no step is computed anew for each token.
func TestWrite(t *testing.T) {
	host := devicetest.Open(t)
	for i, dir := range decoders(t) {
		if testing.Short() && i%5 != 0 || !*full && i%12 != 0 {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			start, n := prompt(t, dir), 4
			path := dir
			if file := filepath.Join(dir, "model.gguf"); exists(file) {
				path = file
			}
			m, err := Open(path, &OpenOptions{Tokens: len(start) + n + 5, MaxTokens: n})
			if err == nil && !m.open.isText() { // a model of texts of one length
				m.Close()
				m, err = Open(path, &OpenOptions{Tokens: len(start) + n, MaxTokens: n})
			}
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			m.language.Ends = nil // so that all tokens are written
			float := floatGreedy(t, m, start, n)
			sample, err := m.TextInput(start, float)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Quantise(t.Context(), m, []Input{sample}, quantiseWith(withMode("exact")))
			if err != nil {
				t.Fatal(err)
			}
			if c.report.OneBatch != nil {
				t.Errorf("texts of one length: %v", c.report.OneBatch)
			}
			got, in, err := c.Generate(t.Context(), start, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Tokens, float) || got.Ended {
				t.Fatalf("it writes %v, not %v", got.Tokens, float)
			}
			if !m.open.isText() {
				return // each token takes a pass over all: rows are not told apart
			}
			rowsLikeRun(t, c, start, got.Tokens, in)
			writesOn(t, gpuFor(t, host, &recorder{t: t}), c, start, got.Tokens)
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// rowsLikeRun compares the rows of forward.Rows with those of a run.
func rowsLikeRun(t *testing.T, c *Circuit, prompt, tokens []int, in Input) {
	q, err := c.sized(in)
	if err != nil {
		t.Fatal(err)
	}
	run := func(in Input) ([]int32, [][]int32) {
		ints, _, err := q.QuantiseInput(in)
		if err != nil {
			t.Fatal(err)
		}
		w, err := forward.Run(context.Background(), q.Graph, q.Weights, ints)
		if err != nil {
			t.Fatal(err)
		}
		return w.Tensor(q.Graph.Outputs[0]), ints
	}
	want, _ := run(in)
	n := len(tokens)
	start, err := textInput(prompt, nil, n, len(prompt)+n, len(prompt)+n, n)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(prompt); i < len(start[0]); i++ {
		start[0][i] = float64(i % 3) // whatever fills the rest
	}
	_, ints := run(start)
	all, err := forward.NewRows(t.Context(), q.Graph, q.Weights, ints, textAxes)
	if err != nil {
		t.Fatal(err)
	}
	begun, err := c.begin(t.Context(), q, ints, prompt)
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []*forward.Rows{all, begun} {
		likeRun(t, rows, want, prompt, tokens)
	}
	samePass(t, c, begun, prompt, tokens)

	// And from the keys and values of a text that begins alike, another token behind it.
	var p keptText
	(&onProcessor{c, begun}).keep(&p, slices.Concat(prompt, tokens[:n-1]))
	if p.kept == nil {
		t.Fatal("nothing is kept of a text")
	}
	whole := slices.Concat(prompt, tokens[:n-1])
	for _, known := range []int{1, len(prompt) - 1, len(whole) - 1} {
		later, err := c.goOn(t.Context(), q, ints, prompt, prefix{p.kept, min(known, len(prompt)-1)})
		if err != nil || later == nil {
			t.Fatal(later, err)
		}
		likeRun(t, later, want, prompt, tokens)
	}
}

// A conversation's next turn goes on from what is known of the one before, and its text is the same; so it is if the turns differ early.
func TestPrefix(t *testing.T) {
	m, err := Open("hf/testdata/llama", &OpenOptions{Tokens: 32, MaxTokens: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.language.Ends = nil
	sample, err := m.TextInput([]int{1, 5, 9}, []int{7, 33, 2, 18})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Quantise(t.Context(), m, []Input{sample}, quantiseWith(withMode("w8a8")))
	if err != nil {
		t.Fatal(err)
	}
	var p Pass
	prompt := []int{1, 5, 9, 4, 3, 8, 11, 2}
	for i, x := range []struct{ same, more int }{{8, 0}, {12, 2}, {14, 3}, {5, 1}, {2, 3}} {
		prompt = slices.Concat(prompt[:x.same], []int{40, 41, 42}[:x.more])
		reused := p.beginning(c, prompt).n
		got, in, err := c.Generate(t.Context(), prompt, &GenerateOptions{Prefix: &p})
		if err != nil {
			t.Fatal(err)
		}
		want, same, err := c.Generate(t.Context(), prompt, nil)
		if err != nil || !slices.Equal(got.Tokens, want.Tokens) || !slices.EqualFunc(in, same, slices.Equal[[]float64]) {
			t.Errorf("%v: %v in place of %v, %v", x, got.Tokens, want.Tokens, err)
		}
		if long := i > 0 && x.same > 2; long != (reused > 0) || long && reused < x.same-1 {
			t.Errorf("%v: %d rows are those of the turn before", x, reused)
		}
		prompt = slices.Concat(prompt, want.Tokens)
	}
}

// samePass has the rows of a text that was written become the run that proves it, and that
// of the text as it is when it ends a token earlier: the same witness to the last key and count.
func samePass(t *testing.T, c *Circuit, rows *forward.Rows, prompt, tokens []int) {
	t.Helper()
	for _, n := range []int{len(tokens), len(tokens) - 1} {
		if n == 0 || n < len(tokens) && !c.free() {
			continue
		}
		in, err := textInput(prompt, tokens[:n], n, len(prompt)+n, len(prompt)+len(tokens), len(tokens))
		if err != nil {
			t.Fatal(err)
		}
		var p Pass
		if err := p.take(t.Context(), c, rows, in); err != nil {
			t.Fatal(err)
		}
		got := p.of(c, in)
		if got == nil {
			if c.free() {
				t.Error("rows of a free length do not become a run")
			}
			continue
		}
		q, err := c.sized(in)
		if err != nil {
			t.Fatal(err)
		}
		_, want, err := c.run(t.Context(), nil, q, in)
		if err != nil {
			t.Fatal(err)
		}
		for id := range want.Values {
			if !slices.Equal(got.Values[id], want.Values[id]) {
				t.Fatalf("%d tokens: tensor %d, %s, is another", n, id, q.Graph.Tensors[id].Name)
			}
		}
		for i := range want.Keys {
			if !slices.Equal(got.Keys[i], want.Keys[i]) {
				t.Fatalf("%d tokens: the keys of step %d, %s, are others", n, i, q.Graph.Steps[i].Name)
			}
		}
		if p.wit != nil || p.of(c, in) != nil {
			t.Error("a pass is used twice")
		}
	}
}

// likeRun writes tokens and compares the logits with those that are wanted.
func likeRun(t *testing.T, rows *forward.Rows, want []int32, prompt, tokens []int) {
	t.Helper()
	n := len(tokens)
	width := len(want) / n
	if whole, some := rows.Whole(); whole > 0 || some == 0 {
		t.Errorf("%d steps are computed as a whole for each token, and %d by rows", whole, some)
	}
	for i, token := range tokens {
		if got := rows.Output(0); !slices.Equal(got, want[i*width:(i+1)*width]) {
			t.Fatalf("token %d: the logits are not those of the whole", i)
		}
		if i == n-1 {
			break
		}
		at := len(prompt) + i
		if err := rows.Set(t.Context(), []int{at, i + 1}, [][]int32{{int32(token)}, {int32(at)}}); err != nil {
			t.Fatal(err)
		}
	}
}

// writing is a small model that was opened to write two tokens after three, committed.
func writing(t *testing.T, ends ...int) (*Model, *Committed) {
	t.Helper()
	return writingAs(t, &OpenOptions{Tokens: 5, MaxTokens: 2}, ends...)
}

// writingTwo is writing with a key of a fixed number of written tokens, as older ones are.
func writingTwo(t *testing.T, ends ...int) (*Model, *Committed) {
	t.Helper()
	return writingAs(t, &OpenOptions{Tokens: 5, MaxTokens: 2, fixedWritten: true}, ends...)
}

func writingAs(t *testing.T, opts *OpenOptions, ends ...int) (*Model, *Committed) {
	t.Helper()
	m, err := Open("hf/testdata/llama", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	m.language.Ends = ends
	sample, err := m.TextInput([]int{1, 5, 9}, []int{7, 33})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Quantise(t.Context(), m, []Input{sample}, quantiseWith(withMode("w8a8")))
	if err != nil {
		t.Fatal(err)
	}
	committed, err := Commit(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, committed
}

// forge proves a run on any input, as a prover would who does not look at what it
// says of a text.
func forge(t *testing.T, c *Committed, in Input) []byte {
	t.Helper()
	q, err := c.circuit.sized(in)
	if err != nil {
		t.Fatal(err)
	}
	_, wit, err := c.circuit.run(t.Context(), nil, q, in)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := prover.Prove(t.Context(), c.key, q.Graph.Instance, c.trees, wit, &file, prover.Options{}); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// restate alters what a proof says, and makes its checksum right.
func restate(t *testing.T, key *Key, file []byte, change func(in, out [][]int32)) []byte {
	t.Helper()
	r, err := proof.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	p, err := key.PlanOf(r.Header())
	if err != nil {
		t.Fatal(err)
	}
	r.Limit(proof.LimitsFor(p))
	in, out, err := r.Public(p.Graph)
	if err != nil {
		t.Fatal(err)
	}
	change(in, out)
	var b bytes.Buffer
	w, err := proof.NewWriter(&b, r.Header(), p.Frames)
	if err == nil {
		err = w.WritePublic(p.Graph, in, out)
	}
	for range p.Frames {
		body, readErr := r.Next()
		if err = errors.Join(err, readErr); err == nil {
			err = w.Write(body)
		}
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Tokens that were drawn follow from the proved logits by the rule that the verifier has,
// and by no other. Nothing of the rule is in the key.
func TestDrawn(t *testing.T) {
	_, c := writing(t)
	rule := Sampling{Seed: 3, Temperature: 2, TopP: 1}
	w, in, err := c.circuit.Generate(t.Context(), []int{1, 5, 9}, &GenerateOptions{Sampling: &rule})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prove(t.Context(), c, in, proveWith(withSample(rule)))
	if err != nil {
		t.Fatal(err)
	}
	verify := func(by *Sampling) (*Statement, error) {
		return Verify(c.key, bytes.NewReader(p.File), &VerifyOptions{Sampling: by})
	}
	s, err := verify(&rule)
	if err != nil || !slices.Equal(s.Generated.Tokens, w.Tokens) || *s.Generated.Sampling != rule {
		t.Fatalf("%+v, %v", s, err)
	}
	seed, cold, few := rule, rule, rule
	seed.Seed, cold.Temperature, few.TopK = 4, 0.01, 1
	for name, by := range map[string]*Sampling{"none": nil, "another seed": &seed, "colder": &cold, "the likeliest": &few} {
		if _, err := verify(by); !errors.Is(err, ErrInvalid) || !errors.Is(err, ErrOtherToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(in Input){
		"another token":       func(in Input) { in[0][4] = float64((w.Tokens[1] + 1) % 48) },
		"another first token": func(in Input) { in[0][3] = float64((w.Tokens[0] + 1) % 48) },
	} {
		other := Input{slices.Clone(in[0]), slices.Clone(in[1])}
		change(other)
		if _, err := Verify(c.key, bytes.NewReader(forge(t, c, other)), &VerifyOptions{Sampling: &rule}); !errors.Is(err, ErrOtherToken) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Prove(t.Context(), c, other, proveWith(withSample(rule))); !errors.Is(err, ErrNotCausal) {
			t.Errorf("%s: proved, or %v", name, err)
		}
	}
	// A logit that makes another token the one that is drawn is not the model's.
	altered := restate(t, c.key, p.File, func(_, out [][]int32) { out[0][w.Tokens[0]]-- })
	if _, err := Verify(c.key, bytes.NewReader(altered), &VerifyOptions{Sampling: &rule}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, _, err := c.circuit.Generate(t.Context(), []int{1}, &GenerateOptions{Sampling: &Sampling{}}); err == nil {
		t.Error("drawn at no temperature")
	}
	if _, err := verify(&Sampling{}); err == nil {
		t.Error("verified at no temperature")
	}
}

// One key is for any number of written tokens after any prompt: the positions of the logits follow from both lengths, so that a
// prover who shifts them, leaves one out, repeats one or has tokens behind the text is refused.
func TestWrittenAnyNumber(t *testing.T) {
	m, c := writing(t)
	for _, most := range []int{1, 3} {
		other, err := Open("hf/testdata/llama", &OpenOptions{Tokens: 5, MaxTokens: most})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		other.language.Ends = nil
		q, err := Quantise(t.Context(), other, nil, &QuantiseOptions{Mode: "w8a8", Ranges: c.circuit.Ranges()})
		if err != nil {
			t.Fatal(err)
		}
		if same, err := Commit(t.Context(), q, nil); err != nil || !bytes.Equal(same.KeyFile(), c.KeyFile()) {
			t.Errorf("opened to write %d tokens, the model has another key, or %v", most, err)
		}
	}
	text := []float64{1, 5, 9} // and what the model writes
	for _, x := range []struct{ prompt, most int }{{1, 4}, {1, 1}, {2, 3}, {3, 1}, {4, 1}, {3, 2}} {
		prompt := []int{1, 5, 9, 4}[:x.prompt]
		w, in, err := c.circuit.Generate(t.Context(), prompt, &GenerateOptions{MaxTokens: x.most})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Prove(t.Context(), c, in, &ProveOptions{Logits: x.prompt == 1})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Verify(c.key, bytes.NewReader(p.File), nil)
		if err != nil || !slices.Equal(s.Generated.Tokens, w.Tokens) || len(w.Tokens) != x.most || !slices.Equal(s.Generated.Prompt, prompt) {
			t.Fatalf("%v: %+v, %v", x, s, err)
		}
		if again, err := m.TextInput(prompt, w.Tokens); err != nil || !slices.EqualFunc(again, in, slices.Equal[[]float64]) {
			t.Errorf("%v: another input: %v, %v", x, again, err)
		}
		if x == struct{ prompt, most int }{3, 2} {
			text = in[0]
		}
	}
	for _, most := range []int{3, -1} {
		if _, _, err := c.circuit.Generate(t.Context(), []int{1, 5, 9}, &GenerateOptions{MaxTokens: most}); err == nil {
			t.Errorf("%d tokens are written where there is room for 2", most)
		}
	}
	for name, x := range map[string]struct {
		ids, at []float64
		want    string
	}{
		"a shorter prompt":    {text, []float64{1, 2}, "logits at position 1 of a text of 5 tokens, of which 2 are written: the key's are at 2"},
		"behind the text":     {text, []float64{3, 4}, "the key's are at 2"},
		"beyond the tokens":   {text[:4], []float64{1, 4}, "an index of an axis of 4"},
		"a gap":               {text, []float64{2, 4}, "the key's are at 3"},
		"a repeated one":      {text, []float64{2, 2}, "the key's are at 3"},
		"backwards":           {text, []float64{3, 2}, "the key's are at 2"},
		"a tail":              {text, []float64{2}, "the key's are at 3"},
		"more than follow":    {text[:4], []float64{2, 3}, "the key's are at 1"},
		"no prompt":           {text[:2], []float64{0, 1}, "the key's are at -1"},
		"another token":       {slices.Concat(text[:4], []float64{float64(int(text[4]+1) % 48)}), []float64{2, 3}, "token 1 of the text is"},
		"another first token": {slices.Concat(text[:3], []float64{float64(int(text[3]+1) % 48)}), []float64{2}, "token 0 of the text is"},
	} {
		in := Input{x.ids, x.at}
		if _, err := Verify(c.key, bytes.NewReader(forge(t, c, in)), nil); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Prove(t.Context(), c, in, nil); err == nil {
			t.Errorf("%s: proved honestly", name)
		}
	}
}

// A key for a fixed number of written tokens is the model's still.
func TestCheckKeyOfFixedNumber(t *testing.T) {
	for name, opts := range map[string]*OpenOptions{"fixed": {Tokens: 5, MaxTokens: 2, fixedWritten: true}, "any": {Tokens: 5, MaxTokens: 2}} {
		m, err := Open("hf/testdata/llama", opts)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		sample, err := m.TextInput([]int{1, 5, 9}, []int{7, 33})
		if err != nil {
			t.Fatal(err)
		}
		circuit, err := Quantise(t.Context(), m, []Input{sample}, quantiseWith(withMode("w8a8")))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Commit(t.Context(), circuit, nil)
		if err != nil {
			t.Fatal(err)
		}
		key, err := ReadKey(bytes.NewReader(c.KeyFile()))
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckKey(t.Context(), "hf/testdata/llama", key, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a proof says that the model wrote is what it writes: a prover that alters a
// token, a logit, where the prompt ends or the key's tokenizer is refused.
func TestWritten(t *testing.T) {
	prompt := []int{1, 5, 9}
	m, c := writingTwo(t)
	w, in, err := c.circuit.Generate(t.Context(), prompt, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prove(t.Context(), c, in, &ProveOptions{Logits: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Verify(c.key, bytes.NewReader(p.File), nil)
	if err != nil || !slices.Equal(s.Generated.Tokens, w.Tokens) || !slices.Equal(s.Generated.Prompt, prompt) || s.Generated.Ended {
		t.Fatalf("%+v, %v", s, err)
	}
	verify := func(name string, c *Committed, file []byte, want string) {
		t.Helper()
		if _, err := Verify(c.key, bytes.NewReader(file), nil); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	altered := func(change func(Input)) Input {
		out := Input{slices.Clone(in[0]), slices.Clone(in[1])}
		change(out)
		return out
	}
	verify("another token", c, forge(t, c, altered(func(in Input) { in[0][4] = float64((w.Tokens[1] + 1) % 48) })), "token 1 of the text is")
	verify("another first token", c, forge(t, c, altered(func(in Input) { in[0][3] = float64((w.Tokens[0] + 1) % 48) })), "token 0 of the text is")
	verify("a shorter prompt", c, forge(t, c, altered(func(in Input) { in[1][0], in[1][1] = 1, 2 })), "token 0 of the text is 9")
	verify("no place for it", c, forge(t, c, altered(func(in Input) { in[1][0], in[1][1] = 3, 4 })), "2 tokens written after 4")
	verify("a gap", c, forge(t, c, altered(func(in Input) { in[1][0], in[1][1] = 1, 3 })), "do not follow")
	stated := func(change func(in, out [][]int32)) []byte { return restate(t, c.key, p.File, change) }
	verify("a stated token", c, stated(func(in, _ [][]int32) { in[0][4] ^= 1 }), "token 1 of the text is")
	verify("a stated prompt", c, stated(func(in, _ [][]int32) { in[0][1] ^= 1 }), "")
	verify("a stated position", c, stated(func(in, _ [][]int32) { copy(in[1], []int32{3, 3}) }), "")
	verify("a stated logit", c, stated(func(_, out [][]int32) { out[0][(w.Tokens[0]+1)%48]-- }), "")
	verify("another choice", c, stated(func(in, out [][]int32) {
		other := int32(w.Tokens[1]+1) % 48
		in[0][4], out[0][48+other] = other, out[0][48+w.Tokens[1]]+1
	}), "")
	// A longer prompt is another statement, which a proof may be made of: it says so.
	longer := forge(t, c, altered(func(in Input) { in[1][0], in[1][1] = 3, 3 }))
	if s, err := Verify(c.key, bytes.NewReader(longer), nil); err != nil || len(s.Generated.Prompt) != 4 || len(s.Generated.Tokens) != 1 {
		t.Errorf("%+v, %v", s, err)
	}

	// The key says which tokenizer, and which tokens end a text.
	other, err := ReadKey(bytes.NewReader(c.file))
	if err != nil {
		t.Fatal(err)
	}
	text := *other.Text()
	text.Tokenizer[0]++
	if err := other.SetText(&text); err != nil || other.Digest == c.key.Digest {
		t.Fatal(err)
	}
	verify("another tokenizer", &Committed{key: other}, p.File, "made for another key")
	_, ending := writingTwo(t, w.Tokens[0])
	ended, short, err := ending.circuit.Generate(t.Context(), prompt, nil)
	if err != nil || !ended.Ended || len(ended.Tokens) != 1 || len(short[0]) != 4 || short[1][1] != 2 {
		t.Fatalf("%+v, %v, %v", ended, short, err)
	}
	verify("after the end", ending, forge(t, ending, in), "goes on after token 0")
	tail := Input{append(slices.Clone(short[0]), float64((w.Tokens[0]+1)%48)), short[1]}
	verify("another tail", ending, forge(t, ending, tail), "after the text")

	// One key is for prompts of any length.
	for _, prompt := range [][]int{{7}, {3, 4}} {
		_, in, err := c.circuit.Generate(t.Context(), prompt, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Prove(t.Context(), c, in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := Verify(c.key, bytes.NewReader(p.File), nil); err != nil || !slices.Equal(s.Generated.Prompt, prompt) || len(s.Generated.Tokens) != 2 {
			t.Errorf("%v: %+v, %v", prompt, s, err)
		}
	}

	// And the prover's own program does not prove these.
	if _, err := Prove(t.Context(), c, altered(func(in Input) { in[0][4] = float64((w.Tokens[1] + 1) % 48) }), nil); !errors.Is(err, ErrNotCausal) {
		t.Error(err)
	}
	if _, _, err := c.circuit.Generate(t.Context(), []int{1, 5, 9, 4}, nil); err == nil {
		t.Error("a prompt that is too long")
	}
	if _, err := m.TextInput(nil, nil); err == nil {
		t.Error("no prompt")
	}
	plain := *c.circuit
	plain.language = nil
	if _, _, err := plain.Generate(t.Context(), []int{1}, nil); !errors.Is(err, errNotGenerating) {
		t.Error(err)
	}
}

// Whatever the key says of a text, a graph that is not one of it has no such key.
func TestTextOfOthers(t *testing.T) {
	_, c := writing(t)
	for name, text := range map[string]proof.Text{
		"falling":  {Ends: []int{5, 3}},
		"negative": {Ends: []int{-1}},
		"many":     {Ends: make([]int, 2000)},
	} {
		key, err := ReadKey(bytes.NewReader(c.file))
		if err != nil {
			t.Fatal(err)
		}
		if err := key.SetText(&text); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A proof that goes on with what writing the text has computed is the proof of a run of its
// own; of another text, it is a run of its own.
func TestContinue(t *testing.T) {
	_, c := writing(t)
	var p Pass
	_, in, err := c.circuit.Generate(t.Context(), []int{1, 5, 9}, &GenerateOptions{Pass: &p})
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := c.circuit.Generate(t.Context(), []int{4, 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []Input{in, other} {
		if p.wit == nil {
			t.Fatal("nothing to go on with")
		}
		kept := p
		got, err := Prove(t.Context(), c, text, proveWith(withContinue(&p)))
		if err != nil {
			t.Fatal(err)
		}
		if p.wit != nil {
			t.Error("the pass is still there")
		}
		want, err := Prove(t.Context(), c, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.File, want.File) {
			t.Error("another proof")
		}
		p = kept
	}
}

// A generation that is interrupted calls nobody any more once it has returned.
func TestGenerateInterrupted(t *testing.T) {
	m, err := Open("hf/testdata/llama", &OpenOptions{Tokens: 32, MaxTokens: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	sample, err := m.TextInput([]int{1, 5, 9}, []int{7, 33, 2, 18})
	if err != nil {
		t.Fatal(err)
	}
	circuit, err := Quantise(t.Context(), m, []Input{sample}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls, inside := 0, false
	_, _, err = circuit.Generate(ctx, []int{1, 5, 9}, &GenerateOptions{Each: func(int) {
		inside = true
		if calls++; calls == 2 {
			cancel()
			time.Sleep(50 * time.Millisecond) // a generation that went on elsewhere would be waited for no longer
		}
		inside = false
	}})
	if !errors.Is(err, context.Canceled) || inside || calls != 2 {
		t.Errorf("after %d calls, still in one: %t: %v", calls, inside, err)
	}
}
