package families

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/weights"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// large is the number of elements from which on a tensor is kept as it is stored, and decoded only in parts.
const large = 1 << 12

// source provides a builder with the tensors of a model. It keeps them (large ones in
// stored form), so that a graph for another number of tokens has the same constants.
type source struct {
	set    weights.Set
	prefix string                   // of the tensors' names in the file, such as "model."; the architecture's names follow it
	kept   map[string]*graph.Tensor // loaded tensors, by their full names
	used   map[string]bool          // full names of the tensors that a graph has asked for

	adapter *Adapter // of some layers of the model, or nil
}

// source returns the source of the model's weights. Its prefix is the first of prefixes with which the file
// has the given tensor, or "".
func (c *published) source(tensor string, prefixes ...string) *source {
	s := &source{set: c.set, kept: map[string]*graph.Tensor{}, used: map[string]bool{}}
	if a, ok := c.set.(Adapted); ok {
		s.adapter = a.Adapter
	}
	for _, p := range prefixes {
		if c.set.Get(p+tensor) != nil {
			s.prefix = p
			break
		}
	}
	return s
}

// has says whether there is a tensor of that name.
func (s *source) has(name string) bool { return s.set.Get(s.prefix+name) != nil }

// load returns the tensor with this full name, with the functions of change applied to its numbers. It refuses the weights
// if there is no such tensor, or one of another shape.
func (s *source) load(name string, shape []int, change ...func([]float32)) *graph.Tensor {
	s.used[name] = true
	t := s.set.Get(name)
	if t == nil {
		refuse.With("the weights have no tensor %s", graph.Quote(name))
	}
	if !slices.Equal(t.Shape, shape) {
		refuse.With("tensor %s has shape %v; the configuration asks for %v", graph.Quote(name), t.Shape, shape)
	}
	if kept := s.kept[name]; kept != nil {
		return kept
	}
	out := &graph.Tensor{Shape: slices.Clone(shape), DType: graph.Float}
	if len(change) == 0 && t.Len() >= large && (t.Decode != nil || t.Row != nil) {
		out.Stored = must.Get(t.Stored())
	} else {
		out.F32 = must.Get(t.Floats())
	}
	if len(change) > 0 && t.Decode == nil {
		out.F32 = slices.Clone(out.F32) // the numbers may be pages of the mapped file
	}
	for _, f := range change {
		f(out.F32)
	}
	s.kept[name] = out
	return out
}

// rest returns an error if some tensors of the file were not used, and lists them. It does not count
// tensors whose names contain one of harmless.
func (s *source) rest(harmless ...string) error {
	var names []string
	for _, name := range s.set.Names() {
		if !s.used[name] && !slices.ContainsFunc(harmless, func(part string) bool { return strings.Contains(name, part) }) {
			names = append(names, graph.Quote(name))
		}
	}
	if n := len(names); n > 0 {
		more := ""
		if n > 6 {
			names, more = names[:6], fmt.Sprintf(" and %d more", n-6)
		}
		return fmt.Errorf("the architecture does not use these tensors, which may change what the model computes: %s%s", strings.Join(names, ", "), more)
	}
	return nil
}

// net is a graph builder with the weights of the model that it builds.
type net struct {
	*graph.Builder
	src    *source
	consts map[string]graph.Value // by name, so that a tensor that is used twice is one constant
	tokens int                    // the tokens of the text that the graph is for
	picked int                    // how many positions have logits, or 0 for all; in models of several texts the number of texts
}

// newNet returns a net for texts of that many tokens. The text may be too long to run:
// quantising needs only its shapes.
func newNet(src *source, tokens int) *net {
	b := graph.NewBuilder("")
	b.Outline()
	return &net{Builder: b, src: src, consts: map[string]graph.Value{}, tokens: tokens}
}

// dim is the size of an axis of x. A negative axis counts from the end: −1 is the last. It is 0 if x is not valid because of an earlier
// error.
func (n *net) dim(x graph.Value, axis int) int {
	if !n.Valid(x) {
		return 0
	}
	shape := n.Shape(x)
	return shape[(axis+len(shape))%len(shape)]
}

// weight returns the tensor with a name of the architecture, to which the prefix of the file is added, as a constant.
func (n *net) weight(name string, shape []int, change ...func([]float32)) graph.Value {
	return n.absolute(n.src.prefix+name, shape, change...)
}

// absolute is weight for a full name, to which no prefix is added.
func (n *net) absolute(name string, shape []int, change ...func([]float32)) graph.Value {
	return n.loaded(n.src, name, shape, change...)
}

// loaded is absolute for a tensor of any source. No two sources have tensors of the same name. A size of 0 in shape comes from a
// value that an earlier error made invalid (dim); the result is then invalid too.
func (n *net) loaded(from *source, name string, shape []int, change ...func([]float32)) graph.Value {
	if slices.Contains(shape, 0) {
		return graph.Value{}
	}
	return n.once(name, func() *graph.Tensor { return from.load(name, shape, change...) })
}

// once returns the constant of this name. On the first call for the name, make makes it. If make refuses, the builder fails.
func (n *net) once(name string, make func() *graph.Tensor) graph.Value {
	if v, ok := n.consts[name]; ok {
		return v
	}
	return n.caught(func() graph.Value {
		v := n.Constant(name, make())
		n.consts[name] = v
		return v
	})
}

// caught returns the value of f. If f refuses, the builder fails with that error, and the value is not valid.
func (n *net) caught(f func() graph.Value) graph.Value {
	v, err := refuse.Result(f)
	if err != nil {
		return n.Failf("%v", err)
	}
	return v
}

// stacked returns count tensors of the same shape as one constant of shape [count, shape…], with the given name. of(i) is the
// full name of tensor i. The tensors stay in stored form.
func (n *net) stacked(from *source, name string, count int, shape []int, of func(i int) string, change ...func([]float32)) graph.Value {
	return n.once(name, func() *graph.Tensor {
		parts := filled(count, func(i int) *graph.Tensor { return from.load(of(i), shape, change...) })
		each := graph.Size(shape)
		return from.stored(name, append([]int{count}, shape...), func(dst []float32, from int) {
			for len(dst) > 0 {
				n := min(len(dst), each-from%each)
				parts[from/each].Read(dst[:n], from%each)
				dst, from = dst[n:], from+n
			}
		})
	})
}

// stored returns a tensor whose numbers read supplies on demand. Later calls with the same name return the same tensor.
func (s *source) stored(name string, shape []int, read func(dst []float32, from int)) *graph.Tensor {
	if s.kept[name] == nil {
		s.kept[name] = &graph.Tensor{Shape: shape, DType: graph.Float, Stored: graph.NewStored(graph.Size(shape), read)}
	}
	return s.kept[name]
}

// table returns a constant with the numbers v. It is public if public is set, and otherwise a weight.
func (n *net) table(name string, shape []int, v []float32, public bool) graph.Value {
	return n.once(name, func() *graph.Tensor {
		return &graph.Tensor{Shape: shape, DType: graph.Float, F32: v, Public: public}
	})
}

// builds sets the function that builds the model's graph, and returns m: layers adds the operators and outputs to a net. The graph is an
// error if it does not use all tensors of the file; those whose names contain one of harmless may be left over.
func (m *Model) builds(src *source, layers func(n *net), harmless ...string) *Model {
	m.build = func(tokens, picked int) (*graph.Graph, error) {
		n := newNet(src, tokens)
		n.picked = picked
		layers(n)
		return n.finish(harmless...)
	}
	return m
}

// writes is builds for a language model. layers returns the logits of the token that follows each position.
func (m *Model) writes(src *source, layers func(n *net) graph.Value, harmless ...string) *Model {
	m.Next = true
	return m.builds(src, func(n *net) { n.output(Logits, layers(n)) }, harmless...)
}

// finish returns the graph, or an error if tensors of the file or of the adapter are left over (harmless is as in builds).
func (n *net) finish(harmless ...string) (*graph.Graph, error) {
	g, err := n.Graph()
	if err == nil {
		err = n.src.rest(harmless...)
	}
	if err == nil && n.src.adapter != nil {
		err = n.src.adapter.rest()
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// count is config.Int for a number of layers or experts. Each has at least one tensor, so the
// number cannot be greater than the number of tensors. This bounds the work that a configuration can ask for.
func (c *published) count(name string, def int) int {
	n := c.Int(name, def)
	if most := len(c.set.Names()); c.Has(name) && n > most {
		c.Failf("field %q is %d, and the weights are %d tensors", name, n, most)
		return 1
	}
	return n
}

// evenly records an error unless width is a multiple of heads.
func (c *published) evenly(heads, width int) {
	if width%heads != 0 {
		c.Failf("%d heads do not share %d numbers evenly", heads, width)
	}
}

// patches records an error unless side, that of a square image, is a multiple of patch, the side of a patch.
func (c *published) patches(patch, side int) {
	if side%patch != 0 {
		c.Failf("patches of %d do not fill an image of %d", patch, side)
	}
}

// filled returns the list of f(0) to f(n − 1).
func filled[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// layer is the name of a tensor in layer i, such as "layers.3.mlp.up_proj".
func layer(i int, name string) string { return fmt.Sprintf("layers.%d.%s", i, name) }

// sortedKeys lists the keys of a map.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
