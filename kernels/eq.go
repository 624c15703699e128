package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/field"
)

// sumBlock is the number of threads in a block of the kernels that sum. sumBlocks is a
// number of blocks that keeps any device busy: 8 on each of the 132 processors of an
// H100.
const (
	sumBlock  = 256
	sumBlocks = 132 * 8
	// resident is how many blocks of the kernels with many sums run at the same time. There are
	// no more of these blocks, since each takes 14 ns to add its 32 words to those of the
	// others.
	resident = 132 * 2
)

// looped is a launch for `rows` rows of n > 0 items each: it has about `blocks` blocks
// in all, whose threads loop over the items of their row.
func looped(n, rows, blocks int) Launch {
	return Launch{GridX: max(1, min((n-1)/sumBlock+1, blocks/rows)), GridY: rows, Block: sumBlock}
}

// small is a launch with a thread for each of n > 0 items, for small n. Its blocks are small, so
// that they are spread over many processors.
func small(n int) Launch { return Launch{GridX: (n-1)/64 + 1, Block: 64} }

// SumWords is the number of 64-bit words in which kernels accumulate a sum over K: one
// for each limb, not reduced modulo p.
const SumWords = 4

// FromSum returns the element of K that the first SumWords words stand for.
func FromSum(words []uint64) field.QM31 {
	return field.NewQM31(field.Reduce64(words[0]), field.Reduce64(words[1]), field.Reduce64(words[2]), field.Reduce64(words[3]))
}

// pack returns an element of K as two words, as kernels take it.
func pack(v field.QM31) (low, high uint64) {
	l := v.Limbs()
	return uint64(l[0]) | uint64(l[1])<<32, uint64(l[2]) | uint64(l[3])<<32
}

// maxHeapVars is the greatest number of coordinates of a heap: kernels use 32-bit
// indexes for its entries.
const maxHeapVars = 28

// EqHeaps hold the weights eq(r, ·) of a point r, and those of every suffix of r, in
// the form that summing kernels take: two heaps, over the first and the last half of
// r's coordinates, whose products are the weights. A heap over k coordinates has
// 2^(k+1) entries, with the weights of the suffix of j coordinates at entries 2^j to
// 2^(j+1) − 1. The caller frees the memory with Free.
type EqHeaps struct {
	Vars                 int
	mem                  Ptr // the allocation of NewEqHeapsOf, in the first heaps; 0 in the others
	outer, inner         Ptr
	outerVars, innerVars int
}

// NewEqHeaps builds the heaps of a point with any number of coordinates. It allocates
// memory once, for about 2^(len(r)/2+2) elements.
func NewEqHeaps(d Device, r []field.QM31) (_ *EqHeaps, err error) {
	defer must.Catch(&err)
	return must.Get(NewEqHeapsOf(d, [][]field.QM31{r}))[0], nil
}

// heapsJob is the number of words that describe a point to the kernel.
const heapsJob = 5

// NewEqHeapsOf builds the heaps of several points, at least one, in one launch. They
// share one allocation, which the Free of the first frees.
func NewEqHeapsOf(d Device, points [][]field.QM31) ([]*EqHeaps, error) {
	all := make([]*EqHeaps, len(points))
	elements, most, coordinates := 0, 0, 0
	for i, r := range points {
		h := &EqHeaps{Vars: len(r), innerVars: len(r) / 2}
		h.outerVars = len(r) - h.innerVars
		if h.outerVars > maxHeapVars {
			return nil, fmt.Errorf("eq of %d variables", len(r))
		}
		all[i] = h
		n := 2<<h.outerVars + 2<<h.innerVars
		elements, most, coordinates = elements+n, max(most, n), coordinates+len(r)
	}
	data := make([]uint64, 0, 2*coordinates+heapsJob*len(points))
	mem, err := AllocSlice[field.QM31](d, elements+coordinates+(heapsJob*len(points)+1)/2)
	if err != nil {
		return nil, err
	}
	at, point := mem, At[field.QM31](mem, elements)
	jobs := At[field.QM31](point, coordinates)
	for _, r := range points {
		for _, x := range r {
			low, high := pack(x)
			data = append(data, low, high)
		}
	}
	begin := point
	for i, h := range all {
		h.outer, h.inner = at, At[field.QM31](at, 2<<h.outerVars)
		at = At[field.QM31](h.inner, 2<<h.innerVars)
		data = append(data, uint64(h.outer), uint64(h.inner), uint64(point), uint64(h.outerVars), uint64(h.innerVars))
		point = At[field.QM31](point, len(points[i]))
	}
	all[0].mem = mem
	if err = UploadSlice(d, begin, data); err == nil {
		shape := Cover(most)
		shape.GridY = len(points)
		err = d.Launch(Kernel{"eq", "eq_heaps"}, shape, uint64(jobs))
	}
	if err != nil {
		d.Free(mem)
		return nil, err
	}
	return all, nil
}

// Free returns the heaps' memory. It may be called on nil.
func (h *EqHeaps) Free(d Device) {
	if h != nil {
		d.Free(h.mem)
	}
}

// EqTensor sets the elements of K at out, one for each index of the dense shape dims,
// to Π_j eq(part_j, i_j). The parts lie one after the other at point on the device,
// with ⌈log2 d_j⌉ coordinates each.
func EqTensor(d Device, out, point Ptr, dims []int) error {
	all, n, err := axes(dims)
	if err != nil {
		return err
	}
	return d.Launch(Kernel{"eq", "eq_tensor"}, Cover(n), append([]uint64{uint64(out), uint64(point)}, all...)...)
}

// Memory returns the allocation that Free frees.
func (h *EqHeaps) Memory() Ptr { return h.mem }
