package cuda

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// search looks for nonces on the device.
type search struct {
	a           *scope
	state, best kernels.Ptr
}

func newSearch(a *scope) search {
	return search{a, newArray[uint32](a, len(hash.Work{}.State)), newArray[uint64](a, 1)}
}

// smallest is a transcript.NonceSearch.
func (s search) smallest(ctx context.Context, work *hash.Work) uint64 {
	check(kernels.UploadSlice(s.a, s.state, work.State[:]))
	check(kernels.UploadSlice(s.a, s.best, []uint64{field.P}))
	// Twice as many as it takes on average are enough six times in seven.
	batch := uint64(min(max(2<<work.Bits, 1<<10), 1<<22))
	for first := uint64(0); first < field.P; first += batch {
		check(ctx.Err())
		check(kernels.SearchNonce(s.a, work, s.best, s.state, first, batch))
		if nonce := fetch[uint64](s.a, s.best, 1)[0]; nonce < field.P {
			return nonce
		}
	}
	return field.P
}
