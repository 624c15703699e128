package backend

import (
	"errors"

	"github.com/prove-model/prove-model/prover/merkle"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/transcript"
	"github.com/prove-model/prove-model/prover/whir"
)

// movable is a table of a Fallback: on the device, on the CPU, or both.
type movable struct {
	b           *Fallback
	vars        int
	device, cpu Table
	// again makes the table on another backend when the device has lost it.
	again func(Backend) Table
}

// table makes a table of 2^vars entries in a step over n entries.
func (b *Fallback) table(n, vars int, make func(Backend) Table) Table {
	t := &movable{b: b, vars: vars, again: make}
	b.run(n, func(on Backend) {
		if on == b.device {
			t.device = make(on)
		} else {
			t.cpu = make(on)
		}
	})
	return t
}

// on returns the table on one of the two backends.
func (t *movable) on(b Backend) Table {
	if b == t.b.cpu {
		return t.local()
	}
	if t.device == nil {
		t.device = b.Upload(t.b.cpu.Download(t.cpu))
	}
	return t.device
}

// local returns the table on the CPU.
func (t *movable) local() Table {
	if t.cpu != nil {
		return t.cpu
	}
	if t.b.lost || !t.b.try(func() { t.cpu = t.b.cpu.Upload(t.b.device.Download(t.device)) }) {
		t.cpu = t.again(t.b.cpu)
	}
	return t.cpu
}

// nodes are the digests of a commitment that the device made. If it loses them,
// the CPU commits again.
type nodes struct {
	whir.Nodes
	b     *Fallback
	stack Stack
	cpu   whir.Nodes
}

// Open implements whir.Nodes.
func (n *nodes) Open(w *transcript.Writer, positions []uint64) {
	begin := w.Snapshot()
	if n.cpu == nil && !n.b.lost && n.b.try(func() { n.Nodes.Open(w, positions) }) {
		return
	}
	w.Restore(begin)
	n.local().Open(w, positions)
}

// Layers implements whir.Nodes. From then on the digests are in this process's
// memory.
func (n *nodes) Layers() [][]poseidon2.Digest {
	var layers [][]poseidon2.Digest
	if n.cpu == nil && !n.b.lost && n.b.try(func() { layers = n.Nodes.Layers() }) {
		var err error
		n.cpu, err = merkle.FromLayers(layers)
		Check(err)
	}
	return n.local().Layers()
}

// local returns the digests on the CPU.
func (n *nodes) local() whir.Nodes {
	if n.cpu == nil {
		n.cpu = n.b.cpu.Commit(n.stack).Nodes()
		if n.cpu.Root() != n.Root() {
			panic(Failure{errors.New("it computed a commitment that the CPU does not find")})
		}
	}
	return n.cpu
}
