package forward

import (
	"github.com/prove-model/prove-model/prover/ints"
	"github.com/prove-model/prove-model/prover/model"
)

// DefaultThreshold is the size (see Task.Size) from which on a step is worth a
// device: its weights stay there, so little has to be carried.
const DefaultThreshold = 1 << 12

// A Machine executes lookup steps, the heavy ones, faster than this package.
type Machine interface {
	// LookUp executes a step and reports whether it did. If not, it has changed
	// nothing, and the step is executed here: so a machine need not take every
	// kind of step, nor one whose accumulators or keys leave their range, about
	// which the error is made here. An error ends the run.
	LookUp(t *Task) (done bool, err error)
}

// A Task is a lookup step to execute.
type Task struct {
	Graph *model.Graph
	Step  *model.Step
	// Linear returns the accumulator without its products: dense, of the step's
	// shape.
	Linear func() []int64
	// Operand returns the values of a tensor. Those of a fixed tensor are the
	// same list in every run.
	Operand func(model.TensorID) ints.Ints
	// Column is the column of a TableFunc table, nil for others.
	Column ints.Ints
	// Keys, Out and Lo are to be filled; Out and Lo may be nil.
	Keys, Out, Lo []int32
	// Counts, by row of the table, is to be added to.
	Counts []int32
}

// Size returns the number of entries of the largest tensor that the step
// computes or multiplies.
func (t *Task) Size() int {
	n := len(t.Keys)
	for i := range t.Step.Acc.Products {
		p := &t.Step.Acc.Products[i]
		n = max(n, model.Size(t.Graph.Tensors[p.A].Shape), model.Size(t.Graph.Tensors[p.B].Shape))
	}
	return n
}

// elsewhere offers the lookup step i to the machine.
func (e *executor) elsewhere(i int) (done bool, err error) {
	s := &e.graph.Steps[i]
	t := &Task{
		Graph: e.graph, Step: s, Operand: e.operand, Linear: func() []int64 { return e.linear(s) },
		Counts: e.Values[e.mult(s)],
	}
	if table := &e.graph.Tables[s.Table]; table.Kind == model.TableFunc {
		t.Column = e.Weights[table.Values]
	}
	t.Keys, t.Out, t.Lo = e.results(i)
	return e.machine.LookUp(t)
}
