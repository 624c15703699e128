package onnx

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// fileGraph is the graph as the file has it. It has been checked: every value that is
// read has exactly one definition, and there are no cycles. Nodes and initializers that
// no output needs are left out.
type fileGraph struct {
	name         string
	nodes        []*onnxpb.NodeProto // those that the outputs need, topologically ordered
	initializers map[string]*onnxpb.TensorProto
	inputs       []*onnxpb.ValueInfoProto // without those that have an initializer
	outputs      []string
	uses         map[string]int     // how often nodes and graph outputs use each value
	functions    map[[2]string]bool // domain and name of the model's functions
	source       *source
	constants    map[string]*graph.Tensor // the initializers, once they are decoded
	fixed        map[string]*graph.Tensor // inputs that the user makes constants
	pictures     map[string][]int         // shapes of the results of ImageDecoder nodes, by name
	inner        *inner
}

// newFileGraph checks the graph of m. The outputs are the chosen values, or the file's
// own if chosen is nil.
func newFileGraph(m *onnxpb.ModelProto, src *source, chosen []string) *fileGraph {
	p := m.Graph
	f := &fileGraph{
		name:         p.GetName(),
		initializers: map[string]*onnxpb.TensorProto{},
		uses:         map[string]int{},
		functions:    map[[2]string]bool{},
		fixed:        map[string]*graph.Tensor{},
		source:       src,
		inner:        &inner{constants: map[*onnxpb.TensorProto]*graph.Tensor{}},
	}
	for _, fn := range m.Functions {
		f.functions[[2]string{fn.GetDomain(), fn.GetName()}] = true
	}
	defined := f.readSources(p)
	producer := producers(p.Node, defined)
	f.readOutputs(p, defined)
	if chosen != nil {
		f.choose(chosen, defined)
	}
	f.nodes, f.uses = neededNodes(p.Node, must.Get(sortNodes(p.Node, producer)), producer, f.outputs)
	maps.DeleteFunc(f.initializers, func(name string, _ *onnxpb.TensorProto) bool { return f.uses[name] == 0 })
	if chosen != nil {
		f.inputs = slices.DeleteFunc(f.inputs, func(v *onnxpb.ValueInfoProto) bool { return f.uses[v.GetName()] == 0 })
	}
	return f
}

// readSources reads the initializers and inputs. It returns the names that they define.
func (f *fileGraph) readSources(p *onnxpb.GraphProto) map[string]bool {
	refuse.If(len(p.SparseInitializer) > 0, "sparse initializers are not supported")
	for _, t := range p.Initializer {
		refuse.If(t.GetName() == "", "an initializer has no name")
		refuse.If(f.initializers[t.GetName()] != nil, "two initializers are called %s", graph.Quote(t.GetName()))
		f.initializers[t.GetName()] = t
	}
	defined := map[string]bool{}
	for _, v := range p.Input {
		refuse.If(v.GetName() == "", "an input has no name")
		refuse.If(defined[v.GetName()], "two inputs are called %s", graph.Quote(v.GetName()))
		defined[v.GetName()] = true
		if f.initializers[v.GetName()] == nil {
			f.inputs = append(f.inputs, v)
		}
	}
	for name := range f.initializers {
		defined[name] = true
	}
	return defined
}

// producers returns the index of the node that computes each value, and adds these values
// to defined. It fails if a value is defined twice, or if a node reads one that nothing
// defines.
func producers(nodes []*onnxpb.NodeProto, defined map[string]bool) map[string]int {
	producer := map[string]int{}
	for i, n := range nodes {
		for _, out := range n.Output {
			if out == "" {
				continue // an optional output that is not wanted
			}
			if defined[out] {
				refuse.With("%s is defined twice", graph.Quote(out))
			}
			defined[out] = true
			producer[out] = i
		}
	}
	for _, n := range nodes {
		for _, in := range reads(n) {
			if in != "" && !defined[in] {
				refuse.With("%s %s reads %s, which nothing defines", graph.Quote(n.GetOpType()), graph.Quote(nodeName(n)), graph.Quote(in))
			}
		}
	}
	return producer
}

// readOutputs reads the outputs that the file declares.
func (f *fileGraph) readOutputs(p *onnxpb.GraphProto, defined map[string]bool) {
	refuse.If(len(p.Output) == 0, "the model has no outputs")
	for _, v := range p.Output {
		name := v.GetName()
		refuse.If(!defined[name], "nothing defines output %s", graph.Quote(name))
		refuse.If(slices.Contains(f.outputs, name), "two outputs are called %s", graph.Quote(name))
		f.outputs = append(f.outputs, name)
	}
}

// choose makes the named values the outputs.
func (f *fileGraph) choose(names []string, defined map[string]bool) {
	for i, name := range names {
		refuse.If(!defined[name],
			"output %s: the model computes no such value; its outputs are %s", graph.Quote(name), several(f.outputs))
		refuse.If(slices.Contains(names[:i], name), "output %s is chosen twice", graph.Quote(name))
	}
	refuse.If(len(names) == 0, "no outputs are chosen")
	f.outputs = slices.Clone(names)
}

// sortNodes returns the indexes of the nodes in topological order. If the order of the
// file is topological it is kept.
func sortNodes(nodes []*onnxpb.NodeProto, producer map[string]int) ([]int, error) {
	waiting := make([]int, len(nodes)) // inputs whose producer has not been placed
	consumers := make([][]int, len(nodes))
	for i, n := range nodes {
		for _, in := range reads(n) {
			if p, ok := producer[in]; ok {
				waiting[i]++
				consumers[p] = append(consumers[p], i)
			}
		}
	}
	order := make([]int, 0, len(nodes))
	// The loop places ready nodes in file order. A node that becomes ready after the
	// loop has passed it is placed at once.
	placed := make([]bool, len(nodes))
	var stack []int
	for i := range nodes {
		stack = append(stack[:0], i)
		for len(stack) > 0 {
			j := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if placed[j] || waiting[j] > 0 {
				continue
			}
			placed[j] = true
			order = append(order, j)
			for _, c := range consumers[j] {
				waiting[c]--
				if c < i {
					stack = append(stack, c)
				}
			}
		}
	}
	if len(order) < len(nodes) {
		for i, n := range nodes {
			if !placed[i] {
				return nil, fmt.Errorf("the graph has a cycle: %d nodes wait for each other, the first is %s %s",
					len(nodes)-len(order), graph.Quote(n.GetOpType()), graph.Quote(nodeName(n)))
			}
		}
	}
	return order, nil
}

// neededNodes returns the nodes on which outputs depend, in the given order, and how often
// these nodes and the outputs use each value.
func neededNodes(nodes []*onnxpb.NodeProto, order []int, producer map[string]int, outputs []string) (kept []*onnxpb.NodeProto, uses map[string]int) {
	needed := make([]bool, len(nodes))
	uses = map[string]int{}
	use := func(names []string) {
		for _, name := range names {
			if name == "" {
				continue
			}
			uses[name]++
			if p, ok := producer[name]; ok {
				needed[p] = true
			}
		}
	}
	use(outputs)
	for _, i := range slices.Backward(order) {
		if needed[i] {
			use(reads(nodes[i]))
			kept = append(kept, nodes[i])
		}
	}
	slices.Reverse(kept)
	return kept, uses
}

// nodeName returns the name by which messages call a node: its own, or that of its first
// output.
func nodeName(n *onnxpb.NodeProto) string {
	if n.GetName() != "" {
		return n.GetName()
	}
	for _, out := range n.Output {
		if out != "" {
			return out
		}
	}
	return ""
}

// isStrings says whether an initializer is a tensor of strings.
func isStrings(t *onnxpb.TensorProto) bool { return graph.DType(t.GetDataType()) == stringType }
