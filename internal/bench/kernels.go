package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/math/poseidon2"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Kernel is the speed of one kernel.
type Kernel struct {
	Name     string  `json:"name"`
	Unit     string  `json:"unit"`  // what is counted
	Units    int     `json:"units"` // in one call
	Seconds  float64 `json:"seconds"`
	PerUnit  float64 `json:"ns_per_unit"`
	Parallel bool    `json:"parallel"` // whether a call uses several cores
}

// String writes time and rate on one line.
func (k Kernel) String() string {
	cores := "one core"
	if k.Parallel {
		cores = "all cores"
	}
	return fmt.Sprintf("%-26s %10.3f ns/%-14s %10.1f M/s  %s", k.Name, k.PerUnit, k.Unit, 1e3/k.PerUnit, cores)
}

// kernel describes a measurement.
type kernel struct {
	name, unit string
	units      int
	parallel   bool
	call       func()
}

// Kernels measures every kernel on the processor, for about half a second each, and
// calls report after each.
func Kernels(ctx context.Context, report func(Kernel)) (err error) {
	defer must.Catch(&err)
	for _, build := range []func() []kernel{vectorKernels, hashKernels, codeKernels, protocolKernels} {
		for _, k := range build() {
			must.OK(ctx.Err())
			t := best(500*time.Millisecond, k.call)
			report(Kernel{k.name, k.unit, k.units, t.Seconds(), float64(t.Nanoseconds()) / float64(k.units), k.parallel})
		}
	}
	return nil
}

// vectorKernels work on vectors that fit into the second-level cache.
func vectorKernels() []kernel {
	const n = 1 << 14
	a, b, c := elements(n, 1), elements(n, 2), make([]field.M31, n)
	x, y, z := extensions(n, 3), extensions(n, 4), make([]field.QM31, n)
	ints := make([]int32, n)
	for i := range ints {
		ints[i] = int32(a[i])>>15 - 1<<15
	}
	r := x[0]
	point := extensions(14, 5)
	var sink field.QM31
	return []kernel{
		{"M31 add", "element", n, false, func() { field.AddVec(c, a, b) }},
		{"M31 multiply", "element", n, false, func() { field.MulVec(c, a, b) }},
		{"K multiply", "element", n, false, func() { field.MulQM31Vec(z, x, y) }},
		{"K fold", "element read", n, false, func() { field.FoldVec(z[:n/2], x, r) }},
		{"M31 fold into K", "element read", n, false, func() { field.FoldM31Halves(z[:n/2], a[:n/2], a[n/2:], r) }},
		{"K += K·int32", "element", n, false, func() { field.MulAccInt32Vec(z, ints, r) }},
		{"dot int32·K", "element", n, false, func() { sink = sink.Add(field.DotInt32(ints, x)) }},
		{"dot K·K", "element", n, false, func() { sink = sink.Add(field.Dot(x, y)) }},
		{"eq table", "entry", n, false, func() { field.EqTableInto(z, point, r) }},
	}
}

// hashKernels hash columns, and build Merkle trees.
func hashKernels() []kernel {
	const n, columns, rows = 1 << 12, 1 << 12, 64
	states := make([]poseidon2.State, n)
	for i := range states {
		copy(states[i][:], elements(poseidon2.Width, uint64(i)))
	}
	matrix := make([][]field.M31, 16)
	for i := range matrix {
		matrix[i] = elements(columns, uint64(i))
	}
	sums := make([]hash.Digest, columns)
	leaves := make([]hash.Digest, 1<<16)
	for i := range leaves {
		for k, v := range elements(len(leaves[i]), uint64(i)) {
			leaves[i][k] = uint32(v)
		}
	}
	return []kernel{
		{"Poseidon2 permutation", "permutation", n, false, func() { poseidon2.PermuteMany(states) }},
		{"column hashing", "permutation", columns * rows / poseidon2.Rate, false, func() {
			hashColumns(hash.Poseidon2, sums, matrix, rows)
		}},
		{"column hashing, blake3", "value", columns * rows, false, func() { hashColumns(hash.Blake3, sums, matrix, rows) }},
		{"Merkle tree of 2^16", "leaf", len(leaves), true, func() { merkle.New(hash.Poseidon2, leaves) }},
		{"Merkle tree of 2^16, blake3", "leaf", len(leaves), true, func() { merkle.New(hash.Blake3, leaves) }},
	}
}

// hashColumns hashes columns of so many rows. The rows are those of `some`, over and over; their number divides rows.
func hashColumns(suite hash.Suite, sums []hash.Digest, some [][]field.M31, rows int) {
	h := suite.NewColumns(len(sums), rows)
	for range rows / len(some) {
		h.AbsorbRows(some)
	}
	h.Sum(sums)
}

// codeKernels encode a row.
func codeKernels() []kernel {
	const n = 1 << 18
	coeffs, word := elements(n, 1), make([]field.M31, 4*n)
	return []kernel{
		{"encode 2^18 → 2^20", "output", len(word), true, func() { code.Encode(word, coeffs) }},
	}
}

// protocolKernels run a sumcheck, a LogUp sum and a commitment, transcript included.
func protocolKernels() []kernel {
	const vars = 18
	a, b := extensions(1<<vars, 1), extensions(1<<vars, 2)
	claim := field.Dot(a, b)
	ca, cb := make([]field.QM31, len(a)), make([]field.QM31, len(b))
	num := elements(1<<vars, 3)
	rows := randomRows{rows: 32, rowVars: 16}
	return []kernel{
		{"sumcheck 2^18, degree 2", "entry", len(a), true, func() {
			copy(ca, a)
			copy(cb, b)
			w := transcript.NewWriter(transcript.New(hash.Poseidon2, "bench"))
			shapes := []sumcheck.Shape{{Claim: transcript.Known(claim), NumVars: vars}}
			must.Get(sumcheck.Prove(context.Background(), w, shapes, sumcheck.NewTables([]sumcheck.Instance{{A: ca, B: cb}})))
		}},
		// The sum is not zero, which takes the prover as long as if it were.
		{"fractional sum 2^18", "fraction", len(num), true, func() {
			copy(ca, a)
			w := transcript.NewWriter(transcript.New(hash.Poseidon2, "bench"))
			must.Get(logup.Prove(context.Background(), w, vars, logup.NewTree(num, ca)))
		}},
		{"commit 2^21 at rate 1/4", "value", rows.rows << rows.rowVars, true, func() {
			must.Get(whir.Commit(context.Background(), whir.SingleStack(hash.Poseidon2, rows.rowVars, 2, rows.rows), rows))
		}},
	}
}

// randomRows is a stack of pseudo-random values of 16 bits.
type randomRows struct{ rows, rowVars int }

func (r randomRows) Rows() int { return r.rows }

func (r randomRows) FillRow(i, from int, dst []int32) {
	for j := range dst {
		dst[j] = int32(splitmix(uint64(i)<<32+uint64(from+j))>>48) - 1<<15
	}
}

// elements returns n field elements that depend on the seed alone.
func elements(n int, seed uint64) []field.M31 {
	v := make([]field.M31, n)
	x := seed*0x9e3779b97f4a7c15 + 1
	for i := range v {
		// xorshift64*
		x ^= x >> 12
		x ^= x << 25
		x ^= x >> 27
		v[i] = field.M31((x * 0x2545f4914f6cdd1d >> 33) % field.P)
	}
	return v
}

// extensions returns n elements of K that depend on the seed alone.
func extensions(n int, seed uint64) []field.QM31 {
	limbs := elements(4*n, seed)
	v := make([]field.QM31, n)
	for i := range v {
		v[i] = field.NewQM31(limbs[4*i], limbs[4*i+1], limbs[4*i+2], limbs[4*i+3])
	}
	return v
}
