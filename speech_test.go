package provemodel

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/web/verdict"
)

const listener = "hf/testdata/whisper-speech"

// transcriber is a tiny model of speech that writes up to 6 tokens, and what it listens to. It would write token 19 again and again, which
// may be suppressed, and so may what it would write then as its first token.
func transcriber(t *testing.T, suppressed ...int) (c *Circuit, samples []int) {
	t.Helper()
	m, err := Open(listener, &OpenOptions{Tokens: 12, MaxTokens: 6, Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	text := *m.language
	text.Ends = nil
	text.Suppressed = slices.Sorted(slices.Values(append(slices.Clone(text.Suppressed), suppressed...)))
	m.language = &text
	samples = audioOf(t, listener+"/audio.wav")
	sample, err := m.TextInput(samples, []int{19, 3, 40, 7, 1, 12})
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Quantise(t.Context(), m, []Input{sample}, quantiseWith(withMode("w8a8"))); err != nil {
		t.Fatal(err)
	}
	if c.report.OneBatch != nil {
		t.Fatalf("texts of one length: %v", c.report.OneBatch)
	}
	return c, samples
}

// A model of speech writes, of what it hears, the likeliest of the tokens that it may write, for any number of them with one key. A proof
// states the audio, from which the spectrogram is made inside.
func TestTranscribe(t *testing.T) {
	c, samples := transcriber(t, 19)
	committed, err := Commit(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 4} {
		pass := new(Pass)
		w, in, err := c.Generate(t.Context(), samples, &GenerateOptions{MaxTokens: n, Pass: pass})
		if err != nil {
			t.Fatal(err)
		}
		if len(w.Tokens) != n || w.Ended || slices.ContainsFunc(w.Tokens, func(id int) bool { return !c.language.May(id, false) }) || !c.language.May(w.Tokens[0], true) {
			t.Fatalf("%d tokens: it writes %v", n, w.Tokens)
		}
		sameRun(t, c, in, pass.wit)
		for _, logits := range []bool{true, false} {
			p, err := Prove(t.Context(), committed, in, &ProveOptions{Pass: pass, Logits: logits})
			if err != nil {
				t.Fatal(err)
			}
			s, err := Verify(committed.key, bytes.NewReader(p.File), nil)
			if err != nil {
				t.Fatal(err)
			}
			if g := s.Generated; !slices.Equal(g.Tokens, w.Tokens) || len(g.Prompt) > 0 || !slices.Equal(g.Before(), []int{2, 5, 8, 9}) {
				t.Fatalf("%d tokens, logits %t: it states %+v", n, logits, g)
			}
			if !slices.Equal(s.Inputs[1].Values, floatsOf(samples)) {
				t.Fatalf("%d tokens, logits %t: it states another audio", n, logits)
			}
			page, err := verdict.Of(committed.KeyFile(), p.File, &verdict.Options{}, func(int, int) {})
			if err != nil {
				t.Fatal(err)
			}
			for i, choice := range page.Text.Tokens {
				if choice.ID != w.Tokens[i] || logits && *choice.Logit != s.Outputs[0].Values[(3+i)*48+choice.ID] {
					t.Errorf("%d tokens, logits %t: the page shows %+v", n, logits, choice)
				}
			}
		}
	}
	if _, _, err := c.Generate(t.Context(), samples, &GenerateOptions{MaxTokens: 10}); err == nil {
		t.Error("it writes more tokens than the key has room for")
	}
	if _, _, err := c.Generate(t.Context(), samples, &GenerateOptions{Sampling: &Sampling{Temperature: 1, TopP: 1}}); err == nil {
		t.Error("it draws tokens, though some are suppressed")
	}
}

// A prover with full knowledge is refused who states a suppressed token, the second likeliest of those that it may write, another
// beginning, or another audio.
func TestTranscribeOther(t *testing.T) {
	c, samples := transcriber(t)
	committed, err := Commit(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, in, err := c.Generate(t.Context(), samples, &GenerateOptions{MaxTokens: 3})
	if err != nil {
		t.Fatal(err)
	}
	// with has the key say other things of the tokens that are not written.
	with := func(change func(*proof.Text)) *Committed {
		t.Helper()
		other := *c
		text := *c.language
		change(&text)
		other.language = &text
		out, err := Commit(t.Context(), &other, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
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
	never := with(func(t *proof.Text) {
		t.Suppressed = slices.Sorted(slices.Values(append(slices.Clone(t.Suppressed), w.Tokens[0])))
	})
	refused("a suppressed token", never, forge(t, never, in), "token 0 of the text is")
	first := with(func(t *proof.Text) { t.First = []int{w.Tokens[0]} })
	refused("a token that none begins with", first, forge(t, first, in), "token 0 of the text is")
	later := with(func(t *proof.Text) { t.First = []int{46} })
	if _, err := Verify(later.key, bytes.NewReader(forge(t, later, in)), nil); err != nil {
		t.Errorf("a token that is not the first: %v", err)
	}
	refused("another beginning", committed, forge(t, committed, altered(func(in Input) { in[0][1] = 6 })), "does not begin with the key's")
	refused("another token", committed, forge(t, committed, altered(func(in Input) { in[0][4] = float64(w.Tokens[0] + 1) })), "token 0 of the text is")

	p, err := Prove(t.Context(), committed, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	refused("another audio", committed, restate(t, committed.key, p.File, func(in, _ [][]int32) { in[1][700] ^= 1 }), "")
	refused("other likeliest tokens", committed, restate(t, committed.key, p.File, func(_, out [][]int32) {
		last := out[0][len(out[0])-8:]
		last[0], last[1] = last[1], last[0]
	}), "")

	// Where none of the likeliest that a proof states may be written, logits say what is.
	run, err := c.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	row := run.Outputs[0].Values[3*48 : 4*48]
	least := slices.Index(row, slices.Min(row))
	rare := with(func(t *proof.Text) {
		t.Suppressed = nil
		for id := range 48 {
			if id != least {
				t.Suppressed = append(t.Suppressed, id)
			}
		}
	})
	w, in, err = rare.circuit.Generate(t.Context(), samples, &GenerateOptions{MaxTokens: 1})
	if err != nil || !slices.Equal(w.Tokens, []int{least}) {
		t.Fatal(w, err)
	}
	if _, err = Prove(t.Context(), rare, in, nil); err == nil || !strings.Contains(err.Error(), "--logits generated") {
		t.Error(err)
	}
	if p, err = Prove(t.Context(), rare, in, &ProveOptions{Logits: true}); err != nil {
		t.Fatal(err)
	}
	if s, err := Verify(rare.key, bytes.NewReader(p.File), nil); err != nil || !slices.Equal(s.Generated.Tokens, w.Tokens) {
		t.Errorf("%+v, %v", s, err)
	}
}

// A stored transcript, which the other two verifiers are held to as well.
func TestTranscriptStored(t *testing.T) {
	if os.Getenv("PROVE_MODEL_STORE") != "" {
		storeTranscript(t)
	}
	key, p := stored(t, "transcript")
	s, err := Verify(key, bytes.NewReader(p), nil)
	if err != nil || len(s.Generated.Tokens) != 3 || !key.Text().Suppresses() {
		t.Fatalf("%+v, %v", s, err)
	}
}

func storeTranscript(t *testing.T) {
	c, samples := transcriber(t, 19)
	committed, err := Commit(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, in, err := c.Generate(t.Context(), samples, &GenerateOptions{MaxTokens: 3})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prove(t.Context(), committed, in, nil)
	if err == nil {
		err = os.MkdirAll("testdata/transcript", 0o777)
	}
	if err == nil {
		err = os.WriteFile("testdata/transcript/key.vk", committed.KeyFile(), 0o666)
	}
	if err == nil {
		err = os.WriteFile("testdata/transcript/run.proof", p.File, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A key whose tokens that are not written are out of order, too many, or of a model that is no encoder–decoder, is refused.
func TestSuppressedHostile(t *testing.T) {
	file, err := os.ReadFile("testdata/transcript/key.vk")
	if err != nil {
		t.Fatal(err)
	}
	many := make([]int, 1025)
	for i := range many {
		many[i] = i
	}
	for name, change := range map[string]func(*proof.Text){
		"order": func(t *proof.Text) { t.Suppressed = []int{5, 2} }, "twice": func(t *proof.Text) { t.First = []int{5, 5} },
		"many": func(t *proof.Text) { t.Suppressed = many }, "large": func(t *proof.Text) { t.First = []int{1 << 30} },
		"no beginning": func(t *proof.Text) { t.Start = nil },
	} {
		key, err := ReadKey(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		text := *key.Text()
		change(&text)
		if err := key.SetText(&text); err == nil {
			t.Errorf("%s: the key is read", name)
		}
	}
}
