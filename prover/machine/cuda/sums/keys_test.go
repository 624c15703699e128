package sums

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/colsum"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// lookUps is a circuit of look-ups with keys of all kinds: sums, products in launches of their
// own by matrices and by a vector, and tensors with a constant and without one.
func lookUps() (*model.Graph, model.Weights, [][]int32) {
	rng := rand.New(rand.NewPCG(71, 72))
	g := &model.Graph{Chunks: 1, Inputs: []model.TensorID{0, 1}}
	w := model.Weights{}
	add := func(t model.Tensor, v ints.Ints) model.TensorID {
		g.Tensors, w = append(g.Tensors, t), append(w, v)
		return model.TensorID(len(g.Tensors) - 1)
	}
	values := func(n int) []int32 {
		v := make([]int32, n)
		for i := range v {
			v[i] = rng.Int32N(21) - 10
		}
		return v
	}
	add(model.Tensor{Kind: model.Input, Shape: []int{6, 5}, Min: -10, Max: 10}, nil)
	add(model.Tensor{Kind: model.Input, Shape: []int{5}, Min: -10, Max: 10}, nil)
	weights := add(model.Tensor{Kind: model.Fixed, Shape: []int{7, 5}, Min: -10, Max: 10}, ints.Of(values(35)))
	g.Tables = []model.Table{
		{Name: "range", Kind: model.TableRange, Bits: 6, Min: -20, Values: model.None},
		{Name: "pieces", Kind: model.TablePiecewise, Bits: 8, Min: -128, Values: model.None, Pieces: []model.Piece{{End: 128}, {End: 256, Slope: 1}}, Saturated: []model.Rows{{From: 0, To: 128}, {From: 135, To: 140}}},
		{Name: "stretched", Kind: model.TablePiecewise, Bits: 4, Drop: 1, Values: model.None, Pieces: []model.Piece{{End: 8, Slope: 1}}},
	}
	step := func(shape []int, shift int, table model.TableID, acc model.Acc) (out, lo model.TensorID) {
		out, lo = model.None, model.None
		if g.Tables[table].Kind == model.TablePiecewise {
			out = add(model.Tensor{Kind: model.Witness, Shape: shape, Max: 127}, nil)
		}
		if shift > 0 {
			lo = add(model.Tensor{Kind: model.Witness, Shape: shape, Max: 1<<shift - 1}, nil)
		}
		g.Steps = append(g.Steps, model.Step{Kind: model.StepLookup, Shape: shape, Shift: shift, Table: table, Out: out, Lo: lo, Den: model.None, Acc: acc})
		return out, lo
	}
	is := func(id model.TensorID, plus int64) model.Acc {
		return model.Acc{Const: plus, Linear: []model.Linear{{Coef: 1, Src: id}}}
	}
	_, lo := step([]int{6, 7}, 4, 1, model.Acc{Const: 8, Products: []model.Product{{Coef: 1, A: 0, B: weights, LabelsA: []int{0, 9}, LabelsB: []int{1, 9}}}})
	step([]int{6, 7}, 0, 0, is(lo, 0))
	step([]int{6, 7}, 0, 0, is(lo, 9))
	step([]int{6, 7}, 0, 2, is(lo, 0))
	step([]int{7}, 3, 1, model.Acc{Products: []model.Product{{Coef: 1, A: weights, B: 1, LabelsA: []int{0, 9}, LabelsB: []int{9}}}})
	step([]int{6, 5}, 0, 0, is(0, -7))
	step([]int{6, 5}, 0, 1, model.Acc{Const: 3, Linear: []model.Linear{{Coef: 2, Src: 0}}})
	for table := range g.Tables {
		id := add(model.Tensor{Kind: model.Witness, Shape: []int{1 << g.Tables[table].Bits}, Max: model.Bound - 1}, nil)
		g.Mults = append(g.Mults, model.Mult{Table: model.TableID(table), Tensor: id})
	}
	g.Outputs = []model.TensorID{g.Steps[0].Out}
	return g, w, [][]int32{values(30), values(5)}
}

// TestKeys compares the keys of a run, and what a stream makes of them, with those on the CPU:
// kept and made again, where the run was and on another machine, which reaches that one or
// does not, and without a run.
func TestKeys(t *testing.T) {
	defer func(a, b int) { run.MostByTerms, run.FewTerms = a, b }(run.MostByTerms, run.FewTerms)
	run.MostByTerms, run.FewTerms = 0, 1
	d := devicetest.NewFaulty(devicetest.Open(t), -1)
	g, w, inputs := lookUps()
	want, err := forward.Run(t.Context(), g, w, inputs)
	if err != nil {
		t.Fatal(err)
	}
	host := cpu.New(g, want)
	rng := rand.New(rand.NewPCG(73, 74))
	random := func() field.QM31 {
		return field.NewQM31(field.M31(rng.Uint32N(field.P)), field.M31(rng.Uint32N(field.P)), 5, field.M31(rng.Uint32N(field.P)))
	}
	randoms := func(n int) []field.QM31 {
		v := make([]field.QM31, n)
		for i := range v {
			v[i] = random()
		}
		return v
	}
	var steps []int
	var mults []*model.Mult
	var rowSums []backend.RowSum
	var columnSums []backend.ColumnSum
	for i := range g.Steps {
		steps = append(steps, i)
		rows, columns, _ := colsum.Sizes(g.Steps[i].Shape)
		c := backend.Column{Step: i, Rows: rows, Beta: random()}
		rowSums = append(rowSums, backend.RowSum{Column: c, Order: rng.Perm(columns), Ends: []int{1, columns}, Weights: randoms(columns)})
		columnSums = append(columnSums, backend.ColumnSum{Column: c, Weights: randoms(rows)})
	}
	for i := range g.Mults {
		mults = append(mults, &g.Mults[i])
	}
	leaves := plan.NewLeaves(g, steps, mults)
	leaves.Alpha, leaves.Beta = random(), random()
	prove := func(b passes) (top any, rows, columns [][]field.QM31) {
		tree, err := b.Fractions(t.Context(), leaves)
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		f, err := tree.Top(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if rows, err = b.RowSums(t.Context(), rowSums); err != nil {
			t.Fatal(err)
		}
		if columns, err = b.ColumnSums(t.Context(), columnSums); err != nil {
			t.Fatal(err)
		}
		return f, rows, columns
	}
	wantTop, wantRows, wantColumns := prove(host)
	for _, c := range []struct {
		name        string
		keep        bool
		values      bool // are kept
		run, reach  bool
		keptOnFirst int // steps whose keys the run has
	}{
		{"kept", true, true, true, true, 7}, {"made again", false, true, true, true, 4}, {"made again, alone", false, true, true, false, 4},
		{"no run", false, true, false, true, 0}, {"values made again", true, false, true, true, 1}, {"values made again, alone", true, false, true, false, 1},
	} {
		var streams []*devicetest.Streams
		var machines []*device.Context
		var launches atomic.Int64
		for range 2 {
			s := devicetest.NewStreams(d, 1<<30, func(op string, _ int) error {
				if op == "launch" {
					launches.Add(1)
				}
				return nil
			})
			if !c.reach {
				s.Alone()
			}
			m := device.New(s)
			m.Streams = 2
			m.SetMode(device.Mode{Keys: !c.keep, Values: !c.values})
			streams, machines = append(streams, s), append(machines, m)
		}
		wit := want
		if c.run {
			if wit, err = forward.RunOn(t.Context(), &run.Forward{Contexts: machines[:1]}, g, w, inputs); err != nil {
				t.Fatal(err)
			}
			run := wit.Kept().(*run.Run)
			kept := 0
			for i := range g.Steps {
				before := machines[0].Traffic().Live
				stream, err := run.Stream(machines[0], 0)
				if err != nil {
					t.Fatal(err)
				}
				stream.Columns(i)
				if machines[0].Traffic().Live == before {
					kept++
				}
				stream.Close()
				stream.DropSegments()
			}
			if kept != c.keptOnFirst {
				t.Errorf("%s: keys of %d steps are kept, want %d", c.name, kept, c.keptOnFirst)
			}
			var questions []forward.KeyRange
			for i := range g.Steps {
				if got, err := run.Keys(i); err != nil || !slices.Equal(got, want.StepKeys(i)) {
					t.Errorf("%s, step %d: keys %v, %v, want %v", c.name, i, got, err, want.StepKeys(i))
				}
				questions = append(questions, forward.KeyRange{Step: i, Min: -3, Max: int64(i)}, forward.KeyRange{Step: i, Min: 5, Max: 100})
			}
			if got, err := run.Count(questions); err != nil || !slices.Equal(got, want.Count(questions)) {
				t.Errorf("%s: counts %v, %v, want %v", c.name, got, err, want.Count(questions))
			}
			var saturated []forward.KeyRange
			for i := range g.Steps {
				table := &g.Tables[g.Steps[i].Table]
				for _, r := range table.Saturated {
					saturated = append(saturated, forward.KeyRange{Step: i, Min: table.Min + r.From, Max: table.Min + r.To - 1})
				}
			}
			before := launches.Load()
			if got, err := run.Count(saturated); err != nil || !slices.Equal(got, want.Count(saturated)) || slices.Max(got) == 0 {
				t.Errorf("%s: %v keys are in saturated rows, %v, want %v", c.name, got, err, want.Count(saturated))
			}
			if n := launches.Load() - before; !c.values && n > 0 {
				t.Errorf("%s: %d launches for how many keys are in saturated rows, which the run has counted", c.name, n)
			}
		}
		for k, m := range machines {
			on := run.NewStream(m, g, wit)
			stream, err := on.Stream(1)
			if err != nil {
				t.Fatal(err)
			}
			top, rows, columns := prove(NewPasses(stream))
			if !reflect.DeepEqual(top, wantTop) {
				t.Errorf("%s, machine %d: fractions %v, want %v", c.name, k, top, wantTop)
			}
			if !reflect.DeepEqual(rows, wantRows) || !reflect.DeepEqual(columns, wantColumns) {
				t.Errorf("%s, machine %d: other sums", c.name, k)
			}
			stream.Close()
			device.Check(m.Drain(1))
			on.Close()
		}
		if c.run {
			wit.Close()
		}
		for i, m := range machines {
			m.Close()
			device.Check(m.Drain(0))
			if streams[i].Live() != 0 || m.Traffic().Live != 0 {
				t.Errorf("%s: %d bytes are left on machine %d", c.name, streams[i].Live(), i)
			}
		}
	}
}
