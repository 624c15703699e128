// Package pipeline is the way from a model file to a checked proof: it joins
// the packages that the subcommands drive.
package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/model"
)

// Source is a float model with an input to run it on and samples that set its
// ranges. All of them are complete: one dense, row-major tensor for each input
// of the graph.
type Source struct {
	Name        string // for people
	Graph       *graph.Graph
	Input       [][]float64
	InputFrom   string        // the file, or how the input was made up
	Samples     [][][]float64 // at least one
	SamplesFrom string        // likewise
	// Calibrated says that the samples come from a file of their own, so that
	// the ranges are the same whatever the input.
	Calibrated bool

	float map[string][]float64 // outputs on Input, once they are known
}

// floatOutputs returns the float model's outputs on the input.
func (s *Source) floatOutputs() (map[string][]float64, error) {
	if s.float == nil {
		if _, err := s.runFloat(s.Input); err != nil {
			return nil, err
		}
	}
	return s.float, nil
}

// runFloat runs the float model on the input or a sample and returns all its
// values. On the input it keeps the outputs: unless there are samples of their
// own, calibration runs on the input as well.
func (s *Source) runFloat(x [][]float64) (map[string][]float64, error) {
	values, err := s.Graph.RunFloat(x)
	if err != nil {
		return nil, err
	}
	if slices.EqualFunc(x, s.Input, same) {
		s.float = map[string][]float64{}
		for _, name := range s.Graph.Outputs {
			s.float[name] = values[name]
		}
	}
	return values, nil
}

// same says whether two tensors are one in memory.
func same(a, b []float64) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Open reads the model, its input and its calibration samples as the settings
// say. Everything about them that can be wrong is found here. The caller
// closes it.
func Open(cfg *config.Config) (s *Source, err error) {
	if cfg.Model == "" {
		return nil, WithHint(fmt.Errorf("no model"), "name one with --model x.onnx")
	}
	dims, err := cfg.Dims()
	if err != nil {
		return nil, err
	}
	var input onnx.Inputs
	if cfg.Input != "" {
		if input, err = onnx.ReadInputs(cfg.Input); err != nil {
			return nil, fmt.Errorf("input: %w", err)
		}
	}
	g, err := onnx.Load(cfg.Model, input.Options(dims))
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	s = &Source{Name: cfg.Model, Graph: g}
	if err := s.setInput(input, cfg); err != nil {
		return nil, err
	}
	return s, s.setSamples(cfg)
}

// Close releases the model file, unless the work was interrupted: then
// something may still be reading it, and the process is about to end.
func (s *Source) Close(ctx context.Context) {
	if ctx.Err() == nil {
		s.Graph.Close()
	}
}

// Made returns the source of a model that was made in memory, with a random
// input.
func Made(g *graph.Graph, seed int64) *Source {
	s := &Source{Name: g.Name, Graph: g, Input: randomInput(g, seed), InputFrom: randomFrom(seed)}
	s.Samples, s.SamplesFrom = [][][]float64{s.Input}, s.InputFrom
	return s
}

func (s *Source) setInput(input onnx.Inputs, cfg *config.Config) error {
	if input == nil {
		s.Input, s.InputFrom = randomInput(s.Graph, cfg.Seed), randomFrom(cfg.Seed)
		return nil
	}
	samples, err := Split(s.Graph, input)
	if err != nil {
		return fmt.Errorf("input %s: %w", cfg.Input, err)
	}
	// Loading the model has checked that the counts are those of one sample.
	s.Input, s.InputFrom = samples[0], cfg.Input
	return nil
}

func (s *Source) setSamples(cfg *config.Config) error {
	if cfg.Calibration == "" {
		s.Samples, s.SamplesFrom = [][][]float64{s.Input}, s.InputFrom
		return nil
	}
	in, err := onnx.ReadInputs(cfg.Calibration)
	if err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	if s.Samples, err = Split(s.Graph, in); err != nil {
		return fmt.Errorf("calibration %s: %w", cfg.Calibration, err)
	}
	s.SamplesFrom, s.Calibrated = fmt.Sprintf("%s, %d samples", cfg.Calibration, len(s.Samples)), true
	return nil
}

// Split matches the arrays of a file with the inputs of g, by name if all have
// the names of inputs and by position otherwise, and cuts each into as many
// samples as it holds: they lie end to end.
func Split(g *graph.Graph, file onnx.Inputs) ([][][]float64, error) {
	if len(file) != len(g.Inputs) {
		return nil, fmt.Errorf("it holds %d arrays, but the model takes %d: %s", len(file), len(g.Inputs), signature(g))
	}
	names := make([]string, len(g.Inputs))
	for i, v := range g.Inputs {
		names[i] = v.Name
	}
	ordered := inOrder(names, file)
	n := 0
	for i, v := range g.Inputs {
		have, want := len(ordered[i].Values), model.Size(v.Shape)
		if have == 0 || have%want != 0 || n != 0 && have != n*want {
			return nil, fmt.Errorf("array %d has %d elements, which is not %s: the model takes %s",
				i, have, times(n, want), signature(g))
		}
		n = have / want
	}
	samples := make([][][]float64, n)
	for k := range samples {
		for i, v := range g.Inputs {
			size := model.Size(v.Shape)
			samples[k] = append(samples[k], ordered[i].Values[k*size:(k+1)*size])
		}
	}
	return samples, nil
}

// inOrder returns as many arrays of a file as there are inputs in the inputs'
// order: by name if all have the names of inputs, as they are otherwise.
func inOrder(names []string, file onnx.Inputs) onnx.Inputs {
	byName := map[string]onnx.Input{}
	for _, in := range file {
		byName[in.Name] = in
	}
	ordered := make(onnx.Inputs, len(file))
	for i, name := range names {
		in, ok := byName[name]
		if !ok || len(byName) != len(file) {
			return file
		}
		ordered[i] = in
	}
	return ordered
}

func times(n, size int) string {
	if n == 0 {
		return fmt.Sprintf("a multiple of %d", size)
	}
	return fmt.Sprintf("%d × %d", n, size)
}

// signature lists the inputs of g with their shapes.
func signature(g *graph.Graph) string {
	s := ""
	for i, v := range g.Inputs {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s %v", v.Name, v.Shape)
	}
	return s
}

// randomInput is uniform in [0, 1), which every operator is defined on; for
// integer inputs it is 0 or 1.
func randomInput(g *graph.Graph, seed int64) [][]float64 {
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	input := make([][]float64, len(g.Inputs))
	for i, v := range g.Inputs {
		input[i] = make([]float64, model.Size(v.Shape))
		for j := range input[i] {
			input[i][j] = rng.Float64()
			if !v.DType.IsFloat() {
				input[i][j] = float64(rng.IntN(2))
			}
		}
	}
	return input
}

func randomFrom(seed int64) string {
	return fmt.Sprintf("random, uniform in [0, 1), seed %d", seed)
}
