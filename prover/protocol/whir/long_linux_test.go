package whir

import (
	"context"
	"fmt"
	"testing"

	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"golang.org/x/sys/unix"
)

// wave is a stack of values that cost next to nothing.
type wave struct{ rows int }

func (w wave) Rows() int { return w.rows }

func (w wave) FillRow(i, from int, dst []int32) {
	for k := range dst {
		dst[k] = int32((i+1)*(from+k))&0xff - 1<<7
	}
}

// TestLongRows commits to rows of lengths around those from which on codewords are never whole, and
// compares with codewords that are.
func TestLongRows(t *testing.T) {
	for _, suite := range hash.All() {
		for vars := cachedVars; vars <= cachedVars+3; vars++ {
			if vars > cachedVars+1 && suite != hash.Blake3 && !*full { // as the others, and most of the time
				continue
			}
			for _, groups := range [][]int{{1}, {suite.RowsAtOnce() + 3}, {2*suite.RowsAtOnce() + 1, 3}} {
				if vars == cachedVars+3 && len(groups) == 1 && !*full {
					continue
				}
				l := rows(vars, groups...)
				l.LogBlowup, l.Hash = 1+vars%2, suite
				columns := 1 << l.LogDomain()
				leaves := suite.NewLeaves(columns, len(groups))
				src, first := wave{l.Rows()}, 0
				for _, n := range groups {
					words := make([][]field.M31, n)
					for i := range words {
						values, coeffs := make([]int32, 1<<vars), make([]field.M31, 1<<vars)
						src.FillRow(first+i, 0, values)
						field.FromInt32Vec(coeffs, values)
						words[i] = make([]field.M31, columns)
						code.Encode(words[i], coeffs)
					}
					h, digests := suite.NewColumns(columns, n), make([]hash.Digest, columns)
					h.AbsorbRows(words)
					h.Sum(digests)
					leaves.Absorb(digests)
					first += n
				}
				want := merkle.New(suite, leaves.Sum()).Root()
				tree, err := Commit(context.Background(), l, src)
				if err != nil {
					t.Fatal(err)
				}
				if tree.Root() != want {
					t.Errorf("%v, rows of 2^%d, groups of %d: another root", suite, vars, groups)
				}
			}
		}
	}
}

// BenchmarkCommitRows commits to 64 rows of several lengths.
func BenchmarkCommitRows(b *testing.B) {
	const count = 64
	for _, suite := range hash.All() {
		for _, vars := range []int{14, 16, 18, 20, 22} {
			b.Run(fmt.Sprintf("%v/2^%d", suite, vars), func(b *testing.B) {
				l := SingleStack(suite, vars, 2, count)
				start, turns := processorTime(b), 0
				for b.Loop() {
					for range 1 << max(0, 18-vars) {
						if _, err := Commit(context.Background(), l, wave{count}); err != nil {
							b.Fatal(err)
						}
						turns++
					}
				}
				b.ReportMetric(float64(processorTime(b)-start)/float64(turns*count<<vars), "cpu-ns/value")
			})
		}
	}
}

// processorTime returns the nanoseconds of processor time that this process has used.
func processorTime(b *testing.B) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return t.Nano()
}
