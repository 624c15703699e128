package model

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

const (
	// maxWiring bounds the wired pairs of one group that does more than rename
	// variables, since the verifier goes through all of them.
	maxWiring = 1 << 24
	// maxListed bounds the entries that public indexes choose among. The verifier goes through the
	// indexes only, but the prover has a table with an element of K for each of the entries.
	maxListed = 1 << 28
)

// validate checks that the groups of the view have each axis of the output shape out and of the source shape in exactly once, and that
// each group is valid. So each output entry is wired to source entries in one way.
func (v *View) validate(tensors []Tensor, out, in []int) error {
	if v.Fill <= -Bound || v.Fill >= Bound {
		return fmt.Errorf("fill %d out of range", v.Fill)
	}
	var seenOut, seenIn uint
	for i := range v.Groups {
		g := &v.Groups[i]
		for _, a := range g.Out {
			if a < 0 || a >= len(out) || seenOut>>a&1 == 1 {
				return fmt.Errorf("view: output axis %d missing or used twice", a)
			}
			seenOut |= 1 << a
		}
		for j, a := range g.In {
			if a < 0 || a >= len(in) || seenIn>>a&1 == 1 {
				return fmt.Errorf("view: source axis %d missing or used twice", a)
			}
			if j > 0 && a != g.In[j-1]+1 {
				return errors.New("view: source axes of a group must be adjacent")
			}
			seenIn |= 1 << a
		}
		if err := g.validate(tensors, out, in, v.Fill != 0); err != nil {
			return err
		}
	}
	if bits.OnesCount(seenOut) != len(out) || bits.OnesCount(seenIn) != len(in) {
		return errors.New("view: an axis belongs to no group")
	}
	return nil
}

// validate checks one group of a view between tensors of shapes in and out. filled says that the view has a fill value.
func (g *Group) validate(tensors []Tensor, out, in []int, filled bool) error {
	if len(g.Out)+len(g.In) == 0 {
		return errors.New("view: a group without axes")
	}
	if g.foreign() {
		return errors.New("view: a group with the parameters of another map")
	}
	if g.Map == MapAffine && (len(g.In) > 1 || len(g.Strides) != len(g.Out)) {
		return errors.New("view: malformed affine group")
	}
	if g.Map == MapReshape && sizeOf(out, g.Out) != sizeOf(in, g.In) {
		return errors.New("view: reshape changes the size")
	}
	if g.Trivial(out, in) {
		return nil
	}
	work := 1 // the number of wired pairs
	for _, a := range g.Out {
		if work *= out[a]; work > maxWiring {
			return errors.New("view: wiring too large")
		}
	}
	most := maxWiring
	if g.Map == MapPublic {
		most = maxListed
	}
	if sizeOf(in, g.In) > most {
		return errors.New("view: wiring too large")
	}
	switch g.Map {
	case MapAffine:
		return g.validateAffine(work, filled)
	case MapIndex:
		return g.validateIndex(out, in)
	case MapReshape:
		return nil
	case MapPublic:
		return g.validateIds(tensors, out, in)
	}
	return fmt.Errorf("view: unknown map %d", g.Map)
}

// foreign reports whether the group has parameters that its kind of map does not use.
func (g *Group) foreign() bool {
	affine := g.Base != 0 || len(g.Strides) != 0 || len(g.Sum) != 0
	return affine && g.Map != MapAffine || len(g.Index) != 0 && g.Map != MapIndex || g.Ids != 0 && g.Map != MapPublic
}

// validateAffine checks the numbers of an affine group. work is the number of its outputs; each sum multiplies the number of wired pairs
// by its length. A filled view must not sum, as its fill value is for entries that are wired to nothing.
func (g *Group) validateAffine(work int, filled bool) error {
	inRange := func(v int) bool { return -maxWiring <= v && v <= maxWiring }
	for _, s := range g.Sum {
		if s.Dim < 1 || s.Dim > maxWiring || !inRange(s.Stride) {
			return errors.New("view: malformed sum")
		}
		if work *= s.Dim; work > maxWiring {
			return errors.New("view: wiring too large")
		}
	}
	if slices.ContainsFunc(g.Strides, func(s int) bool { return !inRange(s) }) {
		return errors.New("view: stride out of range")
	}
	if !inRange(g.Base) {
		return errors.New("view: base out of range")
	}
	if filled && len(g.Sum) > 0 {
		return errors.New("view: a fill value and a sum")
	}
	return nil
}

// validateIndex checks that a MapIndex group has one index for each output, each −1 or within the source axis.
func (g *Group) validateIndex(out, in []int) error {
	if len(g.Out) != 1 || len(g.In) != 1 || len(g.Index) != out[g.Out[0]] {
		return errors.New("view: malformed index group")
	}
	for _, i := range g.Index {
		if i < -1 || i >= in[g.In[0]] {
			return fmt.Errorf("view: index %d out of range", i)
		}
	}
	return nil
}

// sizeOf returns the number of entries of the given axes of a valid shape.
func sizeOf(shape, axes []int) int {
	n := 1
	for _, a := range axes {
		n *= shape[a]
	}
	return n
}
