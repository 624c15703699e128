package model

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
)

// divided is a graph of tensors x, d, q, r with q = ⌊x/d⌋: x and d inputs, r and
// d within rBits, q within qBits. After the division's own steps stands the
// look-up of q.
func divided(rBits, qBits int) *Graph {
	witness := Tensor{Shape: []int{2}, Kind: Witness, Max: 1}
	g := &Graph{
		Tensors: []Tensor{input(2), input(2), witness, witness},
		Inputs:  []TensorID{0, 1}, Outputs: []TensorID{2},
	}
	g.division(Acc{Linear: []Linear{{Coef: 3}}}, 1, 2, 3, rBits, 0)
	g.inRange([]int{2}, alone(2), qBits)
	g.Finish(0)
	return g
}

// dividedLong has a divisor 2^13·high + low of two inputs, which stands for each
// of two rows of three.
func dividedLong(highBits, lowBits, rBits, qBits, partialBits int) *Graph {
	witness := Tensor{Shape: []int{2, 3}, Kind: Witness, Max: 1}
	repeat := &View{Groups: []Group{{Out: []int{0}, In: []int{0}, Strides: []int{1}}, {Out: []int{1}, Strides: []int{0}}}}
	g := &Graph{
		Tensors: []Tensor{
			input(2, 3), input(2), input(2),
			virtual([]Linear{{Coef: 1 << 12, Src: 1}, {Coef: 1, Src: 2}}, 2),
			virtual([]Linear{{Coef: 2, Src: 3, View: repeat}}, 2, 3),
			witness, witness,
		},
		Inputs: []TensorID{0, 1, 2}, Outputs: []TensorID{5},
	}
	g.division(Acc{Linear: []Linear{{Coef: 1 << 8}}}, 4, 5, 6, rBits, partialBits)
	g.inRange([]int{2}, alone(1), highBits)
	g.inRange([]int{2}, alone(2), lowBits)
	g.inRange([]int{2, 3}, alone(5), qBits)
	g.Finish(0)
	return g
}

func alone(id TensorID) Acc { return Acc{Linear: []Linear{{Coef: 1, Src: id}}} }

func (g *Graph) division(acc Acc, den, q, r TensorID, rBits, partialBits int) {
	shape := g.Tensors[q].Shape
	s := Step{Kind: StepDivide, Shape: shape, Acc: acc, Lo: r, Table: None, Out: q, Den: den}
	d := g.Division(&s)
	g.Steps = append(g.Steps, s, Step{Kind: StepZero, Shape: shape, Acc: d.Equation, Lo: None, Table: None, Out: None, Den: None})
	g.inRange(shape, alone(r), rBits)
	g.inRange(shape, d.Below, rBits)
	if partialBits > 0 {
		g.inRange(shape, *d.Partial, partialBits)
	}
}

// inRange looks acc up in a range, of two limbs from 15 bits on.
func (g *Graph) inRange(shape []int, acc Acc, bits int) {
	table := func(bits int) TableID {
		for i := range g.Tables {
			if g.Tables[i].Bits == bits {
				return TableID(i)
			}
		}
		g.Tables = append(g.Tables, Table{Bits: bits, Values: None})
		return TableID(len(g.Tables) - 1)
	}
	if bits <= 14 {
		g.Steps = append(g.Steps, Step{Shape: shape, Acc: acc, Lo: None, Table: table(bits), Out: None, Den: None})
		return
	}
	low := TensorID(len(g.Tensors))
	g.Tensors = append(g.Tensors, Tensor{Shape: shape, Kind: Witness, Max: 1})
	g.Steps = append(g.Steps, Step{Shape: shape, Acc: acc, Shift: 14, Lo: low, Table: table(bits - 14), Out: None, Den: None})
	g.inRange(shape, alone(low), 14)
}

// scaled makes the divisor of a division twice a view of what it was: through has its steps
// read that, and not the divisor itself.
func scaled(g *Graph, v *View, through bool) {
	old := Linear{Coef: 2, Src: 1, View: v}
	g.Tensors = slices.Insert(g.Tensors, 4, virtual([]Linear{old}, 2))
	for i := range g.Mults {
		g.Mults[i].Tensor++
	}
	s := &g.Steps[0]
	s.Den = 4
	if !through {
		old = Linear{Coef: 1, Src: 4}
	}
	g.Steps[1].Acc.Products[0].A, g.Steps[1].Acc.Products[0].Coef = old.Src, -old.Coef
	g.Steps[3].Acc.Linear[0] = old
}

// TestDivisionIsConstrained: a key cannot hold a division without the steps that
// force its results, nor with weaker ones.
func TestDivisionIsConstrained(t *testing.T) {
	short := func() *Graph { return divided(14, 14) } // steps: 0 division, 1 zero, 2 r, 3 below, 4 q
	long := func() *Graph { return dividedLong(14, 13, 28, 13, 17) }
	drop := func(i int) func(g *Graph) {
		return func(g *Graph) { g.Steps = slices.Delete(g.Steps, i, i+1) }
	}
	for name, c := range map[string]struct {
		graph  func() *Graph
		change func(g *Graph)
		why    string
	}{
		"short":     {short, func(*Graph) {}, ""},
		"long":      {long, func(*Graph) {}, ""},
		"two limbs": {func() *Graph { return divided(16, 14) }, func(*Graph) {}, ""},
		"a range with values": {short, func(g *Graph) {
			g.Tables = append(g.Tables, Table{Kind: TablePiecewise, Bits: 14, Pieces: []Piece{{End: 1 << 14, Slope: 1}}, Values: None})
			g.Tensors = append(g.Tensors[:4:4], Tensor{Shape: []int{2}, Kind: Witness, Max: 1})
			g.Mults = nil
			g.Steps[2].Table, g.Steps[2].Out = 1, 4
		}, ""},
		"a divisor times two, without a view": {short, func(g *Graph) { scaled(g, nil, true) }, ""},
		"the same as a tensor of its own":     {short, func(g *Graph) { scaled(g, nil, false) }, "equation"},
		"a divisor that fills":                {short, func(g *Graph) { scaled(g, &View{Groups: same(1).Groups, Fill: 5}, true) }, "equation"},
		"it as a tensor of its own":           {short, func(g *Graph) { scaled(g, &View{Groups: same(1).Groups, Fill: 5}, false) }, ""},
		"a quotient from -1 on":               {short, func(g *Graph) { g.Steps[4].Acc.Const = 1 }, ""},
		"a quotient of two limbs":             {func() *Graph { return divided(8, 16) }, func(*Graph) {}, ""},
		"a quotient of two limbs from -1 on":  {func() *Graph { return divided(8, 16) }, func(g *Graph) { g.Steps[4].Acc.Const = 1 }, "no table"},
		"a limb in no look-up": {func() *Graph { return divided(16, 14) }, func(g *Graph) {
			low := g.Steps[3]
			g.Tensors = append(slices.Clip(g.Tensors[:len(g.Tensors)-len(g.Mults)]), Tensor{Shape: []int{2}, Kind: Witness, Max: 1})
			g.Mults = nil
			g.Steps[3] = Step{Kind: StepExact, Shape: []int{2}, Acc: low.Acc, Lo: None, Table: None, Out: TensorID(len(g.Tensors) - 1), Den: None}
			g.Steps = append(g.Steps, low)
		}, "ranges of its remainder"},

		"nothing":                 {short, func(g *Graph) { g.Steps = g.Steps[:1]; g.Tables, g.Mults, g.Tensors = nil, nil, g.Tensors[:4] }, "equation"},
		"no equation":             {short, drop(1), "equation"},
		"another accumulator":     {short, func(g *Graph) { g.Steps[0].Acc.Linear[0].Coef = 4 }, "equation"},
		"another constant":        {short, func(g *Graph) { g.Steps[0].Acc.Const = 1 }, "equation"},
		"another divisor":         {short, func(g *Graph) { g.Steps[0].Den = 0 }, "equation"},
		"a larger remainder":      {short, func(g *Graph) { g.Steps[1].Acc.Linear[1].Coef = -2 }, "equation"},
		"an equation elsewhere":   {short, func(g *Graph) { g.Steps[1], g.Steps[2] = g.Steps[2], g.Steps[1] }, "equation"},
		"a remainder without end": {short, drop(2), "ranges of its remainder"},
		"a remainder up to any":   {short, drop(3), "ranges of its remainder"},
		"a remainder up to den":   {short, func(g *Graph) { g.Steps[3].Acc.Const = 0 }, "ranges of its remainder"},
		"a divisor times two":     {short, func(g *Graph) { g.Steps[3].Acc.Linear[0].Coef = 2 }, "ranges of its remainder"},
		"a range from -1":         {short, func(g *Graph) { g.Tables[0].Min = -1 }, "ranges of its remainder"},
		"a limb looked up elsewhere": {func() *Graph { return divided(16, 14) }, func(g *Graph) {
			g.Steps[3], g.Steps[4], g.Steps[5] = g.Steps[4], g.Steps[5], g.Steps[3]
		}, "ranges of its remainder"},
		"a free limb":           {func() *Graph { return divided(16, 14) }, drop(3), "ranges of its remainder"},
		"a free quotient":       {short, drop(4), "no table"},
		"twice the quotient":    {short, func(g *Graph) { g.Steps[4].Acc.Linear[0].Coef = 2 }, "no table"},
		"another quotient":      {short, func(g *Graph) { g.Steps[4].Acc.Linear[0].Src = 0 }, "no table"},
		"a product that wraps":  {func() *Graph { return divided(16, 15) }, func(*Graph) {}, "may wrap"},
		"a quotient that wraps": {func() *Graph { return divided(14, 20) }, func(*Graph) {}, "may wrap"},
		"a divisor that wraps":  {func() *Graph { return divided(30, 0) }, func(*Graph) {}, "divisor may wrap"},

		"no partial product":     {func() *Graph { return dividedLong(14, 13, 28, 13, 0) }, func(*Graph) {}, "ranges of its parts"},
		"a high part to any":     {long, drop(8), "ranges of its parts"},
		"a low part to any":      {long, drop(9), "ranges of its parts"},
		"a long free quotient":   {long, drop(10), "no table"},
		"a quotient from -1":     {long, func(g *Graph) { g.Steps[10].Acc.Const = 1 }, "ranges of its parts"},
		"another partial":        {long, func(g *Graph) { g.Steps[6].Acc.Products[0].A = 2 }, "ranges of its parts"},
		"partial sums that wrap": {func() *Graph { return dividedLong(14, 13, 28, 13, 18) }, func(*Graph) {}, "may wrap"},
		"a wide divisor":         {func() *Graph { return dividedLong(18, 13, 28, 10, 14) }, func(*Graph) {}, "may wrap"},
		"a wide product":         {func() *Graph { return dividedLong(16, 13, 28, 15, 17) }, func(*Graph) {}, "may wrap"},
		"a wide low product":     {func() *Graph { return dividedLong(12, 18, 28, 13, 17) }, func(*Graph) {}, "may wrap"},
		"parts turned":           {long, func(g *Graph) { d := g.Tensors[3].Def; d[0], d[1] = d[1], d[0] }, "ranges of its parts"},
		"a negative part":        {long, func(g *Graph) { g.Tensors[3].Def[1].Coef = -1 }, "may wrap"},
	} {
		t.Run(name, func(t *testing.T) {
			g := c.graph()
			c.change(g)
			validates(t, g, c.why)
		})
	}
}

// validates checks a changed graph, with the counts that its look-ups need: it is
// valid if why is empty, otherwise refused with an error that contains why.
func validates(t *testing.T, g *Graph, why string) {
	t.Helper()
	recount(g)
	err := g.Validate()
	if (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
		t.Errorf("got %v, want an error about %q", err, why)
	}
}

// recount gives a changed graph the tables and counts that its look-ups need.
func recount(g *Graph) {
	for _, m := range g.Mults {
		g.Tensors = g.Tensors[:min(len(g.Tensors), int(m.Tensor))]
	}
	g.Mults = nil
	used := map[TableID]TableID{}
	var tables []Table
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Kind != StepLookup {
			continue
		}
		if _, ok := used[s.Table]; !ok {
			used[s.Table] = TableID(len(tables))
			tables = append(tables, g.Tables[s.Table])
		}
		s.Table = used[s.Table]
	}
	g.Tables = tables
	g.Finish(0)
}

// TestDivisionBoundIsTight finds second quotients where validateDivision says
// that sides may wrap, at the least sizes where it does, and none at the most
// where it does not.
func TestDivisionBoundIsTight(t *testing.T) {
	forge := func(a, n int64) bool { // a remainder and divisor below a, n quotients
		rng := rand.New(rand.NewPCG(1, 2))
		for range 20000 {
			den := 2*a - 1 - rng.Int64N(min(a, 1000))
			// den·dq = p + dr with |dr| < min(a, den) makes (0, r) and (dq, r − dr) one.
			for _, dq := range []int64{field.P / den, field.P/den + 1} {
				if dr := den*dq - field.P; dq < n && max(dr, -dr) < a {
					return true
				}
			}
		}
		return false
	}
	for bits := 8; bits <= 22; bits++ {
		a := int64(1) << bits
		n := int64(1)
		for fits(term{2*a - 1, 2*n - 1}, term{a, 1}) {
			n *= 2
		}
		if forge(a, n) {
			t.Errorf("%d bits: a second quotient among %d", bits, n)
		}
		if !forge(a, 4*n) {
			t.Errorf("%d bits: no second quotient among %d", bits, 4*n)
		}
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		sum  []term
		want bool
	}{
		{nil, true},
		{[]term{{field.P, 1}}, true},
		{[]term{{field.P, 1}, {1, 1}}, false},
		{[]term{{field.P, 1}, {0, 5}, {5, 0}}, true},
		{[]term{{1 << 60, 1 << 60}}, false},
		{[]term{{1 << 60, 0}}, true},
		{[]term{{1 << 16, 1 << 15}}, false},
		{[]term{{1<<16 - 1, 1 << 15}, {1<<15 - 1, 1}}, true},
		{[]term{{1<<16 - 1, 1 << 15}, {1 << 15, 1}}, false},
	} {
		if fits(c.sum...) != c.want {
			t.Errorf("%v: %t", c.sum, !c.want)
		}
	}
}
