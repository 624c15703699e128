package job

import (
	"context"
	"slices"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/onnxruntime"
	"github.com/prove-model/prove-model/internal/seq"
)

// check computes with ONNX Runtime the outputs that a run is compared with.
type check struct {
	path  string
	fixed provemodel.Arrays // inputs that are part of the model
}

// run returns the outputs on an input, in the model's order.
func (c *check) run(ctx context.Context, m *provemodel.Model, in provemodel.Input) (_ []provemodel.Tensor, err error) {
	defer must.Catch(&err)
	arrays := map[string]onnxruntime.Array{}
	for _, a := range c.fixed {
		arrays[a.Name] = onnxruntime.Array{Shape: a.Shape, Values: a.Values}
	}
	for i, spec := range m.Inputs() {
		arrays[spec.Name] = onnxruntime.Array{Shape: batched(spec.Shape, len(in[i])), Values: in[i]}
	}
	names := seq.Map(m.Outputs(), func(spec provemodel.Spec) string { return spec.Name })
	out := must.GetAs(onnxruntime.Run(ctx, c.path, arrays, names))("--check")
	own, err := m.Run(ctx, in) // tells types, ties, and values near whole numbers or beyond float32
	must.OK(err)
	for i := range out {
		out[i].Integers, out[i].Margins, out[i].Edges, out[i].NearWhole = own[i].Integers, own[i].Margins, own[i].Edges, own[i].NearWhole
		out[i].Beyond = own[i].Beyond
	}
	return out, nil
}

// batched returns the shape of an array of so many values. The first axis, which the model may have left open, is set
// accordingly.
func batched(shape []int, values int) []int {
	shape, row := slices.Clone(shape), 1
	if len(shape) == 0 {
		return []int{}
	}
	for _, d := range shape[1:] {
		row *= d
	}
	if row > 0 {
		shape[0] = values / row
	}
	return shape
}
