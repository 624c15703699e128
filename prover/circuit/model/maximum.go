package model

import (
	"errors"
)

// Maximum are the accumulators of the look-ups that follow a StepMax, which computes
// the greatest entry m of every row of a tensor x and constrains nothing. Right after
// it stand
//
//	a look-up       (Below = x − m, z) is a row of a table that is 1 at 0 and 0 below
//	a range look-up 0 ≤ Found = Σ z − 1
//
// The first look-up has an entry for each entry of x, the second one for each row. The
// quantiser adds these steps, and Validate demands them, with the same code.
//
// These steps force m. The table has no key above 0, so for every entry x_i of the row there is an integer d_i
// in [Min, 0], Min being the table's first key, with x_i − m = d_i modulo p. Each z is 0 or 1, and a row has
// fewer than p entries. If no z were 1, Found would be −1, which is in no range. So some z_i is 1, which is the
// value at key 0 alone: d_i = 0 and m = x_i for some i.
// Suppose that m = x_i and m' = x_j both satisfy this: then m' − m and m − m' are both in [Min, 0] modulo
// p. Their sum is 0, and as −Min is below 2^20, both are 0. So m has one value, that of the greatest entry,
// and z follows.
//
// The number of these steps does not depend on the length of a row, so that may be a free
// dimension. A tournament would have a step for each bit of the length.
type Maximum struct {
	Below Acc // over the index space of the tensor x
	Found Acc // over the index space of the step
}

// Maximum returns the accumulators of the look-ups that must follow a StepMax whose tensors are valid. z is the
// result of the first of them.
func (g *Graph) Maximum(s *Step, z TensorID) Maximum {
	last := len(s.Shape)
	repeated, summed := SameIndexes(last), SameIndexes(last)
	repeated.Groups = append(repeated.Groups, Group{Out: []int{last}, Strides: []int{0}})
	summed.Groups = append(summed.Groups, Group{In: []int{last}, Sum: []SumIndex{{Dim: g.Tensors[s.Den].Shape[last], Stride: 1}}})
	return Maximum{
		Below: Acc{Linear: []Linear{{Coef: 1, Src: s.Den}, {Coef: -1, Src: s.Out, View: repeated}}},
		Found: Acc{Const: -1, Linear: []Linear{{Coef: 1, Src: z, View: summed}}},
	}
}

// TopTable returns the table of the first look-up that follows a StepMax. Its keys are the 2^bits integers up
// to 0, and its value is 1 at 0 and 0 below.
func TopTable(name string, bits int) Table {
	rows := int64(1) << bits
	return Table{Name: name, Kind: TablePiecewise, Bits: bits, Min: 1 - rows, Values: None, Pieces: []Piece{{End: rows - 1}, {End: rows, Offset: 1}}}
}

// validateMaximum checks that the look-ups that constrain the maximum at step i follow
// it.
func (g *Graph) validateMaximum(i int) error {
	s := &g.Steps[i]
	if i+2 >= len(g.Steps) || g.Steps[i+1].Kind != StepLookup {
		return errors.New("a maximum that no look-ups follow")
	}
	first := &g.Steps[i+1]
	m := g.Maximum(s, first.Out)
	if !first.is(g.Tensors[s.Den].Shape, &m.Below) || first.Shift != 0 {
		return errors.New("a maximum that its row's entries are not held against")
	}
	t := &g.Tables[first.Table]
	if top := TopTable("", t.Bits); t.Bits == 0 || !t.SameRows(&top) {
		return errors.New("a maximum whose table is not that of 1 at 0 and 0 below")
	}
	if size, _ := g.rangeOf(i+2, s.Shape, &m.Found); size < 2 {
		return errors.New("a maximum that need not be an entry of its row")
	}
	return nil
}
