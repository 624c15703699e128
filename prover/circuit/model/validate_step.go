package model

import (
	"errors"
	"fmt"
	"slices"
)

// validateStep checks a step by itself. That it reads only what is known before it is for validateForced.
func (g *Graph) validateStep(s *Step) error {
	if err := validateName(s.Name); err != nil {
		return err
	}
	if err := validateShape(s.Shape); err != nil {
		return err
	}
	if s.Chunk < 0 || s.Chunk >= g.Chunks {
		return fmt.Errorf("chunk %d does not exist", s.Chunk)
	}
	if err := g.validateAcc(&s.Acc, s.Shape); err != nil {
		return err
	}
	if err := g.validateKind(s); err != nil {
		return err
	}
	if s.Kind != StepLookup && (s.Shift != 0 || s.Table != None) {
		return errors.New("a shift or a table without a look-up")
	}
	if s.Kind != StepDivide && s.Kind != StepMax && s.Den != None {
		return errors.New("a divisor without a division")
	}
	if s.Den != None && (g.Tensors[s.Den].Kind == Empty || g.IsProduct(s.Den)) {
		return errors.New("a divisor without entries, or that is a product")
	}
	for _, id := range []TensorID{s.Lo, s.Out} {
		if err := g.validateResult(s, id); err != nil {
			return err
		}
	}
	return nil
}

// validateResult checks a tensor that a step computes, or None: it must be a witness tensor of the step's chunk and shape.
func (g *Graph) validateResult(s *Step, id TensorID) error {
	if id == None {
		return nil
	}
	if !g.has(id) || g.Tensors[id].Kind != Witness || g.Tensors[id].Chunk != s.Chunk {
		return fmt.Errorf("result %d is not a witness tensor of the step's chunk", id)
	}
	return sameShape(g.Tensors[id].Shape, s.Shape)
}

// validateKind checks that a step has the tensors and the table that its kind needs, and no others.
func (g *Graph) validateKind(s *Step) error {
	switch s.Kind {
	case StepLookup:
		return g.validateLookup(s)
	case StepExact:
		if s.Out == None || s.Lo != None {
			return errors.New("an exact step has an output and no remainder")
		}
		return nil
	case StepZero:
		if s.Out != None || s.Lo != None {
			return errors.New("a zero step has no results")
		}
		return nil
	case StepDivide:
		if s.Out == None || s.Lo == None || !g.has(s.Den) {
			return errors.New("a division needs a quotient, a remainder and a divisor")
		}
		return sameShape(g.Tensors[s.Den].Shape, s.Shape)
	case StepMax:
		return g.validateMax(s)
	}
	return fmt.Errorf("unknown kind %d", s.Kind)
}

// validateLookup checks that a look-up's key has one value for each accumulator, and that it has a result if the table has values.
func (g *Graph) validateLookup(s *Step) error {
	if s.Table < 0 || int(s.Table) >= len(g.Tables) {
		return fmt.Errorf("table %d does not exist", s.Table)
	}
	if s.Shift < 0 || s.Shift > MaxShift || (s.Lo == None) != (s.Shift == 0) {
		return fmt.Errorf("shift %d does not go with the remainder", s.Shift)
	}
	// acc = 2^Shift·key + lo must have one solution modulo p: with lo in [0, 2^Shift) and 2^Bits keys in a row, the right side takes
	// 2^(Shift+Bits) ≤ 2^30 < p different values.
	if s.Shift > 0 && s.Shift+g.Tables[s.Table].Bits > 30 {
		return fmt.Errorf("shift %d and table of %d bits together exceed 30 bits", s.Shift, g.Tables[s.Table].Bits)
	}
	if (s.Out == None) != (g.Tables[s.Table].Kind == TableRange) {
		return errors.New("the table's values do not go with the output")
	}
	return nil
}

// validateMax checks that a maximum step has the form that Maximum relies on.
func (g *Graph) validateMax(s *Step) error {
	if s.Out == None || s.Lo != None || !g.has(s.Den) {
		return errors.New("a maximum has an operand, an output and no remainder")
	}
	if !s.Acc.equal(&Acc{}) {
		return errors.New("a maximum with an accumulator")
	}
	of := g.Tensors[s.Den].Shape
	if len(of) != len(s.Shape)+1 {
		return fmt.Errorf("a maximum of shape %v along the last axis of %v", s.Shape, of)
	}
	return sameShape(of[:len(s.Shape)], s.Shape)
}

// validateAcc checks an accumulator over an index space of this shape. A product of two tensors that are themselves products would have a
// degree that no sumcheck here is for.
func (g *Graph) validateAcc(a *Acc, shape []int) error {
	if a.Const <= -Bound || a.Const >= Bound {
		return fmt.Errorf("constant %d out of range", a.Const)
	}
	for i := range a.Linear {
		if err := g.validateLinear(&a.Linear[i], shape); err != nil {
			return err
		}
	}
	for i := range a.Products {
		p := &a.Products[i]
		if err := g.validateProduct(p, shape); err != nil {
			return fmt.Errorf("product: %w", err)
		}
		if g.IsProduct(p.A) && g.IsProduct(p.B) {
			return fmt.Errorf("product of tensors %d and %d: %w", p.A, p.B, errProduct)
		}
	}
	return nil
}

// validateProduct checks a product with an output of this shape: each operand has one label for each of its axes, none twice; equal
// labels name axes of one dimension; and a contracted label is in both operands.
func (g *Graph) validateProduct(p *Product, shape []int) error {
	if p.Coef <= -Bound || p.Coef >= Bound {
		return fmt.Errorf("coefficient %d out of range", p.Coef)
	}
	if !g.has(p.A) || !g.has(p.B) {
		return errors.New("operand does not exist")
	}
	if g.Tensors[p.A].Kind == Empty || g.Tensors[p.B].Kind == Empty {
		return errors.New("operand has no entries")
	}
	var dims, uses [maxLabels]int // by label: its dimension, or 0 if that is not known yet; and how many operands have it
	copy(dims[:], shape)
	for _, op := range []struct {
		shape, labels []int
	}{{g.Tensors[p.A].Shape, p.LabelsA}, {g.Tensors[p.B].Shape, p.LabelsB}} {
		if len(op.shape) != len(op.labels) {
			return errors.New("one label an axis")
		}
		for i, l := range op.labels {
			if l < 0 || l >= maxLabels || slices.Contains(op.labels[:i], l) {
				return fmt.Errorf("label %d out of range or repeated", l)
			}
			if d := dims[l]; d != 0 && d != op.shape[i] {
				return fmt.Errorf("label %d has dimensions %d and %d", l, d, op.shape[i])
			}
			dims[l] = op.shape[i]
			uses[l]++
		}
	}
	for l, n := range uses {
		if l >= len(shape) && n == 1 {
			return fmt.Errorf("contracted label %d is in one operand only", l)
		}
	}
	return nil
}

// maxLabels bounds the labels of a product: those of the output and of two operands.
const maxLabels = MaxRank * 3
