package provemodel

import (
	"context"

	"github.com/prove-model/prove-model/quantise"
)

// Layer is a node of the model in a run of its circuit.
type Layer = quantise.Layer

// Layers runs the circuit and the float model that it was made from on an input, and
// compares them node by node. Nothing is proved.
func (c *Circuit) Layers(ctx context.Context, m *Model, in Input) ([]Layer, error) {
	q, err := c.sized(in)
	if err != nil {
		return nil, err
	}
	_, wit, err := c.run(ctx, nil, q, in)
	if err != nil {
		return nil, err
	}
	var layers []Layer
	err = m.while(ctx, func() error {
		g, err := m.sizedFor(in)
		if err != nil {
			return err
		}
		if err := runnable(g); err != nil {
			return err
		}
		values, err := g.RunFloat(in)
		if err == nil {
			layers = q.Layers(g, values, wit)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return layers, nil
}
