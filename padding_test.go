package provemodel

import (
	"slices"
	"strings"
	"testing"
)

// A text of RoBERTa's kin with a padding token inside has other positions in the published model: it is refused when the
// model is opened with it, and when a circuit is given it.
func TestPaddingRefused(t *testing.T) {
	text := []float64{0, 5, 9, 1, 7, 2}
	refused := func(err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "token 4 is 1, the model's padding") {
			t.Error(err)
		}
	}
	_, err := Open("hf/testdata/roberta", &OpenOptions{Input: Arrays{{Name: "input_ids", Shape: []int{1, 6}, Values: text}}})
	refused(err)
	m, err := Open("hf/testdata/roberta", &OpenOptions{Tokens: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	without := slices.Clone(text)
	without[3] = 4
	c, err := Quantise(t.Context(), m, []Input{{{0, 5, 9, 4, 7, 2, 3, 8}}}, quantiseWith(withSecurityBits(60)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), Input{without}); err != nil {
		t.Fatal(err)
	}
	_, err = c.Run(t.Context(), Input{text})
	refused(err)
}
