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

// Together shares the sub-transcripts of a proof, called parts here, with other processes, which prove them with Help. Once the root of
// the witness has been sent, a part depends only on key, sizes and witness, so it has the same bytes wherever it is proved. The other
// processes need not be trusted: Prove reads each part that it receives with the verifier's code before it uses the part.
//
// Several processes may prove the same part. The bytes are the same, and Prove uses the result that it has first.
type Together interface {
	// Begin announces the parts that are to be proved: order lists their numbers, those that take longest first. roots is what another
	// process needs besides key, sizes and witness (Help). The implementation calls accept with the bytes of each part that another
	// process has proved; accept returns an error if they are wrong. It may be called by several goroutines at once, until End.
	Begin(roots []byte, order []int, accept func(part int, bytes []byte) error)
	// Claim says whether this process shall prove a part. It returns false if another process is proving it or has proved it.
	Claim(part int) bool
	// Left returns the parts that other processes have claimed and not delivered yet, the most recently begun first. Prove calls it when
	// it has nothing else to do, and proves these parts too. It uses whichever result comes first, so a slow process does not delay
	// the proof.
	Left() []int
	// End says that accept must not be called any more.
	End()
}

// alone implements Together for a proof that one process makes by itself.
type alone struct{}

func (alone) Begin([]byte, []int, func(int, []byte) error) {}
func (alone) Claim(int) bool                               { return true }
func (alone) Left() []int                                  { return nil }
func (alone) End()                                         {}

// work estimates the work of proving a sub-transcript as the number of entries of its tables: leaves of look-ups, and sums.
func work(f *plan.Fork) int {
	n := 1 + f.Leaves.Size
	for i := range f.Sums {
		n += 1 << f.Sums[i].Vars
	}
	return n
}

// byWork lists the sub-transcripts, those with the most work first.
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
	main    *transcript.Sponge // the state from which all sub-transcripts are forked
	public  reduce.Public
	mu      sync.Mutex
	results []forked
	there   []chan struct{} // by sub-transcript: closed when it has a result
	done    int             // the number of results
}

func newParts(r *run, main *transcript.Sponge, public reduce.Public) *parts {
	n := len(r.plan.Forks)
	p := &parts{r: r, main: main, public: public, results: make([]forked, n), there: make([]chan struct{}, n)}
	for i := range p.there {
		p.there[i] = make(chan struct{})
	}
	return p
}

// put stores the result of sub-transcript i, unless it has one already. Its error is the context's.
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

// has says whether sub-transcript i has a result.
func (p *parts) has(i int) bool {
	select {
	case <-p.there[i]:
		return true
	default:
		return false
	}
}

// race calls prove with a context that ends as soon as sub-transcript i has a result, from this process or from another one. An error of
// prove is ignored if there is a result.
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

// keep stores the bytes of sub-transcript i in Options.Results, for the case that the proof is interrupted.
func (p *parts) keep(i int, bytes []byte) {
	if kept := p.r.opts.Results; kept != nil {
		kept.KeepFork(i, bytes)
	}
}

// accept checks the bytes of sub-transcript i, which another process has proved, and stores them as its result.
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

// read reads sub-transcript i, which may come from a file or another process, with the verifier's code. That checks it, and gives its
// claims and the state of the transcript at its end.
func (r *run) read(i int, main *transcript.Sponge, bytes []byte, public reduce.Public) (result forked, err error) {
	defer func() {
		if p := recover(); p != nil { // no bytes should make the verifier panic; the part can be proved here in any case
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

// Help proves sub-transcripts of a proof that another process makes with Options.Together. It needs the same key, sizes and witness as that
// process, and the roots that Together.Begin was given there. next is called with the number and the bytes of the part that was just
// proved, or with −1 before the first, and returns the number of the part to prove next, or a negative number if there is none. As many
// goroutines call next as the machines of opts have workers. Help returns when all of them have been told that there is no more part,
// or with the error of the first that failed.
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
