package code

import (
	"fmt"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"golang.org/x/sys/unix"
)

// BenchmarkColumns encodes many tables at rate 1/4, one after the other, for
// the comparison of scripts/plonky3-bench. The metric is elements of codewords
// per second of processor time, since a turn is too long to be left alone on a
// machine that does other work.
func BenchmarkColumns(b *testing.B) {
	rng := newRand(6)
	for _, c := range []struct{ m, columns int }{{18, 64}, {20, 64}, {22, 16}} {
		coeffs, dst := make([][]field.M31, c.columns), make([][]field.M31, c.columns)
		for i := range coeffs {
			coeffs[i], dst[i] = randomM31(rng, 1<<(c.m-2)), make([]field.M31, 1<<c.m)
		}
		encodeAll := func() {
			for i := range coeffs {
				Encode(dst[i], coeffs[i])
			}
		}
		encodeAll() // twiddles, and pages of memory
		b.Run(fmt.Sprintf("2^%dx%d", c.m, c.columns), func(b *testing.B) {
			start := processorTime(b)
			for b.Loop() {
				encodeAll()
			}
			elements := float64(b.N) * float64(c.columns<<c.m)
			b.ReportMetric(elements*1e3/float64(processorTime(b)-start), "Melem/cpu-s")
		})
	}
}

// processorTime returns the nanoseconds of processor time that this process
// has used.
func processorTime(b *testing.B) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return t.Nano()
}
