package forward

import (
	"slices"

	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/parallel"
)

// operand is a tensor of a product: dense values, shape and one label an axis
// (model.Product).
type operand struct {
	v      []int32
	shape  []int
	labels []int
}

// axes is a list of labels with their dimensions.
type axes struct{ labels, dims []int }

func (a *axes) add(label, dim int) {
	a.labels = append(a.labels, label)
	a.dims = append(a.dims, dim)
}

func (a *axes) size() int { return model.Size(a.dims) }

// einsum adds coef·Σ A·B to acc (dense, of shape out). Every product is a
// batch of matrix products (batch, m, k)·(batch, k, n): labels are sorted by
// where they occur, the operands put into a layout the kernels take, and the
// result added in the place the output labels say.
func einsum(acc []int64, out []int, coef int64, a, b operand) {
	var batch, m, n, k axes
	for i, l := range a.labels {
		switch inB := slices.Contains(b.labels, l); {
		case l >= len(out):
			k.add(l, a.shape[i])
		case inB:
			batch.add(l, a.shape[i])
		default:
			m.add(l, a.shape[i])
		}
	}
	for i, l := range b.labels {
		if !slices.Contains(a.labels, l) {
			n.add(l, b.shape[i])
		}
	}
	nb, nm, nn, nk := batch.size(), m.size(), n.size(), k.size()
	// Where each output lies.
	offBatch, offM, offN := offsets(batch, out), offsets(m, out), offsets(n, out)
	var free axes // output axes in neither operand
	for l, d := range out {
		if !slices.Contains(a.labels, l) && !slices.Contains(b.labels, l) {
			free.add(l, d)
		}
	}
	offFree := offsets(free, out)
	add := func(i, j, l int, x int64) {
		o := offBatch[i] + offM[j] + offN[l]
		for _, f := range offFree {
			acc[o+f] += coef * x
		}
	}
	if nk == 1 && nm == 1 && nn == 1 { // element-wise
		av, bv := arrange(a, batch, k), arrange(b, batch, k)
		parallel.For(nb, grain, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				add(i, 0, 0, int64(av[i])*int64(bv[i]))
			}
		})
		return
	}
	// The kernels take A as rows of k, and B as rows of k or as rows of n.
	// When only A has its rows along its free axes, the roles are swapped.
	aRows, bRows := laidOut(a, batch, m, k), laidOut(b, batch, n, k)
	bCols := laidOut(b, batch, k, n)
	if !aRows && bRows && laidOut(a, batch, k, m) {
		a, b, m, n, nm, nn = b, a, n, m, nn, nm
		offM, offN = offN, offM
		bRows, bCols = false, true
	}
	av := arrange(a, batch, m, k)
	if bCols && !bRows {
		gemmColumns(nb, nm, nn, nk, av, b.v, add)
		return
	}
	gemmRows(nb, nm, nn, nk, av, arrange(b, batch, n, k), add)
}

// offsets gives the dense offset in a tensor of shape out of every index over
// the given output axes, row-major.
func offsets(a axes, out []int) []int {
	stride := make([]int, len(out))
	for i, s := len(out)-1, 1; i >= 0; i-- {
		stride[i] = s
		s *= out[i]
	}
	list := []int{0}
	for i, l := range a.labels {
		next := make([]int, 0, len(list)*a.dims[i])
		for _, o := range list {
			for d := range a.dims[i] {
				next = append(next, o+d*stride[l])
			}
		}
		list = next
	}
	return list
}

// order concatenates the labels of the groups.
func order(groups []axes) []int {
	var labels []int
	for _, g := range groups {
		labels = append(labels, g.labels...)
	}
	return labels
}

// laidOut says whether the operand's axes are in the order of the groups
// already; axes of dimension 1 may be anywhere.
func laidOut(x operand, groups ...axes) bool {
	want := slices.DeleteFunc(order(groups), func(l int) bool {
		return x.shape[slices.Index(x.labels, l)] == 1
	})
	var have []int
	for i, l := range x.labels {
		if x.shape[i] != 1 {
			have = append(have, l)
		}
	}
	return slices.Equal(have, want)
}

// arrange returns the operand's values with its axes in the order of the
// groups: the values themselves if they are, a copy otherwise.
func arrange(x operand, groups ...axes) []int32 {
	if laidOut(x, groups...) {
		return x.v
	}
	v := &model.View{}
	shape := make([]int, 0, len(x.shape))
	for j, l := range order(groups) {
		i := slices.Index(x.labels, l)
		shape = append(shape, x.shape[i])
		v.Groups = append(v.Groups, model.Group{Out: []int{j}, In: []int{i}, Strides: []int{1}})
	}
	return v.Gather(x.v, x.shape, shape)
}
