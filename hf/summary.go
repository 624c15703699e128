package hf

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/hf/weights"
	"github.com/prove-model/prove-model/internal/parallel"
)

// Summary describes a model as its files do. Summarise makes it without building a graph.
type Summary struct {
	Kind       string   `json:"model_type"`
	Layers     int      `json:"layers"`
	Context    int      `json:"context,omitempty"`    // the most tokens of a text
	Vocabulary int      `json:"vocabulary,omitempty"` // how many different tokens there are
	Parameters int      `json:"parameters"`
	Stored     []Stored `json:"stored"`
	Odd        []Odd    `json:"odd,omitempty"`
}

// Stored counts the tensors of one stored type, such as "BF16", and their bytes.
type Stored struct {
	Type    string `json:"type"`
	Tensors int    `json:"tensors"`
	Bytes   int    `json:"bytes"`
}

// Odd is something unusual about a tensor, which may cost accuracy, or say that the
// file is damaged.
type Odd struct {
	Tensor string `json:"tensor"`
	What   string `json:"what"`
}

// Summarise describes the model. It reads all weights, to look for odd tensors.
func (m *Model) Summarise() Summary {
	s := Summary{Kind: m.Kind, Layers: m.Layers, Context: m.Context, Vocabulary: m.Vocabulary}
	names := m.Weights.Names()
	odd := make([][]Odd, len(names))
	parallel.For(len(names), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			odd[i] = oddities(m.Weights.Get(names[i]))
		}
	})
	for i, name := range names {
		t := m.Weights.Get(name)
		s.Parameters += t.Len()
		at := slices.IndexFunc(s.Stored, func(s Stored) bool { return s.Type == t.Type })
		if at < 0 {
			at = len(s.Stored)
			s.Stored = append(s.Stored, Stored{Type: t.Type})
		}
		s.Stored[at].Tensors++
		s.Stored[at].Bytes += len(t.Raw)
		s.Odd = append(s.Odd, odd[i]...)
	}
	return s
}

// A tensor above one of these bounds is odd.
const (
	farChannel = 20  // the greatest weight of an input channel, as a multiple of that of the median channel
	farElement = 100 // the greatest element of a tensor, as a multiple of its root mean square
)

// oddities lists the unusual properties of a tensor: it is all zeros, or cannot be read; it has rows of zeros; or it has elements or, as a
// matrix of [outputs, inputs], input channels that are far larger than the others. Tensors of integers have none.
func oddities(t *weights.Tensor) []Odd {
	var out []Odd
	note := func(format string, args ...any) { out = append(out, Odd{t.Name, fmt.Sprintf(format, args...)}) }
	if t.Whole != nil || t.Len() == 0 {
		return nil
	}
	v, err := t.Floats()
	if err != nil {
		note("%v", err)
		return out
	}
	most, sum := 0.0, 0.0
	for _, x := range v {
		f := math.Abs(float64(x))
		most = max(most, f)
		sum += float64(f * f)
	}
	rms := math.Sqrt(sum / float64(len(v)))
	switch {
	case most == 0:
		note("all zeros")
		return out
	case most > farElement*rms:
		note("its greatest element, %.4g, is %.0f times its root mean square", most, most/rms)
	}
	if len(t.Shape) != 2 {
		return out
	}
	rows, columns := t.Shape[0], t.Shape[1]
	channels := make([]float64, columns)
	empty := 0
	for i := range rows {
		none := true
		for j, x := range v[i*columns : (i+1)*columns] {
			channels[j] = max(channels[j], math.Abs(float64(x)))
			none = none && x == 0
		}
		if none {
			empty++
		}
	}
	if empty > 0 {
		note("%d of %d rows are zeros", empty, rows)
	}
	sorted := slices.Sorted(slices.Values(channels))
	median := sorted[columns/2]
	far := 0
	for _, c := range channels {
		if median > 0 && c > farChannel*median {
			far++
		}
	}
	if far > 0 {
		note("%d of %d input channels reach more than %d times as far as the median one", far, columns, farChannel)
	}
	return out
}
