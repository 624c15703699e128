package sums

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// A tensor for which the device has no room goes through it in pieces: ranges
// of its first axis are uploaded and processed one after the other.

// restrict restricts a tensor of the graph, in pieces if there is no room for
// it as a whole.
func (b *Passes) restrict(r backend.Restriction) table {
	shape := b.s.Graph.Tensors[r.Tensor].Shape
	t, err := b.s.Find(r.Tensor)
	if errors.Is(err, kernels.ErrMemory) && len(shape) > 0 && shape[0] > 1 {
		return restrictPieces(b.s.Dev, shape, backend.Values(b.s.Graph, b.s.Witness, r.Tensor), b.s.Context.Piece, r)
	}
	device.Check(err)
	return restrict(b.s.Dev, shape, t.Integers(), r)
}

// evalPieces evaluates a tensor for which there may be no room: as a restriction that binds all axes.
func (b *Passes) evalPieces(shape []int, x backend.Evaluation) field.QM31 {
	bound, point := make([][]field.QM31, len(shape)), x.Point
	for a, d := range shape {
		v := model.Log2Ceil(d)
		bound[a], point = append([]field.QM31{}, point[:v]...), point[v:]
	}
	t := b.restrict(backend.Restriction{Tensor: x.Tensor, Bound: bound})
	defer b.s.Dev.Free(t.at)
	return device.Fetch[field.QM31](b.s.Dev, t.at, 1)[0]
}

// restrictPieces is restrict for values in the host's memory.
//
// If the first axis is bound, piece k, of 2^s indexes, contributes eq(high, k) times
// the restriction of the piece with its axis bound to low, where low are the axis's last s
// coordinates and high the others. If the first axis is kept, and is the first axis of the
// result, the tables of the pieces are laid one after the other. Otherwise the tensor cannot be cut.
func restrictPieces(dev kernels.Device, shape []int, values ints.Ints, piece int, r backend.Restriction) table {
	d, row := shape[0], model.Size(shape[1:])
	vars := model.Log2Ceil(d)
	rows := min(device.PieceRows(values.Width()*row, piece), 1<<vars)
	pieces := (d + rows - 1) / rows
	own := backend.Restriction{Bound: append([][]field.QM31{}, r.Bound...), Keep: r.Keep}
	point := r.Bound[0]
	cut := vars - model.Log2Ceil(rows) // variables that number the pieces
	tables := pieces                   // how many tables there is room for in the result: all 2^cut if the axis is kept
	switch {
	case point != nil:
		own.Bound[0] = append([]field.QM31{}, point[cut:]...)
	case len(r.Keep) > 0 && r.Keep[0] == 0:
		tables = 1 << cut
	default:
		device.Check(fmt.Errorf("%w: for a tensor of %d entries, which cannot be cut", kernels.ErrMemory, values.Len()))
	}
	var all kernels.Ptr
	size := 0 // elements of a piece's table
	for k := range pieces {
		// The last piece is filled up with zeros, as the multilinear extension pads the axis.
		data := values.Slice(k*rows*row, min((k+1)*rows, d)*row)
		if n := data.Len(); n < rows*row {
			filled := make(ints.Int32s, rows*row)
			data.Read(filled[:n], 0)
			data = filled
		}
		t := device.Get(device.NewTensor(dev, data))
		x := restrict(dev, append([]int{rows}, shape[1:]...), t.Integers(), own)
		t.Free(dev)
		if k == 0 {
			size = 1 << x.vars
			all = device.NewArray[field.QM31](dev, tables*size)
			if tables > pieces {
				device.Check(dev.Clear(kernels.At[field.QM31](all, pieces*size), (tables-pieces)*size*device.ElementBytes))
			}
		}
		device.Check(dev.Copy(kernels.At[field.QM31](all, k*size), x.at, size*device.ElementBytes))
		dev.Free(x.at)
	}
	if point == nil {
		return table{all, model.Log2Ceil(tables * size)}
	}
	out := table{device.NewArray[field.QM31](dev, size), model.Log2Ceil(size)}
	weights := device.NewCopy(dev, poly.EqTable(point[:cut])[:pieces])
	device.Check(kernels.RestrictField(dev, out.at, all, kernels.Binding{Outer: 1, N: pieces, Inner: size, Weights: weights}))
	dev.Free(weights)
	dev.Free(all)
	return out
}
