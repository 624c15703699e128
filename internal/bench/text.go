package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"sync"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/quantise"
)

// TextFidelity says how close a quantised language model is to the float model on a
// text, which is cut into pieces.
type TextFidelity struct {
	Model     string `json:"model"`
	Mode      string `json:"mode"`
	Formats   string `json:"formats"` // how many values have each format
	Tokens    int    `json:"tokens"`
	Pieces    int    `json:"pieces"`
	Predicted int    `json:"predicted"` // tokens that follow others of their piece
	// FloatPerplexity and Perplexity are those of the predicted tokens: the exponential of their mean negative
	// log-likelihood.
	FloatPerplexity float64 `json:"float_perplexity"`
	Perplexity      float64 `json:"perplexity"`
	// KL, Top1 and Margins are about all positions.
	KL         float64      `json:"kl"`   // mean, nats
	Top1       float64      `json:"top1"` // fraction of positions with the same likeliest token
	Margins    []MarginPart `json:"margins"`
	RangeError float64      `json:"range_error"` // of the worst piece
	Saturated  int          `json:"saturated"`
	Drift      []LayerDrift `json:"drift"` // for the first piece
}

// MarginPart counts the positions at which the float model's likeliest token leads by
// more than a margin in its logits.
type MarginPart struct {
	Margin    float64 `json:"margin"`
	Positions int     `json:"positions"`
	Same      int     `json:"same"` // positions of these with the same likeliest token
}

// LayerDrift says how far the values are from the float model's after a layer.
type LayerDrift struct {
	Layer  string  `json:"layer"`
	Error  float64 `json:"range_error"` // of the layer's last value that the circuit holds, as a fraction of the value's range
	Cosine float64 `json:"cosine"`
	Worst  string  `json:"worst"`             // the value within the layer with the largest such error
	Most   float64 `json:"worst_range_error"` // its error
}

// margins are the margins of TextFidelity.Margins.
var margins = []float64{0.1, 0.25, 0.5, 1, 2}

// defaultTokens is the number of tokens of a piece if --tokens does not say.
const defaultTokens = 128

// MeasureText runs both models on a text file, in pieces of --tokens tokens, or 128.
// limit is the greatest number of tokens that are read, 0 for all. Nothing is proved,
// since a proof has the same integers.
func MeasureText(ctx context.Context, cfg *config.Config, file string, limit int, ph *ui.Phases) (_ *TextFidelity, err error) {
	defer must.Catch(&err)
	data := must.Get(os.ReadFile(file))
	if len(data) == 0 {
		return nil, fmt.Errorf("%s is empty", file)
	}
	local := *cfg
	if local.Tokens == 0 {
		m, err := hf.Open(local.Model)
		if err != nil {
			return nil, job.WithHint(fmt.Errorf("--text: %w", err), "it is for language models as they are published: folders, .safetensors and .gguf files")
		}
		local.Tokens = min(defaultTokens, m.Context)
		m.Close()
	}
	j := must.Get(job.Open(&local))
	defer j.Close()
	if !j.Predicts() {
		return nil, job.WithHint(errors.New("--text: the model gives no logits of next tokens"), "a classifier takes --test, and folders of other models bars.json")
	}
	k, err := job.OpenTokenizer(&local)
	if err == nil && k == nil {
		err = errors.New("the model comes without a tokenizer")
	}
	must.OKAs(err, "--text")
	ids := must.GetAs(k.Encode(string(data)))("--text")
	pieces := cutText(ids, local.Tokens, limit)
	inputs := must.GetAs(j.Model.TextSamples(pieces))("--text")
	c := must.Get(j.Quantise(ctx, job.OptionsOf(&local, ph, nil)))
	f := &TextFidelity{Model: j.Model.Name(), Mode: local.Mode, Formats: histogram(c.Report().Chosen), Pieces: len(pieces)}
	for _, m := range margins {
		f.Margins = append(f.Margins, MarginPart{Margin: m})
	}
	must.OK(bothOn(ctx, ph, j.Model, c, inputs, func(i int, float []provemodel.Tensor, run *provemodel.Run) error {
		return f.add(pieces[i], float, run)
	}))
	f.KL, f.Top1 = f.KL/float64(f.Tokens), f.Top1/float64(f.Tokens)
	f.Perplexity, f.FloatPerplexity = math.Exp(f.Perplexity/float64(max(f.Predicted, 1))), math.Exp(f.FloatPerplexity/float64(max(f.Predicted, 1)))
	ph.Begin("layers")
	layers, err := c.Layers(ctx, j.Model, inputs[0])
	ph.End(err)
	f.Drift = drift(layers)
	return f, err
}

// cutText cuts ids into pieces of n, of which the last may be shorter. Only the first `limit` ids are used; 0 stands
// for all.
func cutText(ids []int, n, limit int) [][]int {
	if limit > 0 {
		ids = ids[:min(limit, len(ids))]
	}
	return slices.Collect(slices.Chunk(ids, n))
}

// add adds the logits of one piece.
func (f *TextFidelity) add(ids []int, float []provemodel.Tensor, run *provemodel.Run) (err error) {
	defer must.Catch(&err)
	for _, s := range run.Saturated {
		f.Saturated += s.Count
	}
	a := must.Get(provemodel.Compare(run.Outputs[0], float[0]))
	f.RangeError = math.Max(f.RangeError, a.RangeError)
	got, want := run.Outputs[0].Values, float[0].Values
	size := len(want) / len(ids)
	f.KL += quantise.Divergence(got, want, size) * float64(len(ids))
	for t := range ids {
		g, w := got[t*size:(t+1)*size], want[t*size:(t+1)*size]
		f.addRow(g, w)
		if t+1 < len(ids) {
			f.Predicted++
			f.Perplexity += surprise(g, ids[t+1])
			f.FloatPerplexity += surprise(w, ids[t+1])
		}
	}
	return nil
}

// addRow adds the logits at one position.
func (f *TextFidelity) addRow(got, want []float64) {
	first := largest(want)
	same, lead := largest(got) == first, math.Inf(1)
	for i, x := range want {
		if i != first {
			lead = math.Min(lead, want[first]-x)
		}
	}
	f.Tokens++
	count(&f.Top1, same)
	for i := range f.Margins {
		if p := &f.Margins[i]; lead > p.Margin {
			p.Positions++
			if same {
				p.Same++
			}
		}
	}
}

// surprise returns the negative log-likelihood of a token, in nats.
func surprise(logits []float64, token int) float64 {
	most, sum := logits[largest(logits)], 0.0
	for _, x := range logits {
		sum += math.Exp(x - most)
	}
	return most + math.Log(sum) - logits[token]
}

// inLayer matches the names of the nodes of a layer, up to the layer's number.
var inLayer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.*?\.[0-9]+)\.`)
})

// drift returns the errors of each layer, in order.
func drift(layers []quantise.Layer) []LayerDrift {
	var list []LayerDrift
	for _, l := range layers {
		m := inLayer().FindStringSubmatch(l.Value)
		if m == nil || !l.Held {
			continue
		}
		if n := len(list); n == 0 || list[n-1].Layer != m[1] {
			list = append(list, LayerDrift{Layer: m[1]})
		}
		d := &list[len(list)-1]
		d.Error, d.Cosine = finite(l.Relative), l.Cosine
		if e := finite(l.Relative); e >= d.Most {
			d.Worst, d.Most = l.Value, e
		}
	}
	return list
}

// finite replaces an infinity, which JSON cannot write, by the largest float64.
func finite(x float64) float64 { return math.Min(x, math.MaxFloat64) }

// Print writes the figures, and a row for each layer.
func (f *TextFidelity) Print(w io.Writer) {
	rows := [][]string{
		{"tokens", fmt.Sprintf("%d in %d pieces", f.Tokens, f.Pieces)},
		{"perplexity", fmt.Sprintf("%.4f, of the float model %.4f", f.Perplexity, f.FloatPerplexity)},
		{"KL", fmt.Sprintf("%.3g nats a token", f.KL)},
		{"top-1", fmt.Sprintf("%.2f %% of the positions", 100*f.Top1)},
	}
	for _, m := range f.Margins {
		rows = append(rows, ui.Cells("margin > %g\t%d of %d", m.Margin, m.Same, m.Positions))
	}
	rows = append(rows,
		[]string{"error", fmt.Sprintf("%.3f %% of the range at most", 100*f.RangeError)},
		[]string{"saturated", fmt.Sprint(f.Saturated)},
		[]string{"formats", f.Formats})
	ui.Table(w, []string{f.Model, f.Mode}, rows)
	fmt.Fprintln(w)
	ui.Table(w, []string{"after layer", "error %", "cosine", "worst %", "at"}, seq.Map(f.Drift, func(d LayerDrift) []string {
		return ui.Cells("%s\t%.4f\t%.6f\t%.4f\t%s", d.Layer, 100*d.Error, d.Cosine, 100*d.Most, d.Worst)
	}))
}
