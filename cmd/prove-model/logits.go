package main

import (
	"cmp"
	"io"
	"math"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/quantise"
)

// likeness says how close the logits of a language model are to the float model's, as
// distributions of next tokens. It is empty for other models.
type likeness struct {
	// KL is the mean Kullback–Leibler divergence of the float model's distribution of the
	// next token from the quantised one's, in nats. Top1 is the fraction of positions at
	// which both have the same likeliest token.
	KL   *float64 `json:"kl,omitempty"`
	Top1 *float64 `json:"top1,omitempty"`
	// Regret is, for the worst position, how much smaller the float model's logit of the token that is likeliest here is
	// than its greatest logit.
	Regret *float64 `json:"regret,omitempty"`
}

// likenessOf compares logits, one row for each position. Only the first `rows` rows
// count; 0 stands for all.
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

// greatest returns the index of the greatest entry, the first of several.
func greatest(row []float64) int {
	at := 0
	for i, x := range row {
		if x > row[at] || row[at] != row[at] { // skips NaN
			at = i
		}
	}
	return at
}

// regret returns the float model's greatest entry less its entry at the place of got's greatest entry. It is 0 if the places are
// the same.
func regret(got, float []float64) float64 {
	if d := float[greatest(float)] - float[greatest(got)]; d > 0 { // false for NaN
		return d
	}
	return 0
}

// labelRegret returns the largest regret of a row of an output that may be scores of classes, as a fraction of the output's range,
// which is extended to contain 0. It is 0 for outputs of other shapes. Rows with a tie at the edge of a selection do not count.
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
		if float.TiedAt(at) { // such ties are reported
			continue
		}
		most = max(most, regret(got.Values[at:at+classes], float.Values[at:at+classes]))
	}
	if !(most > 0 && hi-lo > 0) || math.IsInf(hi-lo, 0) {
		return 0
	}
	return most / (hi - lo)
}

// classesOf returns the number of classes of an output that may be scores, of shape [N, classes], perhaps followed by axes of size
// one; 0 for other shapes.
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
