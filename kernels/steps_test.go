package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// tensors are those of chains, on a device and as they should be.
type tensors struct {
	t    *testing.T
	d    kernels.Device
	rng  *rand.Rand
	want map[kernels.Ptr][]int32
	held []kernels.Ptr
}

// leaf returns a tensor of n random numbers of so many bits.
func (x *tensors) leaf(n, width, bits int) kernels.Integers {
	v, at := forwardIntegers(x.t, x.d, x.rng, n, width, bits)
	x.want[at] = v
	return kernels.Integers{At: at, Width: width}
}

// result returns room for n numbers.
func (x *tensors) result(n, width int) kernels.Result {
	at, err := x.d.Alloc(width * n)
	must(x.t, err)
	x.held = append(x.held, at)
	x.want[at] = make([]int32, n)
	return kernels.Result{Integers: kernels.Integers{At: at, Width: width}, Min: -1 << (8*width - 1), Max: 1<<(8*width-1) - 1}
}

// nothing is no result.
func nothing() kernels.Result { return kernels.Result{Min: math.MinInt64, Max: math.MaxInt64} }

// entry is that of an operand by its definition.
func (x *tensors) entry(o *kernels.Operand, fill int64, i, t int) int64 {
	v := x.want[o.At]
	if len(o.Groups) == 0 {
		return int64(v[i])
	}
	at := int64(0)
	for _, g := range o.Groups {
		s := g.Base
		for _, a := range g.Axes {
			k := i
			if a.Sum {
				k = t
			}
			if k /= a.Div; a.Dim > 0 {
				k %= a.Dim
			}
			s += int64(a.Stride * k)
		}
		if g.Table.At != 0 {
			s = int64(x.want[g.Table.At][s])
		}
		if g.Limit > 0 && (s < 0 || s >= g.Limit) {
			return fill
		}
		at += s * g.Step
	}
	return int64(v[at])
}

// run is a step by its definition, and counts what it looks up.
func (x *tensors) run(s *kernels.Step, acc []int64, counts []int32) {
	for i := range s.N {
		sum := s.Const
		if s.Acc != 0 {
			sum += acc[int(s.Acc-kernels.AccOfLaunch)/8+i]
		}
		for k := range s.Terms {
			term := &s.Terms[k]
			for t := range term.Summands {
				v := term.Coef
				for j := range term.Operands {
					v *= x.entry(&term.Operands[j], term.Fill, i, t)
				}
				sum += v
			}
		}
		out, rest := sum, int64(0)
		switch s.Kind {
		case kernels.LookUpStep:
			key := sum >> s.Shift
			rest = sum - key<<s.Shift
			counts[key-s.Table.Min]++
			if s.Keys.At != 0 {
				x.want[s.Keys.At][i] = int32(key)
			}
			out = s.Table.Value(key, x.want[s.Values.At])
		case kernels.DivideStep:
			d := int64(x.want[s.Den.At][i])
			out = int64(math.Floor(float64(sum) / float64(d)))
			rest = sum - out*d
		}
		if s.Out.At != 0 {
			x.want[s.Out.At][i] = int32(out)
		}
		if s.Lo.At != 0 {
			x.want[s.Lo.At][i] = int32(rest)
		}
	}
}

// same compares a tensor of a width with what it should be.
func (x *tensors) same(what string, at kernels.Ptr, width int) {
	x.t.Helper()
	want := x.want[at]
	var got []int32
	switch width {
	case 1:
		v := make([]int8, len(want))
		must(x.t, kernels.DownloadSlice(x.d, v, at))
		for _, y := range v {
			got = append(got, int32(y))
		}
	case 2:
		v := make([]int16, len(want))
		must(x.t, kernels.DownloadSlice(x.d, v, at))
		for _, y := range v {
			got = append(got, int32(y))
		}
	default:
		got = make([]int32, len(want))
		must(x.t, kernels.DownloadSlice(x.d, got, at))
	}
	for i := range got {
		if got[i] != want[i] {
			x.t.Fatalf("%s: entry %d of %d is %d, want %d", what, i, len(want), got[i], want[i])
		}
	}
}

// TestChains: chains of steps of all kinds, which read what those before them have written, of few
// and of many entries for a block, with operands that lie in all ways.
func TestChains(t *testing.T) {
	d := devicetest.Open(t)
	many := 66 // more than 6000 entries fill, and in the rows of chains one, two or more to each
	if *kernels.Full {
		many = 528
	}
	for _, blocks := range []int{1, 2, many} {
		for _, n := range []int{1, 2, 3, 6, 128, 1000, 1028, 6000} {
			if !*kernels.Full && blocks > 2 && (n == 2 || n == 6 || n == 1028) { // the host takes long for blocks without an entry
				continue
			}
			t.Run(fmt.Sprintf("%d blocks, %d entries", blocks, n), func(t *testing.T) {
				defer kernels.SetStepBlocks(blocks)()
				testChains(t, d, n, uint64(blocks))
			})
		}
	}
}

func testChains(t *testing.T, d kernels.Device, n int, seed uint64) {
	x := &tensors{t: t, d: d, rng: rand.New(rand.NewPCG(seed, uint64(n))), want: map[kernels.Ptr][]int32{}}
	defer func() {
		for _, p := range x.held {
			d.Free(p)
		}
	}()
	var records kernels.Records
	inPlace := func(v kernels.Integers) kernels.Operand { return kernels.Operand{Integers: v} }
	term := func(coef int64, o ...kernels.Operand) kernels.Term {
		return kernels.Term{Coef: coef, Summands: 1, Operands: o}
	}
	strided := func(v kernels.Integers, base int64, axes ...kernels.OperandAxis) kernels.Operand {
		return kernels.Operand{Integers: v, Groups: []kernels.OperandGroup{{Base: base, Step: 1, Axes: axes}}}
	}
	// A look-up with a sum, or three, of 8-bit numbers, the rest's two limbs, and a virtual tensor of
	// all; counts of tables that fit the counters of a block and of one that does not.
	a, b, row, rows := x.leaf(n, 1, 8), x.leaf(n, 2, 12), x.leaf(4, 2, 10), x.leaf((n+3)/4, 1, 8)
	small := model.Table{Name: "pieces", Kind: model.TablePiecewise, Bits: 12, Min: -1 << 11,
		Pieces: []model.Piece{{End: 1 << 10, Offset: -5}, {End: 3 << 10, Slope: -3, Offset: 1}, {End: 1 << 12, Slope: 1}}}
	large := model.Table{Name: "large", Kind: model.TableRange, Bits: 16, Min: -1 << 15}
	function := model.Table{Name: "function", Kind: model.TableFunc, Bits: 14, Min: -1 << 13}
	values := x.leaf(1<<14, 2, 16)
	pieces := records.Pieces(&small)
	counts := map[*model.Table]kernels.Ptr{}
	counted := map[*model.Table][]int32{}
	for _, table := range []*model.Table{&small, &large, &function} {
		counted[table] = make([]int32, 1<<table.Bits)
		at, err := kernels.NewSlice(d, counted[table])
		must(t, err)
		x.held, counts[table] = append(x.held, at), at
	}
	sums := make([]int64, n+5)
	for i := range sums {
		sums[i] = x.rng.Int64N(1<<22) - 1<<21
	}
	acc, err := kernels.NewSlice(d, sums)
	must(t, err)
	x.held = append(x.held, acc)
	var chain kernels.Chain
	add := func(s kernels.Step) *kernels.Step {
		s.N = n
		chain = append(chain, &s)
		return &s
	}
	first := add(kernels.Step{Kind: kernels.LookUpStep, Const: 77, Shift: 9, Acc: kernels.AccOfLaunch + 8*kernels.Ptr(4+n%2), Table: &large, Counts: counts[&large],
		Keys: x.result(n, 2), Out: nothing(), Lo: x.result(n, 2), Terms: []kernels.Term{term(3, inPlace(a)), term(-1, inPlace(b), inPlace(a))}})
	limb := add(kernels.Step{Kind: kernels.LookUpStep, Shift: 4, Table: &small, Pieces: pieces, Counts: counts[&small], Keys: nothing(), Out: x.result(n, 4),
		Lo: x.result(n, 1), Terms: []kernels.Term{term(1, inPlace(first.Lo.Integers))}})
	add(kernels.Step{Kind: kernels.LookUpStep, Table: &small, Counts: counts[&small], Keys: nothing(), Out: nothing(), Lo: nothing(),
		Terms: []kernels.Term{term(1, inPlace(limb.Lo.Integers))}})
	virtual := kernels.Step{Kind: kernels.SumStep, Out: x.result(n, 4), Lo: nothing(), Keys: nothing(), Const: 1}
	for k := range 6 {
		virtual.Terms = append(virtual.Terms, term(int64(k-2), inPlace([]kernels.Integers{limb.Out.Integers, limb.Lo.Integers, a, b}[k%4])))
	}
	sum := add(virtual)
	at := func(div, dim, stride int) kernels.OperandAxis {
		return kernels.OperandAxis{Div: div, Dim: dim, Stride: stride}
	}
	add(kernels.Step{Kind: kernels.LookUpStep, Shift: 12, Table: &function, Values: values, Counts: counts[&function], Keys: x.result(n, 2), Out: x.result(n, 2), Lo: x.result(n, 2),
		Terms: []kernels.Term{term(1, inPlace(sum.Out.Integers), strided(row, 0, at(1, 4, 1))), term(5, strided(rows, 0, at(4, 0, 1))), term(7, strided(row, 3)),
			term(2, strided(rows, int64((n-1)/4), at(4, 0, -1)), strided(row, 0, at(3, 2, 2))),
			{Coef: 9, Summands: 1, Fill: -6, Operands: []kernels.Operand{{Integers: a, Groups: []kernels.OperandGroup{{Base: -2, Limit: int64(n), Step: 1, Axes: []kernels.OperandAxis{at(1, 0, 1)}}}}}},
			{Coef: 2, Summands: 3, Operands: []kernels.Operand{strided(row, 0, at(1, 2, 1), kernels.OperandAxis{Sum: true, Div: 1, Stride: 1})}}}})
	den := x.leaf(n, 2, 9)
	for i, v := range x.want[den.At] {
		x.want[den.At][i] = max(1, v, -v)
	}
	must(t, kernels.UploadSlice(d, den.At, converted[int16](x.want[den.At])))
	add(kernels.Step{Kind: kernels.DivideStep, Den: den, Out: x.result(n, 4), Lo: x.result(n, 2), Keys: nothing(), Terms: []kernels.Term{term(1, inPlace(sum.Out.Integers))}})
	// Sums that warps add up: rows, of two operands, and one with gaps; and a step that reads them.
	const summands = 70
	matrix, vector := x.leaf(n*summands, 1, 8), x.leaf(summands, 2, 9)
	ids := x.leaf(summands, 1, 6)
	for i := range x.want[ids.At] {
		x.want[ids.At][i] = int32(i * 7 % summands)
	}
	must(t, kernels.UploadSlice(d, ids.At, converted[int8](x.want[ids.At])))
	t1 := kernels.OperandAxis{Sum: true, Div: 1, Stride: 1}
	wide := kernels.Step{N: n, Kind: kernels.ExactStep, Const: -3, Out: x.result(n, 4), Lo: nothing(), Keys: nothing(), Terms: []kernels.Term{
		{Coef: 1, Summands: summands, Operands: []kernels.Operand{strided(matrix, 0, at(1, 0, summands), t1), strided(vector, 0, t1)}},
		{Coef: -2, Summands: 35, Operands: []kernels.Operand{strided(vector, 1, kernels.OperandAxis{Sum: true, Div: 1, Stride: 2})}},
		{Coef: 4, Summands: summands, Operands: []kernels.Operand{{Integers: vector, Groups: []kernels.OperandGroup{{Step: 1, Limit: 60, Table: ids, Axes: []kernels.OperandAxis{t1}}}}}},
		term(3, inPlace(a)),
	}}
	after := kernels.Step{N: n, Kind: kernels.ExactStep, Out: x.result(n, 4), Lo: nothing(), Keys: nothing(), Terms: []kernels.Term{term(1, inPlace(wide.Out.Integers)), term(1, inPlace(a))}}
	// Steps that count nothing.
	plain := kernels.Step{N: n, Kind: kernels.ExactStep, Out: x.result(n, 4), Lo: nothing(), Keys: nothing(), Terms: []kernels.Term{term(2, inPlace(b)), term(-1, inPlace(a))}}
	product := kernels.Step{N: n, Kind: kernels.ExactStep, Out: x.result(n, 4), Lo: nothing(), Keys: nothing(), Terms: []kernels.Term{term(1, inPlace(plain.Out.Integers), inPlace(a))}}
	chains := []kernels.Chain{chain, {&wide, &after}, {&plain, &product}}
	launch, err := records.Add(chains...)
	must(t, err)
	// The keys of a look-up alone.
	alone := *chain[0]
	keys, err := records.Add(kernels.Chain{&alone})
	must(t, err)
	code, err := kernels.NewSlice(d, records.Words())
	must(t, err)
	bad, err := kernels.NewSlice(d, []uint32{0})
	must(t, err)
	x.held = append(x.held, code, bad)
	bases := &kernels.Bases{Code: code, Small: bad}
	must(t, kernels.RunSteps(d, launch, bases, acc))
	for _, c := range chains {
		for _, s := range c {
			x.run(s, sums, counted[s.Table])
		}
	}
	check := func() {
		t.Helper()
		for i, c := range chains {
			for j, s := range c {
				for k, r := range []kernels.Result{s.Keys, s.Out, s.Lo} {
					if r.At != 0 {
						x.same(fmt.Sprintf("chain %d, step %d, result %d", i, j, k), r.At, r.Width)
					}
				}
			}
		}
		for table, at := range counts {
			got := make([]int32, len(counted[table]))
			must(t, kernels.DownloadSlice(d, got, at))
			if !slices.Equal(got, counted[table]) {
				t.Errorf("table %s is counted wrongly", table.Name)
			}
		}
		word := []uint32{0}
		must(t, kernels.DownloadSlice(d, word, bad))
		if word[0] != 0 {
			t.Error("refused")
		}
	}
	check()
	// As those of a row, which counts nothing and keeps no keys.
	for _, c := range chains {
		for _, s := range c {
			for _, r := range []kernels.Result{s.Out, s.Lo} {
				if r.At != 0 {
					must(t, d.Clear(r.At, n*r.Width))
				}
			}
		}
	}
	ofRow, err := records.AddRow(chains...)
	must(t, err)
	rowCode, err := kernels.NewSlice(d, records.Words())
	must(t, err)
	x.held = append(x.held, rowCode)
	must(t, kernels.RunRow(d, ofRow, &kernels.Bases{Code: rowCode, Small: bad}, acc))
	check()
	// Again, without counts; and keys alone.
	must(t, kernels.RunStepsAgain(d, launch, bases, acc))
	only := x.result(n, 2)
	must(t, kernels.MakeKeys(d, only.At, keys, bases, acc))
	check()
	copy(x.want[only.At], x.want[first.Keys.At])
	x.same("keys", only.At, 2)
	if kernels.MakeKeys(d, only.At, launch, bases, acc) == nil {
		t.Error("keys of a launch of several steps")
	}
}

// TestTallies: look-ups are counted by keys of all widths, in tables that a block counts as a whole,
// in parts, and not at all by itself; a key without a row is noticed.
func TestTallies(t *testing.T) {
	d := devicetest.Open(t)
	x := &tensors{t: t, d: d, rng: rand.New(rand.NewPCG(6, 7)), want: map[kernels.Ptr][]int32{}}
	keep, free := holding(t, d)
	defer free()
	var list []kernels.Tally
	var want [][]int32
	for i, bits := range []int{0, 3, 14, 15, 16, 17} {
		table := &model.Table{Kind: model.TableRange, Bits: bits, Min: int64(-1) << bits / 2}
		if i%2 == 0 {
			table.Min = 0
		}
		counts := make([]int32, 1<<bits)
		for j := range counts {
			counts[j] = int32(j % 3)
		}
		y := kernels.Tally{Table: table, Counts: keep(kernels.NewSlice(d, counts))}
		for k, n := range []int{1, 5, 300, 9000, 4096} {
			keys := make([]int32, n)
			plus := int64(k - 2)
			for j := range keys {
				row := x.rng.IntN(1 << bits)
				if k == 3 && j%9 > 0 { // many have the same
					row = min(1, 1<<bits-1)
				}
				counts[row]++
				keys[j] = int32(table.Min + int64(row) - plus)
			}
			v := kernels.TallyKeys{N: n, Plus: plus}
			switch {
			case bits < 7 && k%2 == 0:
				v.Integers = kernels.Integers{At: keep(kernels.NewSlice(d, converted[int8](keys))), Width: 1}
			case bits < 15 && k < 3:
				v.Integers = kernels.Integers{At: keep(kernels.NewSlice(d, converted[int16](keys))), Width: 2}
			default:
				v.Integers = kernels.Integers{At: keep(kernels.NewSlice(d, keys)), Width: 4}
			}
			y.Keys = append(y.Keys, v)
		}
		list, want = append(list, y), append(want, counts)
	}
	run := func(list []kernels.Tally) uint32 {
		var records kernels.Records
		l, err := records.AddTallies(list)
		must(t, err)
		bad := keep(kernels.NewSlice(d, []uint32{0}))
		must(t, kernels.RunTallies(d, l, &kernels.Bases{Code: keep(kernels.NewSlice(d, records.Words())), Small: bad}))
		word := []uint32{0}
		must(t, kernels.DownloadSlice(d, word, bad))
		return word[0]
	}
	if run(list) != 0 {
		t.Error("refused")
	}
	for i := range list {
		got := make([]int32, len(want[i]))
		must(t, kernels.DownloadSlice(d, got, list[i].Counts))
		if !slices.Equal(got, want[i]) {
			t.Errorf("2^%d rows are counted wrongly", list[i].Table.Bits)
		}
	}
	for i := range list {
		for _, wrong := range []int64{list[i].Table.Min - 1, list[i].Table.Min + 1<<list[i].Table.Bits} {
			keys := kernels.Integers{At: keep(kernels.NewSlice(d, []int32{int32(list[i].Table.Min), int32(wrong)})), Width: 4}
			one := kernels.Tally{Table: list[i].Table, Counts: list[i].Counts, Keys: []kernels.TallyKeys{{Integers: keys, N: 2}}}
			if run([]kernels.Tally{one}) != 1 {
				t.Errorf("2^%d rows: key %d is accepted", list[i].Table.Bits, wrong)
			}
		}
	}
	var records kernels.Records
	if l, err := records.AddTallies(nil); err != nil || kernels.RunTallies(d, l, &kernels.Bases{}) != nil {
		t.Error("nothing cannot be counted")
	}
	if _, err := records.AddTallies([]kernels.Tally{{Table: list[0].Table}}); err == nil {
		t.Error("a tally without keys is accepted")
	}
}

// What a chain may not be is refused.
func TestChainsRefused(t *testing.T) {
	step := func(n int) *kernels.Step {
		return &kernels.Step{N: n, Terms: []kernels.Term{{Coef: 1, Summands: 1, Operands: []kernels.Operand{{Integers: kernels.Integers{At: 256, Width: 1}}}}}}
	}
	var r kernels.Records
	if _, err := r.Add(kernels.Chain{step(3), step(3)}, kernels.Chain{step(1)}); err != nil {
		t.Error(err)
	}
	none, many := step(3), step(3)
	none.Terms[0].Operands = nil
	many.Terms[0].Summands = 0
	for name, c := range map[string]kernels.Chain{"empty": {}, "two sizes": {step(3), step(4)}, "no entries": {step(0)}, "no operands": {none}, "no summands": {many}} {
		if _, err := r.Add(c); err == nil {
			t.Errorf("%s is accepted", name)
		}
		if _, err := r.AddRow(c); err == nil {
			t.Errorf("%s is accepted of a row", name)
		}
	}
	long := step(3)
	for i := range 4000 {
		o := kernels.Operand{Integers: kernels.Integers{At: kernels.Ptr(256 * i), Width: 1}}
		long.Terms = append(long.Terms, kernels.Term{Coef: 1, Summands: 1, Operands: []kernels.Operand{o}})
	}
	if _, err := r.AddRow(kernels.Chain{long}); err == nil {
		t.Error("a step of a row that fits in no shared memory is accepted")
	}
	makes, sums := step(3), step(3)
	makes.Out = kernels.Result{Integers: kernels.Integers{At: 512, Width: 4}}
	sums.Terms[0].Operands[0].At, sums.Terms[0].Summands = makes.Out.At, 2
	if _, err := r.AddRow(kernels.Chain{makes, sums}); err == nil {
		t.Error("a sum of what a step of a row's chain makes is accepted")
	}
}

// A row goes where its index says, in whatever widths, and nowhere if there is no such row.
func TestPutRow(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(8, 9))
	keep, free := holding(t, d)
	defer free()
	list := func(v []int32, width int) kernels.Integers {
		at := kernels.Integers{Width: width}
		switch width {
		case 1:
			at.At = keep(kernels.NewSlice(d, converted[int8](v)))
		case 2:
			at.At = keep(kernels.NewSlice(d, converted[int16](v)))
		default:
			at.At = keep(kernels.NewSlice(d, v))
		}
		return at
	}
	for _, c := range []struct{ before, rows, after int }{{1, 1, 1}, {1, 5, 7}, {3, 4, 300}, {6, 9, 1}} {
		for at := range c.rows + 1 { // the last one is none
			want, row := make([]int32, c.before*c.rows*c.after), make([]int32, c.before*c.after)
			for i := range want {
				want[i] = int32(rng.IntN(200) - 100)
			}
			for i := range row {
				row[i] = int32(rng.IntN(200) - 100)
			}
			whole := list(want, 2)
			must(t, kernels.PutRow(d, whole, list(row, []int{1, 2, 4}[at%3]), list([]int32{int32(at)}, []int{4, 1, 2}[at%3]), c.before, c.rows, c.after))
			for b := range c.before {
				if at < c.rows {
					copy(want[(b*c.rows+at)*c.after:][:c.after], row[b*c.after:])
				}
			}
			got := make([]int16, len(want))
			must(t, kernels.DownloadSlice(d, got, whole.At))
			if !slices.Equal(got, converted[int16](want)) {
				t.Errorf("%+v: row %d is put elsewhere", c, at)
			}
		}
	}
	if err := kernels.PutRow(d, kernels.Integers{}, kernels.Integers{}, kernels.Integers{}, 1, 0, 1); err == nil {
		t.Error("no rows are accepted")
	}
}
