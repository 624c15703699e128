package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// forwardIntegers returns n random integers of the given width in bytes, extremes
// among them, and a copy on the device.
func forwardIntegers(t *testing.T, d kernels.Device, rng *rand.Rand, n, width, bits int) ([]int32, kernels.Ptr) {
	t.Helper()
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(rng.Uint32()) >> (32 - bits)
		if i%7 == 3 {
			v[i] = -1 << (bits - 1)
		}
		if i%11 == 5 {
			v[i] = 1<<(bits-1) - 1
		}
	}
	var p kernels.Ptr
	var err error
	switch width {
	case 1:
		p, err = kernels.NewSlice(d, converted[int8](v))
	case 2:
		p, err = kernels.NewSlice(d, converted[int16](v))
	default:
		p, err = kernels.NewSlice(d, v)
	}
	must(t, err)
	t.Cleanup(func() { d.Free(p) })
	return v, p
}

func converted[T int8 | int16](v []int32) []T {
	out := make([]T, len(v))
	for i := range v {
		out[i] = T(v[i])
	}
	return out
}

// product is MultiplyAdd by its definition.
func product(acc []int64, a, b []int32, p kernels.MatMul) {
	for batch := range p.Batches {
		for i := range p.M {
			for j := range p.N {
				var sum int64
				for c := range p.K {
					sum += int64(a[batch*p.A.Batch+i*p.A.Row+c*p.A.Column]) * int64(b[batch*p.B.Batch+j*p.B.Row+c*p.B.Column])
				}
				acc[batch*p.OutBatch+i*p.OutRow+j*p.OutColumn] += p.Coef * sum
			}
		}
	}
}

func TestMultiplyAdd(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(1, 2))
	type layout struct{ aRows, bRows, outRows bool }
	all := layout{true, true, true}
	for _, c := range []struct {
		m, n, k, batches int
		aw, bw           int // bytes
		xbits            int
		layout
	}{
		// Vectors times matrices, by rows: with and without whole groups of 16
		// bytes, rows not a multiple of four, and one of everything.
		{1, 37, 160, 1, 4, 1, 20, all}, {1, 9, 48, 1, 4, 1, 19, all}, {1, 9, 48, 1, 4, 1, 31, all}, {1, 6, 45, 1, 4, 1, 31, all},
		{1, 5, 520, 1, 4, 2, 16, all}, {1, 131, 9, 1, 4, 2, 31, all}, {1, 3, 36, 1, 4, 4, 31, all}, {1, 1, 1, 1, 4, 4, 31, all},
		{1, 2, 1025, 1, 4, 1, 10, all}, {1, 9, 48, 1, 1, 1, 8, all}, {1, 9, 48, 1, 2, 1, 16, all}, {1, 9, 48, 1, 1, 2, 8, all}, {1, 9, 50, 1, 2, 4, 16, all},
		{1, 9, 52, 1, 1, 4, 8, all}, {1, 5, 520, 1, 2, 2, 16, all},
		// In parts of the terms, of which one ends with fewer, and more than are read ahead.
		{1, 3, 4128, 1, 1, 1, 8, all}, {1, 3, 3080, 1, 2, 2, 16, all}, {1, 1, 2049, 1, 4, 1, 20, all},
		// By columns.
		{1, 300, 200, 1, 4, 1, 31, layout{true, false, true}}, {1, 7, 65, 1, 4, 2, 31, layout{true, false, true}},
		{1, 1, 3, 1, 4, 4, 31, layout{true, false, true}}, {1, 300, 200, 1, 1, 1, 8, layout{true, false, true}},
		// Bytes times bytes.
		{5, 70, 80, 1, 1, 1, 8, all}, {65, 3, 16, 1, 1, 1, 8, all}, {2, 2, 144, 1, 1, 1, 8, layout{true, true, false}},
		// Anything else.
		{3, 70, 19, 1, 2, 1, 31, all}, {66, 5, 33, 2, 4, 4, 20, layout{true, false, false}}, {4, 4, 4, 3, 1, 2, 8, layout{false, true, true}},
		{1, 1, 1, 700, 2, 1, 31, all},
		{2, 3, 17, 1, 1, 1, 8, layout{false, false, false}}, {1, 4, 16, 2, 4, 1, 31, all},
		// Several tiles and parts of the terms; planes that are known to be zero.
		{130, 150, 208, 1, 1, 1, 8, all}, {130, 9, 208, 1, 2, 2, 16, all}, {130, 9, 700, 1, 2, 1, 16, all}, {7, 140, 1000, 2, 1, 2, 8, all}, {200, 9, 700, 1, 4, 2, 17, all}, {9, 140, 400, 3, 2, 2, 15, layout{false, true, true}},
	} {
		name := fmt.Sprintf("%+v", c)
		bits := func(width int) int { return min(8*width, 25) }
		a, pa := forwardIntegers(t, d, rng, c.batches*c.m*c.k, c.aw, min(bits(c.aw), c.xbits))
		b, pb := forwardIntegers(t, d, rng, c.batches*c.n*c.k, c.bw, bits(c.bw))
		p := kernels.MatMul{M: c.m, N: c.n, K: c.k, Batches: c.batches, Coef: -3, XBits: c.xbits,
			A: kernels.Matrix{Ptr: pa, Width: c.aw, Row: c.k, Column: 1, Batch: c.m * c.k},
			B: kernels.Matrix{Ptr: pb, Width: c.bw, Row: c.k, Column: 1, Batch: c.n * c.k}, OutRow: c.n, OutColumn: 1, OutBatch: c.m * c.n}
		if !c.aRows {
			p.A.Row, p.A.Column = 1, c.m
		}
		if !c.bRows {
			p.B.Row, p.B.Column = 1, c.n
		}
		if !c.outRows {
			p.OutRow, p.OutColumn = 1, c.m
		}
		acc := make([]int64, c.batches*c.m*c.n)
		for i := range acc {
			acc[i] = int64(i) - 5
		}
		var err error
		p.Acc, err = kernels.NewSlice(d, acc)
		must(t, err)
		must(t, kernels.MultiplyAdd(d, p))
		product(acc, a, b, p)
		got := make([]int64, len(acc))
		must(t, kernels.DownloadSlice(d, got, p.Acc))
		d.Free(p.Acc)
		if !slices.Equal(got, acc) {
			t.Errorf("%s: got %v, want %v", name, got[:min(8, len(got))], acc[:min(8, len(acc))])
		}
	}
	two := kernels.MatMul{Acc: 1, M: 2, N: 2, K: 2, Batches: 1, A: kernels.Matrix{Ptr: 1, Width: 2}, B: kernels.Matrix{Ptr: 1, Width: 2}}
	if kernels.MultiplyRows(d, []kernels.MatMul{two}) == nil {
		t.Error("a product of two rows is set")
	}
	if kernels.MultiplyAdd(d, kernels.MatMul{Acc: 1, M: 1, N: 1, K: 1, Batches: 1, A: two.A, B: two.B, Shifts: 1}) == nil {
		t.Error("shifts are added")
	}
	// The largest sums that 32 bits have to hold.
	const k = 1<<15 + 1024 // which must be added up in two parts
	v := make([]int16, 2*k)
	for i := range v {
		v[i] = -128<<8 + 255
	}
	worst, err := kernels.NewSlice(d, v)
	must(t, err)
	defer d.Free(worst)
	batches := d.Multiprocessors() // so that a block has all terms of one
	sums, err := kernels.NewSlice(d, make([]int64, 4*batches))
	must(t, err)
	defer d.Free(sums)
	x := kernels.Matrix{Ptr: worst, Width: 2, Row: k, Column: 1}
	must(t, kernels.MultiplyAdd(d, kernels.MatMul{Acc: sums, M: 2, N: 2, K: k, Batches: batches, Coef: 1, XBits: 16, A: x, B: x, OutRow: 2, OutColumn: 1, OutBatch: 4}))
	got := make([]int64, 4*batches)
	must(t, kernels.DownloadSlice(d, got, sums))
	want := int64(v[0]) * int64(v[0]) * k
	if slices.ContainsFunc(got, func(x int64) bool { return x != want }) {
		t.Errorf("the largest sums are %v, not %d", got, want)
	}
	if kernels.MultiplyAdd(d, kernels.MatMul{Acc: 1, A: kernels.Matrix{Ptr: 1, Width: 4}, B: kernels.Matrix{Ptr: 1, Width: 4}}) == nil {
		t.Error("an empty product")
	}
	if kernels.MultiplyAdd(d, kernels.MatMul{Acc: 1, M: 1, N: 1, K: 1, Batches: 1, A: kernels.Matrix{Ptr: 1, Width: 3}, B: kernels.Matrix{Ptr: 1, Width: 4}}) == nil {
		t.Error("three bytes an entry")
	}
}

// TestMultiplyRows: products of vectors with matrices that are launched together, of all types, some with the same matrix and some with
// shifts, with rows and terms that fill no block and no part, whose sums are set, and of the entries whose products are the largest.
func TestMultiplyRows(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(3, 4))
	var list []kernels.MatMul
	var want [][]int64
	var taken []kernels.Ptr
	take := func(p kernels.Ptr) kernels.Ptr {
		taken = append(taken, p)
		return p
	}
	for _, widths := range [][]int{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 1, 1}, {1, 1, 2}, {1, 2, 2}, {2, 1, 1}, {2, 1, 2}, {2, 2, 1}, {2, 2, 2, 2}} {
		for i, c := range []struct{ n, k int }{{37, 160}, {1, 1}, {6, 45}, {9, 5000}, {3, 1040}, {500, 2048}, {33, 8208}} {
			if len(widths) > 2 && i == 5 { // large enough once
				continue
			}
			b, pb := forwardIntegers(t, d, rng, c.n*c.k, widths[0], min(8*widths[0], 25))
			if i == 4 {
				d.Free(pb)
				pb = lowest(t, d, b, widths[0])
			}
			take(pb)
			shifts := make([]int8, c.n)
			p := kernels.MatMul{M: 1, N: c.n, K: c.k, Batches: 1, XBits: 31, OutColumn: 1,
				B: kernels.Matrix{Ptr: pb, Width: widths[0], Row: c.k, Column: 1}}
			if i%2 == 0 {
				for j := range shifts {
					shifts[j] = int8(rng.IntN(8))
				}
				at, err := kernels.NewSlice(d, shifts)
				must(t, err)
				p.Shifts = take(at)
			}
			for v, width := range widths[1:] {
				a, pa := forwardIntegers(t, d, rng, c.k, width, min(8*width, 25))
				if i == 4 {
					d.Free(pa)
					pa = lowest(t, d, a, width)
				}
				p.A, p.Coef = kernels.Matrix{Ptr: take(pa), Width: width, Column: 1}, int64(i-3+5*v)
				sums := make([]int64, c.n)
				for j := range sums {
					sums[j] = rng.Int64()
				}
				acc, err := kernels.NewSlice(d, sums)
				must(t, err)
				p.Acc = take(acc)
				clear(sums)
				product(sums, a, b, p)
				for j := range sums {
					sums[j] <<= shifts[j]
				}
				list, want = append(list, p), append(want, sums)
			}
		}
	}
	must(t, kernels.MultiplyRows(d, list))
	for i, p := range list {
		got := make([]int64, p.N)
		must(t, kernels.DownloadSlice(d, got, p.Acc))
		if !slices.Equal(got, want[i]) {
			some := min(8, p.N)
			t.Errorf("%d rows of %d, %d and %d bytes: got %v, want %v", p.N, p.K, p.B.Width, p.A.Width, got[:some], want[i][:some])
		}
	}
	for _, at := range taken {
		d.Free(at)
	}
}

// TestMantissas: rows that are bytes times powers of two are found and written so, for rows that are read whole and in parts, and one
// entry that is not so is noticed, wherever it is.
func TestMantissas(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct{ n, k int }{{1, 1}, {3, 7}, {5, 2304}, {700, 8}, {2, 5001}} {
		for _, spoilt := range []bool{false, true} {
			w, shifts := make([]int16, c.n*c.k), make([]int8, c.n)
			for i := range shifts {
				shifts[i] = int8(rng.IntN(9))
				for j := range c.k {
					w[i*c.k+j] = int16(rng.IntN(256)-128) << shifts[i]
				}
				if c.k > 1 { // odd at least once, and the least
					w[i*c.k+rng.IntN(c.k)] = -127 << shifts[i]
				}
			}
			if c.n > 2 { // a row of zeros
				shifts[1] = 0
				clear(w[c.k:][:c.k])
			}
			if spoilt {
				i := rng.IntN(len(w))
				w[i/c.k*c.k] = 1 << 14
				w[i] = 255
			}
			at, err := kernels.NewSlice(d, w)
			must(t, err)
			bytes, err := kernels.NewSlice(d, make([]int8, len(w)))
			must(t, err)
			by, err := kernels.NewSlice(d, make([]int8, c.n))
			must(t, err)
			bad, err := kernels.NewSlice(d, []uint32{0})
			must(t, err)
			for _, dst := range []kernels.Ptr{0, bytes} {
				must(t, kernels.Mantissas(d, dst, by, bad, at, c.n, c.k))
			}
			var isBad [1]uint32
			must(t, kernels.DownloadSlice(d, isBad[:], bad))
			got, gotBy := make([]int8, len(w)), make([]int8, c.n)
			must(t, kernels.DownloadSlice(d, got, bytes))
			must(t, kernels.DownloadSlice(d, gotBy, by))
			if (isBad[0] != 0) != spoilt {
				t.Errorf("%d×%d, spoilt %t: bad is %d", c.n, c.k, spoilt, isBad[0])
			}
			for i := range w {
				if !spoilt && int16(got[i])<<gotBy[i/c.k] != w[i] {
					t.Errorf("%d×%d: entry %d is %d times 2^%d, want %d", c.n, c.k, i, got[i], gotBy[i/c.k], w[i])
					break
				}
			}
			for _, p := range []kernels.Ptr{at, bytes, by, bad} {
				d.Free(p)
			}
		}
	}
}

// lowest sets all of v to the least number of so many bytes, and returns it on a device.
func lowest(t *testing.T, d kernels.Device, v []int32, width int) (at kernels.Ptr) {
	for i := range v {
		v[i] = -1 << (8*width - 1)
	}
	var err error
	if width == 1 {
		at, err = kernels.NewSlice(d, converted[int8](v))
	} else {
		at, err = kernels.NewSlice(d, converted[int16](v))
	}
	must(t, err)
	return at
}

// BenchmarkMultiplyAdd: products of a language model's layer of width 5120. On a GPU.
func BenchmarkMultiplyAdd(b *testing.B) {
	if os.Getenv("PROVE_MODEL_TEST_GPU") != "1" {
		b.Skip("takes a GPU")
	}
	d := devicetest.Open(b)
	const n, k = 17408, 5120
	for _, c := range []struct{ m, aw, bw int }{{16, 2, 1}, {128, 1, 1}, {128, 2, 1}, {512, 1, 1}, {512, 2, 1}, {512, 2, 2}, {512, 4, 2}} {
		b.Run(fmt.Sprintf("%d rows of %d bytes times %d", c.m, c.aw, c.bw), func(b *testing.B) {
			p := kernels.MatMul{M: c.m, N: n, K: k, Batches: 1, Coef: 1, XBits: min(31, 8*c.aw-1),
				A: kernels.Matrix{Ptr: allocate(b, d, c.aw*c.m*k), Width: c.aw, Row: k, Column: 1},
				B: kernels.Matrix{Ptr: allocate(b, d, c.bw*n*k), Width: c.bw, Row: k, Column: 1}, OutRow: n, OutColumn: 1,
				Acc: allocate(b, d, 8*c.m*n)}
			for b.Loop() {
				if err := kernels.MultiplyAdd(d, p); err != nil {
					b.Fatal(err)
				}
				if err := d.Sync(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(c.m*n*k)*float64(b.N)/b.Elapsed().Seconds()/1e12, "T/s")
		})
	}
}

func TestLookUp(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(3, 4))
	values := make([]int32, 256)
	for i := range values {
		values[i] = rng.Int32()
	}
	tables := []model.Table{
		{Name: "range", Kind: model.TableRange, Bits: 8, Min: 0},
		{Name: "clamp", Kind: model.TablePiecewise, Bits: 8, Min: -128, Pieces: []model.Piece{{End: 100, Offset: -28}, {End: 200, Slope: 1}, {End: 256, Slope: -2, Offset: 9}}},
		{Name: "stretched", Kind: model.TablePiecewise, Bits: 8, Drop: 3, Pieces: []model.Piece{{End: 7, Slope: 1}, {End: 31, Slope: -5, Offset: 2}, {End: 32, Offset: 9}}},
		{Name: "func", Kind: model.TableFunc, Bits: 8, Min: -100},
	}
	for _, n := range []int{1, 255, 1000} {
		for i := range tables {
			table := &tables[i]
			for _, shift := range []int{0, 5, 22} {
				acc := make([]int64, n)
				for i := range acc {
					acc[i] = (table.Min+int64(rng.IntN(256)))<<shift + rng.Int64N(1<<shift)
				}
				if table.Min < 0 {
					acc[0] = (table.Min+1)<<shift - 1 // the last of its row, negative
				}
				run := lookup(t, d, acc, shift, table, values)
				if run.bad != 0 {
					t.Fatalf("%s, shift %d: refused", table.Name, shift)
				}
				counts := make([]int32, 256)
				for j, x := range acc {
					key := x >> shift
					counts[key-table.Min]++
					if run.keys[j] != int32(key) || run.lo[j] != int32(x-key<<shift) {
						t.Fatalf("%s: %d gives key %d, rest %d", table.Name, x, run.keys[j], run.lo[j])
					}
					if table.Kind != model.TableRange && int64(run.out[j]) != table.Value(key, values) {
						t.Fatalf("%s: key %d gives %d, want %d", table.Name, key, run.out[j], table.Value(key, values))
					}
				}
				if !slices.Equal(counts, run.counts) {
					t.Errorf("%s: wrong counts", table.Name)
				}
			}
			for _, wrong := range []int64{table.Min - 1, table.Min + 256, 1 << 30, -1 << 30} {
				acc := make([]int64, n)
				acc[n/2] = wrong
				if lookup(t, d, acc, 0, table, values).bad != 1 {
					t.Errorf("%s: %d is accepted", table.Name, wrong)
				}
			}
			if bound := int64(1) << 30; lookup(t, d, []int64{bound}, 29, table, values).bad != 1 {
				t.Errorf("%s: an accumulator of 2^30 is accepted", table.Name)
			}
		}
	}
}

type lookedUp struct {
	keys, out, lo, counts []int32
	bad                   uint32
}

// holding returns a function that notes memory of the device and passes it on, and one that frees all
// that was noted.
func holding(t *testing.T, d kernels.Device) (keep func(kernels.Ptr, error) kernels.Ptr, free func()) {
	var held []kernels.Ptr
	keep = func(p kernels.Ptr, err error) kernels.Ptr {
		t.Helper()
		must(t, err)
		held = append(held, p)
		return p
	}
	free = func() {
		for _, p := range held {
			d.Free(p)
		}
	}
	return keep, free
}

func lookup(t *testing.T, d kernels.Device, acc []int64, shift int, table *model.Table, values []int32) lookedUp {
	t.Helper()
	n := len(acc)
	keep, free := holding(t, d)
	defer free()
	result := func() kernels.Result {
		return kernels.Result{Integers: kernels.Integers{At: keep(kernels.AllocSlice[int32](d, n)), Width: 4}, Min: math.MinInt32, Max: math.MaxInt32}
	}
	var records kernels.Records
	l := kernels.Step{Kind: kernels.LookUpStep, N: n, Acc: keep(kernels.NewSlice(d, acc)), Shift: shift, Table: table,
		Keys: result(), Out: kernels.Result{Min: math.MinInt64, Max: math.MaxInt64}, Lo: result(), Counts: keep(kernels.NewSlice(d, make([]int32, 1<<table.Bits)))}
	switch table.Kind {
	case model.TablePiecewise:
		l.Pieces = records.Pieces(table)
	case model.TableFunc:
		l.Values = kernels.Integers{At: keep(kernels.NewSlice(d, values)), Width: 4}
	}
	if table.Kind != model.TableRange {
		l.Out = result()
	}
	launch, err := records.Add(kernels.Chain{&l})
	must(t, err)
	small := keep(kernels.NewSlice(d, []uint32{0}))
	must(t, kernels.RunSteps(d, launch, &kernels.Bases{Code: keep(kernels.NewSlice(d, records.Words())), Small: small}, 0))
	r := lookedUp{make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, 1<<table.Bits), 0}
	must(t, kernels.DownloadSlice(d, r.keys, l.Keys.At))
	must(t, kernels.DownloadSlice(d, r.lo, l.Lo.At))
	must(t, kernels.DownloadSlice(d, r.counts, l.Counts))
	if l.Out.At != 0 {
		must(t, kernels.DownloadSlice(d, r.out, l.Out.At))
	}
	bad := []uint32{0}
	must(t, kernels.DownloadSlice(d, bad, small))
	r.bad = bad[0]
	return r
}

func TestRandom(t *testing.T) {
	d := devicetest.Open(t)
	n := 1000
	p, err := kernels.AllocSlice[uint64](d, n)
	must(t, err)
	defer d.Free(p)
	fill := func(seed uint64) []int8 {
		must(t, kernels.Random(d, p, n, seed))
		v := make([]int8, 8*n)
		must(t, kernels.DownloadSlice(d, v, p))
		return v
	}
	a, b := fill(1), fill(2)
	if slices.Equal(a, b) || !slices.Equal(a, fill(1)) {
		t.Error("the sequence is not a function of the seed")
	}
	var sum, squares int
	for _, v := range a {
		sum += int(v)
		squares += int(v) * int(v)
	}
	// The mean of 8,000 uniform bytes has a standard deviation of 0.83, that of
	// their squares of 55.
	if mean := float64(sum) / 8000; mean < -4.5 || mean > 3.5 {
		t.Errorf("mean %v", mean)
	}
	if mean := float64(squares) / 8000; mean < 5200 || mean > 5720 {
		t.Errorf("mean square %v", mean)
	}
}
