package sums

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// minGroup is the size up to which adjacent bound axes are bound together: the
// weights of a group are a table, which should stay small beside the tensor.
const minGroup = 1 << 10

// A group is adjacent axes of a tensor, all kept or all bound together. Axes of
// dimension 1 are in none.
type group struct {
	size  int
	bound bool
	dims  []int
	at    int // of a bound group: its first coordinate among all
}

// groups cuts a tensor's axes into groups, and returns the coordinates of the
// bound ones one after the other.
func groups(shape []int, bound [][]field.QM31) (gs []group, coords []field.QM31) {
	for a, d := range shape {
		if d == 1 {
			continue
		}
		is := bound[a] != nil
		last := len(gs) - 1
		if last < 0 || gs[last].bound != is || is && gs[last].size*d > minGroup {
			gs = append(gs, group{size: 1, bound: is, at: len(coords)})
			last++
		}
		gs[last].size *= d
		gs[last].dims = append(gs[last].dims, d)
		if is {
			coords = append(coords, bound[a]...)
		}
	}
	return gs, coords
}

// Restrict returns the table that a restriction of a dense tensor is.
func restrict(dev kernels.Device, shape []int, in kernels.Integers, r backend.Restriction) table {
	gs, coords := groups(shape, r.Bound)
	layout, inOrder := keptLayout(shape, r.Keep)
	size := kernels.PaddedSize(layout.Dims)
	result := table{device.NewArray[field.QM31](dev, size), model.Log2Ceil(size)}
	if len(coords) == 0 {
		device.Check(kernels.ArrangeInt(dev, result.at, in, layout))
		return result
	}
	// The point, and room for the weights of one group after the other.
	most := 0
	for _, g := range gs {
		if g.bound {
			most = max(most, g.size)
		}
	}
	points := device.NewArray[field.QM31](dev, len(coords)+most)
	device.Check(kernels.UploadSlice(dev, points, coords))
	weights := kernels.At[field.QM31](points, len(coords))
	at := kernels.Ptr(0) // the elements of K so far
	for next := largestBound(gs); next >= 0; next = largestBound(gs) {
		g, b := gs[next], binding(gs, next)
		gs = slices.Concat(gs[:next], gs[next+1:])
		n, out := b.Outer*b.Inner, result.at
		if !inOrder || largestBound(gs) >= 0 {
			out = device.NewArray[field.QM31](dev, n)
		} else if n < size {
			device.Check(dev.Clear(kernels.At[field.QM31](out, n), (size-n)*device.ElementBytes))
		}
		b.Weights = weights
		device.Check(kernels.EqTensor(dev, b.Weights, kernels.At[field.QM31](points, g.at), g.dims))
		if at == 0 {
			device.Check(kernels.RestrictInt(dev, out, in, b))
		} else {
			device.Check(kernels.RestrictField(dev, out, at, b))
			dev.Free(at)
		}
		at = out
	}
	if at != result.at {
		device.Check(kernels.ArrangeField(dev, result.at, at, layout))
		dev.Free(at)
	}
	dev.Free(points)
	return result
}

// largestBound returns the bound group of the largest size, −1 for none: the
// pass over the integers is to leave as little as it can.
func largestBound(gs []group) int {
	best := -1
	for i, g := range gs {
		if g.bound && (best < 0 || g.size > gs[best].size) {
			best = i
		}
	}
	return best
}

// binding returns what surrounds a group.
func binding(gs []group, at int) kernels.Binding {
	b := kernels.Binding{Outer: 1, N: gs[at].size, Inner: 1}
	for i, g := range gs {
		if i < at {
			b.Outer *= g.size
		} else if i > at {
			b.Inner *= g.size
		}
	}
	return b
}

// keptLayout returns the table's axes in the dense tensor of the kept axes, and
// whether the entries of that tensor are the first ones of the table as they
// stand.
func keptLayout(shape, keep []int) (l kernels.Layout, inOrder bool) {
	kept := make([]bool, len(shape))
	for _, a := range keep {
		kept[a] = true
	}
	steps, n := make([]int, len(shape)), 1
	for a := len(shape) - 1; a >= 0; a-- {
		steps[a] = n
		if kept[a] {
			n *= shape[a]
		}
	}
	inOrder = true
	before := -1
	for _, a := range keep {
		d := shape[a]
		if d == 1 {
			continue
		}
		inOrder = inOrder && a > before && (before < 0 || d&(d-1) == 0)
		before = a
		l.Dims, l.Steps = append(l.Dims, d), append(l.Steps, steps[a])
	}
	return l, inOrder
}
