// Package report writes what is known about a model and a proof as a single HTML file:
// what was proved, tables and plots, for the screen and for printing.
package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/inspect"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/quantise"
)

// Report has the content of a report. Empty parts are left out.
type Report struct {
	Title    string
	Text     *Text     // nil unless the model is a language model
	Pictures []Picture // inputs that are not shown beside a row of scores
	Scores   []Scores  // of a classifier
	Facts    []Fact    // in order
	Outputs  []Output
	Layers   []quantise.Layer
	Phases   []ui.Phase
	Peak     int64        // bytes of memory
	Key      *inspect.Key // whose tables, trees and rounds are shown
	Advice   string       // about the run as a whole
}

// Fact is a line of the list at the top.
type Fact struct{ Name, Value string }

// Output compares an output with the float model's.
type Output struct {
	Name  string
	Shape []int
	provemodel.Accuracy
	Unequal string // what is said about labels, in place of an error
}

// mostBars is the greatest number of bars of a plot; the tables have all entries.
const mostBars = 40

// Write writes the HTML file.
func (r *Report) Write(w io.Writer) error {
	h := &page{}
	h.open(r.Title)
	r.proved(h)
	if r.Text != nil || len(r.Scores) > 0 || len(r.Pictures) > 0 {
		h.heading("The proof")
	}
	h.facts(r.Facts)
	if r.Advice != "" {
		h.printf("<p class=advice>%s</p>\n", r.Advice)
	}
	r.outputs(h)
	r.accuracy(h)
	r.phases(h)
	r.costs(h)
	r.security(h)
	r.layers(h)
	h.close()
	_, err := io.WriteString(w, h.String())
	return err
}

// outputs writes a table of the outputs, compared with the float model's.
func (r *Report) outputs(h *page) {
	if len(r.Outputs) == 0 {
		return
	}
	h.heading("Outputs against the float model")
	header := []string{"output", "shape", "largest error", "of the range", "at entry", "cosine"}
	h.table(header, seq.Map(r.Outputs, func(o Output) []string {
		if o.Unequal != "" {
			return ui.Cells("%s\t%v\tunequal: %s\t\t%v\t", o.Name, o.Shape, o.Unequal, o.At)
		}
		return ui.Cells("%s\t%v\t%s\t%s\t%v\t%.6f", o.Name, o.Shape, short(o.MaxError), percent(o.RangeError), o.At, o.Cosine)
	}))
}

// compared returns the layers whose values could be compared, those with the largest error first.
func (r *Report) compared() []quantise.Layer {
	var held []quantise.Layer
	for _, l := range r.Layers {
		if l.Held {
			held = append(held, l)
		}
	}
	slices.SortStableFunc(held, func(a, b quantise.Layer) int { return cmp.Compare(b.Relative, a.Relative) })
	return held
}

// accuracy writes the section about the errors of layers: a plot of those with the largest errors, in the order of the
// model, and advice on the five worst.
func (r *Report) accuracy(h *page) {
	worst := r.compared()
	if len(worst) == 0 {
		return
	}
	h.heading("Accuracy by layer")
	first := worst[0]
	h.printf("<p id=worst>The largest error is at <b>%s</b> (%s): %s, %s of the value's range.</p>\n", name(first), first.Op, short(first.MaxError), percent(first.Relative))
	var bars []bar
	shown := worst[:min(mostBars, len(worst))]
	if len(worst) > mostBars {
		h.printf("<p>The %s largest of %s; all are in the table at the end.</p>\n", fmt.Sprint(mostBars), fmt.Sprint(len(worst)))
	}
	order := map[string]int{}
	for i, l := range r.Layers {
		order[l.Value] = i
	}
	slices.SortStableFunc(shown, func(a, b quantise.Layer) int { return cmp.Compare(order[a.Value], order[b.Value]) })
	for _, l := range shown {
		label := percent(l.Relative)
		if l.Saturated.Count > 0 {
			label += ", clipped"
		}
		bars = append(bars, bar{name(l), l.Relative, label, l.Saturated.Count > 0})
	}
	h.plot("error of each layer's value in units of its range, logarithmic, in the order of the model", bars, true)
	h.heading("What to do about the worst")
	h.table([]string{"layer", "error", "advice"}, seq.Map(r.compared()[:min(5, len(worst))], func(l quantise.Layer) []string {
		return []string{name(l), percent(l.Relative), advice(l)}
	}))
}

// advice says what would make a layer more precise.
func advice(l quantise.Layer) string {
	switch {
	case l.Relative <= 1e-3:
		return "nothing: within 0.1 % of the range"
	case l.Saturated.Count > 0:
		return fmt.Sprintf("%d of %d values are beyond the calibrated range: calibrate on more samples like this input (--calibration), or widen the ranges (--headroom)", l.Saturated.Count, l.Saturated.Of)
	case l.Bits <= 9:
		return fmt.Sprintf("%d bits are few: --mode auto or exact takes more", l.Bits)
	}
	return "nothing was clipped here: the error comes from before, or the calibrated range is much wider than this input's values (calibrate on typical samples, or lower --headroom)"
}

// phases writes the section about time and memory.
func (r *Report) phases(h *page) {
	if len(r.Phases) == 0 {
		return
	}
	h.heading("Time and memory")
	var bars []bar
	var rows [][]string
	total := 0.0
	for _, p := range r.Phases {
		bars = append(bars, bar{p.Name, p.Seconds, fmt.Sprintf("%.3f s", p.Seconds), false})
		memory := "–"
		if p.Peak > 0 {
			memory = ui.Bytes(p.Peak)
		}
		rows = append(rows, []string{p.Name, fmt.Sprintf("%.3f", p.Seconds), fmt.Sprintf("%.3f", p.CPU), memory})
		total += p.Seconds
	}
	rows = append(rows, []string{"total", fmt.Sprintf("%.3f", total), "", ui.Bytes(r.Peak)})
	h.plot("seconds by phase", bars, false)
	h.table([]string{"phase", "seconds", "processor seconds", "most memory so far"}, rows)
}

// costs writes plots of the look-ups and commitments of each layer, and tables of the key's look-up tables and trees.
func (r *Report) costs(h *page) {
	look := func(l quantise.Layer) int { return l.LookUps }
	commit := func(l quantise.Layer) int { return l.Committed }
	for _, c := range []struct {
		title, what string
		of          func(quantise.Layer) int
	}{{"Look-ups by layer", "entries looked up", look}, {"Commitments by layer", "entries committed to", commit}} {
		var bars []bar
		seen := map[string]bool{}
		for _, l := range r.Layers {
			if n := c.of(l); n > 0 && !seen[l.Node] {
				seen[l.Node] = true
				bars = append(bars, bar{name(l), float64(n), fmt.Sprint(n), false})
			}
		}
		if len(bars) == 0 {
			continue
		}
		h.heading(c.title)
		slices.SortStableFunc(bars, func(a, b bar) int { return cmp.Compare(b.value, a.value) })
		if len(bars) > mostBars {
			h.printf("<p>The %s largest of %s.</p>\n", fmt.Sprint(mostBars), fmt.Sprint(len(bars)))
			bars = bars[:mostBars]
		}
		h.plot(c.what, bars, false)
	}
	if k := r.Key; k != nil {
		h.table([]string{"table", "bits", "look-ups"}, seq.Map(k.Tables, func(t inspect.Table) []string {
			return ui.Cells("%s\t%d\t%d", t.Name, t.Bits, t.Lookups)
		}))
		h.table([]string{"commitment", "entries", "rows"}, seq.Map(k.Trees, func(t inspect.Tree) []string {
			return ui.Cells("%s\t%d\t%d × 2^%d", t.What, t.Entries, t.Rows, t.RowVars)
		}))
	}
}

// security writes the section about the bits of security of each round.
func (r *Report) security(h *page) {
	if r.Key == nil || len(r.Key.Rounds) == 0 {
		return
	}
	h.heading("Bits of security by round")
	h.printf("<p>The weakest round has %s bits, work included.</p>\n", inspect.Tenths(r.Key.MinBits))
	rows := seq.Map(r.Key.Rounds, func(x inspect.Round) []string {
		return []string{x.Name, fmt.Sprint(x.Times), fmt.Sprint(x.Grind), inspect.Tenths(x.Bits)}
	})
	weakest := slices.Clone(r.Key.Rounds)
	slices.SortStableFunc(weakest, func(a, b inspect.Round) int { return cmp.Compare(a.Bits, b.Bits) })
	h.plot("bits of the weakest rounds", seq.Map(weakest[:min(mostBars/2, len(weakest))], func(x inspect.Round) bar {
		return bar{x.Name, x.Bits, inspect.Tenths(x.Bits), false}
	}), false)
	h.table([]string{"round", "times", "bits of work", "bits"}, rows)
}

// layers writes a table of all layers.
func (r *Report) layers(h *page) {
	if len(r.Layers) == 0 {
		return
	}
	h.heading("All layers")
	var rows [][]string
	for _, l := range r.Layers {
		row := []string{name(l), l.Op, fmt.Sprint(l.Shape), "–", "–", "–", "–", "", count(l.LookUps), count(l.Committed)}
		if l.Held {
			row[3], row[4], row[5], row[6] = fmt.Sprint(l.Bits), fmt.Sprintf("2^%d", -l.Frac), short(l.MaxError), percent(l.Relative)
		}
		if l.Saturated.Count > 0 {
			row[7] = fmt.Sprintf("%d of %d", l.Saturated.Count, l.Saturated.Of)
		}
		rows = append(rows, row)
	}
	h.table([]string{"layer", "operator", "shape", "bits", "unit", "largest error", "of the range", "clipped", "look-ups", "committed"}, rows)
	h.printf("<p>A dash: the value is not held by itself; the node is a part of the next one, or moves entries about.</p>\n")
}

func name(l quantise.Layer) string { return cmp.Or(l.Node, l.Value) }

func short(x float64) string { return fmt.Sprintf("%.3g", x) }

func percent(x float64) string {
	if math.IsInf(x, 0) || x > 1e6 {
		return "more than 10^8 %"
	}
	return fmt.Sprintf("%.3g %%", 100*x)
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// Shapes writes the names and shapes of tensors as text.
func Shapes(specs []provemodel.Spec) string {
	parts := seq.Map(specs, func(s provemodel.Spec) string { return fmt.Sprintf("%s %v", s.Name, s.Shape) })
	return strings.Join(parts, ", ")
}
