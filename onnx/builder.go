package onnx

import (
	"fmt"
	"maps"
	"slices"
)

// maxActivations bounds the elements of all computed values together, so that
// a small hostile file cannot ask for much memory later.
const maxActivations = 1 << 27

// builder makes the normal-form graph, node by node in topological order. A
// value of the file stands for a value of the normal form by alias; names of
// the file are never taken by values made on the way.
type builder struct {
	file  *fileGraph
	opset int

	alias    map[string]string   // file's value → value here
	poisoned map[string]bool     // file's values that could not be made
	shapes   map[string][]int    // of every value here
	dtypes   map[string]DType    // of every value here
	consts   map[string]*Tensor  // those that are constant
	producer map[string]*Node    // of those that are computed
	taken    map[string]struct{} // names of the file and of values here
	next     map[string]int      // numbers given out by unique
	nodes    []*Node
	errs     NodesError

	activations int // elements of computed values so far
	foldBudget  int // elements that folding may still make
}

// lower turns the file's graph into normal form.
func lower(f *fileGraph, opset int, opts Options) (*Graph, error) {
	inputs, dimErr := inputValues(f.inputs, opts)
	if dimErr != nil {
		// Operators that no value of a dimension would help come first.
		if errs := unknownOperators(f); len(errs) > 0 {
			return nil, errs
		}
		return nil, dimErr
	}
	b := &builder{
		file: f, opset: opset,
		alias: map[string]string{}, poisoned: map[string]bool{},
		shapes: map[string][]int{}, dtypes: map[string]DType{},
		consts: map[string]*Tensor{}, producer: map[string]*Node{},
		taken: map[string]struct{}{}, next: map[string]int{},
	}
	b.reserveNames()
	for _, v := range inputs {
		b.define(v.Name, v.Shape, v.DType)
		b.activations += size(v.Shape)
	}
	if err := b.decodeInitializers(); err != nil {
		if errs := unknownOperators(f); len(errs) > 0 {
			return nil, errs
		}
		return nil, err
	}
	for _, n := range f.nodes {
		b.lowerNode(n)
	}
	if len(b.errs) > 0 {
		return nil, b.errs
	}
	return b.finish(inputs)
}

// reserveNames keeps all names of the file from being given to other values.
func (b *builder) reserveNames() {
	for _, v := range b.file.inputs {
		b.taken[v.GetName()] = struct{}{}
	}
	for name := range b.file.initializers {
		b.taken[name] = struct{}{}
	}
	for _, n := range b.file.nodes {
		for _, out := range n.Output {
			b.taken[out] = struct{}{}
		}
	}
}

// define enters a value that bears the file's own name.
func (b *builder) define(name string, shape []int, dt DType) {
	b.alias[name] = name
	b.shapes[name] = shape
	b.dtypes[name] = dt
	b.taken[name] = struct{}{}
}

// decodeInitializers makes the constants. Folding may make a few times as many
// elements as the file holds, and some for shape arithmetic and masks.
func (b *builder) decodeInitializers() error {
	b.foldBudget = 1 << 24
	for _, name := range slices.Sorted(maps.Keys(b.file.initializers)) {
		t, err := decode(b.file.initializers[name], b.file.source.external)
		if err != nil {
			return fmt.Errorf("initializer %s: %w", quote(name), err)
		}
		b.define(name, t.Shape, t.DType)
		b.consts[name] = t
		b.foldBudget += 4 * t.Len()
	}
	return nil
}

// unique returns base, or base with a number, as a name not yet taken.
func (b *builder) unique(base string) string {
	name := base
	for {
		if _, ok := b.taken[name]; !ok {
			b.taken[name] = struct{}{}
			return name
		}
		b.next[base]++
		name = fmt.Sprintf("%s_%d", base, b.next[base]+1)
	}
}

// rename changes the name of a computed value that only the given nodes mention.
func (b *builder) rename(from, to string, nodes []*Node) {
	b.shapes[to], b.dtypes[to] = b.shapes[from], b.dtypes[from]
	delete(b.shapes, from)
	delete(b.dtypes, from)
	n := b.producer[from]
	n.Outputs[0] = to
	b.producer[to] = n
	delete(b.producer, from)
	for _, n := range nodes {
		for i, in := range n.Inputs {
			if in == from {
				n.Inputs[i] = to
			}
		}
	}
}

// finish gives the outputs their names, takes up batch normalisations, leaves
// out what no output needs, and collects the graph.
func (b *builder) finish(inputs []Value) (*Graph, error) {
	b.nameOutputs()
	b.dropUnneeded()
	if err := b.foldBatchNorms(); err != nil {
		return nil, err
	}
	g := &Graph{
		Name: b.file.name, Inputs: inputs, Outputs: b.file.outputs, Nodes: b.nodes,
		Consts: map[string]*Tensor{}, Shapes: map[string][]int{}, DTypes: map[string]DType{},
	}
	keep := func(name string) {
		g.Shapes[name] = b.shapes[name]
		g.DTypes[name] = b.dtypes[name]
	}
	for _, v := range inputs {
		keep(v.Name)
	}
	names := map[string]int{}
	for _, n := range g.Nodes {
		keep(n.Output())
		for _, in := range n.Inputs {
			if t := b.consts[in]; t != nil {
				if t.Len() == 0 {
					return nil, fmt.Errorf("constant %s is empty", quote(in))
				}
				keep(in)
				g.Consts[in] = t
			}
		}
		base := n.Name
		for names[n.Name] > 0 {
			names[base]++
			n.Name = fmt.Sprintf("%s_%d", base, names[base])
		}
		names[n.Name]++
	}
	return g, nil
}

// nameOutputs makes each output of the file the output of a node of its own:
// the value that it stands for is renamed where it is free to be, and copied
// by an Identity where it is an input, a constant or another output.
func (b *builder) nameOutputs() {
	outputs := map[string]bool{}
	for _, out := range b.file.outputs {
		outputs[out] = true
	}
	renamed := map[string]string{}
	for _, out := range b.file.outputs {
		value := b.alias[out]
		if value == out {
			if b.consts[out] == nil {
				continue // computed under its own name, or an input that is itself an output
			}
			// An initializer that is itself an output: the constant moves.
			value = b.unique(out + "/value")
			b.shapes[value], b.dtypes[value], b.consts[value] = b.shapes[out], b.dtypes[out], b.consts[out]
			delete(b.consts, out)
			renamed[out] = value
		} else if b.producer[value] != nil && !outputs[value] && renamed[value] == "" {
			b.rename(value, out, nil)
			renamed[value] = out
			continue
		} else if r := renamed[value]; r != "" {
			value = r
		}
		n := &Node{Op: "Identity", Name: out, Inputs: []string{value}, Outputs: []string{out}}
		b.nodes = append(b.nodes, n)
		b.producer[out] = n
		b.shapes[out], b.dtypes[out] = b.shapes[value], b.dtypes[value]
	}
	for _, n := range b.nodes {
		for i, in := range n.Inputs {
			// Chains do not occur: what a value is renamed to is an output, or fresh.
			if r := renamed[in]; r != "" && n.Outputs[0] != in {
				n.Inputs[i] = r
			}
		}
	}
}

// dropUnneeded removes nodes that no output depends on.
func (b *builder) dropUnneeded() {
	needed := map[string]bool{}
	for _, out := range b.file.outputs {
		needed[out] = true
	}
	var kept []*Node
	for i := len(b.nodes) - 1; i >= 0; i-- {
		n := b.nodes[i]
		if !needed[n.Output()] {
			continue
		}
		kept = append(kept, n)
		for _, in := range n.Inputs {
			needed[in] = true
		}
	}
	slices.Reverse(kept)
	b.nodes = kept
}
