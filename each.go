package provemodel

import (
	"context"
	"fmt"
	"sync"
)

// ProveEach proves the runs of a committed circuit on several inputs, each by itself: the
// proofs are those that Prove gives, in the order of the inputs. They share the device
// and its scheduler, and one's forward pass runs under the proof of the one before, so
// that two runs are in memory at a time; on a GPU two are proved at once as well. own, if
// set, returns further options for the input of that index, such as MaxError.
//
// The observer is told of one phase, whose progress are proofs. If one fails the others
// are given up, and the error, which wraps that of the proof, has the input's number from
// 1 on.
func ProveEach(ctx context.Context, c *Committed, inputs []Input, own func(i int) []Option, opts ...Option) ([]*Proof, error) {
	o := apply(opts)
	w := o.watch()
	defer w.stop()
	if len(inputs) == 0 {
		return nil, nil
	}
	first, err := c.of(o, w, inputs[0])
	if err != nil {
		return nil, fmt.Errorf("input 1: %w", err)
	}
	release, err := o.bounded(c.circuit.estimate(o, first.model, first.plan), w)
	if err != nil {
		return nil, err
	}
	defer release()
	proofs := make([]*Proof, len(inputs))
	w.begin(PhaseEach)
	err = overlap(ctx, len(inputs), o.device.provers(), func(ctx context.Context, i int, prove func(func() error) error) error {
		mine := apply(opts)
		mine.runs = min(len(inputs), o.device.provers()+1)
		if own != nil {
			for _, set := range own(i) {
				set(mine)
			}
		}
		mine.observer = warnings{w}
		quiet := mine.watch()
		defer quiet.stop()
		r, err := c.of(mine, quiet, inputs[i])
		if err != nil {
			return err
		}
		defer r.close()
		if err := r.forward(ctx, inputs[i]); err != nil {
			return err
		}
		return prove(func() (err error) {
			proofs[i], err = r.prove(ctx)
			return err
		})
	}, func(done int) { w.progress(done, len(inputs)) })
	w.end(err)
	if err != nil {
		return nil, err
	}
	return proofs, nil
}

// provers is how many proofs are made at once.
func (d *Device) provers() int {
	if d.GPU() {
		return 2
	}
	return 1
}

// overlap calls f for every index below n. A call runs by itself, in the order of the
// indices, until it calls prove, of whose arguments at most provers run at once; then the
// next call begins. It returns the first error, after which the others' context ends, and
// calls done after each call that did well with their number.
func overlap(ctx context.Context, n, provers int, f func(ctx context.Context, i int, prove func(func() error) error) error, done func(int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	turn, slots := make(chan int, 1), make(chan struct{}, provers)
	turn <- 0
	var wg sync.WaitGroup
	var mu sync.Mutex
	finished := 0
	call := func(i int) {
		next := sync.OnceFunc(func() { turn <- i + 1 })
		defer next() // after the others have been given up, if it fails
		err := f(ctx, i, func(prove func() error) error {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			defer func() { <-slots }()
			next()
			return prove()
		})
		if err != nil {
			cancel(fmt.Errorf("input %d: %w", i+1, err))
			return
		}
		mu.Lock()
		defer mu.Unlock()
		finished++
		done(finished)
	}
	for range min(n, provers+1) {
		wg.Go(func() {
			for {
				i := <-turn
				if i >= n || ctx.Err() != nil {
					turn <- n
					return
				}
				call(i)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return nil
}

// warnings passes on warnings alone.
type warnings struct{ w *watch }

func (warnings) Begin(Phase)       {}
func (warnings) Progress(int, int) {}
func (warnings) End(error)         {}

// Warn implements Observer.
func (o warnings) Warn(message string) { o.w.warn("%s", message) }
