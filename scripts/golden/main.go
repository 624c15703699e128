// Command golden writes testdata/golden. It quantises models, from ONNX files or built
// here, and stores their circuits, weights and inputs with the resulting keys and
// proofs (package internal/golden).
//
//	go run ./scripts/golden [-models ../shared/models] [-case NAME]
//
// Run it for a new case, or when the circuits themselves are to change. When the bytes of keys or
// proofs change but the circuits do not, go test ./internal/golden -update is
// enough.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/quantise"
)

// source says where a case comes from.
type source struct {
	name         string
	model, input string // files
	// build, if set, makes a model that has no file, and an input for it.
	build        func() (*graph.Graph, [][]float64, error)
	made         func() (*golden.Circuit, error) // if set, makes the circuit itself, without a model
	calibration  string                          // file; "": the input is used
	options      quantise.Options
	mode         proof.Mode
	hash         hash.Suite
	chunkEntries int // 0: the canonical number
	chunks       int // the number of chunks that the circuit must have; 0: one
	reveals      []model.Reveal
	// narrow divides the calibrated ranges of the nodes' outputs, so that values are
	// clamped; 0: they stay.
	narrow float64
}

const digits = "testdata/digits/"

// ofDigits completes a case that uses the classifier of digits.
func ofDigits(name string, s source) source {
	s.name, s.model, s.input, s.calibration = name, digits+"digits.onnx", digits+"input.json", digits+"calibration.json"
	return s
}

// operator is a case that uses one of the small models for tests of operators.
func operator(name, model string) source {
	base := filepath.Join("onnx/testdata/operators", model)
	return source{name: name, model: base + ".onnx", input: base + ".json"}
}

// sources lists all cases. models is the folder of the example models.
func sources(models string) []source {
	saturated := operator("saturated_division", "div_computed")
	saturated.narrow = 4
	return []source{
		ofDigits("digits", source{}),
		ofDigits("digits_chunks", source{options: quantise.Options{Mode: "w8a8"}, chunkEntries: 5000, chunks: 2}),
		ofDigits("digits_johnson", source{options: quantise.Options{Mode: "w8a8"}, mode: proof.Johnson}),
		ofDigits("digits_poseidon2", source{options: quantise.Options{Mode: "w8a8"}, chunkEntries: 5000, chunks: 2, mode: proof.Johnson, hash: hash.Poseidon2}),
		ofDigits("digits_argmax", source{options: quantise.Options{Mode: "w8a8"}, reveals: []model.Reveal{{Output: 0}}}),
		ofDigits("digits_top", source{hash: hash.Poseidon2, reveals: []model.Reveal{{Output: 0, Top: 3}}}),
		{name: "attention", model: filepath.Join(models, "self_attention/network.onnx"), input: filepath.Join(models, "self_attention/input.json"),
			options: quantise.Options{Mode: "w8a8"}},
		operator("linear", "gemm"),
		operator("conv", "conv_groups"),
		operator("maxpool", "maxpool_pads"),
		operator("averagepool", "averagepool_pads"),
		operator("leakyrelu", "leakyrelu"),
		operator("function", "gelu"),
		operator("elementwise", "mul_broadcast"),
		operator("softmax", "softmax"),
		operator("division", "div_computed"),
		operator("layernorm", "layernorm"),
		operator("batchnorm", "batchnorm"),
		operator("gather", "gather_matrix"),
		operator("tokens", "gather_of_computed"),
		operator("embedding", "gather_tokens"),
		operator("pad", "pad_reflect"),
		operator("transpose", "transpose"),
		ofDigits("saturated", source{options: quantise.Options{Mode: "w8a8"}, chunkEntries: 5000, chunks: 2, narrow: 8}),
		saturated,
		{name: "formulas", build: formulas},
		{name: "long", build: long, options: quantise.Options{ActBits: 8}},
		{name: "long_poseidon2", build: long, options: quantise.Options{ActBits: 8}, hash: hash.Poseidon2},
		text(),
		{name: "texts", made: severalTexts},
		{name: "segment", made: segment},
		{name: "stretched", made: highBits},
		{name: "adapter", made: adapter},
		{name: "experts", build: experts, options: quantise.Options{Mode: "w8a8"}}, // the stored case compares experts in pairs, and is kept
		{name: "routing", build: routing, options: quantise.Options{Mode: "w8a8"}},
	}
}

func main() {
	models := flag.String("models", "../shared/models", "`folder` of example models; without it their cases stay as they are")
	out := flag.String("out", "testdata/golden", "`folder` to write to")
	only := flag.String("case", "", "`name` of the one case to write")
	flag.Parse()
	if err := run(*models, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "golden:", err)
		os.Exit(1)
	}
}

func run(models, out, only string) error {
	for _, s := range sources(models) {
		if only != "" && s.name != only {
			continue
		}
		c, err := s.circuit()
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "golden: %s stays as it is: %v\n", s.name, err)
			continue
		}
		if err == nil {
			err = golden.Write(context.Background(), filepath.Join(out, s.name), c)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// circuit makes the case's circuit: it reads the model, quantises it, and quantises the input.
func (s *source) circuit() (_ *golden.Circuit, err error) {
	defer must.Catch(&err)
	if s.made != nil {
		return s.made()
	}
	g, data, err := s.read()
	must.OK(err)
	defer g.Close()
	ranges := must.Get(s.ranges(g, data))
	m := must.Get(quantise.Quantise(g, ranges, s.options))
	lens := make([]int, len(data))
	for i := range data {
		lens[i] = len(data[i])
	}
	instance := must.Get(m.Circuit.InstanceOf(lens))
	instance.ChunkEntries = s.chunkEntries
	m = must.Get(m.At(instance))
	if m.Graph.Chunks != max(s.chunks, 1) {
		return nil, fmt.Errorf("%d chunks", m.Graph.Chunks)
	}
	c := &golden.Circuit{Template: m.Circuit, Instance: instance, Weights: m.Weights, Security: proof.DefaultSecurity}
	c.Security.Mode, c.Security.Hash = s.mode, s.hash
	c.Instance.Reveals = s.reveals
	c.Inputs, _, err = m.QuantiseInput(data)
	return c, err
}

// read reads the model and the input.
func (s *source) read() (_ *graph.Graph, _ [][]float64, err error) {
	defer must.Catch(&err)
	if s.build != nil {
		return s.build()
	}
	input := must.Get(onnx.ReadInputs(s.input))
	g, err := onnx.Load(s.model, input.Options(nil))
	return g, input.Data(), err
}

// ranges calibrates the graph on the calibration file, or else on the input. The arrays of the
// file have several samples one after the other.
func (s *source) ranges(g *graph.Graph, data [][]float64) (_ map[string]quantise.Range, err error) {
	defer must.Catch(&err)
	samples := 1
	if s.calibration != "" {
		c := must.Get(onnx.ReadInputs(s.calibration))
		samples = len(c.Data()[0]) / len(data[0])
		data = c.Data()
	}
	var runs []map[string][]float64
	for k := range samples {
		in := make([][]float64, len(data))
		for i, v := range data {
			n := len(v) / samples
			in[i] = v[k*n : (k+1)*n]
		}
		values := must.Get(g.RunFloat(in))
		runs = append(runs, values)
	}
	ranges := quantise.Ranges(runs...)
	for _, n := range g.Nodes {
		if r := ranges[n.Output]; s.narrow > 0 {
			ranges[n.Output] = quantise.Range{Min: r.Min / s.narrow, Max: r.Max / s.narrow, Least: r.Least / s.narrow}
		}
	}
	return ranges, nil
}
