package provemodel

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/hf/families"
)

// lastLogits commits to a tiny language model, for texts of up to 12 tokens, whose proofs are of the logits after the last.
func lastLogits(t *testing.T, folder string) *Committed {
	t.Helper()
	ids := Arrays{{Name: families.IDs, Shape: []int{1, 5}, Values: []float64{1, 5, 9, 7, 3}},
		{Name: families.Positions, Shape: []int{1}, Values: []float64{4}}}
	m, err := Open(folder, &OpenOptions{Input: ids, Tokens: 12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	sample := Input{ids[0].Values, ids[1].Values}
	c, err := Quantise(t.Context(), m, []Input{sample}, quantiseWith(withMode("w8a8")))
	if err != nil {
		t.Fatal(err)
	}
	committed, err := Commit(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return committed
}

// A key of the logits after the last token has one position a text: a prover who takes another one, within the text or
// within what the key has room for, is refused, and so is the honest command.
func TestLastPosition(t *testing.T) {
	for _, family := range []string{"llama", "gpt2"} {
		t.Run(family, func(t *testing.T) {
			c := lastLogits(t, filepath.Join("hf", "testdata", family))
			text := []float64{1, 5, 9, 7, 3}
			last := Input{text, []float64{4}}
			if _, err := Verify(c.key, bytes.NewReader(forge(t, c, last)), nil); err != nil {
				t.Fatal(err)
			}
			for _, at := range []float64{0, 1, 3, 5, 9, 11} {
				in := Input{text, []float64{at}}
				want := fmt.Sprintf("is %g, an index of an axis of 5", at)
				if at < 5 {
					want = fmt.Sprintf("logits at position %g of a text of 5 tokens", at)
				}
				_, err := Verify(c.key, bytes.NewReader(forge(t, c, in)), nil)
				if !errors.Is(err, ErrInvalid) || !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("position %g: %v", at, err)
				}
				if _, err := Prove(t.Context(), c, in, nil); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("position %g, proved honestly: %v", at, err)
				}
			}
		})
	}
}
