package model

import (
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
)

// A Build is a circuit without layout, built for given sizes of the free
// dimensions.
type Build struct {
	Sizes []int
	Graph *Graph
}

// Lift returns a template with the given free dimensions whose circuits at the sizes of the builds equal the
// builds. It assumes that each dimension, length of a summed index and base of a view is a constant or a constant
// times a product of sizes. If the builds differ in anything else, the error says in what. Each size should have
// at least two values among the builds, of which none divides the other, so that the constants are unique.
func Lift(free []FreeDim, builds ...Build) (*Template, error) {
	if len(builds) < 2 {
		return nil, errors.New("one circuit does not tell what scales")
	}
	first := builds[0].Graph
	for _, b := range builds {
		if len(b.Sizes) != len(free) {
			return nil, fmt.Errorf("%d sizes for %d free dimensions", len(b.Sizes), len(free))
		}
		if g := b.Graph; len(g.Tensors) != len(first.Tensors) || len(g.Steps) != len(first.Steps) {
			return nil, fmt.Errorf("the circuit has %d tensors and %d steps for %v, %d and %d for %v",
				len(first.Tensors), len(first.Steps), builds[0].Sizes, len(g.Tensors), len(g.Steps), b.Sizes)
		}
	}
	l := lifter{builds: builds}
	t := &Template{Free: free, Graph: l.graph()}
	for _, b := range builds {
		if what := difference(t.graph(nil, b.Sizes), b.Graph); what != "" {
			return nil, fmt.Errorf("%s is not the same for %v and %v", what, builds[0].Sizes, b.Sizes)
		}
	}
	return t, t.check()
}

// lifter is the state of Lift.
type lifter struct{ builds []Build }

// fit returns a coefficient c and a scale s for a number that has these values in the builds: in each build the value is c
// times the product of the sizes in s. s is a smallest such set. If there is none, fit returns the first value and no
// scale, and comparing the builds will fail.
func (l *lifter) fit(values []int) (int, Scale) {
	sets := make([]Scale, 1<<len(l.builds[0].Sizes))
	for s := range sets {
		sets[s] = Scale(s)
	}
	slices.SortStableFunc(sets, func(a, b Scale) int { return bits.OnesCount32(uint32(a)) - bits.OnesCount32(uint32(b)) })
	for _, s := range sets {
		one := factors(l.builds[0].Sizes).of(1, s) // the product of the first build's sizes
		c, ok := values[0]/one, values[0]%one == 0
		for i, b := range l.builds {
			ok = ok && values[i] == factors(b.Sizes).of(c, s)
		}
		if ok {
			return c, s
		}
	}
	return values[0], 0
}

// graph returns the first build with coefficients and scales in place of the
// numbers that differ in the others.
func (l *lifter) graph() *Graph {
	g := *l.builds[0].Graph
	g.Tensors = slices.Clone(g.Tensors)
	for i := range g.Tensors {
		t := &g.Tensors[i]
		t.Shape, t.Scales = l.shape(func(g *Graph) []int { return g.Tensors[i].Shape })
		t.Def = l.terms(func(g *Graph) []Linear { return g.Tensors[i].Def })
	}
	g.Steps = slices.Clone(g.Steps)
	for i := range g.Steps {
		s := &g.Steps[i]
		s.Shape, s.Scales = l.shape(func(g *Graph) []int { return g.Steps[i].Shape })
		s.Acc.Linear = l.terms(func(g *Graph) []Linear { return g.Steps[i].Acc.Linear })
	}
	return &g
}

// values returns the value of a number in every build. It is 0 if a build does not
// have the number; comparing the builds will fail then.
func (l *lifter) values(of func(g *Graph) int) []int {
	v := make([]int, len(l.builds))
	for i, b := range l.builds {
		v[i] = of(b.Graph)
	}
	return v
}

// shape returns the shape and the scales of axes that fit the shapes in all builds, which of returns.
func (l *lifter) shape(of func(g *Graph) []int) (shape []int, scales []Scale) {
	shape = slices.Clone(of(l.builds[0].Graph))
	list := make([]Scale, len(shape))
	for i := range shape {
		shape[i], list[i] = l.fit(l.values(func(g *Graph) int {
			if s := of(g); i < len(s) {
				return s[i]
			}
			return 0
		}))
		if list[i] != 0 {
			scales = list
		}
	}
	return shape, scales
}

// terms returns summands whose views fit those in all builds, which of returns.
func (l *lifter) terms(of func(g *Graph) []Linear) []Linear {
	terms := slices.Clone(of(l.builds[0].Graph))
	for i := range terms {
		if terms[i].View == nil {
			continue
		}
		v := terms[i].View.Clone()
		for j := range v.Groups {
			l.group(&v.Groups[j], func(g *Graph) *Group {
				if t := of(g); i < len(t) && t[i].View != nil && j < len(t[i].View.Groups) {
					return &t[i].View.Groups[j]
				}
				return &Group{}
			})
		}
		terms[i].View = v
	}
	return terms
}

// group sets base and summed indexes of a group, with their scales, to those that fit the groups in all builds.
func (l *lifter) group(g *Group, of func(g *Graph) *Group) {
	g.Base, g.BaseScale = l.fit(l.values(func(g *Graph) int { return of(g).Base }))
	g.Sum = slices.Clone(g.Sum)
	for i := range g.Sum {
		g.Sum[i].Dim, g.Sum[i].Scale = l.fit(l.values(func(g *Graph) int {
			if s := of(g).Sum; i < len(s) {
				return s[i].Dim
			}
			return 0
		}))
	}
}

// difference names the first part in which two circuits with equally many tensors and
// steps differ. It returns "" if they are equal.
func difference(a, b *Graph) string {
	for i := range a.Tensors {
		if !sameTensor(&a.Tensors[i], &b.Tensors[i]) && !reflect.DeepEqual(a.Tensors[i], b.Tensors[i]) {
			return fmt.Sprintf("tensor %d %q", i, a.Tensors[i].Name)
		}
	}
	for i := range a.Steps {
		if !sameStep(&a.Steps[i], &b.Steps[i]) && !reflect.DeepEqual(a.Steps[i], b.Steps[i]) {
			return fmt.Sprintf("step %d %q", i, a.Steps[i].Name)
		}
	}
	rest, other := *a, *b
	rest.Tensors, rest.Steps, other.Tensors, other.Steps = nil, nil, nil, nil
	if !reflect.DeepEqual(rest, other) {
		return "the list of tables, inputs or outputs"
	}
	return ""
}

// sameTensor compares two tensors without reflection. If it returns true they are equal. It may return false for equal tensors that have a
// formula or are derived, as it compares pointers to these.
func sameTensor(a, b *Tensor) bool {
	return a.SameValues(b) && a.Name == b.Name && slices.Equal(a.Scales, b.Scales) && a.Frac == b.Frac && slices.Equal(a.Fracs, b.Fracs) &&
		a.Min == b.Min && a.Max == b.Max && a.Numbers == b.Numbers && a.Chunk == b.Chunk && slices.EqualFunc(a.Def, b.Def, sameScales) &&
		a.Formula == b.Formula && a.Derived == b.Derived
}

// sameStep compares two steps without reflection. If it returns true they are equal. It may return false for equal steps that have views
// by public indexes.
func sameStep(a, b *Step) bool {
	return a.Same(b) && a.Name == b.Name && slices.Equal(a.Scales, b.Scales) && a.Chunk == b.Chunk && slices.EqualFunc(a.Acc.Linear, b.Acc.Linear, sameScales)
}

// sameScales reports whether two summands, which are equal otherwise, have the same scales too. It returns false for views by public
// indexes.
func sameScales(a, b Linear) bool {
	return a.View == b.View || slices.EqualFunc(a.View.Groups, b.View.Groups, func(a, b Group) bool { return a.Map != MapPublic && a.BaseScale == b.BaseScale })
}
