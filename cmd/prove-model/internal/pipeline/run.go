package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/forward"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/quantise"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Run is a proved run of a prepared model.
type Run struct {
	Proof     []byte
	Outputs   []Output
	Saturated []Saturation
	Security  float64 // bits of the weakest round
}

// Prove runs the model on the source's input, in integers and for comparison
// in floating point, and proves the integer run.
func (p *Prepared) Prove(ctx context.Context, dev *Device, src *Source, ph *ui.Phases) (*Run, error) {
	if err := dev.reserve(p.Model.Graph, p.Key.Security, ph); err != nil {
		return nil, err
	}
	warnOfChunks(p.Model.Graph, p.chunkBudget, ph)
	r := &Run{}
	var wit *forward.Witness
	err := ph.Run(ctx, "run model", func(func(done, total int)) (err error) {
		wit, err = r.forward(ctx, dev, p, src)
		return err
	})
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	var stats *prover.Stats
	err = ui.Await(ctx, func() (err error) {
		stats, err = prover.Prove(ctx, p.Key, p.Model.Graph, p.Tree, wit, &file, prover.Options{Backend: dev.Backend, Progress: follow(ctx, ph)})
		return err
	})
	ph.Stop(err == nil)
	if err != nil {
		return nil, err
	}
	r.Proof, r.Security = file.Bytes(), stats.Security
	return r, nil
}

// follow shows the prover's phases until the context ends.
func follow(ctx context.Context, ph *ui.Phases) func(p prover.Phase, done, total int) {
	var phase prover.Phase
	return func(p prover.Phase, done, total int) {
		if ctx.Err() != nil {
			return
		}
		if p != phase {
			phase = p
			ph.Start(string(p))
		}
		ph.Step(done, total)
	}
}

// Check verifies the proof as anyone would who has the two files.
func (r *Run) Check(ctx context.Context, p *Prepared, ph *ui.Phases) error {
	return ph.Run(ctx, "self-check", func(func(done, total int)) error {
		key, err := proof.DecodeKey(p.KeyBytes)
		if err == nil {
			_, err = verifier.Verify(key, bytes.NewReader(r.Proof))
		}
		if err != nil {
			return WithHint(fmt.Errorf("the proof just made does not verify: %w", err),
				"this is a fault of the program: please report it with the model")
		}
		return nil
	})
}

// forward runs both models and fills in what their runs tell.
func (r *Run) forward(ctx context.Context, dev *Device, p *Prepared, src *Source) (*forward.Witness, error) {
	input, clamped, err := p.Model.QuantiseInput(src.Input)
	if err != nil {
		return nil, err
	}
	wit, err := forward.RunOn(ctx, dev, p.Model.Graph, p.Model.Weights, input)
	if err != nil {
		return nil, err
	}
	if clamped > 0 {
		r.Saturated = append(r.Saturated, Saturation{"the input", clamped})
	}
	counts := p.Model.Saturation(wit)
	for _, node := range slices.Sorted(maps.Keys(counts)) {
		r.Saturated = append(r.Saturated, Saturation{node, counts[node]})
	}
	float, err := src.floatOutputs()
	if err != nil {
		return nil, err
	}
	for i, values := range p.Model.Outputs(wit) {
		name := src.Graph.Outputs[i]
		o, err := compare(name, src.Graph.Shapes[name], values, float[name])
		if err != nil {
			return nil, err
		}
		r.Outputs = append(r.Outputs, o)
	}
	return wit, nil
}

// compare pairs an output with that of the float model.
func compare(name string, shape []int, values, float []float64) (Output, error) {
	for _, f := range float {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return Output{}, fmt.Errorf("the float model gives %v at output %s on this input", f, name)
		}
	}
	a := quantise.Compare(values, float)
	if shape == nil {
		shape = []int{} // JSON: a scalar, not null
	}
	return Output{
		Name: name, Shape: shape, Values: values, Float: float,
		MaxError: a.MaxError, RangeError: math.Min(a.Relative, math.MaxFloat64), Cosine: a.Cosine, // JSON has no infinity
	}, nil
}

// Parameters returns the number of elements of the graph's float constants.
func Parameters(g *graph.Graph) int {
	n := 0
	for _, t := range g.Consts {
		n += len(t.F32)
	}
	return n
}
