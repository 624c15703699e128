package model

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/prover/math/field"
)

// Limits of what is revealed of outputs.
const (
	// MaxTop is the largest number of greatest entries that a proof states of a row.
	MaxTop = 1 << 10
	// MaxRevealed is the most entries that an output of which the greatest are revealed may have, once each row is filled up
	// to a power of two.
	MaxRevealed = maxListed
)

// ErrReveal is wrapped by the error about a circuit in which it cannot be shown which entries of an output are the
// greatest.
var ErrReveal = errors.New("which entries are the greatest cannot be proved")

// A Reveal says that a proof states, in place of an output, the indexes of the greatest entries in every row along the output's
// last axis (docs/protocol.md, "Greatest entries in place of an output").
type Reveal struct {
	// Output is its place in Graph.Outputs.
	Output int
	// Top is how many of the greatest entries are revealed, the greatest first and equal ones by index; the indexes then have a last
	// axis of length Top. With 0 only the first of the greatest is revealed, without such an axis.
	Top int
}

// String returns "argmax", or "top 5" for a Top of 5.
func (r Reveal) String() string {
	if r.Top == 0 {
		return "argmax"
	}
	return fmt.Sprintf("top %d", r.Top)
}

// Revealed says where a circuit has what a Reveal asks for.
type Revealed struct {
	Reveal
	// Place is the place of the indexes among the outputs of the circuit. It differs from Output if outputs before it are hidden.
	Place int
	// Of is the output that is not stated, and At the tensor of indexes that is stated in its place.
	Of, At TensorID
	// Issuer says that no look-up of the circuit keeps the output's entries in the range [Least, Most], outside of which the comparisons
	// do not hold. The issuer of the key, or a certificate, then vouches for that.
	Issuer bool
	// Least and Most are the range in which the comparisons hold.
	Least, Most int64
}

// DerivedKind says how the entries of an input are computed from the indexes that a proof states of
// an output. Prover and verifier compute them; no statement carries them.
type DerivedKind uint8

const (
	// Flat tensors have the positions of the entries at the stated indexes in one list of all rows, in which each row takes 2^s places:
	// row·2^s + index.
	Flat DerivedKind = iota
	// Marks tensors have the shape of the output. They are added to the difference "entry at the last stated index of the row minus this
	// entry", which a look-up shows not to be negative. They are −1 for entries before that index, which must be smaller than the entry
	// there, not equal. Lift is added at the other stated indexes, whose entries may be greater. They are 0 elsewhere.
	Marks
	// Falls tensors are 1 where a stated index is followed by a smaller one, whose entry must then be smaller; 0 elsewhere.
	Falls
	// RowsOfTexts tensors have, for indexes into the rows of each of several texts, the indexes of these rows in one list of the rows of all
	// texts: text·Length + index.
	RowsOfTexts
)

// Derived says how the entries of an Input tensor are computed.
type Derived struct {
	Kind DerivedKind
	At   TensorID // the tensor of stated indexes
	Lift int64    // Marks
	// Length is the number of rows of each text (RowsOfTexts).
	Length int
}

// reveal adds constraints which show that the entries at stated indexes are the greatest, and puts the indexes in place of the
// outputs. The circuit has no layout yet. The constraints are of the kinds that any circuit may have. Only the derived inputs are new:
// prover and verifier compute their entries from the indexes.
func (g *Graph) reveal(list []Reveal) error {
	if len(list) == 0 {
		return nil
	}
	g.Inputs, g.Outputs, g.Tables = slices.Clone(g.Inputs), slices.Clone(g.Outputs), slices.Clone(g.Tables)
	if g.Texts == 0 {
		g.Stated = len(g.Inputs)
	}
	known := g.newIntervals()
	for i, r := range list {
		if r.Output < 0 || r.Output >= len(g.Outputs) || i > 0 && r.Output <= list[i-1].Output {
			return fmt.Errorf("%w: output %d of %d, or not in order", ErrReveal, r.Output, len(g.Outputs))
		}
		if err := g.revealOne(r, known); err != nil {
			return fmt.Errorf("%s of output %q: %w: %w", r, g.Tensors[g.Outputs[r.Output]].Name, ErrReveal, err)
		}
	}
	return nil
}

// revealOne adds the constraints for one output z. With t the last stated index of a row, it looks up, for every entry v of the row,
// z_t − z_v + mark_v in [0, 2^n), and for every pair of neighbouring stated indexes i, j, z_i − z_j − [j < i] in [0, 2^n). It
// refuses an output whose range is so wide that a negative difference is, modulo p, congruent to a number in the table.
func (g *Graph) revealOne(r Reveal, known *intervals) error {
	z := g.Outputs[r.Output]
	t := g.Tensors[z] // a copy: tensors are added
	if t.Kind == Empty || len(t.Shape) == 0 {
		return errors.New("it has no axis")
	}
	if t.Numbers != FiniteNumbers || len(t.Fracs) > 0 {
		return errors.New("its integers are not on one scale, or not all finite")
	}
	lead, d := t.Shape[:len(t.Shape)-1], t.Shape[len(t.Shape)-1]
	if r.Top < 0 || r.Top > MaxTop || r.Top > d {
		return fmt.Errorf("the %d greatest of %d entries, and at most %d", r.Top, d, MaxTop)
	}
	row := 1 << Log2Ceil(d)
	if rows := Size(lead); rows > MaxRevealed/row {
		return fmt.Errorf("%d rows of %d entries are more than %d, filled up to a power of two", rows, d, MaxRevealed)
	}
	least, most, proved := known.of(g, z, 0)
	w := most - least
	n := bits.Len64(uint64(w))
	if r.Top > 1 { // the difference is in [−w − 1, 0] at the other stated indexes, and with Lift = w + 1 in [0, w + 1]
		n = bits.Len64(uint64(w + 1))
	}
	// A difference of entries is an integer in [−w − 1, w + 1] modulo p, and must be the one in [0, 2^n).
	table, shift, ok := g.rangeFor(n)
	if !ok || int64(1)<<(g.Tables[table].Bits+shift)+w+1 > field.P {
		return fmt.Errorf("its entries lie in [%d, %d], which is too wide for comparisons modulo p", least, most)
	}
	input := func(name string, shape []int, lo, hi int64, d *Derived) TensorID {
		return g.addInput(Tensor{Name: name, Shape: shape, Kind: Input, Min: lo, Max: hi, Derived: d})
	}
	shape := slices.Clone(lead)
	if r.Top > 0 {
		shape = append(shape, r.Top)
	} else if len(shape) == 0 {
		shape = []int{1}
	}
	top := max(r.Top, 1)
	at := input(indexName(r, t.Name), shape, 0, int64(d-1), nil)
	ids := input("", shape, 0, int64(Size(lead)*row-1), &Derived{Kind: Flat, At: at})
	marks := input("", t.Shape, -1, w+1, &Derived{Kind: Marks, At: at, Lift: w + 1})
	// best has the entries at the stated indexes. Public indexes wire one axis, so they read one list of all rows, each filled up to
	// row entries: a reshape that merges such axes only renames variables.
	padded := append(slices.Clone(lead), row)
	pad := SameIndexes(len(padded))
	filled := g.add(Tensor{Shape: padded, Kind: Virtual, Min: min(t.Min, 0), Max: max(t.Max, 0), Def: []Linear{{Coef: 1, Src: z, View: pad}}})
	flat := g.add(Tensor{Shape: []int{Size(padded)}, Kind: Virtual, Min: min(t.Min, 0), Max: max(t.Max, 0),
		Def: []Linear{{Coef: 1, Src: filled, View: &View{Groups: []Group{{Out: []int{0}, In: Axes(len(padded)), Map: MapReshape}}}}}})
	best := g.add(Tensor{Shape: shape, Kind: Virtual, Min: min(t.Min, 0), Max: max(t.Max, 0),
		Def: []Linear{{Coef: 1, Src: flat, View: &View{Groups: []Group{{Out: Axes(len(shape)), In: []int{0}, Map: MapPublic, Ids: ids}}}}}})
	// No entry, except those at other stated indexes, is greater than the one at the last stated index, or equal to it and before it.
	last := SameIndexes(len(lead))
	same := Group{Out: []int{len(lead)}, Strides: []int{0}}
	if len(shape) > len(lead) {
		same.In, same.Base = []int{len(lead)}, top-1
	}
	last.Groups = append(last.Groups, same)
	g.compare("greatest", t.Shape, Acc{Linear: []Linear{{Coef: 1, Src: best, View: last}, {Coef: -1, Src: z}, {Coef: 1, Src: marks}}}, table, shift)
	if top > 1 {
		// Each entry at a stated index is greater than the next one, or equal to it and before it.
		pairs := append(slices.Clone(lead), top-1)
		falls := input("", pairs, 0, 1, &Derived{Kind: Falls, At: at})
		from := func(base int) *View {
			v := SameIndexes(len(pairs))
			v.Groups[len(lead)].Base = base
			return v
		}
		g.compare("greatest", pairs, Acc{Linear: []Linear{{Coef: 1, Src: best, View: from(0)}, {Coef: -1, Src: best, View: from(1)}, {Coef: -1, Src: falls}}}, table, shift)
	}
	g.Outputs[r.Output] = at
	g.Reveals = append(g.Reveals, Revealed{Reveal: r, Place: r.Output, Of: z, At: at, Issuer: !proved, Least: least, Most: most})
	return nil
}

// indexName returns the name of the tensor with the indexes of an output's greatest entries.
func indexName(r Reveal, of string) string {
	if name := r.String() + " of " + of; len(name) <= MaxName {
		return name
	}
	return r.String()
}

// add adds a tensor. Pointers to elements of Tensors are invalid afterwards.
func (g *Graph) add(t Tensor) TensorID {
	g.Tensors = append(g.Tensors, t)
	return TensorID(len(g.Tensors) - 1)
}

func (g *Graph) addInput(t Tensor) TensorID {
	id := g.add(t)
	g.Inputs = append(g.Inputs, id)
	return id
}

// lowBits is how many low bits of a number that is too wide for one table are looked up by themselves.
const lowBits = 15

// rangeFor returns a range table with keys from 0 on, and a shift, for looking up that numbers are in [0, 2^n): the keys are the numbers
// without their lowest shift bits. It takes the smallest suitable table of the circuit or adds one. The table may be larger than is asked
// for: the numbers are then shown to be in [0, 2^(Bits+shift)). ok is false if no table can be had.
func (g *Graph) rangeFor(n int) (table TableID, shift int, ok bool) {
	if id := g.smallest(n); id != None {
		return id, 0, true
	}
	if n <= lowBits+1 {
		return g.newRange(n), 0, true
	}
	if n-lowBits > MaxTableBits || n > 30 {
		return None, 0, false
	}
	if id := g.smallest(n - lowBits); id != None && g.Tables[id].Bits+lowBits <= 30 {
		return id, lowBits, true
	}
	return g.newRange(n - lowBits), lowBits, true
}

// smallest returns the smallest range table whose keys are 0 up to at least 2^n − 1, or None.
func (g *Graph) smallest(n int) TableID {
	best := TableID(None)
	for i := range g.Tables {
		if t := &g.Tables[i]; t.Kind == TableRange && t.Min == 0 && t.Bits >= n && (best == None || t.Bits < g.Tables[best].Bits) {
			best = TableID(i)
		}
	}
	return best
}

// newRange adds a range table of n bits, at least 1, with keys from 0.
func (g *Graph) newRange(n int) TableID {
	g.Tables = append(g.Tables, Table{Name: fmt.Sprintf("range %d", n), Kind: TableRange, Bits: max(n, 1), Values: None})
	return TableID(len(g.Tables) - 1)
}

// compare adds a look-up of acc in a range table, with the shift that rangeFor returned with the table. So acc is forced not to be
// negative. With a shift there is a second look-up, which keeps the bits that are cut off in [0, 2^shift).
func (g *Graph) compare(name string, shape []int, acc Acc, table TableID, shift int) {
	s := Step{Name: name, Shape: shape, Acc: acc, Shift: shift, Lo: None, Table: table, Out: None, Den: None}
	if shift > 0 {
		s.Lo = g.add(Tensor{Shape: shape, Kind: Witness, Max: 1<<shift - 1})
	}
	g.Steps = append(g.Steps, s)
	if shift > 0 {
		low := g.smallest(shift)
		if low == None || g.Tables[low].Bits != shift {
			low = g.newRange(shift)
		}
		g.Steps = append(g.Steps, Step{Name: name, Shape: shape, Acc: Acc{Linear: []Linear{{Coef: 1, Src: s.Lo}}}, Lo: None, Table: low, Out: None, Den: None})
	}
}

// maxReach bounds how deep intervals follows definitions of virtual tensors.
const maxReach = 16

// intervals finds intervals in which tensors' entries lie. It computes the interval of a virtual tensor once for each depth
// at which it meets the tensor. Without that, a hostile key of a few hundred bytes, in which each sum names the one before several
// times, would make it walk a number of paths that is exponential in the depth.
type intervals struct {
	lookups []int32 // by tensor: 1 + the first look-up step that has it as a result, or 0
	sums    map[deepSum]interval
}

// deepSum is a virtual tensor and the depth at which it was met.
type deepSum struct {
	id    TensorID
	depth int
}

// interval is a range of integers, bounds included. proved says that the circuit's constraints keep a tensor's entries there.
type interval struct {
	least, most int64
	proved      bool
}

// newIntervals returns an intervals for the graph as it is; tensors that are added later have no look-ups in it.
func (g *Graph) newIntervals() *intervals {
	r := &intervals{lookups: make([]int32, len(g.Tensors)), sums: map[deepSum]interval{}}
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Kind != StepLookup {
			continue
		}
		for _, id := range []TensorID{s.Lo, s.Out} {
			if id != None && r.lookups[id] == 0 {
				r.lookups[id] = int32(i) + 1
			}
		}
	}
	return r
}

// of returns an interval in which a tensor's entries lie. If look-ups, formulas or the reader of public values force an interval, it
// returns that interval, and proved is set. Otherwise it returns the declared range of the tensor, which the key's issuer vouches for.
func (r *intervals) of(g *Graph, id TensorID, depth int) (least, most int64, proved bool) {
	t := &g.Tensors[id]
	switch {
	case t.Kind == Input || t.Kind == ByFormula:
		return t.Min, t.Max, true
	case t.Kind == Virtual && t.Product == nil && depth < maxReach:
		at := deepSum{id, depth}
		found, ok := r.sums[at]
		if !ok {
			found.least, found.most, found.proved = r.ofSum(g, t, depth)
			r.sums[at] = found
		}
		if found.proved {
			return found.least, found.most, true
		}
	case t.Kind == Witness:
		if r.lookups[id] == 0 {
			break
		}
		s := &g.Steps[r.lookups[id]-1]
		if s.Lo == id {
			return 0, 1<<s.Shift - 1, true // looked up by itself, as every remainder is
		}
		if table := &g.Tables[s.Table]; table.Kind == TablePiecewise {
			least, most = table.reach()
			return least, most, true
		}
	}
	return t.Min, t.Max, false
}

// ofSum is of for a virtual tensor that is a sum of views. It finds no interval if a view sums. Entries of a view that are wired to
// nothing have its fill value, 0 as well as any other, so each summand's interval includes that.
func (r *intervals) ofSum(g *Graph, t *Tensor, depth int) (least, most int64, proved bool) {
	for i := range t.Def {
		l := &t.Def[i]
		if l.View != nil && l.View.Sums() {
			return 0, 0, false
		}
		lo, hi, ok := r.of(g, l.Src, depth+1)
		if !ok {
			return 0, 0, false
		}
		if l.View != nil {
			lo, hi = min(lo, l.View.Fill), max(hi, l.View.Fill)
		}
		if l.Coef < 0 {
			lo, hi = hi, lo
		}
		least, most = least+l.Coef*lo, most+l.Coef*hi
		if least <= -Bound || most >= Bound {
			return 0, 0, false
		}
	}
	return least, most, true
}

// reach returns the least and the greatest value of a piecewise table. Pieces are linear, so both are at ends of pieces.
func (t *Table) reach() (least, most int64) {
	from := int64(0)
	for i, p := range t.Pieces {
		for _, row := range []int64{from, p.End - 1} {
			v := p.Slope*(t.Min+row) + p.Offset
			if i == 0 && row == 0 {
				least, most = v, v
			}
			least, most = min(least, v), max(most, v)
		}
		from = p.End
	}
	return least, most
}

// Widen returns the values of all inputs of a circuit. inputs and outputs are the values in the statement. Behind the inputs that the
// statement has come the indexes that it has in place of revealed outputs, and what is derived from these. If dense is not set, tensors
// of Marks are nil: they are large, and a verifier evaluates their MLE from the indexes.
func (g *Graph) Widen(inputs, outputs [][]int32, dense bool) [][]int32 {
	if !g.derives() {
		return inputs
	}
	inputs = slices.Clone(inputs[:g.Stated])
	at := map[TensorID][]int32{}
	for i := range inputs {
		at[g.Inputs[i]] = inputs[i]
	}
	for i := range g.Reveals {
		at[g.Reveals[i].At] = outputs[g.Reveals[i].Place]
	}
	for _, id := range g.Inputs[g.Stated:] {
		t := &g.Tensors[id]
		switch {
		case t.Derived == nil:
			inputs = append(inputs, at[id])
		case t.Derived.Kind == Marks && !dense:
			inputs = append(inputs, nil)
		default:
			inputs = append(inputs, g.derived(t, at[t.Derived.At]))
		}
	}
	return inputs
}

// derived returns the entries of a derived tensor t; at has the indexes that they are computed from.
func (g *Graph) derived(t *Tensor, at []int32) []int32 {
	if t.Derived.Kind == RowsOfTexts {
		return g.rowsOfTexts(t, at)
	}
	of := g.revealedAt(t.Derived.At)
	shape := g.Tensors[of.Of].Shape
	d, top := shape[len(shape)-1], max(of.Top, 1)
	out := make([]int32, Size(t.Shape))
	switch t.Derived.Kind {
	case Flat:
		row := 1 << Log2Ceil(d)
		for i, x := range at {
			out[i] = int32(i/top*row) + x
		}
	case Marks:
		for i := range len(at) / top {
			row, places := out[i*d:(i+1)*d], at[i*top:(i+1)*top]
			for v := range row[:places[top-1]] {
				row[v] = -1
			}
			for _, x := range places[:top-1] {
				row[x] += int32(t.Derived.Lift)
			}
		}
	case Falls:
		for i := range out {
			j := i/(top-1)*top + i%(top-1)
			if at[j+1] < at[j] {
				out[i] = 1
			}
		}
	}
	return out
}

// revealedAt returns the element of Reveals whose tensor of indexes is at, or nil.
func (g *Graph) revealedAt(at TensorID) *Revealed {
	for i := range g.Reveals {
		if g.Reveals[i].At == at {
			return &g.Reveals[i]
		}
	}
	return nil
}

// Greatest returns the indexes that r states in place of an output. values are the output's entries, and axis is the length of its last
// axis.
func (r Reveal) Greatest(values []int32, axis int) []int32 {
	top := max(r.Top, 1)
	var out []int32
	for ; len(values) >= axis; values = values[axis:] {
		row := values[:axis]
		order := make([]int32, 0, top+1) // the indexes of the greatest entries so far, the greatest first
		for v, x := range row {
			i, _ := slices.BinarySearchFunc(order, x, func(o int32, x int32) int {
				if row[o] >= x { // equal ones stay before
					return -1
				}
				return 1
			})
			if i < top {
				order = slices.Insert(order, i, int32(v))
				order = order[:min(len(order), top)]
			}
		}
		out = append(out, order...)
	}
	return out
}

// CheckStated checks that the indexes that a statement has for a row are different. Without this check a list could name the greatest
// entry several times. That each index is below the length of the row follows from the range of the tensor At, which the reader checks.
func (r *Revealed) CheckStated(at []int32) error {
	seen := map[int32]bool{}
	for i, x := range at {
		if r.Top < 2 {
			return nil
		}
		if i%r.Top == 0 {
			clear(seen)
		}
		if seen[x] {
			return fmt.Errorf("index %d is stated twice of one row", x)
		}
		seen[x] = true
	}
	return nil
}
