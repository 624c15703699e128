package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Restriction is one of many small tensors whose tables are made together. In has Outer × N ×
// Inner entries. The middle axes, of dimensions Dims with N entries in all, are bound to Point;
// if N = 0 there are none.
type Restriction struct {
	Out    Ptr // PaddedSize(Layout.Dims) elements of K
	In     Integers
	Bound  Binding // its Weights are not used
	Dims   []int
	Point  []field.QM31 // ⌈log2 d⌉ coordinates of each of Dims
	Layout Layout       // the kept axes in the order of the table, with the steps in a tensor of these axes alone
}

// restrictJob and arrangeJob are the numbers of words of a job of the kernels restrict_jobs and arrange_jobs.
const (
	restrictJob = 10
	arrangeJob  = 5 + 2*MaxAxes
)

// rowChunk and columnChunk are how many entries of the bound index a block of restrict_jobs adds up, if Inner is 1 and
// if it is not.
const (
	rowChunk    = 4096
	columnChunk = 64
)

// Scratch returns how many bytes of device memory Restrict takes for this restriction while it runs.
func (r *Restriction) Scratch() int {
	if r.Bound.N == 0 {
		return 8 * arrangeJob
	}
	return 8*(tensorJob+restrictJob+arrangeJob) + 16*(len(r.Point)+r.Bound.N) + 8*SumWords*r.Bound.Outer*r.Bound.Inner
}

// Restrict makes the tables of restrictions, at least one, in three launches. For tables so small that
// RestrictInt and ArrangeInt would spend most of their time on launches.
func Restrict(d Device, list []Restriction) (err error) {
	defer must.Catch(&err)
	var j restrictJobs
	coordinates, bound, weights, outputs := 0, 0, 0, 0
	for i := range list {
		r := &list[i]
		if r.Bound.N > 0 {
			must.OK(r.Bound.check())
			bound++
			coordinates += len(r.Point)
			weights += r.Bound.N
			outputs += r.Bound.Outer * r.Bound.Inner
		}
	}
	words := bound*(tensorJob+restrictJob) + arrangeJob*len(list)
	words += words % 2 // elements of K are aligned
	size := 2*(coordinates+weights) + words + SumWords*outputs
	at := must.Get(AllocSlice[uint64](d, size))
	defer d.Free(at)
	j.point = at
	tensors := At[field.QM31](at, coordinates)
	restricts := At[uint64](tensors, tensorJob*bound)
	arranges := At[uint64](restricts, restrictJob*bound)
	j.weights = At[uint64](tensors, words)
	j.sums = At[field.QM31](j.weights, weights)
	sums := j.sums
	data := make([]uint64, 0, 2*coordinates+words)
	for i := range list {
		must.OK(j.add(&list[i]))
	}
	data = append(append(append(append(data, j.points...), j.tensors...), j.restricts...), j.arranges...)
	must.OK(UploadSlice(d, at, data))
	if bound > 0 {
		must.OK(d.Launch(Kernel{"eq", "eq_tensors"}, Launch{GridX: j.eqBlocks, Block: threads}, uint64(tensors), uint64(bound)))
		must.OK(d.Clear(sums, 8*SumWords*outputs))
		l := Launch{GridX: j.restrictBlocks, Block: sumBlock}
		must.OK(d.Launch(Kernel{"restrict", "restrict_jobs"}, l, uint64(restricts), uint64(bound)))
	}
	return d.Launch(Kernel{"restrict", "arrange_jobs"}, Launch{GridX: j.arrangeBlocks, Block: threads}, uint64(arranges), uint64(len(list)))
}

// restrictJobs collects the jobs of Restrict's launches. point, weights and sums are where the data of the next
// restriction begin on the device.
type restrictJobs struct {
	points, tensors, restricts, arranges    []uint64
	eqBlocks, restrictBlocks, arrangeBlocks int
	point, weights, sums                    Ptr
}

// add adds the jobs of a restriction.
func (j *restrictJobs) add(r *Restriction) (err error) {
	defer must.Catch(&err)
	must.Get(typeName(r.In.Width))
	in := r.In
	if r.Bound.N > 0 {
		dims, n, err := axes(r.Dims)
		must.OK(err)
		if n != r.Bound.N {
			return fmt.Errorf("%w: axes %v of %d entries", ErrSize, r.Dims, r.Bound.N)
		}
		j.tensors = append(append(j.tensors, uint64(j.eqBlocks), uint64(n), uint64(j.weights), uint64(j.point)), dims...)
		j.eqBlocks += (n + threads - 1) / threads
		for _, x := range r.Point {
			low, high := pack(x)
			j.points = append(j.points, low, high)
		}
		outer, inner := r.Bound.Outer, r.Bound.Inner
		blocks, chunk := (outer+7)/8, rowChunk // a block takes 8 rows, ROWS of restrict.cu
		if inner > 1 {
			blocks, chunk = (outer*((inner+3)/4)+sumBlock-1)/sumBlock, columnChunk
		}
		j.restricts = append(j.restricts, uint64(j.restrictBlocks), uint64(j.sums), uint64(in.At), uint64(j.weights),
			uint64(in.Width), uint64(outer), uint64(n), uint64(inner), uint64(chunk), uint64(blocks))
		j.restrictBlocks += blocks * ((n + chunk - 1) / chunk)
		in = Integers{At: j.sums, Width: 8 * SumWords}
		j.point, j.weights = At[field.QM31](j.point, len(r.Point)), At[field.QM31](j.weights, n)
		j.sums = At[uint64](j.sums, SumWords*outer*inner)
	}
	dims, steps, err := r.Layout.words()
	must.OK(err)
	n := PaddedSize(r.Layout.Dims)
	j.arranges = append(append(append(j.arranges, uint64(j.arrangeBlocks), uint64(n), uint64(r.Out), uint64(in.At), uint64(in.Width)), dims...), steps...)
	j.arrangeBlocks += (n + threads - 1) / threads
	return nil
}
