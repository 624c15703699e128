package peers_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/conformance"
	"github.com/prove-model/prove-model/prover/machine/cuda"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/peers"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

var full = flag.Bool("full", false, "try all openings, not each with one suite on four machines and a quarter of them on three or where one fails; make full does")

// TestConformanceTeam: the suite with several machines, each with its own queue and memory, of
// which one may fail at any moment: its part is done by the first. Where their number is a power of
// two rows move between them, and all have parts of the tables, also where rows are cut into more parts than there are machines.
func TestConformanceTeam(t *testing.T) {
	d := devicetest.Open(t)
	lost := errors.New("lost")
	var armed atomic.Bool
	for name, c := range map[string]struct {
		counts []int
		fault  func(op string, n int) error
	}{
		"sound": {[]int{2, 3, 4}, nil},
		// Each opening meets the fault at another moment.
		"now and then":            {[]int{4}, func(_ string, n int) error { return when(n%97 == 0, lost) }},
		"now and then, in pieces": {[]int{3}, func(_ string, n int) error { return when(n%97 == 0, lost) }},
		"in a round":              {[]int{2}, func(string, int) error { return when(armed.CompareAndSwap(true, false), lost) }},
		"before a gathering":      {[]int{4}, func(string, int) error { return when(armed.CompareAndSwap(true, false), lost) }},
		// The machine has yet to copy rows of the first one when it fails, and its queue is not waited for at once.
		"not waited for": {[]int{2}, behindCopy(lost, &armed)},
		"no memory":      {[]int{3}, func(op string, n int) error { return when(op == "alloc" && n%41 == 0, devicetest.ErrInjected) }},
	} {
		for _, count := range c.counts {
			t.Run(fmt.Sprintf("%s, %d", name, count), func(t *testing.T) { conforms(t, d, count, name, c.fault, lost, &armed) })
		}
	}
}

// conforms is TestConformanceTeam of so many machines, the last of which has the fault.
func conforms(t *testing.T, d kernels.Device, count int, name string, fault func(op string, n int) error, lost error, armed *atomic.Bool) {
	inPieces := strings.HasSuffix(name, "in pieces")
	var streams []*devicetest.Streams
	var machines []*cuda.Machine
	for i := range count {
		f := fault
		if i < count-1 {
			f = nil
		}
		s := devicetest.NewStreams(d, 1<<30, f)
		m := cuda.NewMachine(s)
		m.HostPair, m.MostMoved = 0, 1<<20 // few rows are many bytes for what they fold to
		if count%2 == 0 {
			m.ShortRow = 3
		}
		if inPieces {
			m.SetMode(device.Mode{Rows: true, Stay: int64(count%2) << 11})
			m.MaxResident, m.Piece = 0, 1<<11
		}
		streams, machines = append(streams, s), append(machines, m)
	}
	told, memory := 0, fault != nil && errors.Is(fault("alloc", 41), devicetest.ErrInjected)
	saw := splits{armed: armed, inBegin: name == "not waited for", inRound: name == "in a round", inBind: name == "before a gathering"}
	parts := conformance.Openings(*full, len(name)%2 == 0)
	switch {
	case *full:
	case fault == nil && count == 4:
		parts = conformance.FewOpenings()
	case fault == nil: // hiding ones by two and three machines are made where one fails
		parts = parts[:1]
	case saw.inRound || saw.inBind: // which openings that hide have no tables for, as small as these are
		parts = parts[:1]
	case fault != nil:
		parts = parts[1:]
	}
	conformance.Run(t, func(g *model.Graph, w backend.Witness) backend.Backend {
		return opens{machines[0].BackendWith(&peers.Group{Others: contexts(machines[1:]), Lost: func(err *device.Error) {
			if told++; err.On != machines[count-1].Context || !errors.Is(err, lost) {
				t.Error(err)
			}
		}}, g, w), &saw}
	}, parts...)
	for i, m := range machines {
		m.Close()
		streams[i].Drain()
		if x := m.Traffic(); x.Live != 0 || streams[i].Live() != 0 || x.Uploaded == 0 {
			t.Errorf("machine %d: %+v", i, x)
		}
	}
	if (told > 0) != (fault != nil && !memory) {
		t.Errorf("told of %d machines", told)
	}
	// Of three one fails, and then there are two. Others fail before that.
	if dealt := saw.rounds > 0; dealt != (!inPieces && count != 3) && !strings.HasPrefix(name, "n") {
		t.Errorf("tables were split: %+v", &saw)
	}
	if (saw.inRound || saw.inBind) && saw.lost == 0 {
		t.Errorf("no machine failed while tables were split: %+v", &saw)
	}
}

// opens is a backend that counts openings in which tables were split, and those of which another
// machine failed then.
type opens struct {
	*cuda.Backend
	saw *splits
}

type splits struct {
	armed                    *atomic.Bool // makes the next operation of the last machine fail
	inBegin, inRound, inBind bool         // where that is done
	rounds, lost             int
}

func (b opens) Opening(ctx context.Context, o backend.Opening) (whir.Passes, error) {
	p, err := b.Backend.Opening(ctx, o)
	if err != nil {
		return nil, err
	}
	return opened{p, b.saw}, nil
}

type opened struct {
	whir.Passes
	saw *splits
}

func (o opened) Begin(ctx context.Context, q *whir.Functional) error {
	o.saw.armed.Store(o.saw.inBegin)
	return o.Passes.Begin(ctx, q)
}

func (o opened) Round(ctx context.Context) (whir.Sums, error) {
	split, _ := peers.Split(o.Passes)
	if split {
		o.saw.rounds++
		o.saw.armed.Store(o.saw.inRound)
	}
	s, err := o.Passes.Round(ctx)
	o.after(split)
	return s, err
}

func (o opened) Bind(ctx context.Context, r field.QM31) error {
	split, _ := peers.Split(o.Passes)
	if split {
		o.saw.armed.Store(o.saw.inBind)
	}
	err := o.Passes.Bind(ctx, r)
	o.after(split)
	return err
}

// after notes whether a machine has failed in a call that began with tables that were split.
func (o opened) after(split bool) {
	if _, others := peers.Split(o.Passes); split && others == 0 {
		o.saw.lost++
	}
}

func when(now bool, err error) error {
	if now {
		return err
	}
	return nil
}

func contexts(machines []*cuda.Machine) []*device.Context {
	var all []*device.Context
	for _, m := range machines {
		all = append(all, m.Context)
	}
	return all
}

// behindCopy has the launch after a copy from another machine fail, and then the first wait, once it is armed.
func behindCopy(lost error, armed *atomic.Bool) func(op string, n int) error {
	var mu sync.Mutex // machines copy beside each other
	copied, failed := false, false
	return func(op string, _ int) error {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case failed && op == "sync":
			failed = false
			return lost
		case !armed.Load():
		case op == "peer copy":
			copied = true
		case copied && op == "launch":
			copied, failed = false, true
			armed.Store(false)
			return lost
		}
		return nil
	}
}
