package model

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
)

// Limits of free dimensions.
const (
	// MaxFree is the largest number of free dimensions of a circuit.
	MaxFree = 8
	// MaxBound is the largest bound of a free dimension.
	MaxBound = 1 << 24
)

// A FreeDim is a dimension of a circuit, such as that of the batch, whose size
// each proof chooses, from 1 to Bound.
type FreeDim struct {
	Name  string
	Bound int
}

// A Scale is a set of free dimensions of a template; bit f stands for
// Template.Free[f]. A number with a scale stands for the number times the product of the
// sizes of these dimensions. The empty set, 0, leaves the number as it is.
type Scale uint32

// A Template is a circuit with free dimensions: what a key holds. At gives the
// circuit of one proof.
//
// In the Graph of a template the axes of tensors and steps, summed indexes and
// bases of views may have scales. It has no layout: no instance, no chunks and
// no multiplicities. Fixed tensors do not scale, nor do tables: what is
// committed with the model is the same for every size, and so are formats and
// ranges.
type Template struct {
	Free  []FreeDim
	Graph *Graph
}

// An Instance has everything that a proof chooses of a template's circuit: its sizes, its layout, and what is stated. Together with
// the template it determines the circuit (At).
type Instance struct {
	Sizes []int // of the template's free dimensions, in order
	// ChunkEntries is the size of a chunk in witness entries (Graph.Finish), 0
	// for the canonical one.
	ChunkEntries int
	// Texts is the number of texts that the proof is of, each with these sizes (Graph.Texts). 0 stands for one.
	Texts int
	// Reveals lists the outputs in place of which indexes of their greatest entries are stated, by increasing output.
	Reveals []Reveal
	// HiddenInputs and HiddenOutputs are the places, among the template's inputs and outputs, of those that are not stated, increasing.
	HiddenInputs, HiddenOutputs []int
	// Committed are hidden inputs that were committed to before, each in a tree of its own, in the order of HiddenInputs.
	Committed []Committed
	// Segment, if not nil, says that the proof is of a segment of a text, whose number of tokens is Sizes[0].
	Segment *Segment
}

// Equal says whether two instances are the same.
func (in *Instance) Equal(o *Instance) bool {
	return in.ChunkEntries == o.ChunkEntries && in.Texts == o.Texts && slices.Equal(in.Sizes, o.Sizes) && slices.Equal(in.Reveals, o.Reveals) &&
		slices.Equal(in.HiddenInputs, o.HiddenInputs) && slices.Equal(in.HiddenOutputs, o.HiddenOutputs) && slices.Equal(in.Committed, o.Committed) && in.Segment.Equal(o.Segment)
}

// Unit returns the instance in which all sizes are 1 and nothing else is set.
func (t *Template) Unit() Instance {
	sizes := make([]int, len(t.Free))
	for f := range sizes {
		sizes[f] = 1
	}
	return Instance{Sizes: sizes}
}

// At returns the circuit of an instance, laid out and validated. The instance need not be valid, as it may come from a hostile proof: At
// returns an error then. Nor need the template, which may be a hostile key's, unless the instance changes the circuit (changes).
func (t *Template) At(in Instance) (*Graph, error) { return t.AtIn(nil, in) }

// AtIn is At, but reuses the memory of old, an instance of the template that nobody
// uses any more. old may be nil.
func (t *Template) AtIn(old *Graph, in Instance) (*Graph, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	return t.at(old, in)
}

// changes says whether the instance's circuit has other tensors and steps than the template's, and not only other sizes. What makes
// these relies on a valid template.
func (in *Instance) changes() bool {
	return in.Texts != 0 || len(in.Reveals) > 0 || in.Hides() || len(in.Committed) > 0 || in.Segment != nil
}

// Beside returns the circuits of two instances. The first one must not change the circuit, so that the template need not be valid. The
// second circuit is nil if At would return an error for it. Both are made in parallel, unless the second instance changes the circuit:
// then its circuit is made only once the first one shows that the template is valid.
func (t *Template) Beside(in, other Instance) (g, beside *Graph, err error) {
	if err := t.check(); err != nil {
		return nil, nil, err
	}
	if other.changes() {
		if g, err = t.at(nil, in); err == nil {
			beside, _ = t.at(nil, other)
		}
		return g, beside, err
	}
	parallel.Do(
		func() { g, err = t.at(nil, in) },
		func() { beside, _ = t.at(nil, other) }, // a caller that asks for it with At gets the error
	)
	return g, beside, err
}

// at is AtIn for a template that has been checked.
func (t *Template) at(old *Graph, in Instance) (*Graph, error) {
	if len(in.Sizes) != len(t.Free) {
		return nil, fmt.Errorf("%d sizes for %d free dimensions", len(in.Sizes), len(t.Free))
	}
	for f, n := range in.Sizes {
		if d := t.Free[f]; n < 1 || n > d.Bound {
			return nil, fmt.Errorf("size %d of %s is not in [1, %d]", n, d.Name, d.Bound)
		}
	}
	g := t.graph(old, in.Sizes)
	if err := g.segment(t, &in); err != nil {
		return nil, err
	}
	if err := g.texts(t, &in); err != nil {
		return nil, err
	}
	if err := g.reveal(in.Reveals); err != nil {
		return nil, err
	}
	if err := g.hide(&in); err != nil {
		return nil, err
	}
	if err := g.Finish(in.ChunkEntries); err != nil {
		return nil, err
	}
	g.Instance.Texts, g.Instance.Segment = in.Texts, in.Segment
	g.Instance.Sizes, g.Instance.Reveals = slices.Clone(in.Sizes), slices.Clone(in.Reveals)
	g.Instance.HiddenInputs, g.Instance.HiddenOutputs = slices.Clone(in.HiddenInputs), slices.Clone(in.HiddenOutputs)
	g.Instance.Committed = slices.Clone(in.Committed)
	if err := g.Validate(); err != nil {
		return nil, err // the invalid circuit is not returned
	}
	return g, nil
}

// Validate checks the template and its circuit with all sizes 1. At checks the
// circuits of other sizes.
func (t *Template) Validate() error {
	_, err := t.At(t.Unit())
	return err
}

// Template returns the circuit as a template without free dimensions, the
// inverse of At.
func (g *Graph) Template() *Template {
	bare := *g
	bare.Instance, bare.Chunks, bare.Mults = Instance{}, 0, nil
	bare.Tensors = slices.Clone(g.Tensors[:len(g.Tensors)-len(g.Mults)])
	for i := range bare.Tensors {
		bare.Tensors[i].Chunk = 0
	}
	bare.Steps = slices.Clone(g.Steps)
	for i := range bare.Steps {
		bare.Steps[i].Chunk = 0
	}
	return &Template{Graph: &bare}
}

// check checks the free dimensions, and that scales are only where they are allowed and
// keep every number within the limits of a graph at every size up to the bounds. The circuit's own
// validity is checked by At, for one instance.
func (t *Template) check() error {
	if t.Graph == nil {
		return errors.New("no circuit")
	}
	if err := t.checkFree(); err != nil {
		return err
	}
	if err := t.checkBare(); err != nil {
		return err
	}
	if i, err := first(len(t.Graph.Tensors), func(i int) error { return t.checkTensor(&t.Graph.Tensors[i]) }); err != nil {
		return fmt.Errorf("tensor %d: %w", i, err)
	}
	if i, err := first(len(t.Graph.Steps), func(i int) error { return t.checkStep(&t.Graph.Steps[i]) }); err != nil {
		return fmt.Errorf("step %d: %w", i, err)
	}
	return nil
}

func (t *Template) checkTensor(tensor *Tensor) error {
	if err := t.checkShape(tensor.Shape, tensor.Scales); err != nil {
		return err
	}
	if tensor.Kind == Fixed && tensor.Scales != nil {
		return errors.New("a fixed tensor that scales")
	}
	return t.checkViews(tensor.Def)
}

func (t *Template) checkStep(step *Step) error {
	if err := t.checkShape(step.Shape, step.Scales); err != nil {
		return err
	}
	return t.checkViews(step.Acc.Linear)
}

// checkFree checks the names and bounds of the free dimensions.
func (t *Template) checkFree() error {
	if len(t.Free) > MaxFree {
		return fmt.Errorf("%d free dimensions are over %d", len(t.Free), MaxFree)
	}
	for f, d := range t.Free {
		if d.Name == "" || d.Bound < 1 || d.Bound > MaxBound {
			return fmt.Errorf("free dimension %d: name %q, bound %d", f, d.Name, d.Bound)
		}
		if err := validateName(d.Name); err != nil {
			return fmt.Errorf("free dimension %d: %w", f, err)
		}
		if slices.ContainsFunc(t.Free[:f], func(o FreeDim) bool { return o.Name == d.Name }) {
			return fmt.Errorf("two free dimensions named %q", d.Name)
		}
		// The size must be the length of an input's axis, so that whoever sees the statement knows it.
		if !t.measured(1 << f) {
			return fmt.Errorf("no axis of an input has the size of free dimension %q", d.Name)
		}
	}
	return nil
}

func (t *Template) checkViews(terms []Linear) error {
	for i := range terms {
		if err := t.checkView(terms[i].View); err != nil {
			return err
		}
	}
	return nil
}

// measured reports whether some axis of an input has exactly the scale s.
func (t *Template) measured(s Scale) bool {
	return slices.ContainsFunc(t.Graph.Tensors, func(in Tensor) bool {
		return in.Kind == Input && slices.Contains(in.Scales, s)
	})
}

// checkBare checks that the circuit has no layout.
func (t *Template) checkBare() error {
	g := t.Graph
	if g.Chunks != 0 || len(g.Mults) != 0 || g.Instance.ChunkEntries != 0 || len(g.Instance.Sizes) != 0 || len(g.Reveals) != 0 || g.Texts != 0 ||
		len(g.Hidden)+len(g.HiddenOutputs)+len(g.Apart) != 0 || g.Instance.Segment != nil ||
		slices.ContainsFunc(g.Tensors, func(t Tensor) bool { return t.Chunk != 0 }) ||
		slices.ContainsFunc(g.Steps, func(s Step) bool { return s.Chunk != 0 }) {
		return errors.New("a template with chunks")
	}
	return nil
}

// checkShape checks the scales of the axes of a shape. Scales that are all 0 must be written as nil, so that a key has one encoding.
func (t *Template) checkShape(shape []int, scales []Scale) error {
	if scales == nil {
		return nil
	}
	if len(scales) != len(shape) || !slices.ContainsFunc(scales, func(s Scale) bool { return s != 0 }) {
		return fmt.Errorf("scales %v of shape %v", scales, shape)
	}
	for i, s := range scales {
		if err := t.checkScale(shape[i], s); err != nil {
			return err
		}
	}
	return nil
}

// checkView checks the scales of a view's bases and summed indexes. A base of 0 must have no scale, so that a key has one encoding.
func (t *Template) checkView(v *View) error {
	if v == nil {
		return nil
	}
	for i := range v.Groups {
		g := &v.Groups[i]
		if g.BaseScale != 0 && g.Base == 0 {
			return errors.New("a base of 0 that scales")
		}
		if err := t.checkScale(g.Base, g.BaseScale); err != nil {
			return err
		}
		for _, s := range g.Sum {
			if err := t.checkScale(s.Dim, s.Scale); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkScale checks that n may have the scale s: the template has all of its free dimensions, and
// |n| times their bounds is at most 2^MaxVars.
func (t *Template) checkScale(n int, s Scale) error {
	if s>>len(t.Free) != 0 {
		return fmt.Errorf("scale %#x with %d free dimensions", s, len(t.Free))
	}
	most := uint64(max(n, -n))
	for f, d := range t.Free {
		if s>>f&1 == 0 {
			continue
		}
		over, product := bits.Mul64(most, uint64(d.Bound))
		if most = product; over != 0 || most > 1<<MaxVars {
			return fmt.Errorf("%d times the bounds of scale %#x is over 2^%d", n, s, MaxVars)
		}
	}
	return nil
}

// InstanceOf returns the instance whose inputs have these numbers of entries, with chunks of the canonical size. It is an
// error if there is none, or if the numbers do not determine all sizes. It goes through the inputs in order: each may have
// one free dimension whose size is not known yet.
func (t *Template) InstanceOf(lens []int) (Instance, error) {
	g := t.Graph
	if len(lens) != len(g.Inputs) {
		return Instance{}, fmt.Errorf("%d inputs given, the model has %d", len(lens), len(g.Inputs))
	}
	in := Instance{Sizes: make([]int, len(t.Free))}
	for i, id := range g.Inputs {
		tensor := &g.Tensors[id]
		if tensor.Kind == Empty { // which tells nothing
			continue
		}
		n := lens[i] / Size(tensor.Shape)
		var open []int
		for _, s := range tensor.Scales {
			for f := range t.Free {
				switch {
				case s>>f&1 == 0:
				case in.Sizes[f] > 0:
					n /= in.Sizes[f]
				default:
					open = append(open, f)
				}
			}
		}
		switch len(open) {
		case 0:
		case 1:
			in.Sizes[open[0]] = n
		default:
			return Instance{}, fmt.Errorf("the number of entries of input %q does not tell its shape", tensor.Name)
		}
	}
	for i, id := range g.Inputs {
		tensor := &g.Tensors[id]
		switch want := Size(factors(in.Sizes).shape(tensor.Shape, tensor.Scales)); {
		case lens[i] == want && (want > 0 || tensor.Kind == Empty):
		case tensor.Scales == nil:
			return Instance{}, fmt.Errorf("input %q has %d entries, want %d", tensor.Name, lens[i], want)
		default:
			return Instance{}, fmt.Errorf("input %q has %d entries, want a multiple of %d, the same as of the other inputs",
				tensor.Name, lens[i], Size(tensor.Shape))
		}
	}
	return in, nil
}
