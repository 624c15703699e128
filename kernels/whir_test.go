package kernels_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// testStack is a stack of tensors of every width on a device and in memory.
type testStack struct {
	kernels.Stack
	g    *model.Graph
	all  *model.Stack
	data []ints.Ints
}

// newTestStack stacks random tensors of some shapes, of 1, 2, 4, 1, … bytes an entry. With runs
// blocks say as far as they can that entries lie behind each other.
func newTestStack(t *testing.T, d kernels.Device, rng *rand.Rand, shapes [][]int, runs bool) *testStack {
	s := &testStack{g: &model.Graph{}}
	var values []kernels.Ptr
	var ids []model.TensorID
	for i, shape := range shapes {
		v := make([]int32, model.Size(shape))
		width := 1 << (i % 3)
		narrow, short := make([]int8, len(v)), make([]int16, len(v))
		for j := range v {
			v[j] = int32(rng.Uint32()) >> (32 - 8*width)
			narrow[j], short[j] = int8(v[j]), int16(v[j])
		}
		switch width {
		case 1:
			s.data, values = append(s.data, ints.Int8s(narrow)), append(values, upload(t, d, narrow))
		case 2:
			s.data, values = append(s.data, ints.Int16s(short)), append(values, upload(t, d, short))
		default:
			s.data, values = append(s.data, ints.Int32s(v)), append(values, upload(t, d, v))
		}
		ids = append(ids, model.TensorID(i))
		s.g.Tensors = append(s.g.Tensors, model.Tensor{Shape: shape})
	}
	s.all = model.NewStack(s.g, ids)
	var offsets []uint64
	var blocks []kernels.StackBlock
	var axes []kernels.StackAxis
	for _, b := range s.all.Blocks {
		k := kernels.StackBlock{Values: values[b.Tensor], Width: 1 << (b.Tensor % 3), FirstAxis: uint64(len(axes))}
		stride, behind := 1, runs
		for a := len(b.Parts) - 1; a >= 0; a-- {
			p, dim := b.Parts[a], s.g.Tensors[b.Tensor].Shape[a]
			k.Values += kernels.Ptr(p.Start * stride * int(k.Width))
			if behind {
				k.Run += uint64(p.Bits)
			} else {
				axes = append(axes, kernels.StackAxis{Bits: uint64(p.Bits), Stride: uint64(stride)})
				k.Axes++
			}
			behind = behind && 1<<p.Bits == dim
			stride *= dim
		}
		offsets, blocks = append(offsets, b.Offset), append(blocks, k)
	}
	offsets, axes = append(offsets, s.all.Size), append(axes, kernels.StackAxis{})
	s.Stack = kernels.Stack{Offsets: upload(t, d, offsets), Blocks: upload(t, d, blocks), Axes: upload(t, d, axes), Count: len(blocks)}
	return s
}

// fill sets dst to entries of the stack from one on.
func (s *testStack) fill(from uint64, dst []int32) { s.all.Fill(s.g, s.data, from, dst) }

// TestPackStack packs rows of stacks of tensors of every width.
func TestPackStack(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(21, 22))
	// Blocks of less than a tile of the kernels and of more, at addresses that are aligned and
	// that are not.
	shapes := [][]int{{3, 5, 6}, {21}, {9, 4}, {40, 512}, {24, 1024}, {3, 4096}, {19, 64}, {3, 8195}}
	for _, runs := range []bool{false, true} {
		s := newTestStack(t, d, rng, shapes, runs)
		whole := make([]int32, s.all.Size+9)
		s.fill(0, whole)
		for _, from := range []int{0, 3, 4} {
			packed := alloc[int32](t, d, len(whole))
			must(t, kernels.PackStack(d, packed, len(whole)-from, uint64(from), s.Stack))
			if i := firstDifference(download[int32](t, d, packed, len(whole)-from), whole[from:]); i >= 0 {
				t.Errorf("entry %d of the stack differs from %d on", i, from)
			}
		}
		// Rows of several lengths and shifts, all and some of them, to beyond the end.
		for _, c := range []struct {
			rowVars, shift int
			r              kernels.PackedRows
		}{
			{8, 0, kernels.PackedRows{Rows: 1, Slots: 1}},
			{0, 0, kernels.PackedRows{Rows: 70, First: 1, Slots: 66, From: 5}},
			{4, 0, kernels.PackedRows{Rows: 9, First: 2, Slots: 6, From: 32}},
			{14, 0, kernels.PackedRows{Rows: 6, First: 1, Slots: 4}},
			{15, 0, kernels.PackedRows{Rows: 2, Slots: 2, From: 1 << 15}},
			{12, 0, kernels.PackedRows{Rows: 30, Slots: 29, From: 3 << 12}},
			{4, 2, kernels.PackedRows{Rows: 5, First: 3, Slots: 9, From: 16}},
			{2, 3, kernels.PackedRows{Rows: 3, First: 5, Slots: 19}},
			{11, 3, kernels.PackedRows{Rows: 2, First: 3, Slots: 12, From: 1 << 11}},
			{3, 10, kernels.PackedRows{Rows: 2, First: 1, Slots: 2047}},
			{1, 11, kernels.PackedRows{Rows: 2, First: 7, Slots: 4000, From: 2}},
			{0, 13, kernels.PackedRows{Rows: 1, First: 7, Slots: 8000, From: 3}},
		} {
			s.testPlanes(t, d, c.rowVars, c.shift, c.r)
		}
	}
}

// testPlanes packs rows as they are given, in 4 planes and in 3 and 2, with negative entries and without, and once more, each of the
// table rows in a job of its own, in 1.
func (s *testStack) testPlanes(t *testing.T, d kernels.Device, rowVars, shift int, r kernels.PackedRows) {
	t.Helper()
	for _, as := range []kernels.ByteRows{{Width: 4}, {Width: 3}, {Width: 3, Natural: true}, {Width: 2}, {Width: 2, Natural: true}, {Width: 1}, {Width: 1, Natural: true}} {
		width := as.Width
		as.Pitch = kernels.RowPitch(1 << (rowVars + shift))
		r := r
		if as.Natural {
			r.Natural = 1
		}
		const untouched = 0x55
		want := make([]int8, int(r.Rows)*as.Width*as.Pitch)
		for i := range want {
			want[i] = untouched
		}
		out := upload(t, d, want)
		row := make([]int32, 1<<rowVars)
		for k := range int(r.Slots) {
			slot := int(r.First) + k
			part := 0
			for j := range shift {
				part |= slot >> j & 1 << (shift - 1 - j)
			}
			s.fill(r.From+uint64(k)<<rowVars, row)
			for i, v := range row {
				if v = v << (32 - 8*width) >> (32 - 8*width); as.Natural {
					v &= 1<<(8*width) - 1
				}
				putEntry(want[slot>>shift*as.Width*as.Pitch+i<<shift+part:], as, v)
			}
		}
		r.Dst, r.Width = out, uint64(width)
		jobs := []kernels.PackedRows{r}
		if width == 1 {
			jobs = nil
			for i := range r.Rows {
				first, end := max(r.First, i<<shift), min(r.First+r.Slots, (i+1)<<shift)
				if first < end {
					own := kernels.PackedRows{Dst: out.Offset(int(i), as.Width*as.Pitch), Width: 1, Natural: r.Natural, Rows: 1, First: first - i<<shift, Slots: end - first}
					own.From = r.From + (first-r.First)<<rowVars
					jobs = append(jobs, own)
				}
			}
		}
		must(t, kernels.PackPlanes(d, jobs, as.Pitch, rowVars, shift, s.Stack))
		if i := firstDifference(download[int8](t, d, out, len(want)), want); i >= 0 {
			t.Errorf("rows of 2^%d in 2^%d slots, %+v: byte %d differs", rowVars, shift, r, i)
		}
	}
}

// putEntry writes an entry of a row, the first of which is that at dst, as ByteRows says.
func putEntry(dst []int8, as kernels.ByteRows, v int32) {
	rest := int64(v) - int64(kernels.PlaneBias(as.Width, as.Natural))
	for j := range as.Width {
		dst[j*as.Pitch] = int8(rest)
		rest = (rest - int64(int8(rest))) >> 8
	}
}

// weightTables are tables of weights on the device, and their values.
type weightTables struct {
	vars          []int
	parts, tables kernels.Ptr
	values        [][]field.QM31
}

func newWeightTables(t *testing.T, d kernels.Device, rng *rand.Rand, vars []int, eq bool) *weightTables {
	w := &weightTables{vars: vars}
	var parts []kernels.WeightPart
	factors := []field.QM31{{}} // which no weight has
	elements := 3
	for _, v := range vars {
		high, low := kernels.WeightSizes(v)
		parts = append(parts, kernels.WeightPart{High: uint64(elements), Low: uint64(elements + high), Vars: uint64(v), Factors: uint64(len(factors))})
		elements += high + low
		f := vectorQM31(rng, v, 2)
		factors = append(factors, f...)
		slices.Reverse(f)
		if eq {
			w.values = append(w.values, poly.EqTable(f))
		} else {
			w.values = append(w.values, code.WeightTable(f))
		}
	}
	w.parts, w.tables = upload(t, d, parts), alloc[field.QM31](t, d, elements)
	must(t, kernels.MakeWeights(d, w.tables, w.parts, upload(t, d, factors), len(parts), eq))
	return w
}

func (w *weightTables) launch(parts []int) ([]uint64, kernels.Launch) {
	var vars []int
	for _, p := range parts {
		vars = append(vars, w.vars[p])
	}
	return kernels.WeightLaunch(vars)
}

func TestDots(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(23, 24))
	w := newWeightTables(t, d, rng, []int{0, 1, 7, 8, 9, 14}, true)
	values := make([]int32, 1<<16+5)
	for i := range values {
		values[i] = rng.Int32N(1<<31-1) - 1<<30 + 1
		if i%9 == 0 {
			values[i] = 1<<30 - 1 - int32(i/9%2)*(1<<31-2) // the extremes
		}
	}
	as := kernels.ByteRows{Width: 4, Pitch: len(values)}
	bytes := make([]int8, as.Width*as.Pitch)
	for i, v := range values {
		putEntry(bytes[i:], as, v)
	}
	p := upload(t, d, bytes)
	parts := []int{5, 0, 4, 3, 3, 2, 1, 5}
	var jobs []kernels.DotJob
	for i, part := range parts {
		stride := i % 3
		jobs = append(jobs, kernels.DotJob{Bytes: p.Offset(i%5, 1), Part: uint64(part), Stride: uint64(stride), Width: 4, Pitch: uint64(as.Pitch), Bias: uint64(kernels.PlaneBias(4, false))})
	}
	first, l := w.launch(parts)
	sums := upload(t, d, make([]uint64, kernels.SumWords*len(jobs)))
	must(t, kernels.Dots(d, sums, upload(t, d, first), l, upload(t, d, jobs), len(jobs), w.parts, w.tables))
	words := download[uint64](t, d, sums, kernels.SumWords*len(jobs))
	for i, part := range parts {
		e := w.values[part]
		taken := make([]int32, len(e))
		for j := range taken {
			taken[j] = values[i%5+j<<(i%3)]
		}
		want := field.DotInt32(taken, e)
		if got := kernels.FromSum(words[kernels.SumWords*i:]); got != want {
			t.Errorf("job %d over %d variables: %v, want %v", i, w.vars[part], got, want)
		}
	}
}

func TestAddWeights(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(25, 26))
	for _, eq := range []bool{false, true} {
		w := newWeightTables(t, d, rng, []int{0, 5, 8, 10, 14}, eq)
		q := vectorQM31(rng, 1<<17, 3)
		parts := []int{4, 3, 2, 1, 0, 3}
		var jobs []kernels.AddJob
		at := 1
		want := slices.Clone(q)
		for k, p := range parts {
			stride := k % 3
			jobs = append(jobs, kernels.AddJob{Start: uint64(at), Part: uint64(p), Stride: uint64(stride), Coef: vectorQM31(rng, 2, 1)[1]})
			for i, v := range w.values[p] {
				to := at + i<<stride
				want[to] = want[to].Add(v.Mul(jobs[k].Coef))
			}
			at += 1 << (w.vars[p] + stride)
		}
		dq := upload(t, d, q)
		first, l := w.launch(parts)
		must(t, kernels.AddWeights(d, dq, upload(t, d, first), l, upload(t, d, jobs), len(jobs), w.parts, w.tables))
		if i := firstDifference(download[field.QM31](t, d, dq, len(q)), want); i >= 0 {
			t.Errorf("eq %v: entry %d differs", eq, i)
		}
	}
}

// sumsOfParts returns random parts of rows of 2^vars elements, of weights that these have, and
// the rows that they add up to: small ones and some of whole rows, some with strides, none in
// the second row.
func sumsOfParts(t *testing.T, d kernels.Device, rng *rand.Rand, w *weightTables, rows, vars int) (kernels.RowParts, [][]field.QM31) {
	all := make([][]kernels.RowPart, rows)
	want := make([][]field.QM31, rows)
	for r := range want {
		want[r] = make([]field.QM31, 1<<vars)
		count := rng.IntN(5)
		if r == 2 {
			count = 600 // more than a block takes at once
		}
		for range count {
			p := kernels.RowPart{Part: uint64(rng.IntN(len(w.vars))), Coef: vectorQM31(rng, 2, 1)[1]}
			n := w.vars[p.Part]
			if r == 1 || n > vars {
				continue
			}
			p.Stride = uint32(rng.IntN(vars - n + 1))
			span := n + int(p.Stride)
			p.Column = uint32(rng.IntN(1<<(vars-span))<<span + rng.IntN(1<<p.Stride))
			for i, v := range w.values[p.Part] {
				to := &want[r][int(p.Column)+i<<p.Stride]
				*to = to.Add(v.Mul(p.Coef))
			}
			all[r] = append(all[r], p)
		}
	}
	list := kernels.ListParts(rows, vars, w.vars, func(yield func(int, kernels.RowPart) bool) {
		for r, parts := range all {
			for _, p := range parts {
				if !yield(r, p) {
					return
				}
			}
		}
	})
	return w.rowParts(t, d, list), want
}

// rowParts puts a list of parts on the device.
func (w *weightTables) rowParts(t *testing.T, d kernels.Device, l *kernels.PartList) kernels.RowParts {
	return kernels.RowParts{First: upload(t, d, l.First), All: upload(t, d, l.All), Parts: w.parts, Tables: w.tables, Long: l.Long, Others: l.Others}
}

func TestFillRows(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(53, 54))
	w := newWeightTables(t, d, rng, []int{0, 1, 2, 5, 8, 9, 12, 13}, true)
	for _, vars := range []int{0, 1, 5, 10, 12, 14} {
		parts, want := sumsOfParts(t, d, rng, w, 5, vars)
		out := alloc[field.QM31](t, d, 5<<vars)
		must(t, kernels.FillRows(d, out, 5, vars, parts))
		if i := firstDifference(download[field.QM31](t, d, out, 5<<vars), slices.Concat(want...)); i >= 0 {
			t.Errorf("2^%d elements: element %d differs", vars, i)
		}
	}
}

// A row has more long parts than a block takes at once, alone and next to some that are not.
func TestFillRowsLong(t *testing.T) {
	const vars, long = 12, 280
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(55, 56))
	w := newWeightTables(t, d, rng, []int{12, 12, 11, 10}, true)
	want, all := make([]field.QM31, 1<<vars), []kernels.RowPart(nil)
	out := alloc[field.QM31](t, d, 1<<vars)
	for _, others := range []int{0, 20} {
		for len(all) < long+others {
			p := kernels.RowPart{Part: uint64(len(all) % 2), Coef: vectorQM31(rng, 2, 1)[1]}
			if len(all) >= long {
				p.Part += 2
			}
			p.Stride = uint32(vars - w.vars[p.Part])
			for i, v := range w.values[p.Part] {
				to := &want[i<<p.Stride]
				*to = to.Add(v.Mul(p.Coef))
			}
			all = append(all, p)
		}
		list := kernels.ListParts(1, vars, w.vars, func(yield func(int, kernels.RowPart) bool) {
			for _, p := range all {
				if !yield(0, p) {
					return
				}
			}
		})
		if list.First[1] != long || !list.Long || list.Others != (others > 0) {
			t.Fatalf("%d of %d parts are long, %v, others %v", list.First[1], len(all), list.Long, list.Others)
		}
		must(t, kernels.FillRows(d, out, 1, vars, w.rowParts(t, d, list)))
		if i := firstDifference(download[field.QM31](t, d, out, 1<<vars), want); i >= 0 {
			t.Errorf("with %d others element %d differs", others, i)
		}
	}
}

// firstDifference returns the first index at which two slices of one length
// differ, or −1.
func firstDifference[T comparable](a, b []T) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

func TestDotWeight(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(27, 28))
	for _, vars := range []int{0, 3, 8, 11, 14} {
		w := newWeightTables(t, d, rng, []int{vars}, false)
		f := vectorQM31(rng, 1<<vars, 1)
		sum := upload(t, d, make([]uint64, kernels.SumWords))
		must(t, kernels.DotWeight(d, sum, upload(t, d, f), vars, w.parts, w.tables))
		if got, want := kernels.FromSum(download[uint64](t, d, sum, kernels.SumWords)), field.Dot(f, w.values[0]); got != want {
			t.Errorf("%d variables: %v, want %v", vars, got, want)
		}
	}
}

func TestAddPoints(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(29, 30))
	for _, c := range []struct{ vars, n int }{{0, 1}, {1, 3}, {5, 2}, {8, 4}, {9, 5}, {12, 30}} {
		q := vectorQM31(rng, 1<<c.vars, 5)
		points := make([]kernels.PointWeight, c.n)
		want := slices.Clone(q)
		for i, z := range vectorM31(rng, c.n, 1) {
			points[i] = kernels.PointWeight{Coef: vectorQM31(rng, 2, 1)[1], Z: z}
			for j, v := range code.WeightTable(code.PointWeights(field.NewQM31(z, 0, 0, 0), c.vars)) {
				want[j] = want[j].Add(v.Mul(points[i].Coef))
			}
		}
		dq := upload(t, d, q)
		scratch := alloc[uint8](t, d, kernels.PointScratch(c.vars, c.n))
		must(t, kernels.AddPoints(d, dq, c.vars, upload(t, d, points), c.n, scratch))
		if i := firstDifference(download[field.QM31](t, d, dq, len(q)), want); i >= 0 {
			t.Errorf("%+v: entry %d differs", c, i)
		}
	}
}

func TestPair(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(33, 34))
	round := func(f, q []field.QM31) (zero, top field.QM31) {
		h := len(f) / 2
		return field.RoundSums(field.Halves{Lo: f[:h], Hi: f[h:]}, field.Halves{Lo: q[:h], Hi: q[h:]})
	}
	check := func(what string, sums kernels.Ptr, f, q []field.QM31) {
		t.Helper()
		words := download[uint64](t, d, sums, 2*kernels.SumWords)
		zero, top := round(f, q)
		if z, p := kernels.FromSum(words), kernels.FromSum(words[kernels.SumWords:]); z != zero || p != top {
			t.Errorf("%s of %d: %v, %v, want %v, %v", what, len(f), z, p, zero, top)
		}
	}
	for _, n := range []int{2, 4, 64, 1024, 4096} {
		f, q := vectorQM31(rng, n, 1), vectorQM31(rng, n, 2)
		df, dq := upload(t, d, f), upload(t, d, q)
		sums := upload(t, d, make([]uint64, 2*kernels.SumWords))
		must(t, kernels.PairRound(d, df, dq, n, kernels.Kept(sums)))
		check("PairRound", sums, f, q)
		r := vectorQM31(rng, 2, 1)[1]
		must(t, d.Clear(sums, 2*kernels.SizeSum))
		if n == 2 {
			must(t, kernels.PairEnd(d, df, dq, n, r))
		} else {
			must(t, kernels.PairBind(d, df, dq, n, r, kernels.Kept(sums)))
		}
		for _, x := range []*[]field.QM31{&f, &q} {
			field.FoldVec((*x)[:n/2], *x, r)
			*x = (*x)[:n/2]
		}
		if i := firstDifference(download[field.QM31](t, d, df, n/2), f); i >= 0 {
			t.Errorf("PairBind of %d: entry %d of f differs", n, i)
		}
		if i := firstDifference(download[field.QM31](t, d, dq, n/2), q); i >= 0 {
			t.Errorf("PairBind of %d: entry %d of q differs", n, i)
		}
		if n > 2 {
			check("PairBind", sums, f, q)
			must(t, kernels.PairEnd(d, df, dq, n/2, r))
			field.FoldVec(f[:n/4], f, r)
			if i := firstDifference(download[field.QM31](t, d, df, n/4), f[:n/4]); i >= 0 {
				t.Errorf("PairEnd of %d: entry %d of f differs", n/2, i)
			}
		}
	}
	if err := kernels.PairRound(d, 1, 1, 3, kernels.Kept(1)); err == nil {
		t.Error("three entries")
	}
}
