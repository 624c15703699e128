package lower

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// Memory is what passes over one float graph remember for those that follow: large weights,
// columns and masks are not gone through again.
type Memory struct {
	weights  weights.Store
	columns  fixed.Recall[*fixed.Column]
	bands    map[*graph.Tensor]*fixed.Band // of masks
	variants *variants                     // of the graph that is quantised
	// Of functions, by all that they depend on:
	lines  fixed.Recall[*lineColumns]
	closer fixed.Recall[bool]    // whether lines are closer than a table
	useful fixed.Recall[float64] // the magnitude beyond which a function is flat
	most   fixed.Recall[float64] // that of its values
}

// Fill gives a model its weights, unless it has them (weights.Store).
func (m *Memory) Fill(of *Result) {
	if of.Making.Done {
		return
	}
	m.weights.Fill(of.Making)
	for _, of := range []interface{ Next() }{&m.columns, &m.lines, &m.closer, &m.useful, &m.most} {
		of.Next()
	}
}
