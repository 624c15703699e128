package vocabulary

import (
	"slices"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// lengths returns the lengths of axes; some may be Unknown.
func lengths(dims []Dim) []int {
	n := make([]int, len(dims))
	for i, d := range dims {
		n[i] = d.N
	}
	return n
}

// known converts a shape to dimensions without symbols.
func known(shape []int) []Dim {
	dims := make([]Dim, len(shape))
	for i, n := range shape {
		dims[i].N = n
	}
	return dims
}

// reshaped returns the operand with another shape: the result of an operation that keeps the order
// of entries.
func reshaped(in []Array, shape []int) []Array {
	refuse.If(size(shape) != len(in[0].Strings), "shape %v cannot become %v", in[0].Shape, shape)
	return []Array{{Shape: shape, Strings: in[0].Strings}}
}

// product returns the product of lengths; Unknown if one of them is.
func product(dims []Dim) int {
	n := 1
	for _, d := range dims {
		if d.N == Unknown {
			return Unknown
		}
		n *= d.N
	}
	return n
}

// named gives the symbols of a shape to the shape of the same entries after a Reshape. A symbol goes to the first axis
// that is as long as its old axis, and has as many entries for each of its indices.
func named(in, out []Dim) []Dim {
	for a, d := range in {
		if d.Symbol == "" {
			continue
		}
		for k := range out {
			if out[k].Symbol == "" && out[k].N == d.N && product(out[k+1:]) == product(in[a+1:]) {
				out[k].Symbol = d.Symbol
				break
			}
		}
	}
	return out
}

// Reshape gives the entries another shape. 0 stands for the length of the operand's axis
// with the same index, and −1 for the length that the number of entries requires.
type Reshape struct {
	Shape []int `json:"shape"`
}

func (o *Reshape) check() {
	open := 0
	for _, n := range o.Shape {
		refuse.If(n < -1 || n > maxNumbers, "shape %v", o.Shape)
		if n == -1 {
			open++
		}
	}
	refuse.If(open > 1 || len(o.Shape) > maxRank, "shape %v", o.Shape)
}

// shapes leaves the length for −1 Unknown, if it depends on an axis of Unknown length.
func (o *Reshape) shapes(in [][]Dim) [][]Dim {
	out, open, rest := make([]Dim, len(o.Shape)), -1, 1
	for i, n := range o.Shape {
		switch {
		case n == -1:
			open = i
			continue
		case n == 0 && i >= len(in[0]):
			refuse.With("shape %v cannot become %v", lengths(in[0]), o.Shape)
		case n == 0:
			out[i].N = in[0][i].N
		default:
			out[i].N = n
		}
		if out[i].N == Unknown || rest == Unknown {
			rest = Unknown
		} else {
			rest *= out[i].N
		}
	}
	if all := product(in[0]); open >= 0 {
		out[open].N = Unknown
		if all != Unknown && rest > 0 && all%rest == 0 {
			out[open].N = all / rest
		} else if all != Unknown && rest != Unknown {
			refuse.With("shape %v cannot become %v", lengths(in[0]), o.Shape)
		}
	}
	return [][]Dim{named(in[0], out)}
}

func (o *Reshape) run(in []Array, shape []int, _ *budget) []Array { return reshaped(in, shape) }

// Flatten merges the axes before Axis into one, and the others into another.
type Flatten struct {
	Axis int `json:"axis"`
}

func (o *Flatten) shapes(in [][]Dim) [][]Dim {
	at := o.Axis
	if at < 0 {
		at += len(in[0])
	}
	refuse.If(at < 0 || at > len(in[0]), "axis %d of %d", o.Axis, len(in[0]))
	out := []Dim{{N: product(in[0][:at])}, {N: product(in[0][at:])}}
	if at == 1 {
		out[0] = in[0][0]
	}
	return [][]Dim{named(in[0], out)}
}
func (o *Flatten) run(in []Array, shape []int, _ *budget) []Array { return reshaped(in, shape) }

// axisOf returns the index of an axis among rank axes; a negative one counts from the
// end.
func axisOf(axis, rank int) int { return axesOf([]int{axis}, rank)[0] }

// axesOf is axisOf for a list of axes, which must be distinct.
func axesOf(list []int, rank int) []int {
	out := make([]int, len(list))
	for i, a := range list {
		if a < 0 {
			a += rank
		}
		refuse.If(a < 0 || a >= rank || slices.Contains(out[:i], a), "axes %v of %d", list, rank)
		out[i] = a
	}
	return out
}

// Squeeze removes axes of length 1: those in Axes, or all if that is nil.
type Squeeze struct {
	Axes []int `json:"axes,omitempty"`
}

func (o *Squeeze) shapes(in [][]Dim) [][]Dim {
	axes, out := axesOf(o.Axes, len(in[0])), []Dim{}
	for i, d := range in[0] {
		gone := slices.Contains(axes, i) || o.Axes == nil && d.N == 1 && d.Symbol == ""
		refuse.If(gone && (d.N != 1 || d.Symbol != ""), "axis %d has length %d", i, d.N)
		if !gone {
			out = append(out, d)
		}
	}
	return [][]Dim{out}
}
func (o *Squeeze) run(in []Array, shape []int, _ *budget) []Array { return reshaped(in, shape) }

// Unsqueeze adds axes of length 1.
type Unsqueeze struct {
	Axes []int `json:"axes"`
}

func (o *Unsqueeze) check() {
	refuse.If(len(o.Axes) > maxRank, "%d axes", len(o.Axes))
}

func (o *Unsqueeze) shapes(in [][]Dim) [][]Dim {
	rank := len(in[0]) + len(o.Axes)
	refuse.If(rank > maxRank, "%d axes more for %d", len(o.Axes), len(in[0]))
	axes := axesOf(o.Axes, rank)
	out, next := make([]Dim, rank), 0
	for i := range out {
		if slices.Contains(axes, i) {
			out[i].N = 1
		} else {
			out[i] = in[0][next]
			next++
		}
	}
	return [][]Dim{out}
}
func (o *Unsqueeze) run(in []Array, shape []int, _ *budget) []Array { return reshaped(in, shape) }

// Transpose puts axes in another order.
type Transpose struct {
	Order []int `json:"order"`
}

func (o *Transpose) check() { axesOf(o.Order, len(o.Order)) }

func (o *Transpose) shapes(in [][]Dim) [][]Dim {
	refuse.If(len(o.Order) != len(in[0]), "an order of %d axes for %d", len(o.Order), len(in[0]))
	out := make([]Dim, len(in[0]))
	for i, a := range o.Order {
		out[i] = in[0][a]
	}
	return [][]Dim{out}
}

func (o *Transpose) run(in []Array, shape []int, b *budget) []Array {
	strides, by := stridesOf(in[0].Shape), make([]int, len(shape))
	for i, a := range o.Order {
		by[i] = strides[a]
	}
	out := b.ofStrings(shape)
	for i, at := range places(shape, by) {
		out.Strings[i] = in[0].Strings[at]
	}
	return []Array{out}
}

// stridesOf returns the strides of a row-major shape.
func stridesOf(shape []int) []int {
	strides, n := make([]int, len(shape)), 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= shape[i]
	}
	return strides
}

// places returns Σ index·stride for every index of a shape, in row-major order.
func places(shape, strides []int) []int {
	if slices.Contains(shape, 0) {
		return nil
	}
	list := []int{0}
	for axis, n := range shape {
		next := make([]int, 0, len(list)*n)
		for _, at := range list {
			for i := range n {
				next = append(next, at+i*strides[axis])
			}
		}
		list = next
	}
	return list
}

// Gather takes the entries at Index along an axis. The axes of Shape replace the axis in
// the result.
type Gather struct {
	Axis  int   `json:"axis"`
	Index []int `json:"index"`
	Shape []int `json:"shape"`
}

func (o *Gather) check() {
	refuse.If(size(o.Shape) != len(o.Index) || len(o.Shape) > maxRank, "%d indices for shape %v", len(o.Index), o.Shape)
}

func (o *Gather) shapes(in [][]Dim) [][]Dim {
	axis := axisOf(o.Axis, len(in[0]))
	n := in[0][axis].N
	refuse.If(slices.ContainsFunc(o.Index, func(i int) bool { return n != Unknown && (i < -n || i >= n) }),
		"an index that is not among %d entries", n)
	out := slices.Concat(in[0][:axis], known(o.Shape), in[0][axis+1:])
	refuse.If(len(out) > maxRank, "%d axes", len(out))
	return [][]Dim{out}
}

func (o *Gather) run(in []Array, shape []int, b *budget) []Array {
	out, from := b.ofStrings(shape), in[0]
	axis := axisOf(o.Axis, len(from.Shape))
	n, behind, at := from.Shape[axis], size(from.Shape[axis+1:]), 0
	if len(out.Strings) == 0 { // of however many entries before the axis
		return []Array{out}
	}
	for x := range size(from.Shape[:axis]) {
		for _, i := range o.Index {
			at += copy(out.Strings[at:], from.Strings[(x*n+(i+n)%n)*behind:][:behind])
		}
	}
	return []Array{out}
}

// Concat joins operands along an axis.
type Concat struct {
	Axis int `json:"axis"`
}

// shapes adds the lengths along the axis; along the others, known lengths must be equal.
func (o *Concat) shapes(in [][]Dim) [][]Dim {
	axis, out := axisOf(o.Axis, len(in[0])), slices.Clone(in[0])
	for _, dims := range in[1:] {
		refuse.If(len(dims) != len(out), "operands of %d and %d axes", len(out), len(dims))
		for i, d := range dims {
			switch {
			case i == axis && (d.N == Unknown || out[i].N == Unknown):
				out[i] = Dim{N: Unknown}
			case i == axis:
				out[i] = Dim{N: out[i].N + d.N}
			case d.N == Unknown || out[i].N == Unknown:
			case d.N != out[i].N:
				refuse.With("operands of lengths %d and %d along axis %d", out[i].N, d.N, i)
			}
		}
	}
	return [][]Dim{out}
}

func (o *Concat) run(in []Array, shape []int, b *budget) []Array {
	out, axis, at := b.ofStrings(shape), axisOf(o.Axis, len(shape)), 0
	// Each copy has a string, so there are no more of them than strings in the result.
	in = slices.DeleteFunc(slices.Clone(in), func(a Array) bool { return len(a.Strings) == 0 })
	if len(in) == 0 {
		return []Array{out}
	}
	for x := range size(shape[:axis]) {
		for _, a := range in {
			n := size(a.Shape[axis:])
			at += copy(out.Strings[at:], a.Strings[x*n:(x+1)*n])
		}
	}
	return []Array{out}
}

// broadcast is the shape rule of two operands that broadcast as in NumPy.
func broadcast(in [][]Dim) [][]Dim {
	out := make([]Dim, max(len(in[0]), len(in[1])))
	for i := range out {
		out[len(out)-1-i] = Dim{N: 1}
		for _, dims := range in {
			if i >= len(dims) {
				continue
			}
			d, have := dims[len(dims)-1-i], out[len(out)-1-i]
			switch {
			case have.N == 1 && have.Symbol == "":
				out[len(out)-1-i] = d
			case d.N == 1 || d.N == have.N || d.N == Unknown || have.N == Unknown:
			default:
				refuse.With("operands whose shapes do not fit")
			}
		}
	}
	return [][]Dim{out}
}

// eachPair calls f for every entry i of a shape to which two operands broadcast, with the strings x and y of the operands
// there.
func eachPair(in []Array, shape []int, b *budget, f func(i int, x, y string)) {
	if size(shape) > b.strings {
		must.OK(errBudget)
	}
	var at [2][]int
	for k := range at {
		own := stridesOf(in[k].Shape)
		strides := make([]int, len(shape))
		for i := range in[k].Shape {
			if in[k].Shape[i] != 1 {
				strides[len(shape)-len(own)+i] = own[i]
			}
		}
		at[k] = places(shape, strides)
	}
	for i := range at[0] {
		f(i, in[0].Strings[at[0][i]], in[1].Strings[at[1][i]])
	}
}
