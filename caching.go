package provemodel

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/machine/cache"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/quantise"
)

// cacheBytes is the size, in bytes, that the cache is pruned to. A quantised model is
// kept only if it takes no more than mostKept bytes.
const (
	cacheBytes = 4 << 30
	mostKept   = cacheBytes / 2
)

// An entry is a place in the cache. A nil entry finds nothing and stores nothing.
type entry struct {
	dir *cache.Dir
	id  cache.ID
	w   *watch
}

// UserCacheDir returns the usual folder for the CacheDir of options: prove-model's own folder within the user's cache
// folder. It need not exist.
func UserCacheDir() (string, error) { return cache.DefaultPath() }

// entryOf returns the place of an ID in the cache of a folder. It returns nil if the ID is nil or folder is "",
// and, with a warning, if the folder cannot be used.
func entryOf(folder string, w *watch, id *cache.ID) *entry {
	if folder == "" || id == nil {
		return nil
	}
	dir, err := cache.Open(folder)
	if err != nil {
		w.warn("no cache: %v", err)
		return nil
	}
	return &entry{dir, *id, w}
}

// get returns the stored content; nil if there is none.
func (e *entry) get() *cache.Entry { return e.find((*cache.Dir).Get) }

// find returns what get finds for the entry; nil if there is nothing. An error is only a warning.
func (e *entry) find(get func(*cache.Dir, cache.ID) (*cache.Entry, error)) *cache.Entry {
	if e == nil {
		return nil
	}
	found, err := get(e.dir, e.id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.w.warn("cache: %v", err)
	}
	return found
}

// put stores content, and prunes the cache. An error is only a warning, since the result is the same without a cache.
func (e *entry) put(content *cache.Entry) {
	if e == nil {
		return
	}
	err := e.dir.Put(e.id, content)
	if err == nil {
		_, err = e.dir.Prune(cacheBytes)
	}
	if err != nil {
		e.w.warn("not cached: %v", err)
	}
}

// hash computes the digests of the model's files, as a phase of its own.
func (m *Model) hash(ctx context.Context, w *watch) error {
	return m.phase(ctx, w, phaseHash, func() error {
		m.files()
		return nil
	})
}

// id returns the ID of something that this version of the quantiser makes from the model, nil for
// a model that was made in memory. `what` names the kind of thing, and more adds to the ID what
// else it depends on. Shapes of inputs are part of the ID, since a file may leave them open,
// except for the size of an open batch and the length of a text; the bound of the length is part
// of it. Names of values are part of it because ranges are stored in their order.
func (m *Model) id(what string, more func(h *cache.Hasher)) *cache.ID {
	files := m.files()
	if len(files) == 0 {
		return nil
	}
	h := cache.NewHasher()
	h.Add("what", []byte(what))
	h.Add("quantiser", binary.LittleEndian.AppendUint32(nil, quantise.Version))
	for _, d := range files {
		h.Add("file", d[:])
	}
	g, err := m.sized(1, 1)
	if err != nil {
		return nil // Quantise reports this error
	}
	h.Add("inputs", []byte(signature(inputsOf(g))))
	if m.open.isText() {
		h.Add("length", binary.LittleEndian.AppendUint32(nil, uint32(m.open.most)))
		if m.open.written != "" {
			h.Add("written", []byte(m.open.written))
		}
	}
	for _, n := range g.Nodes {
		h.Add("node", fmt.Appendf(nil, "%q %q", graph.Kind(n.Op), n.Output))
	}
	more(h)
	return idOf(h)
}

func idOf(h *cache.Hasher) *cache.ID {
	id := h.ID()
	return &id
}

// rangesID is the ID of the ranges and formats that the samples give. If keep is set
// the ID does not depend on the samples: it is that of the first ranges that the model
// was quantised with in this mode.
func (m *Model) rangesID(samples []Input, settings quantise.Options, keep bool) *cache.ID {
	return m.id("ranges", func(h *cache.Hasher) {
		h.Add("settings", fmt.Appendf(nil, "%s %v %v", settings.Mode, settings.Headroom, settings.Target))
		if settings.Hide {
			h.Add("hide", fmt.Appendf(nil, "%q", settings.Public))
		}
		addBase(h, settings)
		if !keep {
			h.Add("samples", sampleBytes(samples))
		}
	})
}

// sampleBytes encodes samples for an ID.
func sampleBytes(samples []Input) []byte {
	var b []byte
	for _, s := range samples {
		for _, v := range s {
			b = binary.LittleEndian.AppendUint64(b, uint64(len(v)))
			for _, x := range v {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
			}
		}
	}
	return b
}

// codes returns the codes of ranges that the entry holds, as cachedRanges decodes them; nil if there are none.
func (e *entry) codes() []uint32 {
	found := e.get()
	if found == nil {
		return nil
	}
	var codes []uint32
	for b := range slices.Chunk(found.Extra, 4) {
		if len(b) == 4 {
			codes = append(codes, binary.LittleEndian.Uint32(b))
		}
	}
	return codes
}

// putCodes stores codes of ranges.
func (e *entry) putCodes(codes []uint32) {
	var b []byte
	for _, c := range codes {
		b = binary.LittleEndian.AppendUint32(b, c)
	}
	e.put(&cache.Entry{Extra: b})
}

// quantisedID is the ID of a quantised model, by the ranges, the formats and the settings that it is made with.
func (m *Model) quantisedID(r ranges, settings quantise.Options) *cache.ID {
	return m.id("quantised", func(h *cache.Hasher) {
		if !m.open.isText() {
			h.Add("shapes", []byte(signature(m.Inputs())))
		}
		formats := quantise.Formats{}
		for name, f := range settings.Formats {
			if f.Code() != 0 {
				formats[name] = f
			}
		}
		settings.Formats = formats
		addBase(h, settings)
		settings.Base = nil
		h.Add("settings", fmt.Appendf(nil, "%#v", settings)) // fmt prints maps in the order of their keys
		for _, name := range slices.Sorted(maps.Keys(r)) {
			h.Add(name, fmt.Appendf(nil, "%v", r[name].Codes()))
		}
	})
}

// quantised returns the quantised model that the entry holds, nil if there is none. Its
// weights are mapped from the entry's file.
func (e *entry) quantised() *quantise.Model {
	found := e.find((*cache.Dir).GetMapped)
	if found == nil {
		return nil
	}
	q, err := quantise.Kept(found.Extra)
	if err != nil {
		e.w.warn("the cached model is not used: %v", err)
		return nil
	}
	return q
}

// putQuantised stores a quantised model, unless it is too large, or is a text model's
// for the one length that the model was opened for.
func (e *entry) putQuantised(m *Model, q *quantise.Model) {
	if e == nil || m.open.isText() && len(q.Circuit.Free) == 0 {
		return
	}
	parts, err := q.Keep()
	if err != nil {
		e.w.warn("not cached: %v", err)
		return
	}
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size <= mostKept {
		e.put(&cache.Entry{More: parts})
	}
}

// circuitID is the ID of a circuit. A circuit with a free dimension has one ID for all sizes.
func (m *Model) circuitID(s *proof.Source, free bool, settings quantise.Options) *cache.ID {
	return m.id("circuit", func(h *cache.Hasher) {
		if !free {
			h.Add("shapes", []byte(signature(m.Inputs())))
		}
		h.Add("source", fmt.Appendf(nil, "%#v", *s))
		if settings.Hide {
			h.Add("hide", fmt.Appendf(nil, "%q", settings.Public))
		}
		addBase(h, settings)
	})
}

// addBase adds to an ID the base that an adapter is quantised with, if there is one.
func addBase(h *cache.Hasher, settings quantise.Options) {
	if settings.Base != nil {
		h.Add("base", []byte(settings.Base.Name))
	}
}

// commitmentID is the ID of the commitment to a circuit, with the given security.
func (c *Circuit) commitmentID(sec proof.Security) *cache.ID {
	if c.id == nil {
		return nil
	}
	h := cache.NewHasher()
	h.Add("circuit", c.id[:])
	h.Add("security", fmt.Appendf(nil, "%#v", sec))
	if t := said(c.language, c.words); t != nil {
		h.Add("text", fmt.Appendf(nil, "%#v", *t))
	}
	return idOf(h)
}

// hidingID is the ID of the commitment to a circuit with secret tails. It cannot be computed without the tails.
func (c *Circuit) hidingID(sec proof.Security, tails *prf.Key) *cache.ID {
	id := c.commitmentID(sec)
	if id == nil {
		return nil
	}
	h := cache.NewHasher()
	h.Add("commitment", id[:])
	h.Add("tails", tails[:])
	return idOf(h)
}

// commitment returns the cached commitment to the circuit, or nil if there is none or its key is
// not the circuit's. It does not compute again whether the tree commits to the circuit's weights:
// the cache is trusted for that. base is the tree of the circuit's base, if it has one.
func (e *entry) commitment(c *Circuit, base *whir.Tree) *Committed {
	found := e.find((*cache.Dir).GetMapped)
	if found == nil {
		return nil
	}
	key, trees, err := restore(found, c, base)
	if err != nil {
		e.w.warn("the cached commitment is not used: %v", err)
		return nil
	}
	return &Committed{circuit: c, key: key, file: found.Key, trees: trees, cached: true}
}

// restore decodes the key and the trees of a cached commitment, and checks that the key is the circuit's.
func restore(found *cache.Entry, c *Circuit, base *whir.Tree) (_ *Key, _ prover.Trees, err error) {
	defer must.Catch(&err)
	key := must.Get(proof.DecodeKey(found.Key))
	if !key.Holds(c.quantised.Circuit) || !key.Source.Equal(c.source) || !says(key, said(c.language, c.words)) {
		return nil, nil, errors.New("the model is quantised in another way now")
	}
	trees, err := restoreTrees(key, found, base)
	return key, trees, err
}

// restoreTrees returns the trees of a key. The last one is in the entry; an adapter's key has another one before it,
// which is base.
func restoreTrees(key *proof.Key, e *cache.Entry, base *whir.Tree) (_ prover.Trees, err error) {
	defer must.Catch(&err)
	n := len(key.Trees)
	if n == 0 {
		return nil, nil
	}
	p := must.Get(key.Plan(key.Circuit.Unit()))
	tree := must.Get(whir.FromLayers(p.FixedTrees()[n-1].Layout, e.Layers))
	trees := prover.Trees{tree}
	if base != nil {
		trees = prover.Trees{base, tree}
	}
	if len(trees) != n {
		return nil, fmt.Errorf("%d trees, not %d", len(trees), n)
	}
	for i := range trees {
		if trees[i].Root() != key.Trees[i].Root {
			return nil, errors.New("the layers are not those of the key's root")
		}
	}
	return trees, nil
}

// longProof is the least number of committed witness entries for which
// ProveOptions.Resume stores results. A proof of a smaller witness takes some seconds
// on two cores.
const longProof = 1 << 24

// results stores the intermediate results of one proof in the cache's folder. It
// implements prover.Results. It writes in other goroutines, while the proof goes on.
type results struct {
	work *cache.Work
	w    *watch

	mu      sync.Mutex
	ended   bool
	writing sync.WaitGroup
}

// results opens the results that an earlier run of the same proof stored, or begins to
// store them. It returns nil if the proof is short, or, with a warning, if nothing can
// be stored.
func (o *ProveOptions) results(w *watch, c *Committed, p *plan.Plan, wit *forward.Witness) *results {
	entries := uint64(0)
	if t := p.WitnessTree(); t != nil {
		entries = t.Values()
	}
	if !o.Resume || entries < cmp.Or(o.resumeFrom, longProof) {
		return nil
	}
	dir, err := cache.Open(o.CacheDir)
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

// proofID is the ID of a proof of a run by this build of the program.
func proofID(c *Committed, p *plan.Plan, wit *forward.Witness) cache.ID {
	h := cache.NewHasher()
	h.Add("what", []byte("proof"))
	if info, ok := debug.ReadBuildInfo(); ok {
		h.Add("program", []byte(info.String()))
	}
	h.Add("key", c.key.Digest[:])
	h.Add("instance", fmt.Appendf(nil, "%v", p.Graph.Instance))
	for _, id := range p.Graph.Given() {
		var b []byte
		for _, v := range wit.Tensor(id) {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		h.Add("input", b)
	}
	return h.ID()
}

// get returns a stored result, nil if there is none.
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
	if r.ended { // the context has ended, and nobody waits for this proof
		return
	}
	r.writing.Go(func() {
		if err := r.work.Put(kind, i, e); err != nil {
			r.w.warn("not kept for the case of an interruption: %v", err)
		}
	})
}

// Tree implements prover.Results.
func (r *results) Tree(i int) [][]hash.Digest {
	if e := r.get("tree", i); e != nil {
		return e.Layers
	}
	return nil
}

// KeepTree implements prover.Results.
func (r *results) KeepTree(i int, layers [][]hash.Digest) {
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

// end waits until everything is written. It then leaves the results for a later run or,
// if remove is set, removes them: the proof was made, or it does not verify with them.
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
