package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
)

// hostileBytes are random, but for some rows of extremes.
func hostileBytes(rng *rand.Rand, n, row int) []int8 {
	v := make([]int8, n)
	for i := range v {
		switch i / row % 4 {
		case 1:
			v[i] = -128
		case 2:
			v[i] = 127
		default:
			v[i] = int8(rng.Int())
		}
	}
	return v
}

// TestByteProducts multiplies rows of bytes with weights of parts and of points, some
// panels and rows more than a block has, some rows missing, on columns in the middle.
func TestByteProducts(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(41, 42))
	for _, c := range []struct{ vars, parts, rows, column int }{{3, 1, 1, 0}, {6, 9, 130, 64}, {8, 3, 5, 0}, {10, 8, 3, 48}} {
		n := 1 << c.vars
		pitch := c.column + kernels.RowPitch(n) + 16
		bytes := hostileBytes(rng, pitch*c.rows, pitch)
		at := upload(t, d, bytes)
		rows := make([]kernels.ByteRow, c.rows)
		targets := c.rows/2 + 1
		constants := make([]uint32, targets)
		for i := range constants {
			constants[i] = uint32(i) * 77
		}
		for i := range rows {
			rows[i] = kernels.ByteRow{Bytes: at.Offset(i, pitch), Target: uint32(i / 2), Shift: uint32(i % 4 * 8)}
			if i%7 == 5 {
				rows[i].Bytes = 0
			}
		}
		product := func(weights []field.M31, target int) field.M31 {
			var sum field.M31
			for i, r := range rows {
				if int(r.Target) != target || r.Bytes == 0 {
					continue
				}
				var v field.M31
				for k, w := range weights {
					v = v.Add(w.Mul(field.FromInt64(int64(bytes[i*pitch+c.column+k]))))
				}
				sum = sum.Add(v.Mul(1 << r.Shift))
			}
			return sum
		}
		run := func(what string, p kernels.ByteProduct, vectors [][]field.M31) {
			p.Rows, p.Count, p.Column, p.Targets, p.Pieces = upload(t, d, rows), uint32(c.rows), uint32(c.column), uint32(targets), kernels.Pieces(c.vars)
			sums := upload(t, d, make([]uint64, 4*int(p.Panels)*targets))
			p.Sums = sums
			// A product of its own beside it, with the first row alone.
			first := p
			first.Count, first.Sums = 1, upload(t, d, make([]uint64, 4*int(p.Panels)*targets))
			must(t, kernels.AddByteProducts(d, first, p))
			ones := make([]uint32, len(vectors))
			for i := range ones {
				ones[i] = uint32(i % 3)
			}
			out := alloc[field.M31](t, d, len(vectors)*targets)
			must(t, kernels.FinishProducts(d, out, sums, len(vectors), targets, upload(t, d, ones), upload(t, d, constants)))
			got := download[field.M31](t, d, out, len(vectors)*targets)
			must(t, kernels.FinishProducts(d, out, first.Sums, 1, len(vectors)*targets, 0, 0))
			alone := download[field.M31](t, d, out, len(vectors)*targets)
			for v, weights := range vectors {
				var want field.M31
				for k, w := range weights {
					want = want.Add(w.Mul(field.FromInt64(int64(bytes[c.column+k]))))
				}
				if alone[v*targets] != want {
					t.Fatalf("%s, %+v: vector %d times the first row is %v, want %v", what, c, v, alone[v*targets], want)
				}
			}
			for v, weights := range vectors {
				for target := range targets {
					want := product(weights, target).Add(field.M31(ones[v]).Mul(field.M31(constants[target])))
					if got[v*targets+target] != want {
						t.Fatalf("%s, %+v: vector %d times target %d is %v, want %v", what, c, v, target, got[v*targets+target], want)
					}
				}
			}
		}
		vars := make([]int, c.parts+2)
		for i := range vars {
			vars[i] = c.vars
		}
		w := newWeightTables(t, d, rng, vars, true)
		// All parts but two, in reverse, and of these all but the first in reverse.
		var numbers, panels []uint64
		var vectors [][]field.M31
		for i := range c.parts {
			numbers = append(numbers, uint64(c.parts-i))
		}
		for i := c.parts - 1; i >= min(1, c.parts-1); i-- {
			panels = append(panels, uint64(i))
			limbs := make([][]field.M31, 4)
			for _, v := range w.values[numbers[i]] {
				for l, x := range v.Limbs() {
					limbs[l] = append(limbs[l], x)
				}
			}
			vectors = append(vectors, limbs...)
		}
		weights := alloc[int8](t, d, c.parts*kernels.PanelBytes(c.vars))
		must(t, kernels.PackParts(d, weights, upload(t, d, numbers), c.parts, c.vars, w.parts, w.tables))
		run("parts", kernels.ByteProduct{Weights: weights, Numbers: upload(t, d, panels), Panels: uint32(len(panels))}, vectors)

		vectors = nil
		some := newWeightTables(t, d, rng, []int{0, c.vars / 2, c.vars}, true)
		rowParts, summed := sumsOfParts(t, d, rng, some, c.parts, c.vars)
		for _, row := range summed {
			limbs := make([][]field.M31, 4)
			for _, v := range row {
				for l, x := range v.Limbs() {
					limbs[l] = append(limbs[l], x)
				}
			}
			vectors = append(vectors, limbs...)
		}
		must(t, kernels.PackRows(d, weights, c.parts, c.vars, rowParts))
		run("rows", kernels.ByteProduct{Weights: weights, Panels: uint32(c.parts)}, vectors)

		points := make([]kernels.PointWeight, 4*c.parts-1)
		vectors = nil
		for i, z := range vectorM31(rng, len(points), 1) {
			points[i] = kernels.PointWeight{Coef: field.One, Z: z}
			var values []field.M31
			for _, v := range code.WeightTable(code.PointWeights(field.NewQM31(z, 0, 0, 0), c.vars)) {
				values = append(values, v.Limbs()[0])
			}
			vectors = append(vectors, values)
		}
		scratch := alloc[uint8](t, d, kernels.PointScratch(c.vars, len(points)))
		must(t, kernels.PackPoints(d, weights, c.vars, upload(t, d, points), len(points), scratch))
		run("points", kernels.ByteProduct{Weights: weights, Panels: uint32(c.parts)}, vectors)
	}
}

// TestFoldBytes folds lists of rows, some longer than a block takes at once, some rows
// missing.
func TestFoldBytes(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(43, 44))
	for _, c := range []struct{ rowVars, lists, n int }{{0, 1, 64}, {3, 2, 64}, {6, 3, 128}, {8, 2, 64}, {9, 2, 64}, {10, 2, 64}, {8, 1, 128}, {9, 2, 128}, {8, 2, 192}, {9, 1, 576}} {
		pitch := kernels.RowPitch(1 << c.rowVars)
		bytes := hostileBytes(rng, pitch*c.lists*c.n, pitch)
		at := upload(t, d, bytes)
		weights, constants := vectorQM31(rng, c.lists*c.n, 1), vectorQM31(rng, c.lists, 2)
		rows := make([]kernels.Ptr, c.lists*c.n)
		want := make([]field.QM31, c.lists<<c.rowVars)
		for i := range want {
			want[i] = constants[i>>c.rowVars]
		}
		for i := range rows {
			if i%5 == 3 {
				continue
			}
			rows[i] = at.Offset(i, pitch)
			for k := range 1 << c.rowVars {
				to := &want[i/c.n<<c.rowVars+k]
				*to = to.Add(weights[i].MulM31(field.FromInt64(int64(bytes[i*pitch+k]))))
			}
		}
		f := alloc[field.QM31](t, d, len(want))
		folded := kernels.FoldedRows{
			Rows: upload(t, d, rows), Weights: upload(t, d, weights), Constants: upload(t, d, constants), Lists: c.lists, N: c.n, RowVars: c.rowVars,
		}
		must(t, kernels.FoldBytes(d, f, folded))
		if i := firstDifference(download[field.QM31](t, d, f, len(want)), want); i >= 0 {
			t.Errorf("%+v: entry %d differs", c, i)
		}
		folded.Add = true
		must(t, kernels.FoldBytes(d, f, folded))
		for i := range want {
			want[i] = want[i].Add(want[i])
		}
		if i := firstDifference(download[field.QM31](t, d, f, len(want)), want); i >= 0 {
			t.Errorf("%+v, added: entry %d differs", c, i)
		}
	}
}

// TestSplitPlanes splits rows into planes of every number.
func TestSplitPlanes(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(45, 46))
	for _, width := range []int{1, 2, 4} {
		as := kernels.ByteRows{Width: width, Pitch: 64}
		values, want := make([]int32, 33), make([]int8, as.Width*as.Pitch)
		for i := range values {
			values[i] = int32(rng.Uint32()) >> (32 - 8*width)
			putEntry(want[i:], as, values[i])
		}
		out := upload(t, d, make([]int8, as.Width*as.Pitch))
		must(t, kernels.SplitPlanes(d, out, upload(t, d, values), as, len(values)))
		if i := firstDifference(download[int8](t, d, out, len(want)), want); i >= 0 {
			t.Errorf("width %d: byte %d differs", width, i)
		}
	}
}

// BenchmarkByteProducts: products as an opening of 4.8 GB of bytes takes them, of the columns of
// 124 positions with all rows, and of groups of claims with the rows of each place. On a GPU.
func BenchmarkByteProducts(b *testing.B) {
	if os.Getenv("PROVE_MODEL_TEST_GPU") != "1" {
		b.Skip("takes a GPU")
	}
	d := devicetest.Open(b)
	const vars = 18
	for _, c := range []struct {
		name                         string
		panels, each, rows, products int // all panels, those of a product, its rows
	}{{"columns", 31, 31, 18500, 1}, {"claims", 300, 36, 64, 290}, {"claims of 128", 300, 36, 128, 145}} {
		b.Run(c.name, func(b *testing.B) {
			all := c.rows * c.products
			bytes, weights := allocate(b, d, all<<vars), allocate(b, d, c.panels*kernels.PanelBytes(vars))
			rows := make([]kernels.ByteRow, all)
			for i := range rows {
				rows[i] = kernels.ByteRow{Bytes: bytes.Offset(i, 1<<vars), Target: uint32(i % c.rows)}
			}
			var numbers []uint64
			for i := range c.products * c.each {
				numbers = append(numbers, uint64(i*7%c.panels))
			}
			at, list := keep(b, d, rows), keep(b, d, numbers)
			sums := allocate(b, d, 8*4*c.each*all)
			var jobs []kernels.ByteProduct
			for i := range c.products {
				jobs = append(jobs, kernels.ByteProduct{
					Weights: weights, Numbers: kernels.At[uint64](list, i*c.each), Rows: kernels.At[kernels.ByteRow](at, i*c.rows), Sums: kernels.At[uint64](sums, 4*c.each*c.rows*i),
					Panels: uint32(c.each), Count: uint32(c.rows), Targets: uint32(c.rows), Pieces: kernels.Pieces(vars),
				})
			}
			for b.Loop() {
				if err := kernels.AddByteProducts(d, jobs...); err != nil {
					b.Fatal(err)
				}
				if err := d.Sync(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(16*float64(c.each)*float64(all<<vars)*float64(b.N)/b.Elapsed().Seconds()/1e12, "T/s")
		})
	}
}

// TestSegmentProducts compares with the definition: rows with zeros, some of one target, more than fit at once, with panels that fill no block.
func TestSegmentProducts(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(23, 24))
	for _, c := range []struct{ low, segments, panels, planes, column, atOnce int }{
		{6, 1, 1, 1, 0, 1}, {6, 3, 9, 7, 16, 3}, {7, 2, 3, 40, 128, 40}, {8, 1, 17, 130, 32, 64},
	} {
		n := 1 << (c.low + c.segments)
		pitch := c.column + n
		bytes := make([]int8, c.planes*pitch)
		for i := range bytes {
			bytes[i] = int8(rng.Uint32())
		}
		for i := range pitch { // the least everywhere
			bytes[i] = -128
		}
		at, rows := upload(t, d, bytes), make([]kernels.ByteRow, c.planes)
		targets := (c.planes + 1) / 2
		for i := range rows {
			rows[i] = kernels.ByteRow{Bytes: at.Offset(i, pitch), Target: uint32(i / 2), Shift: uint32(i % 4 * 8)}
			if i%7 == 5 {
				rows[i].Bytes = 0
			}
		}
		vars := slices.Concat(slices.Repeat([]int{c.low}, c.panels), slices.Repeat([]int{c.segments}, c.panels))
		w := newWeightTables(t, d, rng, vars, true)
		var low, high, numbers []uint64
		for i := range c.panels { // panels in reverse, each with a weight of segments of its own
			low, numbers = append(low, uint64(i)), append(numbers, uint64(c.panels-1-i))
			high = append(high, uint64(c.panels+(i+1)%c.panels))
		}
		panels := alloc[int8](t, d, c.panels*kernels.PanelBytes(c.low))
		must(t, kernels.PackParts(d, panels, upload(t, d, low), c.panels, c.low, w.parts, w.tables))
		sums := upload(t, d, make([]uint64, 4*c.panels*targets))
		room := c.atOnce * kernels.SegmentBytes(c.panels, c.segments)
		product := kernels.SegmentProduct{
			ByteProduct: kernels.ByteProduct{
				Weights: panels, Numbers: upload(t, d, numbers), Rows: upload(t, d, rows), Sums: sums,
				Panels: uint32(c.panels), Count: uint32(c.planes), Targets: uint32(targets), Pieces: kernels.Pieces(c.low), Column: uint32(c.column),
			},
			High: upload(t, d, high), Segments: c.segments,
		}
		scratch := alloc[uint8](t, d, room)
		if err := kernels.AddSegmentProducts(d, scratch, room/c.atOnce-1, w.parts, w.tables, product); err == nil {
			t.Errorf("%+v: no row has room, and that is no error", c)
		}
		other := product // of the first row alone, beside it
		other.Count, other.Sums = 1, upload(t, d, make([]uint64, 4*c.panels*targets))
		must(t, kernels.AddSegmentProducts(d, scratch, room, w.parts, w.tables, other, product))
		out := alloc[field.M31](t, d, 4*c.panels*targets)
		must(t, kernels.FinishProducts(d, out, sums, 4*c.panels, targets, 0, 0))
		got := download[field.M31](t, d, out, 4*c.panels*targets)
		must(t, kernels.FinishProducts(d, out, other.Sums, 4*c.panels, targets, 0, 0))
		alone := download[field.M31](t, d, out, 4*c.panels*targets)
		for p := range c.panels {
			of := make([]field.QM31, targets)
			for i, r := range rows {
				if r.Bytes == 0 {
					continue
				}
				var sum field.QM31
				for x := range n {
					weight := w.values[numbers[p]][x&(1<<c.low-1)].Mul(w.values[high[p]][x>>c.low])
					sum = sum.Add(weight.MulM31(field.FromInt64(int64(bytes[i*pitch+c.column+x]))))
				}
				of[r.Target] = of[r.Target].Add(sum.MulM31(1 << r.Shift))
				if i == 0 {
					for v, x := range sum.Limbs() {
						if alone[(4*p+v)*targets] != x {
							t.Fatalf("%+v: limb %d of panel %d times the first row is %v, want %v", c, v, p, alone[(4*p+v)*targets], x)
						}
					}
				}
			}
			for target, want := range of {
				for v, x := range want.Limbs() {
					if got[(4*p+v)*targets+target] != x {
						t.Fatalf("%+v: limb %d of panel %d times target %d is %v, want %v", c, v, p, target, got[(4*p+v)*targets+target], x)
					}
				}
			}
		}
	}
}

// BenchmarkSegmentProducts has rows of 2^22 bytes in segments of 2^11, as those of a large model's opening: multiply-adds of bytes a second.
func BenchmarkSegmentProducts(b *testing.B) {
	if os.Getenv("PROVE_MODEL_TEST_GPU") != "1" {
		b.Skip("takes a GPU")
	}
	d := devicetest.Open(b)
	const low, segments, planes = 11, 11, 170
	for _, panels := range []int{109, 16} {
		b.Run(fmt.Sprintf("%d panels", panels), func(b *testing.B) {
			bytes, weights := allocate(b, d, planes<<(low+segments)), allocate(b, d, panels*kernels.PanelBytes(low))
			rows, numbers := make([]kernels.ByteRow, planes), make([]uint64, panels)
			for i := range rows {
				rows[i] = kernels.ByteRow{Bytes: bytes.Offset(i, 1<<(low+segments)), Target: uint32(i)}
			}
			for i := range numbers {
				numbers[i] = uint64(i)
			}
			parts := make([]kernels.WeightPart, panels)
			upper, lower := kernels.WeightSizes(segments)
			for i := range parts {
				parts[i] = kernels.WeightPart{High: uint64(i * (upper + lower)), Low: uint64(i*(upper+lower) + upper), Vars: segments}
			}
			at, list := keep(b, d, rows), keep(b, d, numbers)
			room := 1 << 30
			p := kernels.SegmentProduct{
				ByteProduct: kernels.ByteProduct{
					Weights: weights, Numbers: list, Rows: at, Sums: allocate(b, d, 8*4*panels*planes),
					Panels: uint32(panels), Count: planes, Targets: planes, Pieces: kernels.Pieces(low),
				},
				High: list, Segments: segments,
			}
			scratch, partsAt, tables := allocate(b, d, room), keep(b, d, parts), allocate(b, d, 4*panels*(upper+lower)*kernels.SizeM31)
			for b.Loop() {
				if err := kernels.AddSegmentProducts(d, scratch, room, partsAt, tables, p); err != nil {
					b.Fatal(err)
				}
				if err := d.Sync(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(16*float64(panels)*float64(planes<<(low+segments))*float64(b.N)/b.Elapsed().Seconds()/1e12, "T/s")
		})
	}
}

// allocate returns memory of a benchmark's own.
func allocate(b *testing.B, d kernels.Device, bytes int) kernels.Ptr {
	p, err := d.Alloc(bytes)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Free(p) })
	return p
}

// keep returns a copy of a slice on the device.
func keep[T kernels.Element](b *testing.B, d kernels.Device, s []T) kernels.Ptr {
	p, err := kernels.NewSlice(d, s)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Free(p) })
	return p
}

// TestJoinSegments compares with the definition.
func TestJoinSegments(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(21, 22))
	for _, c := range []struct{ vectors, targets, n int }{{1, 1, 1}, {3, 100, 2}, {5, 7, 8}} {
		all, weights := vectorM31(rng, c.vectors*c.targets*c.n, 1), vectorM31(rng, c.vectors*c.n, 2)
		out := alloc[field.M31](t, d, c.vectors*c.targets)
		must(t, kernels.JoinSegments(d, out, upload(t, d, all), upload(t, d, weights), c.vectors, c.targets, c.n))
		for i, got := range download[field.M31](t, d, out, c.vectors*c.targets) {
			var want field.M31
			for k := range c.n {
				want = want.Add(weights[i/c.targets*c.n+k].Mul(all[i*c.n+k]))
			}
			if got != want {
				t.Errorf("%+v: element %d is %d, want %d", c, i, got, want)
			}
		}
	}
}
