package onnx

// Graph is a model in the normal form that the package documentation
// describes.
type Graph struct {
	Name    string
	Inputs  []Value            // in the file's order, without those that an initializer fixes
	Outputs []string           // as in the file; node outputs, or a name of Inputs where the file passes that through
	Nodes   []*Node            // topologically ordered
	Consts  map[string]*Tensor // values that do not depend on the inputs
	Shapes  map[string][]int   // of inputs, constants and node outputs
	DTypes  map[string]DType   // likewise; computed values of any float type are Float

	files []*file // mappings that Consts may point into, the model's own first
}

// Value is a graph input.
type Value struct {
	Name  string
	Shape []int
	DType DType
}

// Node is one operation. Its operator and attributes are those that the
// package documentation lists.
type Node struct {
	Op      string
	Name    string   // unique in the graph; derived from the file's
	Inputs  []string // values; never empty strings
	Outputs []string // exactly one
	Ints    map[string][]int64
	Floats  map[string]float64
	Strs    map[string]string
}

// Int returns the integer attribute key, or 0 when the node has none.
func (n *Node) Int(key string) int {
	if v := n.Ints[key]; len(v) > 0 {
		return int(v[0])
	}
	return 0
}

// Output returns the name of the node's one output.
func (n *Node) Output() string { return n.Outputs[0] }

// Close releases the files that the graph's constants may point into. The
// constants must not be used afterwards.
func (g *Graph) Close() error {
	var first error
	for _, f := range g.files {
		if err := f.close(); err != nil && first == nil {
			first = err
		}
	}
	g.files = nil
	return first
}
