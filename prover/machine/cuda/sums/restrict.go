package sums

import (
	"context"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// minGroup is the most indexes of adjacent bound axes that are bound together. The
// weights of a group are one table, which should be small beside the tensor. A single axis may be longer.
const minGroup = 1 << 10

// A group is adjacent axes of a tensor, all kept or all bound together. Axes of
// dimension 1 are in no group.
type group struct {
	size  int // product of dims
	bound bool
	dims  []int
	at    int // of a bound group: where its coordinates begin in the list of all
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

// restrict returns the table of a restriction of a dense tensor. It binds one group of axes after the other, the largest first: that pass
// reads the integers, and leaves elements of K for the others. If the kept axes are then not in the order or the padding of the result,
// a last pass arranges them.
func restrict(dev kernels.Device, shape []int, in kernels.Integers, r backend.Restriction) table {
	gs, coords := groups(shape, r.Bound)
	layout, inOrder := keptLayout(shape, r.Keep)
	size := kernels.PaddedSize(layout.Dims)
	result := table{device.NewArray[field.QM31](dev, size), model.Log2Ceil(size)}
	if len(coords) == 0 {
		device.Check(kernels.ArrangeInt(dev, result.at, in, layout))
		return result
	}
	// One allocation for the point, and for the weights of the group that is being bound.
	most := 0
	for _, g := range gs {
		if g.bound {
			most = max(most, g.size)
		}
	}
	points := device.NewArray[field.QM31](dev, len(coords)+most)
	device.Check(kernels.UploadSlice(dev, points, coords))
	weights := kernels.At[field.QM31](points, len(coords))
	at := kernels.Ptr(0) // the result of the last pass, elements of K; 0 before the first pass
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

// largestBound returns the index of the largest bound group, −1 if there is none. It is bound
// first, so that the pass over the integers leaves as few elements as possible.
func largestBound(gs []group) int {
	best := -1
	for i, g := range gs {
		if g.bound && (best < 0 || g.size > gs[best].size) {
			best = i
		}
	}
	return best
}

// binding returns the sizes with which group `at` is bound: its own, and the products of those before and after it.
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

// keptLayout returns how the axes of the table, in the order of keep, lie in the dense tensor
// of the kept axes. inOrder says whether that tensor is already the beginning of the table: its axes
// are in this order, and all but the first are powers of two.
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

// Tests change these.
var (
	// mostSmall is the most entries of a tensor that is restricted in one launch with others: one after the
	// other, such tensors would leave most of the device idle.
	mostSmall = 1 << 20
	// smallScratch is the most bytes that the restrictions of one launch take beside their tables.
	smallScratch = 32 << 20
)

// smallTables is a list of restrictions of small tensors that are made together.
type smallTables struct {
	jobs []kernels.Restriction
	to   []*backend.Table // by job: where its table is stored
}

// add adds a restriction, whose table make will store in *to. It returns false, and does nothing, if the restriction
// takes more than one pass over the tensor.
func (s *smallTables) add(to *backend.Table, shape []int, in kernels.Integers, r backend.Restriction) bool {
	gs, coords := groups(shape, r.Bound)
	x := kernels.Restriction{In: in, Point: coords}
	x.Layout, _ = keptLayout(shape, r.Keep)
	if at := largestBound(gs); at >= 0 {
		x.Bound, x.Dims = binding(gs, at), gs[at].dims
		gs[at].bound = false
		if largestBound(gs) >= 0 {
			return false
		}
	} else if len(coords) > 0 {
		return false
	}
	s.jobs, s.to = append(s.jobs, x), append(s.to, to)
	return true
}

// make makes the tables, as many in a launch as smallScratch allows. The tables of a launch are in one allocation.
func (s *smallTables) make(dev *device.Scope) {
	for len(s.jobs) > 0 {
		n, scratch := 0, 0
		var sizes []int
		for n < len(s.jobs) && (n == 0 || scratch+s.jobs[n].Scratch() <= smallScratch) {
			scratch += s.jobs[n].Scratch()
			sizes = append(sizes, device.ElementBytes*kernels.PaddedSize(s.jobs[n].Layout.Dims))
			n++
		}
		at := device.Get(dev.Several(sizes))
		for i := range n {
			s.jobs[i].Out = at[i]
			*s.to[i] = table{at[i], model.Log2Ceil(kernels.PaddedSize(s.jobs[i].Layout.Dims))}
		}
		device.Check(kernels.Restrict(dev, s.jobs[:n]))
		s.jobs, s.to = s.jobs[n:], s.to[n:]
	}
}

// restrictProduct returns the table of a restriction of a tensor that a product defines. A kernel makes it if the product has the
// layout of run.ChosenOf and all axes but the last two are bound. Otherwise the processor does.
func (b *Passes) restrictProduct(ctx context.Context, r backend.Restriction) table {
	t := &b.s.Graph.Tensors[r.Tensor]
	rows := len(t.Shape) - 2
	c, ok := run.ChosenOf(b.s.Graph, t.Product)
	if !ok || !slices.Equal(r.Keep, []int{rows, rows + 1}) {
		tables := device.Get(b.Backend.Restrict(ctx, []backend.Restriction{r}))
		values := tables[0].([]field.QM31)
		return table{device.NewCopy(b.s.Dev, values), model.Log2Ceil(len(values))}
	}
	c.By, c.X = b.s.Tensor(t.Product.A).Integers(), b.s.Tensor(t.Product.B).Integers()
	coords := slices.Concat(r.Bound[:rows]...)
	out := table{device.NewArray[field.QM31](b.s.Dev, kernels.PaddedSize([]int{c.Experts, c.K})), model.Log2Ceil(c.Experts) + model.Log2Ceil(c.K)}
	points := device.NewArray[field.QM31](b.s.Dev, len(coords)+c.Rows)
	if len(coords) > 0 {
		device.Check(kernels.UploadSlice(b.s.Dev, points, coords))
	}
	weights := kernels.At[field.QM31](points, len(coords))
	device.Check(kernels.EqTensor(b.s.Dev, weights, points, t.Shape[:rows]))
	device.Check(kernels.ChosenRestrict(b.s.Dev, out.at, weights, c))
	b.s.Dev.Free(points)
	return out
}
