package prover

import (
	"bytes"
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// metered notes the peak of the device's memory in each kind of step, beyond
// what the machine held before.
type metered struct {
	backend.Backend
	dev                           *devicetest.Faulty
	lookUps, sums, commits, opens int
}

// begin starts a step that lasts until the result is called.
func (m *metered) begin(most *int) (end func()) {
	m.dev.ResetPeak()
	return func() { *most = max(*most, m.dev.Peak()) }
}

func (m *metered) Restrict(ctx context.Context, list []backend.Restriction) ([]backend.Table, error) {
	defer m.begin(&m.sums)()
	return m.Backend.Restrict(ctx, list)
}

func (m *metered) Commit(ctx context.Context, c backend.Commitment) (*whir.Tree, error) {
	defer m.begin(&m.commits)()
	return m.Backend.Commit(ctx, c)
}

func (m *metered) Sums(ctx context.Context, in []backend.Instance) (sumcheck.Tables, error) {
	end := m.begin(&m.sums)
	t, err := m.Backend.Sums(ctx, in)
	return meteredSums{t, end}, err
}

func (m *metered) Fractions(ctx context.Context, l backend.Leaves) (logup.Tree, error) {
	end := m.begin(&m.lookUps)
	t, err := m.Backend.Fractions(ctx, l)
	return meteredTree{t, end}, err
}

func (m *metered) Opening(ctx context.Context, o backend.Opening) (whir.Passes, error) {
	end := m.begin(&m.opens)
	p, err := m.Backend.Opening(ctx, o)
	return meteredOpening{p, end}, err
}

type meteredSums struct {
	sumcheck.Tables
	end func()
}

func (s meteredSums) Close() { s.end(); s.Tables.Close() }

type meteredTree struct {
	logup.Tree
	end func()
}

func (s meteredTree) Close() { s.end(); s.Tree.Close() }

type meteredOpening struct {
	whir.Passes
	end func()
}

func (s meteredOpening) Close() { s.end(); s.Passes.Close() }

// TestNeed holds the estimate of device memory against what proofs took, phase
// by phase. Small things are not in the estimate (128 KB are
// allowed), it may not be short of the rest, nor more than twice as much.
func TestNeed(t *testing.T) {
	t.Parallel()
	const small, tables = 128 << 10, 64 << 10
	opens := map[string]int{}
	dev := devicetest.NewFaulty(devicetest.Open(t), -1)
	graphs := map[string]*builder{"wide": wide()}
	if os.Getenv("PROVE_MODEL_TEST_GPU") == "1" {
		graphs["everything"] = everything(rand.New(rand.NewPCG(1, 2))) // the host takes long
	}
	graphs["wide, within a budget"] = graphs["wide"]
	if *full { // pieces are in what is made again, too
		graphs["wide, in pieces"] = graphs["wide"]
		graphs["wide, blake3"] = graphs["wide"]
	}
	graphs["wide, hiding"] = graphs["wide"]
	graphs["layers, again"] = layered(6, 20, 24, true)
	for _, name := range slices.Sorted(maps.Keys(graphs)) {
		b := graphs[name]
		if b.g.Chunks == 0 {
			b.g.Finish(0)
		}
		sec := proof.Security{TargetBits: 40, GrindBits: 8}
		if strings.HasSuffix(name, "blake3") {
			sec.Hash = hash.Blake3
		}
		p, err := plan.New(&b.g, sec.Config())
		if err != nil {
			t.Fatal(err)
		}
		var hiding *Hiding
		if strings.HasSuffix(name, "hiding") {
			hiding = &Hiding{TailLog: 3}
			if p, err = plan.NewHiding(&b.g, sec.Config(), hiding.TailLog, p.Choice.FixedRows(), 0); err != nil {
				t.Fatal(err)
			}
		}
		on := kernels.Device(dev)
		if strings.HasSuffix(name, "budget") { // which counts, however much is free
			on = roomy{dev}
		}
		machine := cuda.NewMachine(on)
		if again := strings.HasSuffix(name, "again"); again || strings.HasSuffix(name, "in pieces") {
			machine.SetMode(device.Mode{Rows: true, Values: again})
			machine.MaxResident, machine.Piece = 0, 1<<15
		}
		need := machine.Need(p)
		if strings.HasSuffix(name, "budget") { // of which tables of an opening take half at most
			need = machine.Settle(p, 0, 2*tables, 1)
		}
		m := &metered{dev: dev}
		opts := Options{Backend: func(g *model.Graph, w backend.Witness) backend.Backend {
			m.Backend = machine.Backend(g, w)
			return m
		}}
		key, tree, err := Commit(context.Background(), b.g.Template(), b.w, sec, opts)
		if err != nil {
			t.Fatal(err)
		}
		wit := b.run(t, rand.New(rand.NewPCG(3, 4)))
		if strings.HasSuffix(name, "again") {
			if wit, err = forward.RunOn(t.Context(), machine, &b.g, b.w, [][]int32{wit.Tensor(b.g.Inputs[0])}); err != nil {
				t.Fatal(err)
			}
		}
		opts.Hiding = hiding
		if _, err := Prove(context.Background(), key, b.g.Instance, tree, wit, &bytes.Buffer{}, opts); err != nil {
			t.Fatal(err)
		}
		wit.Close()
		if got := dev.Live(); int64(got) > need.Fixed+small/8 { // the program
			t.Errorf("%s: weights take %d bytes, estimated %d", name, got, need.Fixed)
		}
		for _, c := range []struct {
			step string
			took int
			need int64
		}{{"look-ups and sums", max(m.lookUps, m.sums), need.Tasks}, {"commit", m.commits, need.Commit}, {"open", m.opens, need.Open}} {
			base := need.Fixed + need.Witness + need.Trees
			t.Logf("%s: %s took %d bytes, estimated %d beside %d", name, c.step, c.took, c.need, base)
			if int64(c.took) > base+c.need+small {
				t.Errorf("%s: %s took %d bytes, estimated %d beside %d", name, c.step, c.took, c.need, base)
			}
			if c.need > 2*int64(c.took)+small {
				t.Errorf("%s: %s took %d bytes, estimated at %d alone", name, c.step, c.took, c.need)
			}
		}
		machine.Close()
		opens[name] = m.opens
	}
	if free, bound := opens["wide"], opens["wide, within a budget"]; bound > free-tables {
		t.Errorf("an opening takes %d bytes with its tables bound to %d, and %d without", bound, tables, free)
	}
}

// roomy is a device with far more memory than anything takes.
type roomy struct{ *devicetest.Faulty }

func (roomy) Available() (free, total int64, err error) { return 1 << 40, 1 << 40, nil }

// wide is a dense layer large enough that its tables outweigh what an estimate
// leaves out.
func wide() *builder {
	b := &builder{}
	x := b.input(1, 400)
	w := b.fixed(rand.New(rand.NewPCG(5, 6)), 3, 100, 400)
	y := b.requantise("dense", []int{1, 100}, model.Acc{Products: []model.Product{
		{Coef: 1, A: x, B: w, LabelsA: []int{0, 5}, LabelsB: []int{1, 5}}}}, 7, b.relu())
	b.g.Outputs = []model.TensorID{y}
	return b
}

// TestSettle: as much is kept as there is room for.
func TestSettle(t *testing.T) {
	b := layered(9, 60, 70, false)
	p, err := plan.New(&b.g, proof.Security{TargetBits: 40, GrindBits: 8}.Config())
	if err != nil {
		t.Fatal(err)
	}
	m := cuda.NewMachine(kernels.NewDry(132))
	m.MaxResident, m.Piece = 0, 1<<14
	in := func(how device.Mode) cuda.Need {
		m.SetMode(how)
		return *m.Need(p)
	}
	all, pieces, dropped, both := in(device.Mode{}), in(device.Mode{Rows: true}), in(device.Mode{Keys: true}), in(device.Mode{Keys: true, Rows: true})
	again := in(device.Mode{Keys: true, Rows: true, Values: true})
	if dropped.Witness >= all.Witness || pieces.Open >= all.Open || both.Witness != dropped.Witness || both.Open != pieces.Open || again.Witness >= both.Witness {
		t.Fatalf("estimates %+v, %+v, %+v, %+v, %+v", all, pieces, dropped, both, again)
	}
	for _, c := range []struct {
		name        string
		all, beside int64
		want        cuda.Need
	}{
		{"no bound", 0, 0, all}, {"room", all.Peak(), all.Working(), all}, {"less", both.Peak(), 0, both}, {"a budget", 0, both.Working(), both}, {"none", 1, 1, again},
	} {
		if got := m.Settle(p, c.all, c.beside, 1); *got != c.want || *m.Need(p) != c.want {
			t.Errorf("%s: %+v and %+v, want %+v", c.name, *got, *m.Need(p), c.want)
		}
	}
}

// TestNeedForward: a forward pass takes what is estimated, and leaves what it keeps, of products in
// launches of their own, whatever is kept.
func TestNeedForward(t *testing.T) {
	b := layered(6, 300, 700, false)
	wit := b.run(t, rand.New(rand.NewPCG(3, 4)))
	p, err := plan.New(&b.g, proof.Security{TargetBits: 40, GrindBits: 8}.Config())
	if err != nil {
		t.Fatal(err)
	}
	inputs := [][]int32{wit.Tensor(b.g.Inputs[0])}
	const small = 32 << 10 // records, and what lies between tensors
	for _, c := range []struct {
		keys, values bool
		segments     int
	}{{true, true, 0}, {false, true, 0}, {true, false, 0}, {true, false, 1}, {true, false, 2}} {
		m := cuda.NewMachine(kernels.NewDry(132))
		m.SetMode(device.Mode{Keys: !c.keys, Values: !c.values, Kept: c.segments})
		need := m.Need(p)
		run, err := m.Run(t.Context(), &b.g, b.w, inputs)
		if err != nil {
			t.Fatal(err)
		}
		all := need.Fixed + need.Witness + need.Forward
		if need.Forward == 0 && c.values {
			t.Errorf("%+v: nothing is taken by products", c)
		}
		took := m.Traffic()
		t.Logf("%+v: %d bytes at most, then %d, estimated %d: %+v", c, took.Peak, took.Live, all, *need)
		if took.Peak < all-small || took.Peak > all+small {
			t.Errorf("%+v: it takes %d bytes, estimated %d", c, took.Peak, all)
		}
		if stays := need.Fixed + need.Witness; c.values && (took.Live < stays-small || took.Live > stays+small) || took.Live > stays+small {
			t.Errorf("%+v: %d bytes stay, estimated %d", c, took.Live, stays)
		}
		run.Close()
		m.Close()
	}
}

// TestSettleAhead: values of two segments are there at a time if there is room, else of one.
func TestSettleAhead(t *testing.T) {
	b := layered(24, 512, 32, true)
	p, err := plan.New(&b.g, proof.Security{TargetBits: 40, GrindBits: 8}.Config())
	if err != nil {
		t.Fatal(err)
	}
	m := cuda.NewMachine(kernels.NewDry(132))
	m.MaxResident, m.Piece = 0, 1<<14
	in := func(how device.Mode) cuda.Need {
		m.SetMode(how)
		return *m.Need(p)
	}
	kept, one := in(device.Mode{Rows: true, Keys: true}), in(device.Mode{Rows: true, Keys: true, Values: true})
	two := in(device.Mode{Rows: true, Keys: true, Values: true, Ahead: true})
	if one.Witness >= two.Witness || two.Witness >= kept.Witness {
		t.Fatalf("of one segment %d bytes are kept, of two %d, of all %d", one.Witness, two.Witness, kept.Witness)
	}
	seen := map[int]int{}
	for room := int64(1); room < kept.Peak(); room += kept.Peak() / orFew(100, 25) {
		got := *m.Settle(p, room, 0, 1)
		how := m.Mode()
		if !how.Values {
			continue
		}
		_, together := m.Segments(p)
		seen[together]++
		if got.Peak() > room && (together != 1 || how.Packed || how.Kept > 0) || together != how.Together() {
			t.Errorf("with room for %d: %+v, %+v, %d together", room, got, how, together)
		}
		if want := []string{"rows", "keys", "values"}; !slices.Equal(how.Recomputed(), want) {
			t.Errorf("%v are recomputed", how.Recomputed())
		}
	}
	if seen[1] == 0 || seen[2] == 0 {
		t.Errorf("so many rooms for values of so many segments together: %v", seen)
	}
	if m.Settle(p, 0, 0, 1); m.Mode().Recomputed() != nil {
		t.Errorf("%v are recomputed without a bound", m.Mode().Recomputed())
	}
}

// TestSettleSegments: where values are made again, as many segments keep theirs as there is room
// for beside so many chunks at once, and the estimate says what that takes.
func TestSettleSegments(t *testing.T) {
	b := layered(24, 512, 32, true)
	wit := b.run(t, rand.New(rand.NewPCG(3, 4)))
	p, err := plan.New(&b.g, proof.Security{TargetBits: 40, GrindBits: 8}.Config())
	if err != nil {
		t.Fatal(err)
	}
	m := cuda.NewMachine(kernels.NewDry(132))
	defer m.Close()
	m.MaxResident, m.Piece = 0, 1<<14
	m.SetMode(device.Mode{Rows: true, Keys: true})
	all := *m.Need(p)
	m.SetMode(device.Mode{Rows: true, Keys: true, Values: true, Ahead: true})
	none := *m.Need(p)
	before, kept, grew, as := int64(0), int64(0), 0, device.Mode{}
	for room := none.Peak(); room < all.Peak(); room += (all.Peak() - none.Peak()) / orFew(50, 12) {
		need := m.Settle(p, room, 0, 1)
		how := m.Mode()
		how.Kept, how.Tables = 0, 0
		if how != as { // with more room rows are packed once, and fewer values are kept
			before, kept, as = 0, 0, how
		}
		if need.Witness < before || need.Witness > all.Witness+none.Witness { // of two segments there may be values twice
			t.Errorf("with room for %d values take %d, %d with less, and %d if all are kept", room, need.Witness, before, all.Witness)
		}
		if need.Peak() > room {
			t.Errorf("with room for %d it takes %+v", room, *need)
		}
		if *m.Need(p) != *need {
			t.Errorf("it takes %+v, which was %+v", *m.Need(p), *need)
		}
		if need.Witness > before {
			grew++
		}
		run, err := m.Run(t.Context(), &b.g, b.w, [][]int32{wit.Tensor(b.g.Inputs[0])})
		if err != nil {
			t.Fatal(err)
		}
		if live := m.Traffic().Live; live < kept || live > need.Fixed+need.Witness+32<<10 {
			t.Errorf("with room for %d a run keeps %d bytes, %d with less room; estimated %+v", room, live, kept, *need)
		} else {
			kept = live
		}
		run.Close()
		before = need.Witness
	}
	if grew < 5 {
		t.Errorf("what is kept grew %d times", grew)
	}
	// Where values of several proofs are there, each keeps less.
	room := all.Peak() + 2*(none.Witness+none.Trees)
	one, three := *m.Settle(p, room, 0, 1), *m.Settle(p, room, 0, 3)
	if one.Witness < all.Witness || three.Witness >= one.Witness || three.Fixed+3*(three.Witness+three.Trees) > room {
		t.Errorf("with room for %d one takes %+v, and each of three %+v", room, one, three)
	}
	if got := *m.Settle(p, none.Peak(), 0, 3); got.Peak() > none.Peak() {
		t.Errorf("with room for one it takes %+v, and there are %d bytes", got, none.Peak())
	}
	// Where several chunks are proved at once, there is room for them.
	chunks := 2 * none.Tasks / 4 * 5
	room = none.Fixed + none.Witness + none.Trees + chunks + none.Witness/2
	one = *m.Settle(p, room, 0, 1)
	m.Streams = 2
	if got := *m.Settle(p, room, 0, 1); got.Witness >= one.Witness || got.Fixed+got.Witness+got.Trees+chunks > room {
		t.Errorf("with room for %d beside two chunks it takes %+v, and %+v beside one", room, got, one)
	}
}

// orFew is how many cases are tried: all with -full.
func orFew(all, few int64) int64 {
	if *full {
		return all
	}
	return few
}

// plainly is Settle by its definition: every need is estimated whole, on a machine of its own.
type plainly struct {
	p     *plan.Plan
	of    func() *cuda.Machine
	needs map[device.Mode]cuda.Need
}

func (s *plainly) need(how device.Mode) cuda.Need {
	n, ok := s.needs[how]
	if !ok {
		m := s.of()
		m.SetMode(how)
		n = *m.Need(s.p)
		s.needs[how] = n
	}
	return n
}

func (s *plainly) settle(all, beside int64, runs int) (cuda.Need, device.Mode) {
	m := s.of()
	rows, both := device.Mode{Rows: true, Tables: beside / 2}, device.Mode{Keys: true, Rows: true, Tables: beside / 2}
	modes := []device.Mode{{Tables: beside / 2}, rows, {Keys: true, Tables: beside / 2}, both}
	values := both
	if beside == 0 {
		values.Tables = all / 32
		modes = append(modes, values)
	}
	if values.Values = true; m.Sharing == 1 {
		for i := range 4 {
			values.Ahead, values.Packed = i%2 == 0, i < 2
			modes = append(modes, values)
		}
	}
	if beside > 0 {
		modes = append(modes, modes[len(modes)-1])
		modes[len(modes)-1].Tables = beside / 4
	}
	asked := runs
	for ; runs > 0; runs-- {
		for _, several := range []bool{m.Streams > 1, false} {
			fits := func(n cuda.Need, packed bool) bool {
				if packed {
					n.Open += n.Open / 16
				}
				if several { // there are no other numbers of streams, and chunks of much the same size
					n.Tasks = 2 * n.Tasks / 4 * 5
				}
				working := n.Working() + int64(runs-1)*(n.Witness+n.Trees)
				return (all == 0 || n.Fixed+working <= all) && (beside == 0 || working <= beside)
			}
			for _, how := range modes {
				if !fits(s.need(how), how.Packed) {
					continue
				}
				for n := 0; how.Values; n++ {
					more := how
					more.Kept = n + 1
					if n > 100 || !fits(s.need(more), how.Packed) {
						break
					}
					how = more
				}
				if !how.Rows || asked > 1 {
					return s.need(how), how
				}
				for how.Tables > 0 && beside == 0 {
					more := how
					more.Tables *= 2
					if !fits(s.need(more), how.Packed) || s.need(more).Open <= s.need(how).Open {
						break
					}
					how = more
				}
				n, free := s.need(how), int64(math.MaxInt64)
				taken := n.Witness + n.Trees + n.Open
				if how.Packed {
					taken += n.Open / 16
				}
				if all > 0 {
					free = all - n.Fixed - taken - all/32
				}
				if beside > 0 {
					free = min(free, beside-taken-beside/32)
				}
				how.Stay = max(0, free)
				return n, how
			}
		}
	}
	return s.need(modes[len(modes)-1]), modes[len(modes)-1]
}

// TestSettlePlainly: what Settle leaves out, as it cannot fit, and what it estimates once for several modes, changes no choice.
func TestSettlePlainly(t *testing.T) {
	for name, b := range map[string]*builder{
		"wide": wide(), "flat": layered(3, 60, 70, false), "layers": layered(24, 512, 32, true), "several at once": layered(24, 512, 32, true),
		"everything": everything(rand.New(rand.NewPCG(1, 2))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if b.g.Chunks == 0 {
				b.g.Finish(0)
			}
			sec := proof.Security{TargetBits: 40, GrindBits: 8}
			p, err := plan.New(&b.g, sec.Config())
			if err != nil {
				t.Fatal(err)
			}
			chosen, kept := map[device.Mode]bool{}, 0
			for _, sharing := range []int{1, 2} {
				of := func() *cuda.Machine {
					m := cuda.NewMachine(kernels.NewDry(132))
					m.Sharing, m.Streams, m.MaxResident, m.Piece = sharing, 1, 0, 1<<14
					if name == "several at once" {
						m.Streams = 2
					}
					return m
				}
				s := &plainly{p, of, map[device.Mode]cuda.Need{}}
				whole := s.need(device.Mode{})
				m := of()                                           // for all questions, so that what it remembers counts
				for i := int64(0); i < 30; i += 30 / orFew(30, 6) { // of both parities, and of all rests by 3
					all, beside, runs := whole.Peak()*(i+1)/25, int64(0), int(1+i%3)
					if i%2 == 1 {
						all, beside = 0, whole.Working()*(i+1)/25
					}
					want, how := s.settle(all, beside, runs)
					got := *m.Settle(p, all, beside, runs)
					if got != want || m.Mode() != how {
						t.Errorf("%d GPUs, %d bytes, %d beside the weights, %d runs: %+v, %+v; plainly %+v, %+v", sharing, all, beside, runs, got, m.Mode(), want, how)
					}
					kept += how.Kept
					how.Tables, how.Stay = 0, 0
					chosen[how] = true
				}
			}
			if len(chosen) < 3 || name == "layers" && kept == 0 {
				t.Errorf("%d modes were chosen, and %d segments keep values", len(chosen), kept)
			}
		})
	}
}
