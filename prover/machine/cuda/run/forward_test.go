package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// circuit draws circuits: steps of all kinds, on views and products of all kinds.
type circuit struct {
	*rand.Rand
	g      *model.Graph
	w      model.Weights
	inputs [][]int32
	given  [][]int32        // imported tensors
	pool   []model.TensorID // that a step may read
	tables []model.TableID
}

func (c *circuit) oneOf(n ...int) int { return n[c.IntN(len(n))] }

func (c *circuit) add(t model.Tensor, values ints.Ints) model.TensorID {
	c.g.Tensors, c.w = append(c.g.Tensors, t), append(c.w, values)
	return model.TensorID(len(c.g.Tensors) - 1)
}

// values are n integers of some bits, extremes among them.
func (c *circuit) values(n, bits int) []int32 {
	v := make([]int32, n)
	for i := range v {
		switch v[i] = int32(c.Uint32()) >> (32 - bits); c.IntN(8) {
		case 0:
			v[i] = -1 << (bits - 1)
		case 1:
			v[i] = 1<<(bits-1) - 1
		case 2:
			v[i] = 0
		}
	}
	return v
}

// all are the inputs with what is imported behind them.
func (c *circuit) all() [][]int32 { return slices.Concat(c.inputs, c.given) }

// leaf adds an input, an imported tensor or a fixed one.
func (c *circuit) leaf(shape []int, fixed bool) model.TensorID {
	bits := c.oneOf(3, 8, 8, 12, 16, 20, 31)
	v := c.values(model.Size(shape), bits)
	t := model.Tensor{Shape: shape, Kind: model.Input, Min: -1 << (bits - 1), Max: 1<<(bits-1) - 1}
	if fixed {
		t.Kind = model.Fixed
		return c.add(t, ints.Of(v))
	}
	if len(c.g.Tensors)%3 == 0 {
		t.Kind = model.Witness
		c.given = append(c.given, v)
		id := c.add(t, nil)
		c.g.Apart = append(c.g.Apart, model.Apart{Tensors: []model.TensorID{id}, Imported: true})
		return id
	}
	c.inputs = append(c.inputs, v)
	id := c.add(t, nil)
	c.g.Inputs = append(c.g.Inputs, id)
	return id
}

func (c *circuit) shape() []int {
	var s []int
	for range c.IntN(4) {
		s = append(s, 1+c.IntN(6))
	}
	return s
}

// view draws a view of a tensor of shape in, and its result's shape.
func (c *circuit) view(in []int) (*model.View, []int) {
	if c.IntN(4) == 0 {
		return nil, in
	}
	v, sums := &model.View{}, false
	var out []int
	for a := 0; a < len(in); a++ {
		g := model.Group{In: []int{a}}
		axis := func(d int) {
			g.Out, out = append(g.Out, len(out)), append(out, d)
		}
		switch c.IntN(7) {
		case 0: // as it is
			axis(in[a])
			g.Strides = []int{1}
		case 1: // windows, beyond the edges
			axis(1 + c.IntN(4))
			axis(1 + c.IntN(3))
			g.Base, g.Strides = c.IntN(4)-2, []int{c.IntN(5) - 2, 1}
		case 2: // sums
			sums = true
			g.Sum = []model.SumIndex{{Dim: c.oneOf(1, in[a], in[a], 40), Stride: c.oneOf(1, 1, 0)}}
			if c.IntN(2) == 0 {
				axis(1 + c.IntN(5))
				g.Strides = []int{1}
			}
		case 3: // an index
			axis(1 + c.IntN(6))
			g.Map = model.MapIndex
			for range out[len(out)-1] {
				g.Index = append(g.Index, c.IntN(in[a]+1)-1)
			}
		case 4: // one entry
			g.Base = c.IntN(in[a])
		case 5: // several axes as one
			g.Map = model.MapReshape
			n := in[a]
			if a+1 < len(in) {
				a++
				g.In, n = append(g.In, a), n*in[a]
			}
			d := 1
			for k := 2; k <= n; k++ {
				if n%k == 0 {
					d = k
					break
				}
			}
			axis(n / d)
			axis(d)
		case 6: // what an input names
			n := 1 + c.IntN(5)
			axis(n)
			ids := make([]int32, n)
			for i := range ids {
				ids[i] = int32(c.IntN(in[a]))
			}
			g.Map = model.MapPublic
			g.Ids = c.add(model.Tensor{Shape: []int{n}, Kind: model.Input, Max: int64(in[a]) - 1}, nil)
			c.g.Inputs, c.inputs = append(c.g.Inputs, g.Ids), append(c.inputs, ids)
		}
		v.Groups = append(v.Groups, g)
	}
	if c.IntN(3) == 0 && len(out) < 5 { // repeated
		v.Groups = append(v.Groups, model.Group{Out: []int{len(out)}, Strides: []int{0}})
		out = append(out, 1+c.IntN(4))
	}
	if !sums {
		v.Fill = int64(c.oneOf(0, 0, -7, 300))
	}
	// Output axes in another order.
	perm := c.Perm(len(out))
	turned := make([]int, len(out))
	for i, p := range perm {
		turned[p] = out[i]
	}
	for i := range v.Groups {
		for j := range v.Groups[i].Out {
			v.Groups[i].Out[j] = perm[v.Groups[i].Out[j]]
		}
	}
	return v, turned
}

func (c *circuit) pick() model.TensorID { return c.pool[c.IntN(len(c.pool))] }

// to returns a summand of that shape.
func (c *circuit) to(shape []int) model.Linear {
	for range 4 {
		id := c.pick()
		if v, out := c.view(c.g.Tensors[id].Shape); slices.Equal(out, shape) {
			return model.Linear{Coef: int64(c.oneOf(1, -1, 3)), Src: id, View: v}
		}
	}
	return model.Linear{Coef: 1, Src: c.leaf(shape, c.IntN(2) == 0)}
}

// acc draws an accumulator.
func (c *circuit) acc() (model.Acc, []int) {
	a := model.Acc{Const: int64(c.oneOf(0, -5, 1000))}
	var shape []int
	if c.IntN(2) == 0 {
		id := c.pick()
		var v *model.View
		v, shape = c.view(c.g.Tensors[id].Shape)
		a.Linear = append(a.Linear, model.Linear{Coef: int64(c.oneOf(1, 2, -3)), Src: id, View: v})
	} else {
		shape = c.shape()
	}
	for range c.IntN(2) {
		a.Linear = append(a.Linear, c.to(shape))
	}
	for range c.IntN(3) {
		a.Products = append(a.Products, c.product(shape))
	}
	return a, shape
}

// product draws a product of that shape.
func (c *circuit) product(out []int) model.Product {
	dims := map[int]int{}
	var la, lb []int
	for l, d := range out {
		dims[l] = d
		switch in := c.IntN(10); {
		case in < 3:
			la = append(la, l)
		case in < 6:
			lb = append(lb, l)
		case in < 9:
			la, lb = append(la, l), append(lb, l)
		}
	}
	for l := range c.IntN(3) {
		l += len(out)
		dims[l] = c.oneOf(1, 2, 3, 5, 70)
		la, lb = append(la, l), append(lb, l)
	}
	c.Shuffle(len(la), func(i, j int) { la[i], la[j] = la[j], la[i] })
	c.Shuffle(len(lb), func(i, j int) { lb[i], lb[j] = lb[j], lb[i] })
	of := func(labels []int, fixed bool) model.TensorID {
		shape := []int{}
		for _, l := range labels {
			shape = append(shape, dims[l])
		}
		for _, id := range c.pool {
			if slices.Equal(c.g.Tensors[id].Shape, shape) && c.IntN(2) == 0 {
				return id
			}
		}
		return c.leaf(shape, fixed)
	}
	fixed := c.IntN(2) == 0
	return model.Product{Coef: int64(c.oneOf(1, -1, 2)), A: of(la, fixed), B: of(lb, !fixed), LabelsA: la, LabelsB: lb}
}

// step adds a step.
func (c *circuit) step() {
	s := model.Step{Kind: model.StepKind(c.IntN(5)), Name: "step", Out: model.None, Lo: model.None, Den: model.None, Table: model.None, Chunk: c.IntN(c.g.Chunks)}
	if s.Kind == model.StepMax {
		s.Den = c.pick()
		if shape := c.g.Tensors[s.Den].Shape; len(shape) > 0 {
			s.Shape = shape[:len(shape)-1]
			s.Out = c.add(model.Tensor{Kind: model.Witness, Shape: s.Shape}, nil)
			c.g.Steps, c.pool = append(c.g.Steps, s), append(c.pool, s.Out)
		}
		return
	}
	s.Acc, s.Shape = c.acc()
	if c.IntN(3) == 0 { // a virtual tensor
		terms := append([]model.Linear{}, s.Acc.Linear...)
		for len(terms) == 0 {
			terms = append(terms, c.to(s.Shape))
		}
		c.pool = append(c.pool, c.add(model.Tensor{Kind: model.Virtual, Shape: s.Shape, Def: terms}, nil))
		return
	}
	result := func(bits int) model.TensorID {
		t := model.Tensor{Kind: model.Witness, Shape: s.Shape}
		if bits > 0 {
			t.Max = 1<<bits - 1
		}
		id := c.add(t, nil)
		c.pool = append(c.pool, id)
		return id
	}
	switch s.Kind {
	case model.StepLookup:
		s.Table = c.tables[c.IntN(len(c.tables))]
		s.Shift = c.oneOf(0, 4, 14, 20)
		if s.Shift > 0 {
			s.Lo = result(s.Shift)
		}
		if c.g.Tables[s.Table].Kind != model.TableRange {
			s.Out = result(0)
		}
	case model.StepExact:
		s.Out = result(0)
	case model.StepDivide:
		s.Out, s.Lo = result(0), result(0)
		v := c.values(model.Size(s.Shape), 9)
		for i := range v {
			v[i] = max(1, v[i], -v[i])
		}
		if c.IntN(20) == 0 {
			v[len(v)/2] = int32(-c.IntN(2))
		}
		s.Den = c.add(model.Tensor{Kind: model.Fixed, Shape: s.Shape}, ints.Of(v))
	}
	c.g.Steps = append(c.g.Steps, s)
}

func newCircuit(seed uint64) *circuit {
	c := &circuit{Rand: rand.New(rand.NewPCG(seed, 9)), g: &model.Graph{}}
	c.g.Chunks = 1 + c.IntN(3)
	column := c.values(1<<10, 20)
	values := c.add(model.Tensor{Kind: model.Fixed, Shape: []int{1 << 10}}, ints.Of(column))
	c.g.Tables = []model.Table{
		{Name: "range", Kind: model.TableRange, Bits: 16, Min: -1 << 15, Values: model.None},
		{Name: "pieces", Kind: model.TablePiecewise, Bits: 15, Min: -1 << 14, Values: model.None,
			Pieces: []model.Piece{{End: 1 << 13, Offset: -5}, {End: 1 << 14, Slope: -3, Offset: 1}, {End: 1 << 15, Slope: 1}}},
		{Name: "function", Kind: model.TableFunc, Bits: 10, Min: -1 << 9, Values: values},
		{Name: "all", Kind: model.TableRange, Bits: 20, Min: -1 << 19, Values: model.None},
		{Name: "stretched", Kind: model.TablePiecewise, Bits: 14, Drop: 5, Values: model.None,
			Pieces: []model.Piece{{End: 1 << 7, Slope: 3, Offset: -1}, {End: 1 << 9, Slope: 1}}},
	}
	c.tables = []model.TableID{0, 1, 2, 3, 3, 4}
	c.pool = []model.TensorID{c.leaf(c.shape(), false), c.leaf(c.shape(), true),
		c.add(model.Tensor{Kind: model.ByFormula, Shape: []int{3, 4}, Max: 1, Formula: &model.Formula{Kind: model.AtMost}}, nil)}
	for range 1 + c.IntN(7) {
		c.step()
	}
	for chunk := range c.g.Chunks {
		for table := range c.g.Tables {
			id := c.add(model.Tensor{Kind: model.Witness, Shape: []int{1 << c.g.Tables[table].Bits}, Max: model.Bound - 1, Chunk: chunk}, nil)
			c.g.Mults = append(c.g.Mults, model.Mult{Chunk: chunk, Table: model.TableID(table), Tensor: id})
		}
	}
	c.g.Outputs = []model.TensorID{c.pick()}
	return c
}

// TestForward compares runs on devices with those on the CPU, errors too: of random
// circuits, with products of all sizes by terms and as matrices, on one device, on two that
// reach each other, and on two that do not.
func TestForward(t *testing.T) {
	d := devicetest.NewFaulty(devicetest.Open(t), -1)
	defer func(a, b int) { MostByTerms, FewTerms = a, b }(MostByTerms, FewTerms)
	taken, failed, copied, kept, again, imported := 0, 0, 0, 0, 0, 0
	for seed := range uint64(80) {
		MostByTerms, FewTerms = 1<<20, 16
		if seed%2 == 0 {
			MostByTerms, FewTerms = 0, 1
		}
		on := [2]kernels.Device{d, d}
		if seed%3 > 0 {
			x, y := devicetest.NewStreams(d, 1<<30, nil), devicetest.NewStreams(d, 1<<30, nil)
			if seed%3 == 2 {
				x.Alone()
			}
			on = [2]kernels.Device{x, y}
		}
		a, b := device.New(on[0]), device.New(on[1])
		if seed%5 == 0 {
			a.MaxResident, a.Piece = 1, 64
		}
		a.SetMode(device.Mode{Keys: seed%4 >= 2, Values: seed%7 <= 2, Kept: int(seed % 3)})
		b.SetMode(device.Mode{Keys: seed%4%3 != 0, Values: seed%7 <= 2})
		c := newCircuit(seed)
		f := &Forward{Contexts: []*device.Context{a, b, a}, Host: int(seed % 40)}
		want, wantErr := forward.Run(context.Background(), c.g, c.w, c.all())
		got, err := forward.RunOn(context.Background(), f, c.g, c.w, c.all())
		if wantErr != nil || err != nil {
			if wantErr == nil || err == nil || err.Error() != wantErr.Error() {
				t.Fatalf("seed %d: errors %v and %v", seed, err, wantErr)
			}
			failed++
		} else {
			if run, ok := got.Kept().(*Run); ok {
				taken++
				imported += min(1, len(c.given))
				for i, m := range []*device.Context{a, b} {
					// Nothing but small tensors has come to the host.
					if p := run.part(m); p != nil && seed%3 < 2 && m.Traffic().Downloaded != int64(p.small) {
						t.Errorf("seed %d, machine %d: %d bytes came to the host, of %d", seed, i, m.Traffic().Downloaded, p.small)
					}
					copied += int(m.Traffic().Copied)
				}
				k, made := bringAll(t, seed, c, run, []*device.Context{a, b}, want)
				kept, again = kept+k, again+made
			} else if !leaves32Bits(c, want) {
				t.Errorf("seed %d: the devices did not take it", seed)
			}
			same(t, seed, c, got, want)
			got.Close()
		}
		a.Close()
		b.Close()
		device.Check(errors.Join(on[0].Sync(), on[1].Sync()))
		if d.Live() != 0 {
			t.Fatalf("seed %d: %d bytes are left on the device", seed, d.Live())
		}
	}
	t.Logf("%d runs on devices, %d errors, %d bytes copied between devices, keys of %d steps kept, of %d made again", taken, failed, copied, kept, again)
	if taken < 30 || failed < 10 || copied == 0 || kept == 0 || again == 0 || imported < 10 {
		t.Errorf("%d runs on devices, %d of them with imported tensors, %d errors: the circuits are not what they were meant to be", taken, imported, failed)
	}
}

// TestForwardChain: what a device computes another one reads at once, back and forth
// between three whose queues are emptied as late as may be, or that are GPUs.
func TestForwardChain(t *testing.T) {
	const n, steps = 5000, 12
	g := &model.Graph{Chunks: steps, Inputs: []model.TensorID{0}, Outputs: []model.TensorID{steps}}
	g.Tensors = []model.Tensor{{Kind: model.Input, Shape: []int{n}, Min: -100, Max: 100}}
	input := make([]int32, n)
	for i := range input {
		input[i] = int32(i%200 - 100)
	}
	for i := range steps {
		g.Tensors = append(g.Tensors, model.Tensor{Kind: model.Witness, Shape: []int{n}, Chunk: i})
		g.Steps = append(g.Steps, model.Step{Kind: model.StepExact, Shape: []int{n}, Chunk: i, Out: model.TensorID(i + 1), Lo: model.None, Den: model.None, Table: model.None,
			Acc: model.Acc{Const: int64(i), Linear: []model.Linear{{Coef: 2, Src: model.TensorID(i)}}}})
	}
	var devices []kernels.Device
	if gpus, ok := devicetest.Two(t); ok {
		devices = gpus[:]
	} else {
		d := devicetest.Open(t)
		for range 3 {
			devices = append(devices, devicetest.NewStreams(d, 1<<20, nil))
		}
	}
	f := &Forward{}
	for i := range steps {
		if i < len(devices) {
			f.Contexts = append(f.Contexts, device.New(devices[i]))
		} else {
			f.Contexts = append(f.Contexts, f.Contexts[i-len(devices)])
		}
	}
	run, err := f.Run(t.Context(), g, make(model.Weights, len(g.Tensors)), [][]int32{input})
	if err != nil || run == nil {
		t.Fatal(run, err)
	}
	copied := int64(0)
	for _, m := range f.Contexts[:len(devices)] {
		copied += m.Traffic().Copied
		if down := m.Traffic().Downloaded; down != slotAlignment {
			t.Errorf("%d bytes came to the host", down)
		}
	}
	if copied != 4*n*(steps-1) {
		t.Errorf("%d bytes were copied, want %d", copied, 4*n*(steps-1))
	}
	want := slices.Clone(input)
	for i := range steps {
		for j := range want {
			want[j] = 2*want[j] + int32(i)
		}
		got, err := run.Tensor(model.TensorID(i + 1))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("step %d: another result, %v", i, err)
		}
	}
	run.Close()
	for _, m := range f.Contexts[:len(devices)] {
		m.Close()
		if err := m.Drain(0); err != nil || m.Traffic().Live != 0 {
			t.Errorf("%d bytes are left, %v", m.Traffic().Live, err)
		}
	}
}

// bringAll compares what comes from another machine, or is made again, with what was computed
// on the CPU.
func bringAll(t *testing.T, seed uint64, c *circuit, run *Run, machines []*device.Context, want *forward.Witness) (kept, again int) {
	t.Helper()
	for _, m := range machines {
		look := func(what string, id int, x *device.Tensor, err error, want []int32) {
			if err != nil || x == nil {
				t.Errorf("seed %d, %s %d: %v", seed, what, id, err)
				return
			}
			data := make([]byte, x.Len*x.Width)
			device.Check(m.Dev.Download(data, x.Ptr))
			x.Free(m.Dev)
			if got := ints.All(ints.FromBytes(data, x.Width)); !slices.Equal(got, want) {
				t.Errorf("seed %d, %s %d: %v was brought, want %v", seed, what, id, got, want)
			}
		}
		for i := range c.g.Steps {
			s := &c.g.Steps[i]
			if s.Out != model.None {
				x, err := run.bring(m.Dev, ofTensor(s.Out))
				look("tensor", int(s.Out), x, err, want.Tensor(s.Out))
			}
			if s.Kind == model.StepLookup {
				x, err := run.bring(m.Dev, ofKeys(i))
				keys := slices.Clone(want.StepKeys(i))
				k := run.part(run.Contexts[s.Chunk]).keys[i]
				for j := range keys {
					keys[j] -= int32(k.plus)
				}
				if k.makes != nil {
					again++
				} else {
					kept++
				}
				look("step", i, x, err, keys)
			}
		}
	}
	return kept, again
}

// leaves32Bits says whether a virtual tensor has numbers that are not those of its
// definition but cut to 32 bits.
func leaves32Bits(c *circuit, w *forward.Witness) bool {
	for i := range c.g.Tensors {
		t := &c.g.Tensors[i]
		if t.Kind != model.Virtual {
			continue
		}
		acc := make([]int64, model.Size(t.Shape))
		g := c.g.WithIds(c.all())
		for _, l := range g.Tensors[i].Def {
			src := w.Weights[l.Src]
			if src == nil {
				src = ints.Int32s(w.Tensor(l.Src))
			}
			l.View.Accumulate(acc, l.Coef, src, g.Tensors[l.Src].Shape, t.Shape)
		}
		for _, x := range acc {
			if x < math.MinInt32 || x > math.MaxInt32 {
				return true
			}
		}
	}
	return false
}

func same(t *testing.T, seed uint64, c *circuit, got, want *forward.Witness) {
	t.Helper()
	for i := range c.g.Tensors {
		id := model.TensorID(i)
		if !c.g.Tensors[i].Kind.Constant() && !slices.Equal(got.Tensor(id), want.Tensor(id)) {
			t.Errorf("seed %d, tensor %d: %v, want %v", seed, i, got.Tensor(id), want.Tensor(id))
		}
	}
	var questions []forward.KeyRange
	for i, s := range c.g.Steps {
		if s.Kind != model.StepLookup {
			continue
		}
		if !slices.Equal(got.StepKeys(i), want.StepKeys(i)) {
			t.Errorf("seed %d, step %d: keys %v, want %v", seed, i, got.StepKeys(i), want.StepKeys(i))
		}
		questions = append(questions, forward.KeyRange{Step: i, Min: -3, Max: int64(i)}, forward.KeyRange{Step: i, Min: 5, Max: 1 << 19})
	}
	if a, b := got.Count(questions), want.Count(questions); !slices.Equal(a, b) {
		t.Errorf("seed %d: counts %v, want %v", seed, a, b)
	}
}

// TestMatMul: what the products of networks look like lies as the kernels take
// it, without copies.
func TestMatMul(t *testing.T) {
	g := &model.Graph{Tensors: []model.Tensor{{Shape: []int{1, 64}}, {Shape: []int{10, 64}}, {Shape: []int{64, 10}}, {Shape: []int{8, 3, 3, 3}}, {Shape: []int{3, 3, 3, 5, 6}},
		{Shape: []int{7, 4, 16}}, {Shape: []int{9, 4, 16}}}}
	for _, c := range []struct {
		name string
		p    model.Product
		out  []int
		want kernels.MatMul
	}{
		{"Gemm, transposed", model.Product{A: 0, B: 1, LabelsA: []int{0, 2}, LabelsB: []int{1, 2}}, []int{1, 10},
			kernels.MatMul{M: 1, N: 10, K: 64, A: kernels.Matrix{Column: 1}, B: kernels.Matrix{Row: 64, Column: 1}, OutColumn: 1}},
		{"MatMul", model.Product{A: 0, B: 2, LabelsA: []int{0, 2}, LabelsB: []int{2, 1}}, []int{1, 10},
			kernels.MatMul{M: 1, N: 10, K: 64, A: kernels.Matrix{Column: 1}, B: kernels.Matrix{Row: 1, Column: 10}, OutColumn: 1}},
		{"Conv", model.Product{A: 3, B: 4, LabelsA: []int{0, 10, 11, 12}, LabelsB: []int{10, 11, 12, 1, 2}}, []int{8, 5, 6},
			kernels.MatMul{M: 8, N: 30, K: 27, A: kernels.Matrix{Row: 27, Column: 1}, B: kernels.Matrix{Row: 1, Column: 30}, OutRow: 30, OutColumn: 1}},
		{"heads", model.Product{A: 5, B: 6, LabelsA: []int{1, 0, 9}, LabelsB: []int{2, 0, 9}}, []int{4, 7, 9},
			kernels.MatMul{M: 7, N: 9, K: 16, Batches: 4, A: kernels.Matrix{Row: 64, Column: 1, Batch: 16}, B: kernels.Matrix{Row: 64, Column: 1, Batch: 16},
				OutRow: 9, OutColumn: 1, OutBatch: 63}},
	} {
		got := matMul(g, &c.p, c.out, func([]int32) kernels.Ptr { t.Errorf("%s: a table", c.name); return 0 })
		c.want.XBits, c.want.Batches = 31, max(1, c.want.Batches)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestWorth: a forward pass is worth a device where it is large, or where many look-ups are
// proved there.
func TestWorth(t *testing.T) {
	graph := func(n, k, steps int) *model.Graph {
		g := &model.Graph{Tensors: []model.Tensor{{Shape: []int{n, k}}, {Shape: []int{k}, Kind: model.Fixed}}}
		for range steps {
			g.Steps = append(g.Steps, model.Step{Kind: model.StepLookup, Shape: []int{n}, Acc: model.Acc{
				Products: []model.Product{{Coef: 1, A: 0, B: 1, LabelsA: []int{0, 1}, LabelsB: []int{1}}}}})
		}
		return g
	}
	for _, c := range []struct {
		g    *model.Graph
		want bool
	}{{graph(100, 10, 3), false}, {graph(100, 10, 160), false}, {graph(1000, 10, 30), true}, {graph(1<<16, 10, 3), true}, {graph(100, 1<<18, 2), true}} {
		if got := Worth(c.g, 1<<14); got != c.want {
			t.Errorf("%d steps of %v: %v", len(c.g.Steps), c.g.Tensors[0].Shape, got)
		}
	}
}

// TestForwardPieces runs matrix products whose weights have no room: in pieces where these are
// ranges of one matrix's rows, and else as a whole that is gone afterwards. With room they
// stay.
func TestForwardPieces(t *testing.T) {
	d := devicetest.NewFaulty(devicetest.Open(t), -1)
	defer func(a, b int) { MostByTerms, FewTerms = a, b }(MostByTerms, FewTerms)
	MostByTerms, FewTerms = 0, 1
	rng := rand.New(rand.NewPCG(7, 8))
	random := func(n int) []int32 {
		v := make([]int32, n)
		for i := range v {
			v[i] = rng.Int32N(256) - 128
		}
		return v
	}
	const in, out = 21, 11
	for _, c := range []struct {
		name            string
		x, w, y         []int // shapes
		labelsX, labels []int
		cut             bool // the weights go through in pieces
	}{
		{"by output", []int{3, in}, []int{out, in}, []int{3, out}, []int{0, 2}, []int{1, 2}, true},
		{"by output, one row", []int{1, in}, []int{out, in}, []int{1, out}, []int{0, 2}, []int{1, 2}, true},
		{"by input", []int{3, in}, []int{in, out}, []int{3, out}, []int{0, 2}, []int{2, 1}, true},
		{"by input, one row", []int{1, in}, []int{in, out}, []int{1, out}, []int{0, 2}, []int{2, 1}, true},
		{"a matrix for each of two", []int{2, 3, in}, []int{2, out, in}, []int{2, 3, out}, []int{0, 1, 3}, []int{0, 2, 3}, false},
		{"inputs of two axes, apart", []int{3, 7, 3}, []int{3, out, 7}, []int{3, out}, []int{0, 2, 3}, []int{3, 1, 2}, false},
	} {
		g := &model.Graph{Chunks: 1, Inputs: []model.TensorID{0},
			Tensors: []model.Tensor{{Shape: c.x, Kind: model.Input, Min: -128, Max: 127}, {Shape: c.w, Kind: model.Fixed},
				{Shape: c.y, Kind: model.Witness}, {Shape: []int{1 << 14}, Kind: model.Witness}},
			Tables: []model.Table{{Name: "range", Bits: 14, Min: -1 << 13}},
			Mults:  []model.Mult{{Tensor: 3}},
			Steps: []model.Step{{Kind: model.StepLookup, Shape: c.y, Shift: 8, Lo: 2, Out: model.None,
				Acc: model.Acc{Products: []model.Product{{Coef: 1, A: 0, B: 1, LabelsA: c.labelsX, LabelsB: c.labels}}}}},
		}
		w, inputs := model.Weights{nil, ints.Of(random(model.Size(c.w))), nil, nil}, [][]int32{random(model.Size(c.x))}
		want, err := forward.Run(context.Background(), g, w, inputs)
		if err != nil {
			t.Fatal(c.name, err)
		}
		run := func(m *device.Context, how string) {
			t.Helper()
			got, err := forward.RunOn(context.Background(), &Forward{Contexts: []*device.Context{m}}, g, w, inputs)
			if err != nil {
				t.Fatal(c.name, how, err)
			}
			if got.Kept() == nil || !slices.Equal(got.StepKeys(0), want.Keys[0]) || !slices.Equal(got.Tensor(2), want.Values[2]) || !slices.Equal(got.Tensor(3), want.Values[3]) {
				t.Errorf("%s, %s: another result", c.name, how)
			}
		}
		most := 0 // with pieces of a row
		for piece := 1; piece < 36*model.Size(c.w); piece *= 9 {
			m := device.New(d)
			m.MaxResident, m.Piece = 1, piece
			d.ResetPeak()
			run(m, fmt.Sprintf("pieces of %d bytes", piece))
			if m.Known(w[1]) != nil {
				t.Errorf("%s: weights without room are there", c.name)
			}
			if most == 0 {
				most = d.Peak()
			}
			if whole := piece > 4*model.Size(c.w); whole && c.cut != (d.Peak() > most+model.Size(c.w)/2) {
				t.Errorf("%s: %d bytes at once with pieces of a row, and %d without", c.name, most, d.Peak())
			}
			m.Close()
		}
		m := device.New(d)
		run(m, "with room")
		if m.Known(w[1]) == nil {
			t.Errorf("%s: the weights have room, and were not kept", c.name)
		}
		m.Close()
	}
	if d.Live() != 0 {
		t.Errorf("%d bytes are left on the device", d.Live())
	}
}
