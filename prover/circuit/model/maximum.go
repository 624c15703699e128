package model

import (
	"errors"
)

// Maximum are the accumulators of the look-ups that follow a StepMax, which computes
// the greatest entry m of every row of a tensor x and constrains nothing. Right after
// it stand
//
//	a look-up       (Below = x − m, z) is a row of the table of 1 at 0 and 0 below
//	a range look-up 0 ≤ Found = Σ z − 1
//
// The first has an entry for each entry of x, the second one for each row. The
// quantiser adds these steps, and Validate demands them, with the same code.
//
// These steps force m. The table has no key above 0, so that no entry of the row is
// above m: there are integers d_i in [Min, 0] with x_i − m = d_i modulo p. As z is 0 or
// 1 and a row has fewer than p entries, some z is 1 or else Found were −1, which is in
// no range: m is x_i for some i. If m and m' both satisfy this, m = x_i and m' = x_j,
// then m' − m and m − m' are both in [Min, 0] modulo p; their sum is 0, and with −Min
// below 2^20 both are. So m has one value, that of the greatest entry, and z follows.
//
// These are two steps whatever the length of a row, as a free dimension needs. A
// tournament would have a step for each bit of the length.
type Maximum struct {
	Below Acc // over the tensor's index space
	Found Acc // over the step's
}

// Maximum returns the constraints on a StepMax whose tensors are valid, with z the
// result of the first look-up.
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

// TopTable is the table of the first look-up that follows a StepMax: of 2^bits keys up
// to 0, with 1 at 0 and 0 below.
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
