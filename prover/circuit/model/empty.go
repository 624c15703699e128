package model

import (
	"errors"
	"fmt"
	"slices"
)

// validateEmpty checks a tensor without entries.
func (t *Tensor) validateEmpty() error {
	if len(t.Shape) > MaxRank || !slices.Contains(t.Shape, 0) {
		return fmt.Errorf("shape %v of a tensor without entries", t.Shape)
	}
	for _, d := range t.Shape {
		if d < 0 || d > 1<<MaxVars {
			return fmt.Errorf("dimension %d out of range", d)
		}
	}
	if t.Frac != 0 || len(t.Fracs) > 0 || t.Min != 0 || t.Max != 0 || t.Numbers != FiniteNumbers || t.Chunk != 0 || len(t.Def) > 0 || t.Product != nil || t.Formula != nil {
		return errors.New("a tensor without entries that says what they are")
	}
	return nil
}
