package main

import (
	"cmp"
	"io"
	"math"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/ui"
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
	// Regret is how far, at most, a token that is likeliest here is behind the likeliest one in the float model's logits.
	Regret *float64 `json:"regret,omitempty"`
}

// likenessOf compares logits, a row for each position, of which the first rows count:
// all if that is 0.
func likenessOf(got, float provemodel.Tensor, rows int) likeness {
	size := got.Shape[len(got.Shape)-1]
	rows = cmp.Or(rows, len(got.Values)/size)
	g, f := got.Values[:rows*size], float.Values[:rows*size]
	kl, same, most := quantise.Divergence(g, f, size), 0, 0.0
	for at := 0; at < len(g); at += size {
		r := regret(g[at:at+size], f[at:at+size])
		if greatest(g[at:at+size]) == greatest(f[at:at+size]) {
			same++
		}
		most = max(most, r)
	}
	top := float64(same) / float64(rows)
	return likeness{&kl, &top, &most}
}

// greatest is the index of the greatest entry, the first of several.
func greatest(row []float64) int {
	at := 0
	for i, x := range row {
		if x > row[at] || row[at] != row[at] { // NaN is none
			at = i
		}
	}
	return at
}

// regret is how much greater the float model's greatest entry is than its entry at the place of the greatest one of got: 0 where
// these are the same.
func regret(got, float []float64) float64 {
	if d := float[greatest(float)] - float[greatest(got)]; d > 0 { // and no NaN
		return d
	}
	return 0
}

// labelRegret is the largest regret of a row of an output that may be scores of classes, as a fraction of the output's range, zero
// included; 0 for outputs of other shapes. Rows in which scores at the edge of a selection tie do not count.
func labelRegret(got, float provemodel.Tensor) float64 {
	classes := classesOf(float.Shape)
	if classes == 0 {
		return 0
	}
	lo, hi, most := 0.0, 0.0, 0.0
	for _, x := range float.Values {
		lo, hi = min(lo, x), max(hi, x)
	}
	for at := 0; at+classes <= len(float.Values); at += classes {
		if float.TiedAt(at) { // and so it is said
			continue
		}
		most = max(most, regret(got.Values[at:at+classes], float.Values[at:at+classes]))
	}
	if !(most > 0 && hi-lo > 0) || math.IsInf(hi-lo, 0) {
		return 0
	}
	return most / (hi - lo)
}

// classesOf is the number of classes that an output of shape [N, classes] may have scores of, with axes of one behind; 0 for other
// shapes.
func classesOf(shape []int) int {
	for len(shape) > 2 && shape[len(shape)-1] == 1 {
		shape = shape[:len(shape)-1]
	}
	if len(shape) != 2 || shape[1] < 2 {
		return 0
	}
	return shape[1]
}

func (l likeness) Print(w io.Writer, written bool) {
	switch {
	case l.KL == nil:
	case written:
		ui.Line(w, "fidelity", "KL %.2g to the float model, which would choose %.4g %% of the tokens", *l.KL, 100**l.Top1)
	default:
		ui.Line(w, "fidelity", "KL %.2g to the float model, whose likeliest token is the same at %.4g %% of the positions", *l.KL, 100**l.Top1)
	}
}
