package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
)

// security is the strength of a proof, in bits of its weakest round.
type security struct {
	Total  float64 `json:"security_bits,omitempty"`
	Proven float64 `json:"proven_bits,omitempty"` // of these, against any prover
	Work   float64 `json:"work_bits,omitempty"`   // what proofs of work add
}

func securityOf(s provemodel.Strength) security {
	return security{s.Total.Float(), s.Proven.Float(), s.Work().Float()}
}

// printTensor writes a line on a tensor.
func printTensor(w io.Writer, what string, t provemodel.Tensor) {
	fmt.Fprintf(w, "%-11s %s %v = %s\n", what, ui.Printable(t.Name), t.Shape, preview(t.Values))
}

// printEmbedding writes a line on a vector; nothing for none.
func printEmbedding(w io.Writer, v []float64) {
	if v == nil {
		return
	}
	square := 0.0
	for _, x := range v {
		square += x * x
	}
	fmt.Fprintf(w, "embedding   %d numbers, of length %.6f\n", len(v), math.Sqrt(square))
}

// preview shows the first few values.
func preview(v []float64) string {
	const most = 10
	var b strings.Builder
	for i, x := range v {
		if i == most {
			fmt.Fprintf(&b, " … (%d)", len(v))
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%.5g", x)
	}
	return b.String()
}
