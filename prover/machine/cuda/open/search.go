package open

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// Search looks for nonces on the device.
type Search struct {
	a           *device.Scope
	state, best kernels.Ptr
}

func NewSearch(a *device.Scope) Search {
	return Search{a, device.NewArray[uint32](a, len(hash.Work{}.State)), device.NewArray[uint64](a, 1)}
}

// Smallest is a transcript.NonceSearch.
func (s Search) Smallest(ctx context.Context, work *hash.Work) uint64 {
	device.Check(kernels.UploadSlice(s.a, s.state, work.State[:]))
	device.Check(kernels.UploadSlice(s.a, s.best, []uint64{field.P}))
	// Twice as many as it takes on average are enough six times in seven.
	batch := uint64(min(max(2<<work.Bits, 1<<10), 1<<22))
	for first := uint64(0); first < field.P; first += batch {
		device.Check(ctx.Err())
		device.Check(kernels.SearchNonce(s.a, work, s.best, s.state, first, batch))
		if nonce := device.Fetch[uint64](s.a, s.best, 1)[0]; nonce < field.P {
			return nonce
		}
	}
	return field.P
}
