package sums

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// watched tells how long each call of sumcheck tables took, and what is between two calls.
type watched struct {
	sumcheck.Tables
	last  time.Time
	spent *[]lap
}

// lap is a time that something took.
type lap struct {
	what string
	t    time.Duration
}

func (w *watched) at(what string) {
	now := time.Now()
	*w.spent = append(*w.spent, lap{what, now.Sub(w.last)})
	w.last = now
}

func (w *watched) Round(ctx context.Context, round int, r field.QM31) ([]sumcheck.Sums, error) {
	w.at("host")
	s, err := w.Tables.Round(ctx, round, r)
	w.at(fmt.Sprint("round ", round))
	return s, err
}

func (w *watched) Ends(ctx context.Context, r field.QM31) ([][2]field.QM31, error) {
	w.at("host")
	e, err := w.Tables.Ends(ctx, r)
	w.at("ends")
	return e, err
}

// TestSpeedSumcheck logs where the time of a sumcheck goes, on a GPU, in microseconds.
func TestSpeedSumcheck(t *testing.T) {
	if os.Getenv("PROVE_MODEL_TEST_GPU") != "1" {
		t.Skip("measured on a GPU alone")
	}
	dev := newDevice(t)
	box, err := dev.NewResultBuffer(device.ResultWords)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	to := device.Results{Dev: dev, Box: box}
	const vars, runs = 22, 200
	values := randomVec(rand.New(rand.NewPCG(1, 2)), 1<<vars)
	from := device.NewCopy(dev, values)
	defer dev.Free(from)

	type schedule struct {
		three int
		tail  int
		cold  bool
	}
	defer func(tail, three, most int) { tailVars, threeFrom, threeMost = tail, three, most }(tailVars, threeFrom, threeMost)
	threeMost = 1 << 10
	for _, how := range []schedule{{1 << 40, 8, false}, {1 << 17, 8, false}, {1 << 17, 10, false}, {1 << 17, 8, false}, {1 << 17, 8, true}} {
		cold := how.cold
		threeFrom, tailVars = how.three, how.tail
		n := runs
		if cold {
			n = 10
		}
		var names []string
		times := map[string][]time.Duration{}
		for range n {
			inst := sumcheckInstance{a: device.NewArray[field.QM31](dev, 1<<vars), b: device.NewArray[field.QM31](dev, 1<<vars), vars: vars}
			for _, p := range []kernels.Ptr{inst.a, inst.b} {
				if cold { // what the host's caches had is gone
					device.Check(kernels.UploadSlice(dev, p, values))
				} else {
					device.Check(dev.Copy(p, from, device.ElementBytes<<vars))
				}
			}
			device.Check(dev.Sync())
			var spent []lap
			began := time.Now()
			w := transcript.NewWriter(transcript.New(hash.Poseidon2, "speed"))
			tables := &watched{newBatch(device.NewScope(dev), to.Box, []sumcheckInstance{inst}), began, &spent}
			tables.at("prepared")
			if _, err := sumcheck.Prove(context.Background(), w, []sumcheck.Shape{{NumVars: vars}}, tables); err != nil {
				t.Fatal(err)
			}
			tables.at("host")
			tables.Close()
			tables.at("closed")
			spent = append(spent, lap{"ALL", time.Since(began)})
			sum := map[string]time.Duration{}
			for _, s := range spent {
				if !slices.Contains(names, s.what) {
					names = append(names, s.what)
				}
				sum[s.what] += s.t
			}
			for what, d := range sum {
				times[what] = append(times[what], d)
			}
		}
		t.Logf("%+v: least, median", how)
		for _, what := range names {
			d := times[what]
			slices.Sort(d)
			t.Logf("%-12s %8.1f %8.1f", what, micro(d[0]), micro(d[len(d)/2]))
		}
	}

	// From how many entries on three rounds a pass take less time.
	for _, of := range []struct{ batch, vars int }{{1, 10}, {1, 12}, {1, 14}, {1, 16}, {1, 17}, {1, 18}, {1, 20},
		{4, 14}, {4, 18}, {8, 18}, {16, 10}, {16, 14}, {16, 18}, {16, 21}, {100, 10}, {100, 13}} {
		line := fmt.Sprintf("%d of 2^%d, least and median with two rounds a pass, and three:", of.batch, of.vars)
		tailVars = 8
		for _, threeFrom = range []int{1 << 40, 0} {
			var took []time.Duration
			for range 60 {
				insts, shapes := make([]sumcheckInstance, of.batch), make([]sumcheck.Shape, of.batch)
				for i := range insts {
					in := sumcheckInstance{a: device.NewArray[field.QM31](dev, 1<<of.vars), b: device.NewArray[field.QM31](dev, 1<<of.vars), vars: of.vars}
					device.Check(dev.Copy(in.a, from, device.ElementBytes<<of.vars))
					device.Check(dev.Copy(in.b, from, device.ElementBytes<<of.vars))
					insts[i], shapes[i].NumVars = in, of.vars
				}
				device.Check(dev.Sync())
				began := time.Now()
				tables := newBatch(device.NewScope(dev), to.Box, insts)
				if _, err := sumcheck.Prove(context.Background(), transcript.NewWriter(transcript.New(hash.Poseidon2, "speed")), shapes, tables); err != nil {
					t.Fatal(err)
				}
				tables.Close()
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			line += fmt.Sprintf(" %.1f %.1f", micro(took[0]), micro(took[len(took)/2]))
		}
		t.Log(line)
	}

	// The device's part of each pass.
	a, b := device.NewArray[field.QM31](dev, 1<<vars), device.NewArray[field.QM31](dev, 1<<vars)
	defer dev.Free(a)
	defer dev.Free(b)
	device.Check(dev.Copy(a, from, device.ElementBytes<<vars))
	device.Check(dev.Copy(b, from, device.ElementBytes<<vars))
	scope := device.NewScope(dev)
	defer scope.Close()
	_, batch := describeBatch(scope, []sumcheckInstance{{a: a, b: b, vars: vars}})
	words := device.NewWords(scope, kernels.SumcheckTwoRoundsWords)
	two := []field.QM31{values[0], values[1]}
	for log := vars; log >= 8; log -= 2 {
		pending := two
		if log == vars {
			pending = nil
		}
		d, err := dev.Time(func() error {
			for range 20 {
				if err := kernels.SumcheckTwoRounds(dev, batch, 1, log-2, pending, kernels.Kept(words)); err != nil {
					return err
				}
			}
			return nil
		})
		device.Check(err)
		t.Logf("device: two rounds of 2^%d, folds %d: %.1f", log, len(pending), micro(d)/20)
	}

	three := []field.QM31{values[0], values[1], values[2]}
	wide := device.NewWords(scope, kernels.SumcheckThreeRoundsWords)
	for log := vars; log >= 7; log -= 3 {
		pending := three
		if log == vars {
			pending = nil
		}
		d, err := dev.Time(func() error {
			for range 20 {
				if err := kernels.SumcheckThreeRounds(dev, batch, 1, log-3, pending, kernels.Kept(wide)); err != nil {
					return err
				}
			}
			return nil
		})
		device.Check(err)
		t.Logf("device: three rounds of 2^%d, folds %d: %.1f", log, len(pending), micro(d)/20)
	}
	d, err := dev.Time(func() error {
		for range 20 {
			if err := kernels.SumcheckThreeRounds(dev, batch, 1, 19, nil, kernels.Kept(wide)); err != nil {
				return err
			}
			if err := kernels.SumcheckThreeRounds(dev, batch, 1, 16, three, kernels.Kept(wide)); err != nil {
				return err
			}
		}
		return nil
	})
	device.Check(err)
	t.Logf("device: the first two passes of three rounds: %.1f", micro(d)/20)

	quarter := 1 << 20
	for _, vars := range []int{20, 19, 18, 17, 16, 15, 14, 12, 10} {
		some, err := kernels.NewEqHeaps(dev, values[:vars])
		device.Check(err)
		layer := kernels.LogUpRounds{Vars: vars, Stored: 1 << vars, Eq: some, Lambda: values[0], N0: a, N1: kernels.At[field.QM31](a, quarter), D0: b, D1: kernels.At[field.QM31](b, quarter)}
		lanes := layer
		lanes.InLanes = 1 << vars
		var line string
		for _, pass := range []func() error{
			func() error { return layer.TwoRounds(dev, 0, nil, kernels.Kept(words)) },
			func() error { return lanes.TwoRounds(dev, 0, nil, kernels.Kept(words)) },
			func() error { return layer.TwoRounds(dev, 2, two, kernels.Kept(words)) },
			func() error { return lanes.TwoRounds(dev, 2, two, kernels.Kept(words)) },
		} {
			d, err := dev.Time(func() error {
				for range 20 {
					if err := pass(); err != nil {
						return err
					}
				}
				return nil
			})
			device.Check(err)
			line += fmt.Sprintf(" %.1f", micro(d)/20)
		}
		some.Free(dev)
		t.Logf("device: layer of 2^%d: first two rounds, in lanes; two folds and two rounds, in lanes:%s", vars, line)
	}

	each := func(what string, f func()) {
		f()
		device.Check(dev.Sync())
		const n = 500
		began := time.Now()
		for range n {
			f()
		}
		d := time.Since(began)
		device.Check(dev.Sync())
		t.Logf("%-40s %8.2f, %8.2f with the device's part", what, micro(d)/n, micro(time.Since(began))/n)
	}
	each("a small pass that stays", func() {
		device.Check(kernels.SumcheckTwoRounds(dev, batch, 1, 8, two, kernels.Kept(words)))
		device.Check(dev.Sync())
	})
	each("a small pass and its sums", func() {
		to.Read(kernels.SumcheckTwoRoundsWords, func(p kernels.Post) error { return kernels.SumcheckTwoRounds(dev, batch, 1, 8, two, p) })
	})
	each("a smallest pass and its sums", func() {
		to.Read(kernels.SumcheckTwoRoundsWords, func(p kernels.Post) error { return kernels.SumcheckTwoRounds(dev, batch, 1, 4, two, p) })
	})
	each("a smallest pass of three rounds", func() {
		to.Read(kernels.SumcheckThreeRoundsWords, func(p kernels.Post) error { return kernels.SumcheckThreeRounds(dev, batch, 1, 4, three, p) })
	})
	each("three rounds of 2^10", func() {
		to.Read(kernels.SumcheckThreeRoundsWords*kernels.SumcheckThreeRoundsParts(1, 7), func(p kernels.Post) error {
			return kernels.SumcheckThreeRounds(dev, batch, 1, 7, three, p)
		})
	})
	each("its launch alone, three rounds", func() { device.Check(kernels.SumcheckThreeRounds(dev, batch, 1, 4, three, kernels.Kept(wide))) })
	each("its launch alone", func() { device.Check(kernels.SumcheckTwoRounds(dev, batch, 1, 4, two, kernels.Kept(words))) })
	each("6 KB allocated, cleared, freed", func() { dev.Free(device.NewWords(dev, 726)) })
	each("64 bytes copied to the device", func() { dev.Free(device.NewCopy(dev, values[:4])) })
	each("64 MB allocated and freed", func() { dev.Free(device.NewArray[field.QM31](dev, 1<<vars)) })
	each("32 KB fetched", func() { device.Fetch[field.QM31](dev, a, 2<<10) })
	each("the rest of 2^8, folded twice", func() {
		to.Elements(2<<8, func(p kernels.Post) error { return kernels.SumcheckRest(dev, batch, 1, 8, two, p) })
	})
	each("the rest of 2^10, folded three times", func() {
		to.Elements(2<<10, func(p kernels.Post) error { return kernels.SumcheckRest(dev, batch, 1, 10, three, p) })
	})
	each("the rest of 2^7, folded three times", func() {
		to.Elements(2<<7, func(p kernels.Post) error { return kernels.SumcheckRest(dev, batch, 1, 7, three, p) })
	})
	w := transcript.NewWriter(transcript.New(hash.Poseidon2, "speed"))
	each("two elements sent, a challenge taken", func() {
		w.SendQM31(two...)
		w.Challenge()
	})
	each("2^10 elements bound", func() { field.FoldVec(values[:512], values[:1024], two[0]) })
	for _, vars := range []int{7, 8, 10} {
		each(fmt.Sprintf("tail of 2^%d", vars), func() {
			in := sumcheck.Instance{A: slices.Clone(values[:1<<vars]), B: slices.Clone(values[1<<vars : 2<<vars])}
			tail := sumcheck.NewTables([]sumcheck.Instance{in})
			if _, err := sumcheck.Prove(context.Background(), w, []sumcheck.Shape{{NumVars: vars}}, tail); err != nil {
				t.Fatal(err)
			}
		})
	}
	var sink time.Time
	each("a look at the clock", func() { sink = time.Now() })
	_ = sink
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
