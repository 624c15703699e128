package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Output makes v an output of the graph, under a name that no other value has.
func (b *Builder) Output(name string, v Value) {
	if b.extends(v) {
		b.At("", name)
		if x := v.v; x.node != nil && x.name == name { // other nodes may read x, so it stays, under another name
			x.name = b.unique(name + "/value")
		}
		v = b.extendedOutput(v)
	}
	if v.v != nil {
		b.outputs = append(b.outputs, output{name, v.v})
		b.taken[name] = struct{}{}
	}
}

// Alike says that the values are the same quantity at several steps of a recurrence (see
// [Graph.Alike]).
func (b *Builder) Alike(steps []Value) {
	var list []*value
	for _, v := range steps {
		if v.v != nil {
			list = append(list, v.v)
		}
	}
	b.alike = append(b.alike, list)
}

// Graph returns the graph. It names the outputs, recognises norms and masks, folds
// the scaling of channels, and removes nodes that no output needs. If there were
// errors, it returns a [NodesError] with all of them. The builder cannot be used
// afterwards.
func (b *Builder) Graph() (*Graph, error) {
	if len(b.errs) > 0 {
		return nil, b.errs
	}
	if len(b.outputs) == 0 {
		return nil, errors.New("the model has no outputs")
	}
	b.nameOutputs()
	b.dropUnneeded()
	if err := b.recognise(); err != nil {
		return nil, err
	}
	b.foldChannels()
	var g *Graph
	err := refuse.Caught(func() { g = b.named() })
	return g, err
}

// named returns the graph of what has been built, with the current names of the values.
// It refuses names that two values share.
func (b *Builder) named() *Graph {
	g := &Graph{Name: b.name, Consts: map[string]*Tensor{}, Shapes: map[string][]int{}, DTypes: map[string]DType{}}
	owner := map[string]*value{}
	keep := func(v *value) {
		o := owner[v.name]
		refuse.If(o != nil && o != v, "two values are called %s", Quote(v.name))
		owner[v.name] = v
		g.Shapes[v.name], g.DTypes[v.name] = v.shape, v.dtype
		if v.tensor != nil {
			g.Consts[v.name] = v.tensor
		}
	}
	for _, v := range b.inputs {
		refuse.If(owner[v.name] != nil, "two inputs are called %s", Quote(v.name))
		keep(v)
		g.Inputs = append(g.Inputs, Input{Name: v.name, Shape: v.shape, Symbols: v.symbols, DType: v.dtype, Numbers: v.numbers})
	}
	for _, o := range b.outputs {
		refuse.If(slices.Contains(g.Outputs, o.name), "two outputs are called %s", Quote(o.name))
		g.Outputs = append(g.Outputs, o.name)
	}
	names := map[string]int{}
	for _, n := range b.nodes {
		out := &Node{Op: n.op, Name: n.name, Output: n.out.name, Within: n.within}
		keep(n.out)
		for _, in := range n.in {
			keep(in)
			out.Inputs = append(out.Inputs, in.name)
		}
		for names[out.Name] > 0 {
			names[n.name]++
			out.Name = fmt.Sprintf("%s_%d", n.name, names[n.name])
		}
		names[out.Name]++
		g.Nodes = append(g.Nodes, out)
	}
	for _, list := range b.alike {
		var names []string
		for _, v := range list {
			if owner[v.name] == v && v.tensor == nil {
				names = append(names, v.name)
			}
		}
		if len(names) > 1 {
			g.Alike = append(g.Alike, names)
		}
	}
	return g
}

// nameOutputs gives each output a value of its own that has the output's name. A value
// that a node computes is renamed, unless it has the name of another output. An input
// under another name, a constant, or a value that is another output is copied by an
// Identity.
func (b *Builder) nameOutputs() {
	names := map[string]bool{}
	for _, o := range b.outputs {
		names[o.name] = true
	}
	for i, o := range b.outputs {
		v := o.value
		if at := slices.IndexFunc(b.inputs, func(in *value) bool { return in.name == o.name }); at >= 0 && Size(v.shape) == 0 {
			v, b.outputs[i].value = b.inputs[at], b.inputs[at] // the input itself, not the empty constant that stands for it
		}
		switch {
		case v.name == o.name && v.tensor == nil:
			continue // computed under its own name, or an input that is itself an output
		case v.name == o.name:
			v.name = b.unique(o.name + "/value") // a constant that has the output's name gives it up
		case v.node != nil && !names[v.name]:
			v.name = o.name
			continue
		}
		b.outputs[i].value = b.computedBy(Identity{}, o.name, v.shape, v.dtype, v)
	}
}

// dropUnneeded removes nodes that no output depends on.
func (b *Builder) dropUnneeded() {
	needed := map[*value]bool{}
	for _, o := range b.outputs {
		needed[o.value] = true
	}
	var kept []*node
	for _, n := range slices.Backward(b.nodes) {
		if needed[n.out] {
			kept = append(kept, n)
			for _, in := range n.in {
				needed[in] = true
			}
		}
	}
	slices.Reverse(kept)
	b.nodes = kept
}
