package provemodel

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
)

// One proof of several texts states of each what a proof of it alone states, integer by integer.
func TestTextsInOneProof(t *testing.T) {
	_, c := writing(t)
	var texts []Input
	var alone []*Statement
	for _, x := range []struct {
		prompt []int
		most   int
	}{{[]int{1, 5, 9}, 2}, {[]int{4}, 4}, {[]int{7, 7}, 1}, {[]int{1, 5, 9}, 1}} {
		_, in, err := c.circuit.Generate(t.Context(), x.prompt, &GenerateOptions{MaxTokens: x.most})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Prove(t.Context(), c, in, &ProveOptions{Logits: true})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Verify(c.key, bytes.NewReader(p.File), nil)
		if err != nil {
			t.Fatal(err)
		}
		texts, alone = append(texts, in), append(alone, s)
	}
	for _, logits := range []bool{false, true} {
		p, err := ProveTexts(t.Context(), c, texts, &ProveOptions{Logits: logits})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Verify(c.key, bytes.NewReader(p.File), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Texts) != len(texts) || s.Generated != nil {
			t.Fatalf("%d texts", len(s.Texts))
		}
		for i, w := range s.Texts {
			if one := alone[i].Generated; !slices.Equal(w.Prompt, one.Prompt) || !slices.Equal(w.Tokens, one.Tokens) || w.Ended != one.Ended {
				t.Errorf("text %d: %v, and alone %v", i, w, one)
			}
			if logits {
				own := len(s.Outputs[0].Values) / len(texts)
				want := alone[i].Outputs[0].Values
				if got := s.Outputs[0].Values[i*own:]; !slices.Equal(got[:len(want)], want) {
					t.Errorf("text %d has other logits than alone", i)
				}
			}
		}
	}
}

// forgeTexts proves a run on lists of all texts, as a prover would who does not look at what they say of each.
func forgeTexts(t *testing.T, c *Committed, sizes []int, n int, ints [][]int32) []byte {
	t.Helper()
	in := model.Instance{Sizes: sizes, Texts: n}
	q, err := c.circuit.quantised.At(in)
	if err != nil {
		t.Fatal(err)
	}
	wit, err := forward.Run(t.Context(), q.Graph, q.Weights, q.Graph.Widen(ints, nil, true))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := prover.Prove(t.Context(), c.key, in, c.trees, wit, &file, prover.Options{}); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// What a proof says of each of several texts is checked as if it were alone: whoever exchanges lengths, reads logits elsewhere, leaves
// tokens out or fills up with others is refused, and so is who alters a statement.
func TestForgedTexts(t *testing.T) {
	_, c := writing(t)
	var texts []Input
	for i, prompt := range [][]int{{1, 5, 9}, {4}} {
		_, in, err := c.circuit.Generate(t.Context(), prompt, &GenerateOptions{MaxTokens: 2 - i})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, in)
	}
	ids, other := []int32{}, []int32{}
	for _, x := range texts[0][0] {
		ids = append(ids, int32(x))
	}
	for i := range ids {
		other = append(other, int32(texts[1][0][min(i, 1)]))
	}
	places := func(p, q []int32) []int32 { return slices.Concat(p, q) }
	both := slices.Concat(ids, other)
	filled := slices.Clone(both)
	filled[9]++
	swapped := slices.Concat(other, ids)
	for name, x := range map[string]struct {
		sizes   []int
		ids, at []int32
		want    string
	}{
		"as it is":                   {[]int{5, 2}, both, places([]int32{2, 3}, []int32{0, 0}), ""},
		"the texts exchanged alone":  {[]int{5, 2}, swapped, places([]int32{2, 3}, []int32{0, 0}), "text 1: the text does not follow"},
		"the lengths exchanged":      {[]int{5, 2}, both, places([]int32{0, 0}, []int32{2, 3}), "text 1: the text does not follow"},
		"a shorter answer":           {[]int{5, 2}, both, places([]int32{2, 2}, []int32{0, 0}), "the longest of 2 texts has 4 tokens, and there is room for 5"},
		"a longer prompt":            {[]int{5, 2}, both, places([]int32{3, 3}, []int32{0, 1}), "text 2: the text does not follow"},
		"a gap":                      {[]int{5, 2}, both, places([]int32{1, 3}, []int32{0, 0}), "at most 3 tokens are written, and there are logits at 2 positions"},
		"backwards":                  {[]int{5, 2}, both, places([]int32{3, 2}, []int32{0, 0}), "the longest of 2 texts has 4 tokens, and there is room for 5"},
		"other tokens behind a text": {[]int{5, 2}, filled, places([]int32{2, 3}, []int32{0, 0}), "text 2: token 4, after the text,"},
		"behind the text":            {[]int{5, 2}, both, places([]int32{3, 4}, []int32{0, 0}), "of 2 texts has 6 tokens, and there is room for 5"},
		"room that no text fills":    {[]int{5, 2}, slices.Concat(ids[:4], ids[3:4], other), places([]int32{2, 2}, []int32{0, 0}), "of 2 texts has 4 tokens, and there is room for 5"},
		"positions that none needs":  {[]int{5, 2}, both, places([]int32{3, 3}, []int32{0, 0}), "at most 1 tokens are written, and there are logits at 2 positions"},
	} {
		_, err := Verify(c.key, bytes.NewReader(forgeTexts(t, c, x.sizes, 2, [][]int32{x.ids, x.at})), nil)
		if x.want == "" && err != nil || x.want != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%s: want %q, got %v", name, x.want, err)
		}
	}
	p, err := ProveTexts(t.Context(), c, texts, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(in, out [][]int32){
		"the texts exchanged": func(in, out [][]int32) {
			in[0] = slices.Concat(in[0][5:], in[0][:5])
			in[1] = slices.Concat(in[1][2:], in[1][:2])
			out[0] = slices.Concat(out[0][2:], out[0][:2])
		},
		"another prompt":          func(in, _ [][]int32) { in[0][0]++ },
		"another text's answer":   func(in, out [][]int32) { copy(in[0][6:], in[0][3:5]); copy(out[0][2:], out[0][:2]) },
		"another prompt's length": func(in, _ [][]int32) { in[1][0], in[1][1] = 1, 2 },
	} {
		if _, err := Verify(c.key, bytes.NewReader(restate(t, c.key, p.File, change)), nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Lists of texts are refused before work begins.
func TestRefusedTexts(t *testing.T) {
	_, c := writing(t)
	text := func(n int) Input { return Input{make([]float64, n), []float64{float64(max(n, 2) - 2)}} }
	for name, x := range map[string]struct {
		texts []Input
		opts  *ProveOptions
		want  string
	}{
		"none":                {nil, nil, "0 texts"},
		"one":                 {[]Input{text(3)}, nil, "1 texts"},
		"thousands":           {slices.Repeat([]Input{text(3)}, model.MaxTexts+1), nil, "1025 texts are more than one proof states"},
		"without tokens":      {[]Input{text(3), text(0)}, nil, "text 2: input 1 has no entries"},
		"without positions":   {[]Input{text(3), {{1, 2}, nil}}, nil, "text 2: input 2 has no entries"},
		"another input":       {[]Input{text(3), {{1, 2}}}, nil, "text 2: 1 inputs, and the model has 2"},
		"beyond the bound":    {[]Input{text(3), text(6)}, nil, "[1, 5]"},
		"not a token":         {[]Input{text(3), {{1, 1e9}, {0}}}, nil, "text 2: input"},
		"with a pass":         {[]Input{text(3), text(3)}, &ProveOptions{Pass: new(Pass)}, "option"},
		"not the model's":     {[]Input{text(3), text(4)}, nil, ""},
		"with a bar":          {[]Input{text(3), text(3)}, &ProveOptions{MaxError: 0.1}, "option"},
		"what should be said": {[]Input{text(3), text(3)}, &ProveOptions{HideOutputs: []string{""}}, "hidden"},
	} {
		_, err := ProveTexts(t.Context(), c, x.texts, x.opts)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: want %q, got %v", name, x.want, err)
		}
	}
	for _, n := range []int{-1, 1, model.MaxTexts + 1, 1 << 40} {
		if _, err := c.key.Circuit.At(model.Instance{Sizes: []int{5, 2}, Texts: n}); !errors.Is(err, model.ErrTexts) {
			t.Errorf("%d texts: %v", n, err)
		}
	}
	if _, err := c.key.Circuit.At(model.Instance{Sizes: []int{5, 2}, Texts: 2, HiddenInputs: []int{0}}); !errors.Is(err, model.ErrTexts) {
		t.Error(err)
	}
}

// Texts whose logits are more than a proof states are refused with how many it takes.
func TestRoomForTexts(t *testing.T) {
	of := func(rows int) *model.Graph {
		return &model.Graph{Tensors: []model.Tensor{{Name: "logits", Shape: []int{rows, 49152}}}, Outputs: []model.TensorID{0}}
	}
	writes := &Circuit{language: &proof.Text{Generates: true}}
	logits, argmax := &ProveOptions{Logits: true}, &ProveOptions{Reveal: map[string]int{"logits": 0}}
	for _, x := range []struct {
		c       *Circuit
		o       *ProveOptions
		rows, n int
		want    string
	}{
		{writes, logits, 341, 11, ""},
		{writes, logits, 512, 64, `64 texts with 8 rows each of output "logits", of 49152 entries: one proof states at most 341 rows, that is 42 such texts`},
		{new(Circuit), new(ProveOptions), 342, 2, `2 texts with 171 rows each of output "logits", of 49152 entries: one proof states at most 341 rows, that is 1 such texts`},
		{writes, new(ProveOptions), 4096, 512, ""},
		{new(Circuit), argmax, 4096, 512, ""},
		{writes, new(ProveOptions), 8192, 1024,
			`1024 texts with 8 rows each of output "logits", of 49152 entries: one proof says the greatest of at most 4096 rows, that is 512 such texts`},
		{writes, logits, 512, 1, ""}, // of one text what a proof may say of logits is asked elsewhere
	} {
		if err := x.c.roomForTexts(x.o, of(x.rows), x.n); err == nil && x.want != "" || err != nil && err.Error() != x.want {
			t.Errorf("%d texts: %v, want %s", x.n, err, x.want)
		}
	}
}

// Of models of many families, each text's logits are those of the text alone.
func TestTextsOfFamilies(t *testing.T) {
	for _, name := range []string{
		"llama", "gpt2", "qwen2-window", "gemma2", "gemma3", "mixtral", "bloom", "falcon-alibi", "phi3", "gpt-neox", "opt", "cohere2",
	} {
		t.Run(name, func(t *testing.T) {
			texts := []Input{{{7, 30, 7, 2, 41, 19, 3}, {4, 5, 6}}, {{5, 11}, {0}}, {{8, 2, 33, 21}, {1, 2}}}
			m, err := Open("hf/testdata/"+name, &OpenOptions{Tokens: 9, MaxTokens: 3})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			c, err := Quantise(t.Context(), m, texts[:1], quantiseWith(withMode("w8a8")))
			if err != nil {
				t.Fatal(err)
			}
			all, ints, _, err := c.rounded(texts)
			if err != nil {
				t.Fatal(err)
			}
			wit, err := forward.Run(t.Context(), all.Graph, all.Weights, all.Graph.Widen(ints, nil, true))
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range texts {
				one, ints, _, err := c.rounded(texts[i : i+1])
				if err != nil {
					t.Fatal(err)
				}
				alone, err := forward.Run(t.Context(), one.Graph, one.Weights, ints)
				if err != nil {
					t.Fatal(err)
				}
				for k, id := range one.Graph.Outputs {
					got, want := model.OfText(wit.Tensor(all.Graph.Outputs[k]), i, len(texts)), alone.Tensor(id)
					if !slices.Equal(got[:len(want)], want) {
						t.Errorf("text %d has another output than alone", i)
					}
					if len(got)/3*len(text[1]) != len(want) {
						t.Errorf("text %d has %d logits, and alone %d", i, len(got), len(want))
					}
				}
			}
		})
	}
}

// A model that does not write proves texts of one length at once.
func TestGivenTexts(t *testing.T) {
	for _, name := range []string{"gpt2", "bert", "sentence"} {
		t.Run(name, func(t *testing.T) { givenTexts(t, name) })
	}
}

func givenTexts(t *testing.T, name string) {
	m, err := Open("hf/testdata/"+name, &OpenOptions{Tokens: 6})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	texts := []Input{{{7, 30, 7, 2}}, {{5, 11, 8, 2}}}
	q, err := Quantise(t.Context(), m, texts[:1], quantiseWith(withMode("w8a8")))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Commit(t.Context(), q, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ProveTexts(t.Context(), c, texts, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Verify(c.key, bytes.NewReader(p.File), nil)
	if err != nil || s.Several != 2 || s.Texts != nil {
		t.Fatalf("%+v, %v", s, err)
	}
	for i, text := range texts {
		alone, err := q.Run(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if one, err := s.OfText(i); err != nil || !slices.Equal(one.Outputs[0].Values, alone.Outputs[0].Values) || !slices.Equal(one.Inputs[0].Values, text[0]) {
			t.Errorf("text %d has other logits than alone, or %v", i, err)
		}
	}
	if _, err := ProveTexts(t.Context(), c, []Input{{{7, 30, 7, 2}}, {{5, 11, 8}}}, nil); err == nil || !strings.Contains(err.Error(), "text 2 is longer or shorter") {
		t.Errorf("of different lengths: %v", err)
	}
}

// Encoder–decoders prove texts that have one length on either side at once, each with what it is alone; and of other lengths none.
func TestAnswersInOneProof(t *testing.T) {
	for _, name := range []string{"t5", "bart", "marian"} {
		t.Run(name, func(t *testing.T) { answersInOneProof(t, name) })
	}
}

func answersInOneProof(t *testing.T, name string) {
	m, err := Open("hf/testdata/"+name, &OpenOptions{Tokens: 8, MaxTokens: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.language.Ends = nil // so that all tokens are written
	sample, err := m.TextInput([]int{7, 30, 7, 2}, []int{5, 6, 7})
	if err != nil {
		t.Fatal(err)
	}
	q, err := Quantise(t.Context(), m, []Input{sample}, quantiseWith(withMode("w8a8")))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Commit(t.Context(), q, nil)
	if err != nil {
		t.Fatal(err)
	}
	var texts []Input
	var want []*verifier.Written
	for _, prompt := range [][]int{{7, 30, 7, 2}, {5, 11, 8, 2}, {3, 3, 9, 2}} {
		text, in, err := q.Generate(t.Context(), prompt, &GenerateOptions{MaxTokens: 3})
		if err != nil {
			t.Fatal(err)
		}
		texts, want = append(texts, in), append(want, text)
	}
	p, err := ProveTexts(t.Context(), c, texts, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Verify(c.key, bytes.NewReader(p.File), nil)
	if err != nil || len(s.Texts) != len(texts) {
		t.Fatalf("%d texts, %v", s.Several, err)
	}
	for i, w := range s.Texts {
		if !slices.Equal(w.Prompt, want[i].Prompt) || !slices.Equal(w.Tokens, want[i].Tokens) || w.Ended != want[i].Ended {
			t.Errorf("text %d: %v, and alone %v", i, w, want[i])
		}
	}
	forged := bytes.Clone(p.File)
	for at := range 40 { // what is stated of a text is proved
		forged[len(forged)/2+at] ^= 1
	}
	if _, err := Verify(c.key, bytes.NewReader(forged), nil); err == nil {
		t.Error("an altered proof holds")
	}
	for _, x := range []struct {
		prompt []int
		most   int
	}{{[]int{5, 11, 2}, 3}, {[]int{5, 11, 8, 2}, 2}} {
		_, other, err := q.Generate(t.Context(), x.prompt, &GenerateOptions{MaxTokens: x.most})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ProveTexts(t.Context(), c, []Input{texts[0], other}, nil); err == nil || !strings.Contains(err.Error(), "longer or shorter") {
			t.Errorf("of different lengths: %v", err)
		}
	}
}
