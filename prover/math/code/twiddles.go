package code

import (
	"sync"
	"sync/atomic"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
)

// The transform is a binary tree. Its root, node 1, evaluates a table over all
// of the domain; the children 2v and 2v+1 of node v evaluate one table each
// over half of v's positions. Node v = 2^s + k needs one twiddle, the point of
// X_{s+1} at position 2k, which is +t at its positions in child 2v and −t in
// child 2v+1. The twiddles of a small domain are a prefix of those of a large
// one, so that there is a single table, which grows.
var (
	twiddleTable atomic.Pointer[[]field.M31]
	twiddleMu    sync.Mutex // held to grow the table
)

// twiddleGrain is the least number of twiddles that one goroutine computes.
const twiddleGrain = 1 << 12

// twiddles returns a table t of at least 2^n elements in which t[v] is the
// twiddle of node v for 1 ≤ v < 2^n; it serves domains up to X_n. n is at most
// MaxLogSize. The table is shared and must not be changed.
func twiddles(n int) []field.M31 {
	if t := twiddleTable.Load(); t != nil && len(*t)>>n != 0 {
		return *t
	}
	twiddleMu.Lock()
	defer twiddleMu.Unlock()
	if t := twiddleTable.Load(); t != nil && len(*t)>>n != 0 {
		return *t
	}
	t := newTwiddles(n)
	twiddleTable.Store(&t)
	return t
}

// newTwiddles computes the table of 2^n elements; element 0 is not used.
func newTwiddles(n int) []field.M31 {
	t := make([]field.M31, 1<<n)
	if n == 0 {
		return t
	}
	// The deepest level has the points at the even positions of X_n, whose natural indexes are those below 2^(n−1).
	last := n - 1
	deepest := t[1<<last:]
	step := circlePower(n+2, 2)
	parallel.For(len(deepest), twiddleGrain, func(lo, hi int) {
		point := circlePower(n+2, 2*uint64(lo)+1)
		for j := lo; j < hi; j++ {
			deepest[positionOf(uint64(j), last)] = point.A0
			point = point.Mul(step)
		}
	})
	// The twiddle of v is the image, under doubling, of the twiddle of its child 2v.
	for level := last - 1; level >= 0; level-- {
		parallel.For(1<<level, twiddleGrain, func(lo, hi int) {
			for v := 1<<level + lo; v < 1<<level+hi; v++ {
				t[v] = DoubleX(t[2*v])
			}
		})
	}
	return t
}

// DoubleX returns 2x² − 1, the x-coordinate of twice a point.
func DoubleX(x field.M31) field.M31 { return x.Square().Double().Sub(1) }
