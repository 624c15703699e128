package quantise

import "github.com/prove-model/prove-model/prover/circuit/model"

// printableNames makes names of what the float model calls its parts: it may
// call them anything, a key may not (model.MaxName). Names need not differ.
func printableNames(g *model.Graph) {
	g.Name = model.PrintableName(g.Name)
	for i := range g.Tensors {
		g.Tensors[i].Name = model.PrintableName(g.Tensors[i].Name)
	}
	for i := range g.Tables {
		g.Tables[i].Name = model.PrintableName(g.Tables[i].Name)
	}
	for i := range g.Steps {
		g.Steps[i].Name = model.PrintableName(g.Steps[i].Name)
	}
}
