package kernels

import (
	"encoding/binary"
	"errors"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
)

// Evaluation asks for the multilinear extension of a dense tensor at a point. Point has
// the coordinates of the axes one after the other, ⌈log2 d⌉ for an axis of dimension d.
type Evaluation struct {
	Values Integers
	Shape  []int
	Point  []field.QM31
}

// Evaluations are evaluations that have been copied to a device, with the eq weights that they take.
type Evaluations struct {
	jobs   Ptr
	n      int
	blocks int
}

// A block of eval_tensors has evalBlock threads. A thread takes four columns, and between
// leastEvalRows and mostEvalRows rows of them: more rows if there are so many entries that
// evalBlocks blocks are busy all the same.
const (
	evalBlock                   = 128
	leastEvalRows, mostEvalRows = 4, 64
	evalBlocks                  = 132 * 16
)

// evalJob and tensorJob are the numbers of words of a job of the kernels eval_tensors and eq_tensors.
const (
	evalJob   = 9
	tensorJob = 4 + MaxAxes
)

// NewEvaluations prepares evaluations, at least one, in one allocation, which lives as long as
// the device's owner keeps it. A tensor is treated as a matrix: the weight of an entry is the
// product of the weights of its row and of its column. So there are only about twice as many
// weights as the square root of the number of entries.
func NewEvaluations(d Device, list []Evaluation) (_ *Evaluations, err error) {
	defer must.Catch(&err)
	if len(list) == 0 {
		return nil, errors.New("no evaluations")
	}
	coordinates, tables, entries := 0, 0, 0
	splits := make([]*split, len(list))
	known := map[string]*split{} // by shape, as many tensors have the same
	var key []byte
	for i := range list {
		key = key[:0]
		for _, d := range list[i].Shape {
			key = binary.AppendUvarint(key, uint64(d))
		}
		s := known[string(key)]
		if s == nil {
			s = must.Get(newSplit(list[i].Shape))
			known[string(key)] = s
		}
		splits[i] = s
		coordinates += len(list[i].Point)
		tables += s.parts[0].size + s.parts[1].size
		entries += s.parts[0].size * s.parts[1].size
	}
	words := (evalJob + 2*tensorJob) * len(list)
	at := must.Get(AllocSlice[field.QM31](d, coordinates+tables+(words+1)/2))
	// What is uploaded comes first: points, jobs of both kernels; then the tables.
	data := make([]uint64, 0, 2*coordinates+words)
	for i := range list {
		for _, x := range list[i].Point {
			low, high := pack(x)
			data = append(data, low, high)
		}
	}
	e := &Evaluations{jobs: At[field.QM31](at, coordinates), n: len(list)}
	eq := At[uint64](e.jobs, evalJob*len(list))
	table := At[field.QM31](e.jobs, (words+1)/2)
	point := at
	rows := max(leastEvalRows, min(entries/(evalBlocks*evalBlock*4), mostEvalRows)) // rows of a thread
	evals, tensors := make([]uint64, 0, evalJob*len(list)), make([]uint64, 0, 2*tensorJob*len(list))
	eqBlocks := 0
	for i := range list {
		x := &list[i]
		var where [2]Ptr
		for k := range splits[i].parts {
			p := &splits[i].parts[k]
			where[k] = table
			tensors = append(append(tensors, uint64(eqBlocks), uint64(p.size), uint64(table), uint64(point)), p.axes...)
			eqBlocks += (p.size + threads - 1) / threads
			table, point = At[field.QM31](table, p.size), At[field.QM31](point, p.vars)
		}
		nrows, ncolumns := splits[i].parts[0].size, splits[i].parts[1].size
		lanes := min(1<<model.Log2Ceil((ncolumns+3)/4), evalBlock)
		chunk := rows * evalBlock / lanes
		evals = append(evals, uint64(e.blocks), uint64(x.Values.At), uint64(x.Values.Width), uint64(where[0]), uint64(where[1]),
			uint64(nrows), uint64(ncolumns), uint64(lanes), uint64(chunk))
		e.blocks += ((ncolumns-1)/(4*lanes) + 1) * ((nrows-1)/chunk + 1)
	}
	must.OK(UploadSlice(d, at, append(append(data, evals...), tensors...)))
	return e, d.Launch(Kernel{"eq", "eq_tensors"}, Launch{GridX: eqBlocks, Block: threads}, uint64(eq), uint64(2*len(list)))
}

// Run adds up the values, in SumWords words each.
func (e *Evaluations) Run(d Device, p Post) error {
	return d.Launch(Kernel{"eval", "eval_tensors"}, Launch{GridX: e.blocks, Block: evalBlock}, p.sums(uint64(e.jobs), uint64(e.n))...)
}

// split is a shape divided into rows and columns, in the form that kernels take.
type split struct {
	parts [2]struct {
		axes       []uint64
		size, vars int
	}
}

// newSplit divides a shape into rows and columns.
func newSplit(shape []int) (s *split, err error) {
	s = new(split)
	rows, columns := evalSplit(shape)
	for k, dims := range [][]int{rows, columns} {
		p := &s.parts[k]
		if p.axes, p.size, err = axes(dims); err != nil {
			return nil, err
		}
		p.vars = model.Vars(dims)
	}
	return s, nil
}

// evalSplit divides the axes of a shape into rows and columns (model.Splits), so that their
// numbers have the least sum. An axis whose dimension is a power of two is merged with the axis
// before it.
func evalSplit(shape []int) (rows, columns []int) {
	var axes []int
	for _, d := range shape {
		switch n := len(axes); {
		case d == 1:
		case n > 0 && d&(d-1) == 0:
			axes[n-1] *= d
		default:
			axes = append(axes, d)
		}
	}
	all := model.Size(axes)
	columns = axes
	least := 1 + all
	for r, c := range model.Splits(axes) {
		if n := model.Size(r); n+all/n < least {
			rows, columns, least = r, c, n+all/n
		}
	}
	return rows, columns
}
