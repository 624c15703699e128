package provemodel

import (
	"context"
	"errors"
	"sync"

	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/quantise"
)

// writer computes logits while a text grows.
type writer interface {
	// set gives the text a token at a position, and asks for the logits there, the n-th ones.
	set(ctx context.Context, token, position, n int) error
	// logits returns those asked for last, or all of them where rows could not be told apart.
	logits() []int32
	// pass leaves what was computed, if Prove can go on from it.
	pass(ctx context.Context, p *Pass, in Input) error
	close()
}

// onProcessor is a writer on the processor, with the rows of every value.
type onProcessor struct {
	c    *Circuit
	rows *forward.Rows
}

func (w *onProcessor) set(ctx context.Context, token, position, n int) error {
	return w.rows.Set(ctx, []int{position, n}, [][]int32{{int32(token)}, {int32(position)}})
}

func (w *onProcessor) logits() []int32 { return w.rows.Output(0) }

func (w *onProcessor) pass(ctx context.Context, p *Pass, in Input) error {
	return p.take(ctx, w.c, w.rows, in)
}

func (w *onProcessor) close() {}

// onDevice is a writer on a GPU, with the rows of keys and values. When the GPU fails, the processor goes on from the beginning.
type onDevice struct {
	mu      sync.Mutex // of set and close: a text that is given up is closed while a row is computed
	circuit *forward.RowCircuit
	begin   func() (*devices.Rows, error) // with what the prompt left in the caches
	rows    *devices.Rows                 // nil before the second token: the first one need not wait for it
	row     []int32
	given   [][3]int // what set was given
	again   func(ctx context.Context) (writer, error)
	other   writer // in place of rows, once that has failed
}

func (w *onDevice) set(ctx context.Context, token, position, n int) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.given = append(w.given, [3]int{token, position, n})
	if w.other == nil {
		if w.rows == nil {
			w.rows, err = w.begin()
		}
		if err == nil {
			w.row, err = w.rows.Next(ctx, w.circuit.Values([]int{position, n}, [][]int32{{int32(token)}, {int32(position)}}))
		}
		if !errors.Is(err, devices.ErrProcessor) {
			return err
		}
		other, err := w.again(ctx)
		if err != nil {
			return err
		}
		for _, g := range w.given[:len(w.given)-1] {
			if err := other.set(ctx, g[0], g[1], g[2]); err != nil {
				return err
			}
		}
		w.other = other
	}
	return w.other.set(ctx, token, position, n)
}

func (w *onDevice) logits() []int32 {
	if w.other != nil {
		return w.other.logits()
	}
	return w.row
}

// pass leaves nothing: the GPU has not kept the rows of all values, and runs the circuit again in less time than they would take to move.
func (w *onDevice) pass(context.Context, *Pass, Input) error { return nil }

func (w *onDevice) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rows != nil {
		w.rows.Close()
	}
}

// write begins to write after a prompt, in a circuit for a longer text with these inputs: on the device's GPU, if it has one.
func (c *Circuit) write(ctx context.Context, dev *Device, warn devices.Log, q *quantise.Model, ints [][]int32, prompt []int) (writer, error) {
	onCPU := func(ctx context.Context) (writer, error) {
		rows, err := c.begin(ctx, q, ints, prompt)
		return &onProcessor{c, rows}, err
	}
	if dev == nil || !dev.GPU() {
		return onCPU(ctx)
	}
	w, err := c.writeOn(ctx, dev.set(), warn, q, ints, prompt)
	if errors.Is(err, devices.ErrProcessor) {
		return onCPU(ctx)
	}
	if err != nil {
		return nil, err
	}
	w.again = onCPU
	return w, nil
}

// writeOn is write for a GPU. The error is devices.ErrProcessor, after a warning, where that cannot be.
func (c *Circuit) writeOn(ctx context.Context, set *devices.Set, warn devices.Log, q *quantise.Model, ints [][]int32, prompt []int) (*onDevice, error) {
	if !c.free() {
		warn("the model has texts of one length only: it writes on the CPU")
		return nil, devices.ErrProcessor
	}
	circuit, err := forward.NewRowCircuit(q.Graph, q.Weights, textAxes)
	if err != nil {
		warn("the GPU cannot write with this model: %v; the CPU does", err)
		return nil, devices.ErrProcessor
	}
	short, known, err := c.prompted(prompt, len(ints[1]))
	if err != nil {
		return nil, err
	}
	wit, err := forward.RunOn(ctx, set.Prompt(warn), short.Graph, short.Weights, known)
	if err != nil {
		return nil, err
	}
	defer wit.Close()
	w := &onDevice{circuit: circuit}
	logits := wit.Tensor(short.Graph.Outputs[0])
	w.row = append(w.row, logits[:len(logits)/len(ints[1])]...)
	var begun [][]int32
	for _, x := range circuit.Caches {
		from, to := short.Graph.Tensors[x.Of].Shape, circuit.Graph.Tensors[x.Whole].Shape
		begun = append(begun, forward.Grown(wit.Tensor(x.Of), from, to))
	}
	if err := set.Kept(wit, warn); err != nil {
		return nil, err
	}
	w.begin = func() (*devices.Rows, error) { return set.Rows(circuit, begun, warn) }
	return w, nil
}

// prompted returns the circuit that is as long as a prompt, with logits at so many positions, and the inputs that say the prompt.
func (c *Circuit) prompted(prompt []int, positions int) (*quantise.Model, [][]int32, error) {
	first, err := textInput(prompt, nil, 1, len(prompt), c.quantised.Circuit.Free[0].Bound, positions)
	if err != nil {
		return nil, nil, err
	}
	short, err := c.sized(first)
	if err != nil {
		return nil, nil, err
	}
	known, _, err := short.QuantiseInput(first)
	return short, known, err
}
