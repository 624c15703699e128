package prover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/schedule"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
)

// Together shares the sub-transcripts of a proof, its parts, with other processes, which prove them with Help. After the roots of the
// witness each part depends on key, sizes and witness alone, so that it has the same bytes wherever it is proved. Whoever helps is not
// trusted: Prove reads what it leaves with the verifier's code, as it reads results of an interrupted run, before it counts.
//
// A part may be proved by several processes. One of them is used, and the bytes are the same.
type Together interface {
	// Begin says that there are parts to be proved: order lists their numbers, those that take longest first. roots is what others need to
	// know beside key, sizes and witness. accept takes the bytes of a part that another process has proved, or returns what is wrong with
	// them; it may be called by several goroutines, until End.
	Begin(roots []byte, order []int, accept func(part int, bytes []byte) error)
	// Claim says whether this process is to prove a part: no other is at it.
	Claim(part int) bool
	// Left returns the parts that others have and have not left yet, those that they have begun last first. This process, which has nothing
	// else to do by then, proves them too: whoever is first is used, so that a proof takes no longer than without others.
	Left() []int
	// End says that nothing more is accepted.
	End()
}

// alone is Together without others.
type alone struct{}

func (alone) Begin([]byte, []int, func(int, []byte) error) {}
func (alone) Claim(int) bool                               { return true }
func (alone) Left() []int                                  { return nil }
func (alone) End()                                         {}

// work estimates what proving a sub-transcript takes, in entries of the tables that it goes through.
func work(f *plan.Fork) int {
	n := 1 + f.Leaves.Size
	for i := range f.Sums {
		n += 1 << f.Sums[i].Vars
	}
	return n
}

// byWork lists the sub-transcripts, those that take longest first.
func byWork(p *plan.Plan) []int {
	order := make([]int, len(p.Forks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(work(p.Forks[b]), work(p.Forks[a])) })
	return order
}

// parts collects the results of the sub-transcripts of a proof.
type parts struct {
	r       *run
	main    *transcript.Sponge // the state that all start from
	public  reduce.Public
	mu      sync.Mutex
	results []forked
	there   []chan struct{} // closed when there is a result
	done    int
}

func newParts(r *run, main *transcript.Sponge, public reduce.Public) *parts {
	n := len(r.plan.Forks)
	p := &parts{r: r, main: main, public: public, results: make([]forked, n), there: make([]chan struct{}, n)}
	for i := range p.there {
		p.there[i] = make(chan struct{})
	}
	return p
}

// put takes the result of a sub-transcript, unless there is one.
func (p *parts) put(i int, result forked) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.has(i) {
		return nil
	}
	p.results[i] = result
	close(p.there[i])
	p.done++
	return p.r.step(PhaseChunks, p.done, len(p.results))
}

// has says whether there is a result of a sub-transcript.
func (p *parts) has(i int) bool {
	select {
	case <-p.there[i]:
		return true
	default:
		return false
	}
}

// race calls prove with a context that ends when there is a result of a sub-transcript. Then it does not matter what prove returns.
func (p *parts) race(ctx context.Context, i int, prove func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.there[i]:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := prove(ctx); err != nil && !p.has(i) {
		return err
	}
	return nil
}

// keep stores the bytes of a sub-transcript for the case that the proof is interrupted.
func (p *parts) keep(i int, bytes []byte) {
	if kept := p.r.opts.Results; kept != nil {
		kept.KeepFork(i, bytes)
	}
}

// accept takes the bytes of a sub-transcript that another process has proved.
func (p *parts) accept(i int, bytes []byte) error {
	if i < 0 || i >= len(p.results) {
		return fmt.Errorf("there is no part %d", i)
	}
	result, err := p.r.read(i, p.main, bytes, p.public)
	if err != nil {
		return err
	}
	p.keep(i, bytes)
	_ = p.put(i, result) // whose error is the context's, which ends the proof anyway
	return nil
}

// read follows a sub-transcript with the verifier's code, which checks it and gives the claims and the state of the sponge.
func (r *run) read(i int, main *transcript.Sponge, bytes []byte, public reduce.Public) (result forked, err error) {
	defer func() {
		if p := recover(); p != nil { // no bytes should do that; these are not needed
			result, err = forked{}, fmt.Errorf("%v", p)
		}
	}()
	in := transcript.NewReader(main.Fork(uint64(i)), bytes)
	claims := reduce.Run(r.plan, r.plan.Forks[i], reduce.NewVerifier(in), public)
	if err := in.Done(); err != nil {
		return forked{}, err
	}
	return forked{bytes: bytes, sponge: in.Sponge, claims: claims}, nil
}

// Help proves sub-transcripts of a proof that another process makes with Options.Together, of the same key, sizes and witness. roots is what
// that process has told. next is given each sub-transcript that was proved, and says which one is to be proved: none if it is negative.
// Before there is one, part is −1. It is called by as many goroutines as the machines of opts have workers. Help returns when each of them
// has been told that there is nothing more, or the error of the first that failed.
func Help(ctx context.Context, key *proof.Key, in model.Instance, roots []byte, wit backend.Witness, opts Options, next func(ctx context.Context, part int, bytes []byte) (int, error)) error {
	p, err := planOf(key, in, &opts)
	if err != nil {
		return err
	}
	if opts.Hiding != nil {
		return errors.New("the parts of a hiding proof are not proved by others: its masks are secret")
	}
	if in.Segment != nil {
		return errShared
	}
	r := newRun(ctx, key, p, nil, wit, opts)
	defer r.close()
	g := p.Graph
	inputs, outputs := r.public(g.Inputs), r.public(g.Outputs)
	main := proof.NewHeader(key, p).Statement(inputs[:len(g.Given())], outputs)
	read := transcript.NewReader(main, roots)
	for i := range p.Trees {
		if p.Trees[i].Sent() {
			read.Digest()
		}
	}
	if err := read.Done(); err != nil {
		return fmt.Errorf("the roots of the witness: %w", err)
	}
	values, tasks := reduce.Public{Inputs: inputs, Outputs: outputs}, r.pool.tasks(p)
	group, ctx := errgroup.WithContext(ctx)
	for range r.pool.Schedule.Workers() {
		group.Go(func() error {
			part, bytes := -1, []byte(nil)
			for {
				i, err := next(ctx, part, bytes)
				if err != nil || i < 0 {
					return err
				}
				if i >= len(tasks) {
					return fmt.Errorf("there is no part %d", i)
				}
				var result forked
				task := tasks[i]
				task.Run = func(ctx context.Context, on schedule.Worker) (err error) {
					result, err = r.proveFork(ctx, i, main.Fork(uint64(i)), values, on)
					return err
				}
				if err := r.pool.Schedule.Run(ctx, []schedule.Task{task}, r.pool.Warn); err != nil {
					return err
				}
				part, bytes = i, result.bytes
			}
		})
	}
	return group.Wait()
}
