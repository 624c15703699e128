package transcript

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poseidon2"
)

// MaxGrindBits bounds the proof of work. A nonce is one limb; with 2^31
// candidates and 2^24 expected tries, one exists except with probability
// e^(−128).
const MaxGrindBits = 24

// grindBatch is how many nonces are tried between two looks at the results.
const grindBatch = 256

// grindStart ends the block in hand, so that a nonce can be tried with one
// permutation, and returns the state that each try starts from.
func (s *Sponge) grindStart() poseidon2.State {
	if s.in > 0 {
		s.permute(causeAbsorb)
	}
	start := s.state
	start[tagLane] = start[tagLane].Add(tag(causeGrind, 1))
	return start
}

// grindEnd moves the sponge past the nonce and reports whether the low bits of
// the first lane are zero. That lane is not a challenge any more.
func (s *Sponge) grindEnd(nonce field.M31, bits int) bool {
	s.grindStart()
	s.Absorb(nonce)
	s.permute(causeGrind)
	return s.squeeze()&(1<<bits-1) == 0
}

// SearchNonce is a [NonceSearch] that cannot fail. The search is parallel; its
// result does not depend on the number of threads, since blocks are handed out in increasing
// order and all below the best one are finished.
func SearchNonce(start poseidon2.State, bits int) uint64 {
	var (
		next atomic.Uint64 // first nonce that nobody has taken
		mu   sync.Mutex
		best atomic.Uint64
	)
	best.Store(field.P)
	search := func() {
		states := make([]poseidon2.State, grindBatch)
		for {
			first := next.Add(grindBatch) - grindBatch
			if first >= best.Load() {
				return
			}
			for i := range states {
				states[i] = start
				// Past p a candidate repeats a smaller one and is ignored below.
				states[i][0] = field.Reduce64(first + uint64(i))
			}
			poseidon2.PermuteMany(states)
			for i := range states {
				if states[i][0]&(1<<bits-1) == 0 {
					mu.Lock()
					best.Store(min(best.Load(), first+uint64(i)))
					mu.Unlock()
					break
				}
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
