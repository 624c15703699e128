package provemodel

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// greatest returns the indexes of the n greatest values in order, equal ones by index.
func greatest(values []float64, n int) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case values[a] > values[b]:
			return -1
		case values[a] < values[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(order[i])
	}
	return out
}

// TestReveal: a proof of the digits model states which logits are the greatest in their place, with one key and both suites.
func TestReveal(t *testing.T) {
	for _, suite := range []string{"blake3", "poseidon2"} {
		opts := append(quick[:len(quick):len(quick)], withHash(suite))
		c, whole := prove(t, opts...)
		logits := whole.Outputs[0].Values
		_, in := commit(t, opts...)
		for _, top := range []int{0, 1, 2, 3, 10} {
			o := proveWith(opts...)
			o.Reveal = map[string]int{whole.Outputs[0].Name: top}
			p, err := Prove(t.Context(), c, in, o)
			if err != nil {
				t.Fatalf("%s, top %d: %v", suite, top, err)
			}
			s, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 60})
			if err != nil {
				t.Fatalf("%s, top %d: %v", suite, top, err)
			}
			if got, want := s.Outputs[0].Values, greatest(logits, max(top, 1)); !slices.Equal([]float64(got), want) {
				t.Errorf("%s, top %d: states %v, want %v", suite, top, got, want)
			}
			if name := s.Outputs[0].Name; !strings.HasSuffix(name, " of "+whole.Outputs[0].Name) {
				t.Errorf("an output called %q", name)
			}
		}
	}
}

// TestWrittenTokens: a proof of a generated text states its tokens and no logits, unless these are asked for, and no other tokens.
func TestWrittenTokens(t *testing.T) {
	prompt := []int{1, 5, 9}
	_, c := writing(t)
	pass := &Pass{}
	w, in, err := c.circuit.Generate(t.Context(), prompt, &GenerateOptions{Pass: pass})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Prove(t.Context(), c, in, &ProveOptions{Logits: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prove(t.Context(), c, in, &ProveOptions{Pass: pass})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Prove(t.Context(), c, in, nil)
	if err != nil || !bytes.Equal(again.File, p.File) {
		t.Errorf("another proof of what was computed while it was generated: %v", err)
	}
	s, err := Verify(c.key, bytes.NewReader(p.File), nil)
	if err != nil || !slices.Equal(s.Generated.Tokens, w.Tokens) || len(s.Outputs[0].Values) != len(w.Tokens) || len(s.Reveals) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	for i, token := range w.Tokens {
		if int(s.Outputs[0].Values[i]) != token {
			t.Errorf("token %d is %d, stated is %v", i, token, s.Outputs[0].Values[i])
		}
	}
	refused := func(name, want string, change func(in, out [][]int32)) {
		t.Helper()
		_, err := Verify(c.key, bytes.NewReader(restate(t, c.key, p.File, change)), nil)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := int32(w.Tokens[1]+1) % 48
	refused("another token", "token 1 of the text is", func(in, _ [][]int32) { in[0][4] = other })
	refused("another greatest one", "token 1 of the text is", func(_, out [][]int32) { out[0][1] = other })
	refused("both", "", func(in, out [][]int32) { in[0][4], out[0][1] = other, other })
	if _, err := Verify(c.key, bytes.NewReader(p.File), &VerifyOptions{Sampling: &Sampling{Seed: 1, Temperature: 1, TopP: 1}}); !errors.Is(err, ErrInvalid) ||
		!strings.Contains(err.Error(), "no logits") {
		t.Errorf("drawn tokens: %v", err)
	}
	if s, err := Verify(c.key, bytes.NewReader(whole.File), nil); err != nil || len(s.Reveals) != 0 || !slices.Equal(s.Generated.Tokens, w.Tokens) {
		t.Errorf("with logits: %+v, %v", s, err)
	}
}

// TestRevealRefused: what cannot be revealed is an error of options.
func TestRevealRefused(t *testing.T) {
	c, in := commit(t, quick...)
	for name, o := range map[string]*ProveOptions{
		"no output":        {Reveal: map[string]int{"other": 0}},
		"11 greatest of":   {Reveal: map[string]int{"logits": 11}},
		"states no logits": {Reveal: map[string]int{"logits": 0}, Logits: true},
	} {
		if _, err := Prove(t.Context(), c, in, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
