package model

import (
	"math/rand/v2"
	"testing"
)

// Under a high-bits table lies a short one: its value at ⌊key/2^Drop⌋ is the value.
func TestHighBitsValue(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for bits := 1; bits <= 9; bits++ {
		for drop := range bits {
			short := Table{Kind: TablePiecewise, Bits: bits - drop, Values: None}
			for end := int64(0); end < 1<<short.Bits; {
				end += 1 + rng.Int64N(1<<short.Bits-end)
				short.Pieces = append(short.Pieces, Piece{End: end, Slope: rng.Int64N(9) - 4, Offset: rng.Int64N(99) - 49})
			}
			long := short
			long.Bits, long.Drop = bits, drop
			if long.SameRows(&short) != (drop == 0) {
				t.Errorf("%d bits without %d: another table than that of %d bits: %v", bits, drop, short.Bits, drop == 0)
			}
			for key := range int64(1) << bits {
				if !long.Contains(key) || long.Value(key, nil) != short.Value(key>>drop, nil) {
					t.Fatalf("%d bits without %d, key %d: %d, want %d", bits, drop, key, long.Value(key, nil), short.Value(key>>drop, nil))
				}
			}
		}
	}
	// What the tables of limbs are.
	limb := highBits(7, 3)
	for key := range int64(1) << 7 {
		if limb.Value(key, nil) != key/8 {
			t.Errorf("key %d: %d", key, limb.Value(key, nil))
		}
	}
}

// highBits is the table of ⌊key/2^drop⌋ for keys of some bits.
func highBits(bits, drop int) Table {
	return Table{Kind: TablePiecewise, Bits: bits, Drop: drop, Pieces: []Piece{{End: 1 << (bits - drop), Slope: 1}}, Values: None}
}

// twoLimbs is the graph of a look-up with a remainder of 4 bits and of one of the
// remainder, for its upper 3 bits: tensors x, high, remainder, low, and counts.
func twoLimbs() *Graph {
	witness := Tensor{Shape: []int{2}, Kind: Witness, Max: 1}
	g := &Graph{
		Tensors: []Tensor{input(2), witness, witness, witness},
		Inputs:  []TensorID{0},
		Tables:  []Table{{Kind: TablePiecewise, Bits: 3, Values: None, Pieces: []Piece{{End: 8, Slope: 1}}}, highBits(4, 1)},
		Steps: []Step{
			{Shape: []int{2}, Acc: Acc{Linear: []Linear{{Coef: 1, Src: 0}}}, Shift: 4, Lo: 2, Table: 0, Out: 1, Den: None},
			{Shape: []int{2}, Acc: Acc{Linear: []Linear{{Coef: 1, Src: 2}}}, Lo: None, Table: 1, Out: 3, Den: None},
		},
		Outputs: []TensorID{1, 3},
	}
	g.Finish(0)
	return g
}

// TestValidateHighBits: what a high-bits table may be, and that the keys of one keep a
// remainder in its range, all of them.
func TestValidateHighBits(t *testing.T) {
	for name, c := range map[string]struct {
		why    string
		change func(g *Graph)
	}{
		"two limbs":              {"", func(*Graph) {}},
		"of one row":             {"", func(g *Graph) { g.Tables[1].Drop, g.Tables[1].Pieces = 3, []Piece{{End: 1}, {End: 2, Offset: 1}} }},
		"of the last bit":        {"", func(g *Graph) { g.Tables[1].Pieces = []Piece{{End: 5, Slope: -2}, {End: 8, Offset: 9}} }},
		"all bits":               {"without a meaning", func(g *Graph) { g.Tables[1].Drop, g.Tables[1].Pieces = 4, []Piece{{End: 1}} }},
		"more than there are":    {"without a meaning", func(g *Graph) { g.Tables[1].Drop = 5 }},
		"less than none":         {"without a meaning", func(g *Graph) { g.Tables[1].Drop, g.Tables[1].Pieces = -1, []Piece{{End: 32}} }},
		"from 1":                 {"without a meaning", func(g *Graph) { g.Tables[1].Min = 1 }},
		"from -8":                {"without a meaning", func(g *Graph) { g.Tables[1].Min = -8 }},
		"a range":                {"without a meaning", func(g *Graph) { g.Tables[1].Kind, g.Tables[1].Pieces, g.Steps[1].Out = TableRange, nil, None }},
		"pieces of keys":         {"do not cover", func(g *Graph) { g.Tables[1].Pieces[0].End = 16 }},
		"pieces of less":         {"do not cover", func(g *Graph) { g.Tables[1].Pieces[0].End = 4 }},
		"saturated":              {"saturated rows", func(g *Graph) { g.Tables[1].Pieces[0].Slope, g.Tables[1].Saturated = 0, []Rows{{0, 2}} }},
		"one bit more":           {"nothing keeps the remainder", func(g *Graph) { g.Tables[1] = highBits(5, 1) }},
		"as many values":         {"nothing keeps the remainder", func(g *Graph) { g.Tables[1] = highBits(5, 2) }},
		"of twice the remainder": {"nothing keeps the remainder", func(g *Graph) { g.Steps[1].Acc.Linear[0].Coef = 2 }},
		"of one more":            {"nothing keeps the remainder", func(g *Graph) { g.Steps[1].Acc.Const = 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			g := twoLimbs()
			c.change(g)
			validates(t, g, c.why)
		})
	}
	// A committed column is as long as the keys are many.
	g := twoLimbs()
	g.Tensors, g.Mults = append(g.Tensors[:4:4], Tensor{Shape: []int{16}, Kind: Fixed, Max: 1}), nil
	g.Tables[1] = Table{Kind: TableFunc, Bits: 4, Drop: 1, Values: 4}
	validates(t, g, "without a meaning")
	g.Tables[1].Drop = 0
	validates(t, g, "")
}
