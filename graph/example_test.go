package graph_test

import (
	"fmt"

	"github.com/prove-model/prove-model/graph"
)

// A layer of a perceptron, on an input whose first axis the model leaves open.
func ExampleBuilder() {
	b := graph.NewBuilder("layer")
	x := b.Input("x", graph.Float, []int{1, 2}, "batch", "")
	w := b.Constant("w", &graph.Tensor{Shape: []int{2, 2}, DType: graph.Float, F32: []float32{1, -1, 2, 1}})
	half := b.Div(w, b.Number(2)) // computed at once
	b.At("", "layer1")
	b.Output("y", b.Apply(graph.Relu, b.MatMul(x, half)))
	g, err := b.Graph()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range g.Nodes {
		fmt.Printf("%s %s: %q to %s %v\n", graph.Kind(n.Op), n.Name, n.Inputs, n.Output, g.Shapes[n.Output])
	}
	values, err := g.RunFloat([][]float64{{3, -1}})
	fmt.Println(g.Inputs[0].Symbols, values["y"], err)
	// Output:
	// MatMul layer1/MatMul: ["x" "Div"] to layer1/MatMul [1 2]
	// Relu layer1/Relu: ["layer1/MatMul"] to y [1 2]
	// [batch ] [0.5 0] <nil>
}

// All errors are told at once, each with its node.
func ExampleBuilder_errors() {
	b := graph.NewBuilder("faulty")
	x := b.Input("x", graph.Float, []int{2, 3})
	b.At("Gemm", "first")
	y := b.MatMul(x, x)
	b.At("Relu", "second") // has no fault of its own
	z := b.Apply(graph.Relu, y)
	b.At("Gather", "third")
	b.Output("z", b.Add(z, b.Gather(x, 1, []int{0, 7, 0})))
	_, err := b.Graph()
	fmt.Println(err)
	// Output:
	// 2 nodes cannot be used:
	//   "Gemm" "first": shapes [2 3] and [2 3] do not multiply
	//   "Gather" "third": index 7 of an axis of 3
}
