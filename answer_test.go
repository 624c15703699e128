package provemodel

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
)

// answerer is a tiny encoder–decoder for texts of up to 9 tokens, which is calibrated on a text and writes until its end.
func answerer(t *testing.T, name string, start ...int) (m *Model, c *Circuit, read, float []int) {
	t.Helper()
	read = prompt(t, "hf/testdata/"+name)
	m, err := Open("hf/testdata/"+name, &OpenOptions{Tokens: 9, MaxTokens: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	m.language.Ends, m.language.Start = nil, start // so that all tokens are written
	float = floatGreedy(t, m, read, 4)
	sample, err := m.TextInput(read, float)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Quantise(t.Context(), m, []Input{sample}, quantiseWith(withMode("exact"), withSecurityBits(60))); err != nil {
		t.Fatal(err)
	}
	if c.report.OneBatch != nil {
		t.Fatalf("texts of one length: %v", c.report.OneBatch)
	}
	return m, c, read, float
}

// An encoder–decoder writes what its float model writes, for any number of tokens with one key. The rows that are computed one after
// the other are those of a run, and a proof goes on from them.
func TestAnswer(t *testing.T) {
	t.Run("one", func(t *testing.T) { answers(t, "mt5", 0) })
	t.Run("two", func(t *testing.T) { answers(t, "bart", 2, 7) })
}

func answers(t *testing.T, name string, start ...int) {
	_, c, read, float := answerer(t, name, start...)
	committed, err := Commit(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 4} {
		pass := new(Pass)
		w, in, err := c.Generate(t.Context(), read, &GenerateOptions{MaxTokens: n, Pass: pass})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.Tokens, float[:n]) || !slices.Equal(w.Prompt, read) || w.Ended {
			t.Fatalf("%d tokens: it writes %v after %v, not %v", n, w.Tokens, w.Prompt, float[:n])
		}
		if n > 1 { // one row is no axis of rows
			sameRun(t, c, in, pass.wit)
		}
		for _, logits := range []bool{true, false} {
			p, err := Prove(t.Context(), committed, in, &ProveOptions{Pass: pass, Logits: logits})
			if err != nil {
				t.Fatal(err)
			}
			s, err := Verify(committed.key, bytes.NewReader(p.File), nil)
			if err != nil {
				t.Fatal(err)
			}
			if g := s.Generated; !slices.Equal(g.Tokens, w.Tokens) || !slices.Equal(g.Prompt, read) || !slices.Equal(g.Before(), start) {
				t.Fatalf("%d tokens, logits %t: it states %+v", n, logits, g)
			}
		}
	}
	if _, _, err := c.Generate(t.Context(), read, &GenerateOptions{MaxTokens: 10}); err == nil {
		t.Error("it writes more tokens than the key has room for")
	}
}

// sameRun compares what was computed row by row with a run.
func sameRun(t *testing.T, c *Circuit, in Input, got *forward.Witness) {
	t.Helper()
	q, err := c.sized(in)
	if err != nil {
		t.Fatal(err)
	}
	ints, _, err := q.QuantiseInput(in)
	if err != nil {
		t.Fatal(err)
	}
	want, err := forward.Run(t.Context(), q.Graph, q.Weights, ints)
	if err != nil || got == nil {
		t.Fatal(got == nil, err)
	}
	for i := range q.Graph.Steps {
		if id := q.Graph.Steps[i].Out; id >= 0 && !slices.Equal(want.Tensor(id), got.Tensor(id)) {
			t.Fatalf("step %d (%s): other values than in a run", i, q.Graph.Steps[i].Name)
		}
	}
}

// What a decoder's text begins with is the key's to say, each token that follows is the model's, and none follows an end: a prover
// with full knowledge is refused.
func TestAnswerOther(t *testing.T) {
	_, c, read, float := answerer(t, "mt5", 0)
	committed, err := Commit(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, in, err := c.Generate(t.Context(), read, &GenerateOptions{MaxTokens: 3})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(name string, c *Committed, file []byte, want string) {
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
	other := func(id int) float64 { return float64((id + 1) % 48) }
	refused("another beginning", committed, forge(t, committed, altered(func(in Input) { in[1][0] = 5 })), "does not begin with the key's")
	for i, want := range []string{"token 0 of the text is", "token 1 of the text is"} {
		refused("another token", committed, forge(t, committed, altered(func(in Input) { in[1][1+i] = other(w.Tokens[i]) })), want)
	}
	p, err := Prove(t.Context(), committed, in, &ProveOptions{Logits: true})
	if err != nil {
		t.Fatal(err)
	}
	stated := func(change func(in, out [][]int32)) []byte { return restate(t, committed.key, p.File, change) }
	refused("another text to read", committed, stated(func(in, _ [][]int32) { in[0][1] ^= 1 }), "")
	refused("another last token", committed, stated(func(_, out [][]int32) {
		last := len(out[0]) - 48
		out[0][last+int(other(w.Tokens[2]))] = out[0][last+w.Tokens[2]] + 1
	}), "")
	if _, err := Prove(t.Context(), committed, altered(func(in Input) { in[1][1] = other(w.Tokens[0]) }), nil); err == nil {
		t.Error("its own program proves another token")
	}
	ending := *c
	text := *c.language
	text.Ends = []int{float[0]}
	ending.language = &text
	ends, err := Commit(t.Context(), &ending, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w, _, err := ending.Generate(t.Context(), read, nil); err != nil || !w.Ended || len(w.Tokens) != 1 {
		t.Fatalf("%+v, %v", w, err)
	}
	refused("after the end", ends, forge(t, ends, in), "goes on after token 0")

	// A shorter answer is cut, and true.
	short := Input{in[0], in[1][:2]}
	s, err := Verify(committed.key, bytes.NewReader(forge(t, committed, short)), nil)
	if err != nil || !slices.Equal(s.Generated.Tokens, float[:2]) {
		t.Errorf("%+v, %v", s, err)
	}
}

// stored returns the key and the proof of a folder of testdata.
func stored(t *testing.T, folder string) (*Key, []byte) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", folder, "key.vk"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ReadKey(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.ReadFile(filepath.Join("testdata", folder, "run.proof"))
	if err != nil {
		t.Fatal(err)
	}
	return key, p
}

// A stored answer, which the other two verifiers are held to as well: hf/testdata/mt5 in mode w8a8 on these tokens, of up to 9.
func TestAnswerStored(t *testing.T) {
	key, p := stored(t, "answer")
	s, err := Verify(key, bytes.NewReader(p), nil)
	if err != nil || !slices.Equal(s.Generated.Prompt, []int{10, 8, 25, 3, 40}) || !slices.Equal(s.Generated.Tokens, []int{31, 34, 31}) {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := CheckKey(t.Context(), "hf/testdata/mt5", key, nil); err != nil {
		t.Error(err)
	}
}
