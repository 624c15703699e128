package onnx

import (
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
)

// einTerm is an operand of an einsum: a value with a letter for each axis. The axes of an
// ellipsis have letters beyond those of the alphabet.
type einTerm struct {
	v       graph.Value
	letters []rune
}

// lowerEinsum contracts the operands from left to right, each time with a product
// of matrices.
func lowerEinsum(o *op) {
	equation := strings.ReplaceAll(o.strAttr("equation", ""), " ", "")
	left, right, explicit := strings.Cut(equation, "->")
	parts := strings.Split(left, ",")
	o.failIf(len(parts) != len(o.proto.Input),
		"equation %s has %d operands, and there are %d", graph.Quote(equation), len(parts), len(o.proto.Input))
	terms := make([]einTerm, len(parts))
	counts := map[rune]int{}
	most := 0 // the largest number of axes of an ellipsis
	for i, p := range parts {
		rank := len(o.shape(o.in(i)))
		named := len(strings.Replace(p, "...", "", 1))
		o.failIf(named > rank || named < rank && named == len(p),
			"equation %s gives operand %d %d axes, and it has %d", graph.Quote(equation), i, named, rank)
		most = max(most, rank-named)
		for _, c := range letters(p, 0) {
			o.failIf(c < 'A' || c > 'z' || c > 'Z' && c < 'a', "equation %s", graph.Quote(equation))
			counts[c]++
		}
		terms[i] = o.diagonal(einTerm{v: o.in(i), letters: letters(p, rank-named)})
	}
	out := letters(right, most)
	if !explicit {
		var once []rune
		for c, n := range counts {
			if n == 1 {
				once = append(once, c)
			}
		}
		slices.Sort(once)
		out = append(letters("...", most), once...)
	}
	t := terms[0]
	for i, next := range terms[1:] {
		keep := slices.Clone(out)
		for _, later := range terms[i+2:] {
			keep = append(keep, later.letters...)
		}
		t = o.contract(t, next, keep)
	}
	t = o.summed(t, out)
	perm := make([]int, len(out))
	for j, c := range out {
		perm[j] = slices.Index(t.letters, c)
		o.failIf(perm[j] < 0 || slices.Index(out, c) != j, "equation %s", graph.Quote(equation))
	}
	o.result(0, o.Transpose(t.v, perm))
}

// letters returns the letters of a term. If the term has an ellipsis, the given number of
// letters stand for its axes. The last of these is the same in every term, since ellipses
// are aligned at their last axes.
func letters(term string, ellipsis int) []rune {
	const endEllipsis = 0x1000
	before, after, dots := strings.Cut(term, "...")
	list := []rune(before)
	if dots {
		for k := range ellipsis {
			list = append(list, rune(endEllipsis-ellipsis+k))
		}
	}
	return append(list, []rune(after)...)
}

// diagonal merges axes that have the same letter: it takes the entries whose indices
// along these axes are equal.
func (o *op) diagonal(t einTerm) einTerm {
	for i := 0; i < len(t.letters); i++ {
		j := slices.Index(t.letters[i+1:], t.letters[i]) + i + 1
		if j <= i {
			continue
		}
		in := o.shape(t.v)
		o.failIf(in[i] != in[j], "an axis of %d and one of %d have one letter", in[i], in[j])
		var index []int
		st := graph.Strides(in)
		shape := without(in, j)
		so := graph.Strides(shape)
		for at := range graph.Size(shape) {
			from := at / so[i] % in[i] * st[j]
			for k, d := range shape {
				axis := k
				if k >= j {
					axis++
				}
				from += at / so[k] % d * st[axis]
			}
			index = append(index, from)
		}
		t.v = o.pick(t.v, shape, index)
		t.letters = slices.Delete(slices.Clone(t.letters), j, j+1)
		i--
	}
	return t
}

// summed sums along the axes whose letters are not in keep.
func (o *op) summed(t einTerm, keep []rune) einTerm {
	var axes []int
	var letters []rune
	for i, c := range t.letters {
		if slices.Contains(keep, c) {
			letters = append(letters, c)
		} else {
			axes = append(axes, i)
		}
	}
	if len(axes) == 0 {
		return t
	}
	return einTerm{o.Reduce(graph.Sum, t.v, axes, false), letters}
}

// contract multiplies two terms and sums over the letters that are not in keep.
func (o *op) contract(a, b einTerm, keep []rune) einTerm {
	a, b = o.summed(a, slices.Concat(keep, b.letters)), o.summed(b, slices.Concat(keep, a.letters))
	var batch, sum, left, right []rune
	dims := map[rune]int{}
	for _, t := range []einTerm{a, b} {
		for i, d := range o.shape(t.v) {
			c := t.letters[i]
			old := dims[c]
			o.failIf(old > 1 && d > 1 && old != d, "an axis of %d and one of %d have one letter", old, d)
			dims[c] = max(dims[c], d)
		}
	}
	for _, c := range a.letters {
		switch {
		case !slices.Contains(b.letters, c):
			left = append(left, c)
		case slices.Contains(keep, c):
			batch = append(batch, c)
		default:
			sum = append(sum, c)
		}
	}
	for _, c := range b.letters {
		if !slices.Contains(a.letters, c) {
			right = append(right, c)
		}
	}
	dim := func(c rune) int { return dims[c] }
	size := func(letters []rune) int { return graph.Size(each(letters, dim)) }
	// matrix returns a term, broadcast to the full lengths of its axes, as a batch of
	// matrices.
	matrix := func(t einTerm, rows, columns []rune) graph.Value {
		order := slices.Concat(batch, rows, columns)
		perm := each(order, func(c rune) int { return slices.Index(t.letters, c) })
		v := o.Expand(o.Transpose(t.v, perm), each(order, dim))
		return o.Reshape(v, []int{size(batch), size(rows), size(columns)})
	}
	y := o.MatMul(o.Cast(matrix(a, left, sum), graph.Float), o.Cast(matrix(b, sum, right), graph.Float))
	if dt := o.DType(a.v); !dt.IsFloat() {
		y = o.Whole(y, dt)
	}
	letters := slices.Concat(batch, left, right)
	return einTerm{o.Reshape(y, each(letters, dim)), letters}
}
