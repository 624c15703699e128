package provemodel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"sync"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/machine/cache"
	"github.com/prove-model/prove-model/prover/math/poseidon2"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// resumeFrom is the number of committed entries of a witness from which the results of
// a proof's parts are kept: one with fewer takes some seconds on two cores.
const resumeFrom = 1 << 24

// Resume keeps what parts of a long proof's work leave in the cache's folder until the
// proof is made, so that one that was interrupted goes on where it was when it is asked
// for again: the same key and input, and the same build of the program. The proof has
// the same bytes. For Prove, with Cache.
func Resume() Option { return func(o *options) { o.resume = resumeFrom } }

// results are those of one proof, in the cache's folder. They implement prover.Results.
// They are written beside the work that goes on.
type results struct {
	work *cache.Work
	w    *watch

	mu      sync.Mutex
	ended   bool
	writing sync.WaitGroup
}

// results opens what an earlier run of the same proof has left, or begins to keep it;
// nil if the proof is short or nothing can be kept.
func (o *options) results(w *watch, c *Committed, p *plan.Plan, wit *forward.Witness) *results {
	entries := uint64(0)
	if t := p.WitnessTree(); t != nil {
		entries = t.Values()
	}
	if !o.caching || o.resume == 0 || entries < o.resume {
		return nil
	}
	dir, err := cache.Open(o.cacheDir)
	if err == nil {
		var work *cache.Work
		if work, err = dir.Work(proofID(c, p, wit)); err == nil {
			return &results{work: work, w: w}
		}
	}
	if !errors.Is(err, cache.ErrBusy) && !errors.Is(err, errors.ErrUnsupported) {
		w.warn("a proof that is interrupted will begin anew: %v", err)
	}
	return nil
}

// proofID names the proof of a run by this program.
func proofID(c *Committed, p *plan.Plan, wit *forward.Witness) cache.ID {
	h := cache.NewHasher()
	h.Add("what", []byte("proof"))
	if info, ok := debug.ReadBuildInfo(); ok {
		h.Add("program", []byte(info.String()))
	}
	h.Add("key", c.key.Digest[:])
	h.Add("instance", fmt.Appendf(nil, "%v", p.Graph.Instance))
	for _, id := range p.Graph.Inputs {
		var b []byte
		for _, v := range wit.Tensor(id) {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		h.Add("input", b)
	}
	return h.ID()
}

func (r *results) get(kind string, i int) *cache.Entry {
	found, err := r.work.Get(kind, i)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.w.warn("part of an interrupted proof is made again: %v", err)
	}
	return found
}

// put writes an entry, which must not be changed any more.
func (r *results) put(kind string, i int, e *cache.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended { // nobody waits for this proof any more
		return
	}
	r.writing.Go(func() {
		if err := r.work.Put(kind, i, e); err != nil {
			r.w.warn("not kept for the case of an interruption: %v", err)
		}
	})
}

// Tree implements prover.Results.
func (r *results) Tree(i int) [][]poseidon2.Digest {
	if e := r.get("tree", i); e != nil {
		return e.Layers
	}
	return nil
}

// KeepTree implements prover.Results.
func (r *results) KeepTree(i int, layers [][]poseidon2.Digest) {
	r.put("tree", i, &cache.Entry{Layers: layers})
}

// Fork implements prover.Results.
func (r *results) Fork(i int) []byte {
	if e := r.get("fork", i); e != nil {
		return e.Extra
	}
	return nil
}

// KeepFork implements prover.Results.
func (r *results) KeepFork(i int, bytes []byte) { r.put("fork", i, &cache.Entry{Extra: bytes}) }

// end leaves the results to a later run or, if the proof is made or what they led to
// does not verify, removes them.
func (r *results) end(remove bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.writing.Wait()
	if !remove {
		_ = r.work.Close() // everything has been written
		return
	}
	if err := r.work.Remove(); err != nil {
		r.w.warn("what was kept for the case of an interruption is still there: %v", err)
	}
}
