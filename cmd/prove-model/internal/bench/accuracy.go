package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/pipeline"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/forward"
)

// Accuracy compares a quantised classifier with the float model on a test set.
// The class of an image is the index of the largest output.
type Accuracy struct {
	Model     string  `json:"model"`
	Samples   int     `json:"samples"`
	Float     float64 `json:"float_accuracy"`
	Quantised float64 `json:"quantised_accuracy"`
	Agreement float64 `json:"agreement"` // of the two classes
}

// String gives the figures on one line.
func (a *Accuracy) String() string {
	return fmt.Sprintf("%s on %d samples: float %.2f %%, quantised %.2f %% right; they agree on %.2f %%",
		a.Model, a.Samples, 100*a.Float, 100*a.Quantised, 100*a.Agreement)
}

// labelled is what a test file has besides what onnx.ReadInputs reads.
type labelled struct {
	Labels []int `json:"labels"`
}

// MeasureAccuracy runs both models on every sample of the test file, JSON with
// "input_data" (samples end to end) and "labels".
func MeasureAccuracy(ctx context.Context, cfg *config.Config, test string, ph *ui.Phases) (*Accuracy, error) {
	src, err := pipeline.Open(cfg)
	if err != nil {
		return nil, err
	}
	defer src.Close(ctx)
	samples, labels, err := readTest(src.Graph, test)
	if err != nil {
		return nil, fmt.Errorf("test set %s: %w", test, err)
	}
	m, err := pipeline.Quantise(ctx, cfg, src, ph)
	if err != nil {
		return nil, err
	}
	a := &Accuracy{Model: src.Name, Samples: len(samples)}
	err = ph.Run(ctx, "test", func(step func(done, total int)) error {
		for i, sample := range samples {
			step(i, len(samples))
			float, err := src.Graph.RunFloat(sample)
			if err != nil {
				return err
			}
			input, _, err := m.QuantiseInput(sample)
			if err != nil {
				return err
			}
			wit, err := forward.Run(ctx, m.Graph, m.Weights, input)
			if err != nil {
				return fmt.Errorf("sample %d: %w", i, err)
			}
			f, q := largest(float[src.Graph.Outputs[0]]), largest(wit.Tensor(m.Graph.Outputs[0]))
			count(&a.Float, f == labels[i])
			count(&a.Quantised, q == labels[i])
			count(&a.Agreement, f == q)
		}
		return nil
	})
	for _, x := range []*float64{&a.Float, &a.Quantised, &a.Agreement} {
		*x /= float64(len(samples))
	}
	return a, err
}

func readTest(g *graph.Graph, path string) (samples [][][]float64, labels []int, err error) {
	inputs, err := onnx.ReadInputs(path)
	if err != nil {
		return nil, nil, err
	}
	if samples, err = pipeline.Split(g, inputs); err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var l labelled
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, nil, err
	}
	if len(l.Labels) != len(samples) {
		return nil, nil, fmt.Errorf("%d samples, but %d labels", len(samples), len(l.Labels))
	}
	return samples, l.Labels, nil
}

func largest[T int32 | float64](v []T) int { return slices.Index(v, slices.Max(v)) }

func count(x *float64, yes bool) {
	if yes {
		*x++
	}
}
