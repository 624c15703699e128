package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// show prints the result of a command, as text or JSON, unless it is nil. It returns the error that the command ends
// with.
func show[R interface {
	comparable
	Print(w io.Writer)
}](cmd *cobra.Command, cfg *config.Config, made R, err error) error {
	var none R
	switch {
	case made == none:
		return err
	case cfg.JSON:
		return errors.Join(ui.JSON(cmd.OutOrStdout(), made), err)
	}
	made.Print(cmd.OutOrStdout())
	return err
}

// security is the strength of a proof, in bits of its weakest round.
type security struct {
	Total  float64 `json:"security_bits,omitempty"`
	Proven float64 `json:"proven_bits,omitempty"` // the part of Total that holds against any prover
	Work   float64 `json:"work_bits,omitempty"`   // the part of Total that proofs of work add
}

func securityOf(s soundness.Strength) security {
	return security{s.Total.Float(), s.Proven.Float(), s.Work().Float()}
}

// printTensor prints a line about a tensor.
func printTensor(w io.Writer, what string, t provemodel.Tensor) {
	if slices.Contains(t.Shape, 0) {
		fmt.Fprintf(w, "%-11s %s %v, without elements\n", what, ui.Printable(t.Name), t.Shape)
		return
	}
	fmt.Fprintf(w, "%-11s %s %v = %s\n", what, ui.Printable(t.Name), t.Shape, preview(t))
}

// printEmbedding prints a line about an embedding; nothing if v is nil.
func printEmbedding(w io.Writer, v []float64) {
	if v == nil {
		return
	}
	square := 0.0
	for _, x := range v {
		square += x * x
	}
	ui.Line(w, "embedding", "%d numbers, of length %.6f", len(v), math.Sqrt(square))
}

// previewed is how many values of a tensor are printed.
const previewed = 10

// preview returns the first values of a tensor as text. t may have no more values than these.
func preview(t provemodel.Tensor) string {
	var b strings.Builder
	for i, x := range t.Values[:min(previewed, len(t.Values))] {
		if i > 0 {
			b.WriteByte(' ')
		}
		if i < len(t.Strings) {
			b.WriteString(ui.Printable(t.Strings[i]))
			continue
		}
		fmt.Fprintf(&b, "%.5g", x)
	}
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	if n > previewed {
		fmt.Fprintf(&b, " … (%d)", n)
	}
	return b.String()
}
