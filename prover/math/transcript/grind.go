package transcript

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// MaxGrindBits bounds the proof of work. A nonce is one limb; with 2^31
// candidates and 2^24 expected tries, one exists except with probability
// e^(−128).
const MaxGrindBits = 24

// grindBatch is how many nonces a goroutine tries before it checks whether another one has found a smaller one.
const grindBatch = 256

// SearchNonce is a [NonceSearch] that cannot fail, on all cores. Its
// result does not depend on the number of threads: batches are handed out in increasing
// order, and all batches below the best nonce are finished.
func SearchNonce(work hash.Work) uint64 {
	var (
		next atomic.Uint64 // first nonce that nobody has taken
		mu   sync.Mutex
		best atomic.Uint64
	)
	best.Store(field.P)
	search := func() {
		for {
			first := next.Add(grindBatch) - grindBatch
			if first >= best.Load() {
				return
			}
			if nonce, ok := work.Try(first, grindBatch); ok {
				mu.Lock()
				best.Store(min(best.Load(), nonce))
				mu.Unlock()
			}
		}
	}
	workers := make([]func(), runtime.GOMAXPROCS(0))
	for i := range workers {
		workers[i] = search
	}
	parallel.Do(workers...)
	return best.Load()
}

// checkGrindBits panics on a number of bits that no protocol here uses.
func checkGrindBits(bits int) {
	if bits < 0 || bits > MaxGrindBits {
		panic("transcript: grinding takes 0 to 24 bits")
	}
}
