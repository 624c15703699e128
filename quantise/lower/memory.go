package lower

import (
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/weights"
)

// Memory is what passes over one float graph remember for those that follow: large weights,
// columns and masks are not gone through again.
type Memory struct {
	weights weights.Store
	columns fixed.ColumnCache
	bands   map[*graph.Tensor]band // of masks
	largest map[*graph.Tensor]float64
	texts   *texts // of the graph that is quantised
	// Columns of functions between lines, by all that they depend on: those that have been asked
	// for since the last model got its weights, and before.
	lines, linesBefore map[string]*lineColumns
}

// Fill gives a model its weights, unless it has them (weights.Store).
func (m *Memory) Fill(of *Result) {
	if of.Making.Done {
		return
	}
	m.weights.Fill(of.Making)
	m.columns.Next()
	m.lines, m.linesBefore = nil, m.lines
}
