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

// A text for CLIP is a vector by the row of its first end: texts without one are refused, one by one where there are several.
func TestTextsWithoutEnd(t *testing.T) {
	const end = 47
	for name, c := range map[string]struct {
		texts []float64
		shape []int
		ok    bool
	}{
		"clip-text": {[]float64{3, end, 4}, []int{1, 3}, true}, "clip-text without": {[]float64{3, 5, 4}, []int{1, 3}, false},
		"clip": {[]float64{3, end, 4, end}, []int{2, 2}, true}, "clip without": {[]float64{3, end, 4, 4}, []int{2, 2}, false},
	} {
		folder, _, _ := strings.Cut(name, " ")
		m, err := Open("hf/testdata/"+folder, &OpenOptions{Input: Arrays{{Name: "input_ids", Shape: c.shape, Values: c.texts}}})
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "no token 47") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			m.Close()
		}
	}
}
