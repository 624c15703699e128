package merkle

import (
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"golang.org/x/sys/unix"
)

// BenchmarkMatrix makes the tree over the 2^18 columns of a matrix of 64 rows in memory, for the comparison of
// scripts/plonky3-bench. The metrics are elements of the matrix per second, and per second of processor time.
func BenchmarkMatrix(b *testing.B) {
	const rows, columns = 64, 1 << 18
	matrix := make([][]field.M31, rows)
	for i := range matrix {
		matrix[i] = make([]field.M31, columns)
		for j := range matrix[i] {
			matrix[i][j] = field.M31(uint32(i*columns+j) * 0x9e3779b9 >> 2)
		}
	}
	for _, suite := range hash.All() {
		b.Run(suite.String(), func(b *testing.B) {
			start := processorTime(b)
			for b.Loop() {
				h, digests := suite.NewColumns(columns, rows), make([]hash.Digest, columns)
				h.Reset(rows)
				for i := 0; i < rows; i += suite.RowsAtOnce() {
					h.AbsorbRows(matrix[i:min(rows, i+suite.RowsAtOnce())])
				}
				h.Sum(digests)
				New(suite, digests)
			}
			elements := float64(b.N) * rows * columns
			b.ReportMetric(elements*1e3/float64(b.Elapsed()), "Melem/s")
			b.ReportMetric(elements*1e3/float64(processorTime(b)-start), "Melem/cpu-s")
		})
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
