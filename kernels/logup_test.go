package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
)

func TestEqTensor(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(9, 10))
	for _, dims := range [][]int{{}, {1}, {2}, {300}, {3, 1, 5}, {2, 3, 4, 1, 2, 3, 1, 2}} {
		var parts [][]field.QM31
		for _, dim := range dims {
			parts = append(parts, vectorQM31(rng, model.Log2Ceil(dim), 1))
		}
		point := put(t, d, append(poly.JoinAxes(parts), field.One))
		want := poly.OuterEq(dims, parts)
		out := put(t, d, make([]field.QM31, len(want)))
		must(t, kernels.EqTensor(d, out, point, dims))
		same(t, fmt.Sprint("eq over ", dims), get[field.QM31](t, d, out, len(want)), want)
	}
	if err := kernels.EqTensor(d, 0, 0, make([]int, 9)); err == nil {
		t.Error("nine axes")
	}
}

// TestLookUpLeaves compares leaves with their definition.
func TestLookUpLeaves(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(11, 12))
	constants := vectorQM31(rng, 2, 1)
	base, beta := constants[0], constants[1]
	fraction := func(key int64, value field.M31) field.QM31 {
		return base.AddM31(field.FromInt64(-key)).Add(beta.MulM31(value))
	}
	// Jobs lie behind each other in one launch; here a table of one row comes first.
	one, oneCount := integers(t, d, rng, 1, 1)
	for _, dims := range [][]int{{}, {1}, {7}, {256}, {3, 5}, {2, 3, 1, 9}, {5, 500}} {
		for _, width := range []int{1, 2, 4} {
			size := model.Size(dims)
			keys, keyValues := integers(t, d, rng, size, 4)
			outs, outValues := integers(t, d, rng, size, width)
			if width == 2 {
				outs = kernels.Integers{}
				clear(outValues)
			}
			// Blocks behind each other, with a gap before the last.
			cut := model.Cut(dims)
			offsets := make([]uint64, len(cut))
			all := 0
			for i, parts := range cut {
				if i == len(cut)-1 {
					all += 5
				}
				offsets[i] = uint64(all)
				all += 1 << model.PartBits(parts)
			}
			all++
			num, den := put(t, d, make([]field.M31, all)), put(t, d, make([]field.QM31, all))
			var jobs kernels.LeafJobs
			jobs.Table(&model.Table{Min: 77}, one, kernels.Integers{}, 0, all-1, base)
			must(t, jobs.Step(keys, outs, put(t, d, offsets), dims, base))
			must(t, kernels.LogUpLeaves(d, num, den, &jobs, put(t, d, jobs.Jobs), beta))
			wantNum, wantDen := make([]field.M31, all), make([]field.QM31, all)
			wantNum[all-1], wantDen[all-1] = field.FromInt64(-int64(oneCount[0])), fraction(77, 0)
			for i, parts := range cut {
				for x := range 1 << model.PartBits(parts) {
					entry, rest, stride := 0, x, 1
					for a := len(dims) - 1; a >= 0; a-- {
						entry += (parts[a].Start + rest&(1<<parts[a].Bits-1)) * stride
						rest >>= parts[a].Bits
						stride *= dims[a]
					}
					at := int(offsets[i]) + x
					wantNum[at], wantDen[at] = 1, fraction(int64(keyValues[entry]), field.FromInt32(outValues[entry]))
				}
			}
			what := fmt.Sprintf("leaves of %v, width %d", dims, width)
			same(t, what, get[field.M31](t, d, num, all), wantNum)
			same(t, what, get[field.QM31](t, d, den, all), wantDen)
		}
	}
	for _, bits := range []int{0, 1, 9} {
		n := 1 << bits
		tables := []model.Table{{Kind: model.TablePiecewise, Bits: bits, Drop: 3, Pieces: []model.Piece{{End: 1, Slope: -3, Offset: 5}, {End: 3, Slope: 1 << 24}, {End: 64, Slope: 7}}}}
		for _, from := range []int64{0, -1 << 20, 1<<30 - 1} {
			tables = append(tables, model.Table{Kind: model.TableRange, Min: from, Bits: bits}, model.Table{Kind: model.TableFunc, Min: from, Bits: bits},
				model.Table{Kind: model.TablePiecewise, Min: from, Bits: bits, Pieces: []model.Piece{{End: 1, Slope: -3, Offset: 5}, {End: 2, Offset: -1 << 29}, {End: 512, Slope: 1 << 20}}})
		}
		for i := range tables {
			table := &tables[i]
			counts, countValues := integers(t, d, rng, n, 4)
			column, columnValues := integers(t, d, rng, n, 2)
			num, den := put(t, d, make([]field.M31, n+3)), put(t, d, make([]field.QM31, n+3))
			var pieces kernels.Ptr
			switch table.Kind {
			case model.TableRange:
				column = kernels.Integers{}
			case model.TablePiecewise:
				pieces, column = put(t, d, kernels.TablePieces(table)), kernels.Integers{}
			}
			var jobs kernels.LeafJobs
			jobs.Table(table, counts, column, pieces, 3, base)
			must(t, kernels.LogUpLeaves(d, num, den, &jobs, put(t, d, jobs.Jobs), beta))
			wantNum, wantDen := make([]field.M31, n+3), make([]field.QM31, n+3)
			for i := range n {
				key := table.Min + int64(i)
				wantNum[3+i], wantDen[3+i] = field.FromInt64(-int64(countValues[i])), fraction(key, field.FromInt64(table.Value(key, columnValues)))
			}
			what := fmt.Sprintf("table of kind %d, 2^%d rows from %d, %d bits dropped", table.Kind, bits, table.Min, table.Drop)
			same(t, what, get[field.M31](t, d, num, n+3), wantNum)
			same(t, what, get[field.QM31](t, d, den, n+3), wantDen)
		}
	}
}

// TestRowSums compares sums of a step's column over parts of rows with their
// definition.
func TestRowSums(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(13, 14))
	for _, c := range []struct{ rows, columns, parts int }{{1, 1, 1}, {7, 5, 3}, {3, 300, 2}, {40, 17, 17}} {
		for _, width := range []int{1, 2, 4} {
			keys, keyValues := integers(t, d, rng, c.rows*c.columns, width)
			outs, outValues := integers(t, d, rng, c.rows*c.columns, 4)
			if width == 2 {
				outs = kernels.Integers{}
				clear(outValues)
			}
			order, ends := make([]uint32, c.columns), make([]uint64, c.parts)
			for i, k := range rng.Perm(c.columns) {
				order[i] = uint32(k)
			}
			for p := range ends {
				ends[p] = uint64(c.columns * (p + 1) / c.parts)
			}
			weights, beta := vectorQM31(rng, c.columns, 1), vectorQM31(rng, 2, 1)[1]
			var list kernels.RowJobs
			job := kernels.RowSums{Rows: c.rows, Columns: c.columns, Parts: c.parts, Order: put(t, d, order), Ends: put(t, d, ends), Weights: put(t, d, weights)}
			must(t, list.Add(keys, kernels.Integers{}, kernels.RowSums{Rows: c.rows, Columns: 1, Parts: 1, Order: put(t, d, []uint32{0}),
				Ends: put(t, d, []uint64{1}), Weights: job.Weights}, beta)) // another one before it
			before := list.Sums
			must(t, list.Add(keys, outs, job, beta))
			out := put(t, d, make([]field.QM31, list.Sums))
			must(t, kernels.LogUpRowSums(d, out, &list, put(t, d, list.Jobs)))
			want := make([]field.QM31, c.rows*c.parts)
			for x := range c.rows {
				k := uint64(0)
				for p, end := range ends {
					for ; k < end; k++ {
						i := x*c.columns + int(order[k])
						v := field.FromM31(field.FromInt32(keyValues[i])).Add(beta.MulM31(field.FromInt32(outValues[i])))
						want[x*c.parts+p] = want[x*c.parts+p].Add(weights[k].Mul(v))
					}
				}
			}
			same(t, fmt.Sprintf("%+v, width %d", c, width), get[field.QM31](t, d, out, list.Sums)[before:], want)
		}
	}
}

// TestColumnSums compares sums of the columns of steps over their rows with their definition.
func TestColumnSums(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(15, 16))
	var list kernels.ColumnJobs
	var want []field.QM31
	for _, c := range []struct{ rows, columns int }{{1, 1}, {7, 5}, {3, 300}, {300, 3}, {130, 260}} {
		for _, width := range []int{1, 2, 4} {
			keys, keyValues := integers(t, d, rng, c.rows*c.columns, width)
			outs, outValues := integers(t, d, rng, c.rows*c.columns, []int{2, 4, 1}[width/2])
			if width == 2 {
				outs = kernels.Integers{}
				clear(outValues)
			}
			weights, beta := vectorQM31(rng, c.rows, 1), vectorQM31(rng, 2, 1)[1]
			scaled := make([]field.QM31, c.rows)
			for i, w := range weights {
				scaled[i] = w.Mul(beta)
			}
			must(t, list.Add(keys, outs, c.rows, c.columns, put(t, d, weights), put(t, d, scaled)))
			for y := range c.columns {
				sum := field.Zero
				for x, w := range weights {
					i := x*c.columns + y
					sum = sum.Add(w.Mul(field.FromM31(field.FromInt32(keyValues[i])).Add(beta.MulM31(field.FromInt32(outValues[i])))))
				}
				want = append(want, sum)
			}
		}
	}
	out := put(t, d, make([]field.QM31, list.Sums))
	must(t, kernels.LogUpColumnSums(d, out, &list, put(t, d, list.Jobs)))
	same(t, "columns", get[field.QM31](t, d, out, list.Sums), want)
}
