package run

import (
	"errors"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
)

// Matrices of 16 bits whose rows are bytes times powers of two, as those of w8a8 are, take a row's time twice over: it goes by the bytes
// that are read. So rows have copies of them with a byte an entry, beside those of the proof, where there is room.

// mantissas are such copies.
type mantissas []*mantissa

// mantissa is a matrix of n rows of k entries at `at`, and its copy, at 0 if there is none.
type mantissa struct {
	of             model.TensorID
	n, k           int
	at             kernels.Ptr
	copied, shifts kernels.Ptr
}

// want says that a matrix is multiplied with rows, and returns what will be known of its copy.
func (x *mantissas) want(id model.TensorID, mm *kernels.MatMul, at kernels.Ptr) *mantissa {
	if mm.B.Width != 2 || at>>61 != 0 { // one that does not stay on the device
		return nil
	}
	for _, y := range *x {
		if y.of == id {
			return y
		}
	}
	y := &mantissa{of: id, n: mm.N, k: mm.K, at: at}
	*x = append(*x, y)
	return y
}

// make makes the copies in memory of the rows, if they take no more than half of what is free, and there are any.
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
