package main

import (
	"fmt"
	"io"
	"slices"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/quantise"
)

// likeness is how close the logits of a language model are to the float model's, as
// distributions of next tokens; nothing of other models.
type likeness struct {
	// KL is the mean divergence of the float model's distribution of the next token
	// from the quantised one's, in nats, and Top1 the part of the positions where both
	// have the same likeliest token.
	KL   *float64 `json:"kl,omitempty"`
	Top1 *float64 `json:"top1,omitempty"`
}

// likenessOf compares logits, a row for each position, of which the first rows count:
// all if that is 0.
func likenessOf(got, float provemodel.Tensor, rows int) likeness {
	size := got.Shape[len(got.Shape)-1]
	if rows == 0 {
		rows = len(got.Values) / size
	}
	g, f := got.Values[:rows*size], float.Values[:rows*size]
	kl, same := quantise.Divergence(g, f, size), 0
	for at := 0; at < len(g); at += size {
		if greatest(g[at:at+size]) == greatest(f[at:at+size]) {
			same++
		}
	}
	top := float64(same) / float64(rows)
	return likeness{&kl, &top}
}

func greatest(row []float64) int { return slices.Index(row, slices.Max(row)) }

func (l likeness) print(w io.Writer, written bool) {
	switch {
	case l.KL == nil:
	case written:
		fmt.Fprintf(w, "fidelity    KL %.2g to the float model, which would choose %.4g %% of the tokens\n", *l.KL, 100**l.Top1)
	default:
		fmt.Fprintf(w, "fidelity    KL %.2g to the float model, whose likeliest token is the same at %.4g %% of the positions\n", *l.KL, 100**l.Top1)
	}
}
