package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/field"
)

// sumBlock is the number of threads in a block of the kernels that sum, and
// sumBlocks the blocks that together keep any device busy.
const (
	sumBlock  = 256
	sumBlocks = 132 * 8
	// resident is how many blocks of kernels with many sums run at once: each takes 14 ns to add
	// its 32 words to those of the others.
	resident = 132 * 2
)

// looped is a launch of about `blocks` blocks whose threads loop over n > 0
// items, for each of rows > 0 rows of blocks.
func looped(n, rows, blocks int) Launch {
	return Launch{GridX: max(1, min((n-1)/sumBlock+1, blocks/rows)), GridY: rows, Block: sumBlock}
}

// small is a launch with a thread for each of n > 0 items that are few: in small blocks, so that
// many processors have some.
func small(n int) Launch { return Launch{GridX: (n-1)/64 + 1, Block: 64} }

// SumWords is the number of 64-bit words of a sum over K as kernels accumulate
// it: one a limb, not reduced.
const SumWords = 4

// FromSum returns the element that the first SumWords words stand for.
func FromSum(words []uint64) field.QM31 {
	return field.NewQM31(field.Reduce64(words[0]), field.Reduce64(words[1]), field.Reduce64(words[2]), field.Reduce64(words[3]))
}

// pack returns an element as kernels take it: two words.
func pack(v field.QM31) (low, high uint64) {
	l := v.Limbs()
	return uint64(l[0]) | uint64(l[1])<<32, uint64(l[2]) | uint64(l[3])<<32
}

// maxHeapVars bounds the coordinates of a heap, whose entries have 32-bit
// indexes.
const maxHeapVars = 28

// EqHeaps are the weights eq(r, ·) and those of every suffix of r, as kernels
// that sum take them: two heaps over the first and the last half of r. The
// memory belongs to whoever asked for it and is freed with Free.
type EqHeaps struct {
	Vars                 int
	mem                  Ptr
	outer, inner         Ptr
	outerVars, innerVars int
}

// NewEqHeaps builds the heaps for a point of any number of coordinates, with
// one allocation of about 2^(len(r)/2+2) elements.
func NewEqHeaps(d Device, r []field.QM31) (_ *EqHeaps, err error) {
	defer must.Catch(&err)
	return must.Get(NewEqHeapsOf(d, [][]field.QM31{r}))[0], nil
}

// heapsJob is the number of words that tell the kernel of a point.
const heapsJob = 5

// NewEqHeapsOf builds the heaps of several points, at least one, in one launch. They
// have one allocation, which is freed with the first.
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

// EqTensor sets the elements at out, as many as the dense shape dims has
// indexes, to Π_j eq(part_j, i_j). point has the parts one after the other,
// ⌈log2 d_j⌉ coordinates each, on the device.
func EqTensor(d Device, out, point Ptr, dims []int) error {
	all, n, err := axes(dims)
	if err != nil {
		return err
	}
	return d.Launch(Kernel{"eq", "eq_tensor"}, Cover(n), append([]uint64{uint64(out), uint64(point)}, all...)...)
}

// Memory returns the allocation that Free frees.
func (h *EqHeaps) Memory() Ptr { return h.mem }
