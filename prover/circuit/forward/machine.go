package forward

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// A Machine runs circuits faster than this package, and keeps what they compute.
type Machine interface {
	// Run executes all steps of g on inputs that are within their ranges. It returns nil if
	// it does not accept the circuit, or if a number leaves its range. This package then
	// runs the circuit itself, and reports the error. The caller must not change g, weights or
	// inputs. A machine may recognise a weight tensor by the address of its list, so a tensor
	// with other values must be in another list.
	Run(ctx context.Context, g *model.Graph, weights model.Weights, inputs [][]int32) (Kept, error)
}

// Kept has the values of a run that are in a machine's memory. It may be used concurrently.
type Kept interface {
	// Tensor returns the values of a tensor, nil if the machine does not have them.
	Tensor(id model.TensorID) ([]int32, error)
	// Keys returns the keys of a look-up step.
	Keys(step int) ([]int32, error)
	// Count returns, for each question, how many keys of a step are in a range.
	Count(questions []KeyRange) ([]int, error)
	// Close frees the memory of the values, which cannot be asked for afterwards.
	Close()
}

// A KeyRange asks how many keys of a look-up step are in [Min, Max].
type KeyRange struct {
	Step     int
	Min, Max int64
}

// kept gives access to the values of a witness that are in a machine's memory, and has copies of those that have been asked
// for. If the machine fails to return a value, the circuit is run again on the host. Many goroutines ask for many small
// tensors, so copies are found without a lock.
type kept struct {
	on     Kept
	own    func() *Witness // runs the circuit on the host when it is called first
	values copies[model.TensorID]
	keys   copies[int]
	failed atomic.Pointer[error] // the machine's first error
}

// copies are lists that have been copied from a machine, each only once. The value of m for a key is a function that returns the list.
type copies[K comparable] struct{ m sync.Map }

// get returns the list for a key. The first call for the key gets it from the machine, and calls at the same time wait for that.
func (c *copies[K]) get(key K, from func(K) ([]int32, error)) ([]int32, error) {
	v, ok := c.m.Load(key)
	if !ok {
		v, _ = c.m.LoadOrStore(key, sync.OnceValues(func() ([]int32, error) { return from(key) }))
	}
	return v.(func() ([]int32, error))()
}

// host returns the witness of a run on the host, from which values are taken after the machine has failed with err.
func (k *kept) host(err error) *Witness {
	k.failed.CompareAndSwap(nil, &err)
	return k.own()
}

// tensor returns the values of a tensor, or nil if the caller has to compute them from
// other tensors.
func (k *kept) tensor(id model.TensorID) []int32 {
	v, err := k.values.get(id, k.on.Tensor)
	if err != nil {
		return k.host(err).Values[id]
	}
	return v
}

// stepKeys returns the keys of a look-up step.
func (k *kept) stepKeys(step int) []int32 {
	v, err := k.keys.get(step, k.on.Keys)
	if err != nil {
		return k.host(err).Keys[step]
	}
	return v
}

// count returns the machine's answers to questions about keys. ok is false if the machine fails.
func (k *kept) count(questions []KeyRange) ([]int, bool) {
	n, err := k.on.Count(questions)
	if err != nil {
		k.failed.CompareAndSwap(nil, &err)
	}
	return n, err == nil
}

// Err returns the error with which a machine failed to return a value that it kept, or nil.
// The values then come from a run on the host.
func (w *Witness) Err() error {
	if w.kept == nil {
		return nil
	}
	if err := w.kept.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Kept returns the values that a machine keeps of the run, or nil.
func (w *Witness) Kept() Kept {
	if w.kept == nil {
		return nil
	}
	return w.kept.on
}

// Close frees the memory of the witness that is not garbage-collected, and a machine's
// values. The witness must not be used afterwards.
func (w *Witness) Close() {
	if w.kept != nil {
		w.kept.on.Close()
	}
	w.arena.Close()
}

// Count returns, for each question, how many keys of its look-up step are in its range.
func (w *Witness) Count(questions []KeyRange) []int {
	if w.kept != nil && len(questions) > 0 {
		if n, ok := w.kept.count(questions); ok {
			return n
		}
	}
	counts := make([]int, len(questions))
	for i, q := range questions {
		for _, key := range w.StepKeys(q.Step) {
			if int64(key) >= q.Min && int64(key) <= q.Max {
				counts[i]++
			}
		}
	}
	return counts
}

// onMachine returns the witness of a run on a machine, or nil if the machine does not
// accept the circuit. w has weights and inputs.
func onMachine(ctx context.Context, m Machine, w *Witness, g *model.Graph, weights model.Weights, inputs [][]int32) (*Witness, error) {
	on, err := m.Run(ctx, g, w.Weights, inputs)
	if err != nil || on == nil {
		return nil, err
	}
	inputs = slices.Clone(inputs)
	w.kept = &kept{on: on, own: sync.OnceValue(func() *Witness {
		own, err := Run(context.Background(), g, weights, inputs)
		if err != nil {
			panic("forward: a run that was in range on a machine is not: " + err.Error())
		}
		return own
	})}
	return w, nil
}
