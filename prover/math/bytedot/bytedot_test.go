package bytedot

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
)

// bothWays runs a test with the kernels, where there are any, and without.
func bothWays(t *testing.T, test func(t *testing.T)) {
	best := fast
	defer func() { fast = best }()
	for _, f := range []bool{false, best} {
		fast = f
		test(t)
	}
}

func TestSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	bothWays(t, func(t *testing.T) {
		for _, columns := range []int{0, 4, 8, 12, 64, 72, 256, MaxColumns} {
			for _, n := range []int{1, 3, 9, 15, 16} {
				if columns == MaxColumns && n != 9 {
					continue
				}
				weights := make([]field.QM31, columns)
				for i := range weights {
					weights[i] = field.NewQM31(element31(rng), element31(rng), element31(rng), element31(rng))
				}
				rows, want := make([][]int8, n), make([]field.QM31, n)
				for i := range rows {
					rows[i] = make([]int8, columns)
					for c := range rows[i] {
						rows[i][c] = int8(rng.Uint32())
						if i == 0 {
							rows[i][c] = -128 // the largest sums
						}
						want[i] = want[i].Add(weights[c].MulM31(field.FromInt32(int32(rows[i][c]))))
					}
				}
				table := make([]byte, TableBytes(columns))
				Pack(table, weights)
				packed := make([]byte, TableBytes(columns))
				for i := range packed {
					packed[i] = 99 // which is overwritten
				}
				PackRows(packed, rows)
				sums := make([]field.QM31, n)
				sums[0] = field.One // which is overwritten
				if Sums(sums, packed, table); !slices.Equal(sums, want) {
					t.Errorf("fast %v: other sums of %d rows of %d columns", fast, n, columns)
				}
			}
		}
	})
}

// element31 returns an element, often one with large bytes.
func element31(rng *rand.Rand) field.M31 {
	if rng.IntN(4) == 0 {
		return field.P - 1
	}
	return field.M31(rng.Uint32N(field.P))
}

func TestSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	alloc := func() []int8 { return make([]int8, 100) }
	cases := map[string]struct {
		values []int32
		planes int
	}{
		"zero":  {make([]int32, 37), 0},
		"bytes": {[]int32{-128, 127, 0, -1, 1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, 1},
		"128":   {append(make([]int32, 20), 128), 2},
		"−129":  {append(make([]int32, 3), -129), 2},
		"words": {[]int32{math.MaxInt32, math.MinInt32, math.MaxInt32 - 128, -1, 0}, 5},
		"least": {[]int32{math.MinInt32}, 4},
	}
	random := make([]int32, 100)
	for i := range random {
		random[i] = int32(rng.Uint32()) >> rng.IntN(32)
	}
	cases["random"] = struct {
		values []int32
		planes int
	}{random, 5}
	bothWays(t, func(t *testing.T) {
		for name, c := range cases {
			planes := Split(slices.Clone(c.values), alloc)
			if len(planes) > c.planes || name != "random" && len(planes) != c.planes {
				t.Errorf("fast %v, %s: %d planes, want %d", fast, name, len(planes), c.planes)
			}
			for i, v := range c.values {
				sum, mod := int64(0), field.M31(0)
				for k, p := range planes {
					sum += int64(p[i]) << (8 * k)
					mod = mod.Add(field.FromInt32(int32(p[i])).Mul(Place(k)))
				}
				if sum != int64(v) || mod != field.FromInt32(v) {
					t.Fatalf("fast %v, %s: digits of %d are those of %d", fast, name, v, sum)
				}
			}
			back := make([]int32, len(c.values)/2)
			if Join(back, planes, 1); !slices.Equal(back, c.values[1:][:len(back)]) {
				t.Errorf("fast %v, %s: joined to other values", fast, name)
			}
		}
	})
}

func BenchmarkSums(b *testing.B) {
	const columns = 2048
	rows, table, sums := make([]byte, TableBytes(columns)), make([]byte, TableBytes(columns)), make([]field.QM31, MaxRows)
	for b.Loop() {
		Sums(sums, rows, table)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*columns*MaxRows), "ns/product")
}

func BenchmarkPackRows(b *testing.B) {
	const columns = 2048
	rows := make([][]int8, MaxRows)
	for i := range rows {
		rows[i] = make([]int8, columns)
	}
	packed := make([]byte, TableBytes(columns))
	for b.Loop() {
		PackRows(packed, rows)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*columns*MaxRows), "ns/byte")
}
