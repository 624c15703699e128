package vocabulary

import (
	"errors"
	"fmt"
	"slices"
)

// moved returns the entries of an array at places of it, in a shape.
func moved(a Array, shape, from []int, b *budget) (Array, error) {
	out, err := b.ofStrings(shape)
	if err != nil {
		return out, err
	}
	for i, at := range from {
		out.Strings[i] = a.Strings[at]
	}
	return out, nil
}

// lengths are those of axes; all are known.
func lengths(dims []Dim) []int {
	n := make([]int, len(dims))
	for i, d := range dims {
		n[i] = d.N
	}
	return n
}

// known are dimensions of known lengths.
func known(shape []int) []Dim {
	dims := make([]Dim, len(shape))
	for i, n := range shape {
		dims[i].N = n
	}
	return dims
}

// reshaped runs an operation that keeps the order of entries: its shapes say all of it.
func reshaped(o operation, in []Array) ([]Array, error) {
	dims, err := o.shapes([][]Dim{known(in[0].Shape)})
	if err != nil {
		return nil, err
	}
	shape := lengths(dims[0])
	if n, err := size(shape); err != nil || n != len(in[0].Strings) {
		return nil, fmt.Errorf("shape %v cannot become %v", in[0].Shape, shape)
	}
	return []Array{{Shape: shape, Strings: in[0].Strings}}, nil
}

// product is that of lengths, Unknown if one is.
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

// named carries the symbols of a shape over to the shape of the same entries after a Reshape. A symbol goes to the first
// axis that is as long as its old one and has as many entries for each of its indexes.
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

// Reshape gives the entries another shape: 0 is the axis' own length, and −1 what is left.
type Reshape struct {
	Shape []int `json:"shape"`
}

func (o *Reshape) check(in, out int) error {
	open := 0
	for _, n := range o.Shape {
		if n < -1 || n > maxNumbers {
			return fmt.Errorf("shape %v", o.Shape)
		}
		if n == -1 {
			open++
		}
	}
	if open > 1 || len(o.Shape) > maxRank {
		return fmt.Errorf("shape %v", o.Shape)
	}
	return count(in, out, 1, 1)
}

func (o *Reshape) shapes(in [][]Dim) ([][]Dim, error) {
	out, open, rest := make([]Dim, len(o.Shape)), -1, 1
	for i, n := range o.Shape {
		switch {
		case n == -1:
			open = i
			continue
		case n == 0 && i >= len(in[0]):
			return nil, fmt.Errorf("shape %v cannot become %v", lengths(in[0]), o.Shape)
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
			return nil, fmt.Errorf("shape %v cannot become %v", lengths(in[0]), o.Shape)
		}
	}
	return [][]Dim{named(in[0], out)}, nil
}

func (o *Reshape) run(in []Array, _ *budget) ([]Array, error) { return reshaped(o, in) }

// Flatten makes two axes of all, those before Axis and the others.
type Flatten struct {
	Axis int `json:"axis"`
}

func (o *Flatten) check(in, out int) error { return count(in, out, 1, 1) }
func (o *Flatten) shapes(in [][]Dim) ([][]Dim, error) {
	at := o.Axis
	if at < 0 {
		at += len(in[0])
	}
	if at < 0 || at > len(in[0]) {
		return nil, fmt.Errorf("axis %d of %d", o.Axis, len(in[0]))
	}
	out := []Dim{{N: product(in[0][:at])}, {N: product(in[0][at:])}}
	if at == 1 {
		out[0] = in[0][0]
	}
	return [][]Dim{named(in[0], out)}, nil
}
func (o *Flatten) run(in []Array, _ *budget) ([]Array, error) { return reshaped(o, in) }

// axesOf are axes among so many, without repetition.
func axesOf(list []int, rank int) ([]int, error) {
	out := make([]int, len(list))
	for i, a := range list {
		if a < 0 {
			a += rank
		}
		if a < 0 || a >= rank || slices.Contains(out[:i], a) {
			return nil, fmt.Errorf("axes %v of %d", list, rank)
		}
		out[i] = a
	}
	return out, nil
}

// Squeeze takes axes of length 1 away: all without a list.
type Squeeze struct {
	Axes []int `json:"axes,omitempty"`
}

func (o *Squeeze) check(in, out int) error { return count(in, out, 1, 1) }
func (o *Squeeze) shapes(in [][]Dim) ([][]Dim, error) {
	axes, err := axesOf(o.Axes, len(in[0]))
	out := []Dim{}
	for i, d := range in[0] {
		gone := slices.Contains(axes, i) || o.Axes == nil && d.N == 1 && d.Symbol == ""
		if gone && (d.N != 1 || d.Symbol != "") {
			err = errors.Join(err, fmt.Errorf("axis %d has length %d", i, d.N))
		}
		if !gone {
			out = append(out, d)
		}
	}
	return [][]Dim{out}, err
}
func (o *Squeeze) run(in []Array, _ *budget) ([]Array, error) { return reshaped(o, in) }

// Unsqueeze adds axes of length 1.
type Unsqueeze struct {
	Axes []int `json:"axes"`
}

func (o *Unsqueeze) check(in, out int) error {
	if len(o.Axes) > maxRank {
		return fmt.Errorf("%d axes", len(o.Axes))
	}
	return count(in, out, 1, 1)
}

func (o *Unsqueeze) shapes(in [][]Dim) ([][]Dim, error) {
	rank := len(in[0]) + len(o.Axes)
	axes, err := axesOf(o.Axes, rank)
	if err != nil || rank > maxRank {
		return nil, fmt.Errorf("%d axes more for %d", len(o.Axes), len(in[0]))
	}
	out, next := make([]Dim, rank), 0
	for i := range out {
		if slices.Contains(axes, i) {
			out[i].N = 1
		} else {
			out[i] = in[0][next]
			next++
		}
	}
	return [][]Dim{out}, nil
}
func (o *Unsqueeze) run(in []Array, _ *budget) ([]Array, error) { return reshaped(o, in) }

// Transpose puts axes in another order.
type Transpose struct {
	Order []int `json:"order"`
}

func (o *Transpose) check(in, out int) error {
	if _, err := axesOf(o.Order, len(o.Order)); err != nil {
		return err
	}
	return count(in, out, 1, 1)
}

func (o *Transpose) shapes(in [][]Dim) ([][]Dim, error) {
	if len(o.Order) != len(in[0]) {
		return nil, fmt.Errorf("an order of %d axes for %d", len(o.Order), len(in[0]))
	}
	out := make([]Dim, len(in[0]))
	for i, a := range o.Order {
		out[i] = in[0][a]
	}
	return [][]Dim{out}, nil
}

func (o *Transpose) run(in []Array, b *budget) ([]Array, error) {
	dims, err := o.shapes([][]Dim{known(in[0].Shape)})
	if err != nil {
		return nil, err
	}
	strides, shape := stridesOf(in[0].Shape), lengths(dims[0])
	by := make([]int, len(shape))
	for i, a := range o.Order {
		by[i] = strides[a]
	}
	a, err := moved(in[0], shape, places(shape, by), b)
	return []Array{a}, err
}

// stridesOf are the strides of a row-major shape.
func stridesOf(shape []int) []int {
	strides, n := make([]int, len(shape)), 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= shape[i]
	}
	return strides
}

// places lists Σ index·stride over a shape, row-major.
func places(shape, strides []int) []int {
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

// Gather takes entries along an axis, in the shape of their list.
type Gather struct {
	Axis  int   `json:"axis"`
	Index []int `json:"index"`
	Shape []int `json:"shape"`
}

func (o *Gather) check(in, out int) error {
	if n, err := size(o.Shape); err != nil || n != len(o.Index) || len(o.Shape) > maxRank {
		return fmt.Errorf("%d indices for shape %v", len(o.Index), o.Shape)
	}
	return count(in, out, 1, 1)
}

func (o *Gather) shapes(in [][]Dim) ([][]Dim, error) {
	axes, err := axesOf([]int{o.Axis}, len(in[0]))
	if err != nil {
		return nil, err
	}
	n := in[0][axes[0]].N
	if slices.ContainsFunc(o.Index, func(i int) bool { return n != Unknown && (i < -n || i >= n) }) {
		return nil, fmt.Errorf("an index that is not among %d entries", n)
	}
	out := slices.Concat(in[0][:axes[0]], known(o.Shape), in[0][axes[0]+1:])
	if len(out) > maxRank {
		return nil, fmt.Errorf("%d axes", len(out))
	}
	return [][]Dim{out}, nil
}

func (o *Gather) run(in []Array, b *budget) ([]Array, error) {
	dims, err := o.shapes([][]Dim{known(in[0].Shape)})
	if err != nil {
		return nil, err
	}
	shape := lengths(dims[0])
	if n, err := size(shape); err != nil || n > b.strings {
		return nil, errBudget
	}
	axis := o.Axis
	if axis < 0 {
		axis += len(in[0].Shape)
	}
	before, _ := size(in[0].Shape[:axis])
	behind, _ := size(in[0].Shape[axis+1:])
	n, from := in[0].Shape[axis], []int{}
	for x := range before {
		for _, i := range o.Index {
			for y := range behind {
				from = append(from, (x*n+(i+n)%n)*behind+y)
			}
		}
	}
	a, err := moved(in[0], shape, from, b)
	return []Array{a}, err
}

// Concat joins operands along an axis.
type Concat struct {
	Axis int `json:"axis"`
}

func (o *Concat) check(in, out int) error {
	if in < 1 {
		return fmt.Errorf("no operands")
	}
	return count(in, out, in, 1)
}

func (o *Concat) shapes(in [][]Dim) ([][]Dim, error) {
	axes, err := axesOf([]int{o.Axis}, len(in[0]))
	if err != nil {
		return nil, err
	}
	out := slices.Clone(in[0])
	for _, dims := range in[1:] {
		if len(dims) != len(out) {
			return nil, fmt.Errorf("operands of %d and %d axes", len(out), len(dims))
		}
		for i, d := range dims {
			switch {
			case i == axes[0] && (d.N == Unknown || out[i].N == Unknown):
				out[i] = Dim{N: Unknown}
			case i == axes[0]:
				out[i] = Dim{N: out[i].N + d.N}
			case d.N == Unknown || out[i].N == Unknown:
			case d.N != out[i].N:
				return nil, fmt.Errorf("operands of lengths %d and %d along axis %d", out[i].N, d.N, i)
			}
		}
	}
	return [][]Dim{out}, nil
}

func (o *Concat) run(in []Array, b *budget) ([]Array, error) {
	all := make([][]Dim, len(in))
	for i := range in {
		all[i] = known(in[i].Shape)
	}
	dims, err := o.shapes(all)
	if err != nil {
		return nil, err
	}
	out, err := b.ofStrings(lengths(dims[0]))
	if err != nil {
		return nil, err
	}
	axis := o.Axis
	if axis < 0 {
		axis += len(in[0].Shape)
	}
	before, _ := size(in[0].Shape[:axis])
	at := 0
	for x := range before {
		for _, a := range in {
			n, _ := size(a.Shape[axis:])
			at += copy(out.Strings[at:], a.Strings[x*n:(x+1)*n])
		}
	}
	return []Array{out}, nil
}

// broadcast is the shape of two operands of which axes of length 1 are repeated.
func broadcast(in [][]Dim) ([][]Dim, error) {
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
				return nil, errors.New("operands whose shapes do not fit")
			}
		}
	}
	return [][]Dim{out}, nil
}

// paired lists the entries of two operands that belong together.
func paired(in []Array, b *budget) (shape []int, pairs [][2]int, err error) {
	dims, err := broadcast([][]Dim{known(in[0].Shape), known(in[1].Shape)})
	if err != nil {
		return nil, nil, err
	}
	shape = lengths(dims[0])
	n, err := size(shape)
	if err != nil || n > b.strings {
		return nil, nil, errBudget
	}
	pairs = make([][2]int, n)
	for k := range 2 {
		own := stridesOf(in[k].Shape)
		strides := make([]int, len(shape))
		for i := range in[k].Shape {
			if in[k].Shape[i] != 1 {
				strides[len(shape)-len(own)+i] = own[i]
			}
		}
		for i, at := range places(shape, strides) {
			pairs[i][k] = at
		}
	}
	return shape, pairs, nil
}
