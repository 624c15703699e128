package fixed

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
	"pgregory.net/rapid"
)

// TestMatrixFormula: what is found is what the matrix is, entry by entry; and every
// formula that leaves both kinds of entries is found.
func TestMatrixFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := []int{rapid.IntRange(2, 7).Draw(t, "rows"), rapid.IntRange(2, 7).Draw(t, "columns")}
		f := model.Formula{Kind: model.FormulaKind(rapid.IntRange(0, 2).Draw(t, "kind")), Offset: int64(rapid.IntRange(-8, 8).Draw(t, "offset"))}
		v := ints.All(f.Values(shape))
		mixed := slices.Contains(v, 0) && slices.Contains(v, 1)
		if rapid.Bool().Draw(t, "altered") {
			mixed = false
			v[rapid.IntRange(0, len(v)-1).Draw(t, "entry")] ^= 1
		}
		got := matrixFormula(shape[0], shape[1], func(at int) bool { return v[at] != 0 })
		if got == nil {
			if mixed {
				t.Fatalf("%+v of %v is not found", f, shape)
			}
			return
		}
		if !slices.Equal(ints.All(got.Values(shape)), v) {
			t.Fatalf("%v is taken for %+v", v, *got)
		}
	})
}

// integers is a circuit to try steps in.
type integers struct {
	*Builder
}

func newIntegers() *integers {
	l := NewBuilder("test", &Recall[*Column]{})
	l.Plan = Plan{TableBits: 16, Bits: 13}
	return &integers{l}
}

func (l *integers) input(shape []int, lo, hi int64) model.TensorID {
	id := l.Add(model.Tensor{Name: "x", Shape: shape, Kind: model.Input, Min: lo, Max: hi})
	l.Circuit.Inputs = append(l.Circuit.Inputs, id)
	return id
}

// run runs the circuit, which must be valid, with the tensors as outputs, and
// checks every constraint and bound.
func (l *integers) run(t *testing.T, outputs []model.TensorID, in ...[]int32) *forward.Witness {
	t.Helper()
	l.Circuit.Outputs = outputs
	g, err := (&model.Template{Graph: l.Circuit}).At(model.Instance{})
	if err != nil {
		t.Fatal(err)
	}
	weights := make(model.Weights, len(g.Tensors))
	for _, f := range l.FixedTensors {
		weights[f.ID] = f.Values(&g.Tensors[f.ID])
	}
	w, err := forward.Run(context.Background(), g, weights, in)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	return w
}

// Limbs make the number that they were cut from, from any of them on rounded, at
// the ends of its range too.
func TestLimbs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		lo, hi          int64
		bits, top, want int
	}{
		{-1 << 27, 1<<27 - 1, 6, 9, 4}, {-1 << 27, 1 << 27, 7, 6, 4}, {-1 << 19, 1 << 19, 10, 9, 2}, {0, 1<<20 - 1, 10, 10, 2},
		{-100, 100, 6, 9, 1}, {-1 << 28, 1 << 28, 10, 10, 3}, {5, 1 << 24, 8, 8, 3}, {-1 << 20, -1 << 10, 6, 9, 3},
	} {
		l := newIntegers()
		const n = 500
		id := l.input([]int{n}, c.lo, c.hi)
		limbs := l.limbs(id, c.bits, c.top)
		if len(limbs) != c.want {
			t.Errorf("%+v: %d limbs", c, len(limbs))
		}
		x := make([]int32, n)
		for i := range x {
			x[i] = int32(c.lo + rng.Int64N(c.hi-c.lo+1))
		}
		for i := range min(c.hi-c.lo+1, 200) { // near the ends
			x[2*i], x[2*i+1] = int32(c.lo+i), int32(c.hi-i)
		}
		w := l.run(t, limbs, x)
		for i := range x {
			sum := int64(0)
			for k := len(limbs) - 1; k >= 0; k-- {
				v := int64(w.Tensor(limbs[k])[i])
				if k == len(limbs)-1 && (v < -1<<c.top || v > 1<<c.top) {
					t.Fatalf("%+v: the last limb of %d is %d", c, x[i], v)
				}
				sum = sum<<c.bits + v
				unit := int64(1) << (k * c.bits)
				if d := int64(x[i]) - sum*unit; max(d, -d) > unit/2+unit>>c.bits {
					t.Fatalf("%+v: %d from limb %d on is %d", c, x[i], k, sum)
				}
			}
			if sum != int64(x[i]) {
				t.Fatalf("%+v: the limbs of %d make %d", c, x[i], sum)
			}
		}
	}
}

// TestInverseRoots compares with integers of any size.
func TestInverseRoots(t *testing.T) {
	for _, x := range []struct{ mean, exp int }{{1, 46}, {1, 0}, {3, 44}, {768, 36}, {4096, 34}, {MaxNorm, 28}, {MaxNorm - 1, 29}} {
		for i := range 1 << leadBits {
			got := inverseRoot(x.mean, x.exp, i)
			key := int64(max(i, 1<<(leadBits-2)))
			n := new(big.Int).Quo(new(big.Int).Lsh(big.NewInt(int64(x.mean)), uint(x.exp+2)), big.NewInt(2*key+1))
			if want := (n.Sqrt(n).Int64() + 1) / 2; int64(got) != want {
				t.Fatalf("√(%d·2^%d/(2·%d + 1)) is %g, not %d", x.mean, x.exp, key, got, want)
			}
		}
	}
}

// Piecewise tables give the function they are named after on every key.
func TestPiecewiseTables(t *testing.T) {
	l := newIntegers()
	l.Plan = Plan{TableBits: 6, Bits: 4}
	clip := func(x, lo, hi int64) int64 { return min(max(x, lo), hi) }
	for _, c := range []struct{ lo, hi int64 }{{-8, 7}, {0, 7}, {-1000, 1000}, {3, 5}, {-32, 31}, {0, 0}, {-5, -2}} {
		for k, f := range map[kind]func(x int64) int64{
			Keep: func(x int64) int64 { return clip(x, c.lo, c.hi) },
			Absolute: func(x int64) int64 {
				return clip(max(x, -x), max(c.lo, 0), c.hi)
			},
			Sign: func(x int64) int64 {
				if x < 0 {
					return clip(-1, c.lo, c.hi)
				}
				return clip(1, c.lo, c.hi)
			},
		} {
			if k == Absolute && c.hi < 0 || k == Sign && (c.lo > 1 || c.hi < -1 || c.lo > -1 || c.hi < 1) {
				continue
			}
			table := l.Circuit.Tables[l.PiecewiseOf(k, c.lo, c.hi, l.Plan.TableBits)]
			for key := table.Min; table.Contains(key); key++ {
				if got := table.Value(key, nil); got != f(key) {
					t.Fatalf("%s: %d gives %d, want %d", table.Name, key, got, f(key))
				}
			}
		}
	}
}

func TestReshapeView(t *testing.T) {
	for _, c := range []struct{ in, out []int }{
		{[]int{2, 3, 4}, []int{6, 4}}, {[]int{6, 4}, []int{2, 3, 4}}, {[]int{1, 5}, []int{5}}, {[]int{5}, []int{5, 1, 1}},
		{[]int{2, 6}, []int{3, 4}}, {[]int{1, 1}, nil}, {nil, []int{1, 1, 1}}, {[]int{1, 4, 1, 6}, []int{4, 2, 3, 1}}, {[]int{7, 2, 2}, []int{7, 4}},
	} {
		src := make(ints.Int8s, model.Size(c.in))
		for i := range src {
			src[i] = int8(i + 1)
		}
		v := ReshapeView(c.in, c.out)
		if got := v.Gather(src, c.in, c.out); !reflect.DeepEqual(got, ints.Ints(src)) {
			t.Errorf("%v to %v: %v", c.in, c.out, got)
		}
		outs, ins := map[int]int{}, map[int]int{}
		for _, g := range v.Groups {
			for _, a := range g.Out {
				outs[a]++
			}
			for _, a := range g.In {
				ins[a]++
			}
		}
		if len(outs) != len(c.out) || len(ins) != len(c.in) {
			t.Errorf("%v to %v: groups %+v", c.in, c.out, v.Groups)
		}
	}
}

// A rectified accumulator is what it says, at the ends of its range as well, on its own
// scale and on coarser ones.
func TestRectified(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		most        int64
		drop, bits  int
		least, more int64 // of the result, on any of the entries
	}{
		{1 << 28, 0, 20, 0, 1<<20 - 1}, {1 << 28, 8, 20, 0, 1<<20 - 1}, {1 << 28, 8, 18, 0, 1<<18 - 1}, {1<<22 - 1, 0, 20, 0, 1<<20 - 1},
	} {
		l := newIntegers()
		const n = 600
		id := l.input([]int{n}, -c.most, c.most)
		out := l.rectified("y", l.View(id, nil, []int{n}), -c.drop, c.bits)
		x := make([]int32, n)
		for i := range x {
			x[i] = int32(c.most) - int32(rng.Int64N(2*c.most+1))
			if i < n/2 { // around zero, and the ends
				x[i] = []int32{0, int32(c.most), int32(-c.most), 1 << (c.bits + c.drop)}[i%4] + int32(i/4) - n/16
				x[i] = max(-int32(c.most), min(int32(c.most), x[i]))
			}
		}
		w := l.run(t, []model.TensorID{out}, x)
		p := l.SplitOf(out)
		for i, y := range w.Tensor(out) {
			half := int64(1) << c.drop >> 1
			want := max((int64(x[i])+half)>>c.drop, 0)
			top := int64(1)<<c.bits - 1
			// What is beyond the clamp keeps its low limb.
			if got := int64(y); got != want && !(want > top && got > top-1<<p.Bits && got <= top) {
				t.Fatalf("%+v: %d becomes %d, not %d", c, x[i], y, want)
			}
		}
	}
}

// A clamp within the bits of a value is exact for all entries, also where the value is first rounded to limbs, of which a clamp of the
// high one leaves the low one as it is.
func TestClampBehindLimbs(t *testing.T) {
	const n, drop = 400, 4
	for _, bits := range []int{6, 10, 12, 14} {
		for _, clamp := range []int64{1<<(bits-1) - 1, 1 << (bits - 1), 7 << (bits - 3), 1<<bits - 2} {
			for _, f := range []Piecewise{{Keep, 0, float64(clamp)}, {Keep, -float64(clamp), float64(clamp)}, {Keep, -float64(clamp), math.Inf(1)}} {
				l := newIntegers()
				id := l.Add(model.Tensor{Name: "x", Shape: []int{n}, Kind: model.Input, Frac: drop, Min: -1 << 22, Max: 1 << 22})
				l.Circuit.Inputs = append(l.Circuit.Inputs, id)
				out := l.RoundOn("y", l.Of(id), 0, bits, f)
				if len(l.Splits) == 0 {
					t.Fatalf("%d bits: the value is not rounded to limbs", bits)
				}
				x := make([]int32, n)
				for i := range x {
					x[i] = int32((i - n/2) * (1 << 22) / (n / 2))
					if i%4 == 0 {
						x[i] = int32((int64(i/4)-n/8)*clamp) << drop / (n / 16)
					}
				}
				w := l.run(t, []model.TensorID{out}, x)
				for i, y := range w.Tensor(out) {
					key := (int64(x[i]) + 1<<(drop-1)) >> drop
					if f.Hi > float64(clamp) && key >= 1<<bits {
						continue // beyond the bits, where a low limb stays as it is
					}
					if want := int64(math.Max(f.Lo, math.Min(f.Hi, float64(key)))); int64(y) != want {
						t.Fatalf("%d bits, clamped to [%g, %g]: %d becomes %d, not %d", bits, f.Lo, f.Hi, key, y, want)
					}
				}
			}
		}
	}
}

// A norm of entries that are next to nothing beside its epsilon is one of small numbers, on the finest scale that there is room for.
func TestNormBesideEpsilon(t *testing.T) {
	for _, frac := range []int{10, 21, 29, 60} {
		l := newIntegers()
		shape := []int{3, 4}
		id := l.Add(model.Tensor{Name: "x", Shape: shape, Kind: model.Input, Frac: frac, Min: -2, Max: 1})
		l.Circuit.Inputs = append(l.Circuit.Inputs, id)
		e := l.Normalised(RowsOf(shape, []int{1}), id, true, 20, 1)
		out := l.Exact("norm", e)
		in := []int32{1, -2, 0, 1, 0, 0, 0, 0, -2, -2, -2, -2}
		for i, y := range l.run(t, []model.TensorID{out}, in).Tensor(out) {
			want := float64(in[i]) * Pow2(-frac) / math.Sqrt(20) * Pow2(e.Frac)
			if math.Abs(float64(y)-want) > 1e-3*math.Abs(want)+1<<17 {
				t.Errorf("2^-%d times %d becomes %d, not %g", frac, in[i], y, want)
			}
		}
	}
}

// A table of rests pays if it has as many uses as rows in all chunks.
func TestPaysRest(t *testing.T) {
	table := ownTable{bits: 14, drop: 10}
	uses := tableUses{table: 3<<14 - 1}
	p := Plan{uses: uses, chunks: 3}
	if p.pays(table) {
		t.Error("too few uses pay")
	}
	uses[table]++
	if !p.pays(table) || p.pays(ownTable{bits: 14, drop: 9}) || !(&Plan{}).pays(table) {
		t.Error("what pays does not, or another table does")
	}
}

// Powers of two and binary logarithms are those of package math, of the least numbers and the greatest.
func TestPowers(t *testing.T) {
	for e := -1100; e <= 1100; e++ {
		if Pow2(e) != math.Ldexp(1, e) {
			t.Errorf("2^%d is %g", e, Pow2(e))
		}
		for _, x := range []float64{math.Ldexp(1, e), math.Ldexp(1.999, e), math.Nextafter(math.Ldexp(1, e), 0)} {
			if _, want := math.Frexp(x); x > 0 && !math.IsInf(x, 0) && FloorLog2(x) != want-1 {
				t.Errorf("log2 of %g is %d", x, FloorLog2(x))
			}
		}
	}
}
