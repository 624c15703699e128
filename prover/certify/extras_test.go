package certify

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// Blocks are refused before any is made again if one is named twice, or after a later one.
func TestBlocksAreInOrder(t *testing.T) {
	of := commit(t, layer(9, 127, 1000), random(9, 127, 1000), quick)
	for name, steps := range map[string][]int{"repeated": {1, 1}, "exchanged": {1, 0}} {
		e := extras{}
		for range 1000 {
			for _, n := range steps {
				e.blocks = append(e.blocks, fixed.Block{Steps: n, Mask: -1})
			}
		}
		if _, err := decodeExtras(e.encode(), of.key.Circuit.Graph); !errors.Is(err, proof.ErrMalformed) || !strings.Contains(err.Error(), "not in order") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzVerify gives certificates that were altered anywhere, before and in the proof: each is refused for a reason, and
// none that says other blocks or sums is accepted.
func FuzzVerify(f *testing.F) {
	t := &testing.T{}
	of := commit(t, layer(9, 127, 1000), random(9, 127, 1000), quick)
	file, err := of.certify()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add(file[:60])
	for _, blocks := range [][]fixed.Block{
		{{Mask: -1, Axes: []int{0}, TableBits: 12, ActBits: 10}},
		{{Kind: 1, Mask: -1, Axes: []int{0}, Steps: 1, Tensors: 5, Tables: 2, TableBits: 12, ActBits: 10, Of: 3}},
		{{Kind: 2, Mask: -1, Summed: 16, Bits: 14, Steps: 1, Tensors: 5, Tables: 2, TableBits: 12, ActBits: 10, Of: 3}},
	} {
		f.Add(append(head(of.key, (&extras{blocks: blocks}).encode()), file[60:]...))
	}
	g, err := of.key.Circuit.At(of.key.Circuit.Unit())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		said, err := Verify(of.key, bytes.NewReader(b), anyBits)
		if err != nil {
			if !errors.Is(err, verifier.ErrInvalid) && !errors.Is(err, proof.ErrMalformed) {
				t.Fatalf("%v", err)
			}
			return
		}
		if !bytes.Equal(b, file) {
			t.Fatal("another certificate is accepted")
		}
		if err := said.Check(g); err != nil {
			t.Fatal(err)
		}
	})
}
