package run

import (
	"errors"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
)

// The time of a new row (Rows) is that of reading the matrices. Some matrices of 16 bits have rows that are bytes times a power of two, as
// those of w8a8. Rows keep copies of these with one byte an entry and a shift a row, beside the matrices that the proof uses, if there is
// room: half the bytes to read.

// mantissas lists the matrices of 16 bits that are multiplied with rows.
type mantissas []*mantissa

// mantissa is a matrix of n rows of k entries at address `at`. copied and shifts are its copy, 0 if there is none.
type mantissa struct {
	of             model.TensorID
	n, k           int
	at             kernels.Ptr
	copied, shifts kernels.Ptr
}

// want adds a matrix that is multiplied with rows, if it is of 16 bits, and returns its entry, which make will complete; else nil. A tensor
// that products divide into rows of different lengths has an entry for each length.
func (x *mantissas) want(id model.TensorID, mm *kernels.MatMul, at kernels.Ptr) *mantissa {
	if mm.B.Width != 2 || at>>61 != 0 { // from 2^61 on, addresses are in memory of the run: the matrix does not stay on the device
		return nil
	}
	for _, y := range *x {
		if y.of == id && y.n == mm.N && y.k == mm.K {
			return y
		}
	}
	y := &mantissa{of: id, n: mm.N, k: mm.K, at: at}
	*x = append(*x, y)
	return y
}

// make makes the copies in memory of the rows, if they take at most half of what is free. A first launch a matrix finds out whether its
// rows are bytes times powers of two (flags: 0 if they are).
func (x mantissas) make(m *device.Context, memory kernels.Device) {
	if len(x) == 0 {
		return
	}
	scope := device.NewScope(m.Dev)
	defer scope.Close()
	flags, rows := device.NewCopy(scope, make([]uint32, len(x))), 0
	for _, y := range x {
		rows = max(rows, y.n)
	}
	shifts := device.Get(scope.Alloc(rows))
	for i, y := range x {
		device.Check(kernels.Mantissas(m.Dev, 0, shifts, kernels.At[uint32](flags, i), y.at, y.n, y.k))
	}
	bytes := 0
	bad := device.Fetch[uint32](m.Dev, flags, len(x))
	for i, y := range x {
		if bad[i] == 0 {
			bytes += slotSize(y.n, y.k) + slotSize(y.n, 1)
		}
	}
	if free := m.FreeBytes(); bytes == 0 || free > 0 && bytes > free/2 {
		return
	}
	at, err := memory.Alloc(bytes)
	if errors.Is(err, kernels.ErrMemory) {
		return
	}
	device.Check(err)
	for i, y := range x {
		if bad[i] == 0 {
			y.copied, y.shifts = at, at+kernels.Ptr(slotSize(y.n, y.k))
			at = y.shifts + kernels.Ptr(slotSize(y.n, 1))
			device.Check(kernels.Mantissas(m.Dev, y.copied, y.shifts, kernels.At[uint32](flags, i), y.at, y.n, y.k))
		}
	}
}
