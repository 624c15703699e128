package sums

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/logup"
)

// upperVars is the number of variables of the largest layer of a tree that is
// proved in the host's memory, as are all layers above it: their many short rounds
// take less time there than launches would. Tests change it. It is at
// least leastUpperVars, since the device does two rounds at a time.
var upperVars = 9

const leastUpperVars = 2

// minTreeVars is the fewest variables of a tree on the device. Its last layer then
// has two passes, of two rounds each.
const minTreeVars = 5

// inLanes is the most quads of entries for which a pass of two rounds uses 16 lanes a quad. Tests change it.
var inLanes = kernels.FewQuads

// leanVars is the fewest variables of a tree that does not store the layer above its leaves, which is as large as all other layers
// together. When that layer is proved, the others have been, and it is made again in their memory. Smaller trees store it and save the
// launch. Tests change it. It is greater than upperVars + 1.
var leanVars = 20

// tree is a LogUp tree on the device. It implements logup.Tree.
type tree struct {
	device.Results
	a        *device.Scope // owns its memory
	n, vars  int           // number of leaves; 2^vars is the next power of two
	leafNum  kernels.Ptr   // elements of F (M31)
	leafDen  kernels.Ptr   // elements of K
	num, den kernels.Ptr   // the layers above, as heaps: layer k begins at entry 2^k

	lean   bool       // the layer above the leaves is not stored in the heaps, but made there when it is proved
	dry    bool       // only memory is counted: as few rounds as possible run on the host
	upper  logup.Tree // in the host's memory: the layers of up to `hosts` variables
	hosts  int
	inHost bool // the current layer is one of these
	rounds kernels.LogUpRounds
	eq     []field.QM31 // the point of the current layer
	// pending are the challenges that the tables have not been bound to yet; ahead are the sums of
	// a pass of two rounds, after the first of which they serve the second.
	pending []field.QM31
	ahead   *kernels.TwoRounds
	tail    *logup.Layer // the current layer, once it has moved to the host; else nil
	since   int          // the first round in tail
}

// newTree builds the tree over n leaves, which have at least minTreeVars variables. The tree owns
// the leaves and the scope from then on.
func newTree(a *device.Scope, box kernels.ResultBuffer, leafNum, leafDen kernels.Ptr, n int, dry bool) *tree {
	vars := logup.NumVars(n)
	t := &tree{Results: device.Results{Dev: a, Box: box}, a: a, n: n, vars: vars, leafNum: leafNum, leafDen: leafDen, dry: dry}
	size := 1 << vars
	if t.lean = vars >= leanVars; t.lean {
		size /= 2
	}
	if t.hosts = min(upperVars, vars-1); dry {
		t.hosts = leastUpperVars
	}
	t.num, t.den = device.NewArray[field.QM31](a, size), device.NewArray[field.QM31](a, size)
	device.Check(kernels.LogUpTree(a, t.num, t.den, leafNum, leafDen, n, !t.lean))
	heap := 2 << t.hosts
	t.upper = logup.UpperTree(device.Fetch[field.QM31](a, t.num, heap), device.Fetch[field.QM31](a, t.den, heap))
	return t
}

// Top implements logup.Tree.
func (t *tree) Top(ctx context.Context) (logup.Fractions, error) { return t.upper.Top(ctx) }

// Begin implements logup.Tree.
func (t *tree) Begin(ctx context.Context, k int, eq []field.QM31, lambda field.QM31) (err error) {
	t.inHost = k+1 <= t.hosts
	if t.inHost {
		return t.upper.Begin(ctx, k, eq, lambda)
	}
	defer device.Catch(&err)
	device.Check(ctx.Err())
	n := 1 << k
	t.rounds = kernels.LogUpRounds{Vars: k, Eq: device.Get(kernels.NewEqHeaps(t.Dev, eq)), Lambda: lambda, Stored: n, InLanes: inLanes}
	t.eq, t.pending, t.ahead, t.tail = eq, nil, nil, nil
	last := 0 // where the layer above the leaves lies in the heaps
	if !t.lean {
		last = 1 << (t.vars - 1)
	}
	if k+1 == t.vars {
		// Numerators of leaves are elements of F. When they are bound they become elements of K, and go to
		// the memory of the layer above, which has been proved.
		t.rounds.Stored = t.n - n // so many of the n pairs have a second leaf
		t.rounds.LeafNum, t.rounds.N0, t.rounds.D0 = t.leafNum, kernels.At[field.QM31](t.num, last), t.leafDen
		return nil
	}
	at := 2 * n
	if k+2 == t.vars && t.lean {
		device.Check(kernels.LogUpAboveLeaves(t.Dev, t.num, t.den, t.leafNum, t.leafDen, t.n))
		at = last
	}
	t.rounds.N0, t.rounds.N1 = kernels.At[field.QM31](t.num, at), kernels.At[field.QM31](t.num, at+n)
	t.rounds.D0, t.rounds.D1 = kernels.At[field.QM31](t.den, at), kernels.At[field.QM31](t.den, at+n)
	return nil
}

// Round implements logup.Tree.
func (t *tree) Round(ctx context.Context, round int, r field.QM31) (logup.Sums, error) {
	if t.inHost {
		return t.upper.Round(ctx, round, r)
	}
	return device.Pass(ctx, func() logup.Sums { return t.round(round, r) })
}

// round returns the sums of a round: from the last pass if that was of this round too, in the host's memory if few entries are left, or by
// a new pass of two rounds.
func (t *tree) round(round int, r field.QM31) logup.Sums {
	if two := t.ahead; two != nil {
		t.ahead, t.pending = nil, append(t.pending, r)
		return sumsOf(two.Second(r))
	}
	if t.tail == nil && round > 0 {
		t.pending = append(t.pending, r)
	}
	// A layer of leaves moves to the host only after its second pass, which binds the leaves.
	left := t.rounds.Vars - round
	if t.tail == nil && round >= 2 && t.rounds.LeafNum == 0 && (left == 1 || left <= tailVars && !t.dry) {
		v := t.tables(round)
		t.tail, t.since = logup.NewLayer(v[0], v[1], v[2], v[3], t.eq[round:], t.rounds.Lambda), round
		t.rounds.Eq.Free(t.Dev)
	}
	if t.tail != nil {
		return t.tail.Round(round-t.since, r)
	}
	pending := t.pending
	t.pending = nil
	w := t.Read(kernels.SumcheckTwoRoundsWords, func(p kernels.Post) error { return t.rounds.TwoRounds(t.Dev, round, pending, p) })
	t.ahead = kernels.NewTwoRounds(w)
	return sumsOf(t.ahead.FirstEq(t.eq[round+1]))
}

func sumsOf(zero, top field.QM31) logup.Sums { return logup.Sums{Zero: zero, Top: top} }

// tables downloads the layer's tables n0, n1, d0, d1 as they are before the given
// round, bound to all challenges so far.
func (t *tree) tables(round int) (tables [4][]field.QM31) {
	h := 1 << (t.rounds.Vars - round)
	data := t.Elements(4*h, func(p kernels.Post) error { return t.rounds.Rest(t.Dev, round, t.pending, p) })
	t.pending = nil
	for i := range tables {
		tables[i] = data[h*i:][:h:h]
	}
	return tables
}

// End implements logup.Tree.
func (t *tree) End(ctx context.Context, r field.QM31) (logup.Fractions, error) {
	if t.inHost {
		return t.upper.End(ctx, r)
	}
	return device.Pass(ctx, func() logup.Fractions {
		if t.tail != nil {
			return t.tail.End(r)
		}
		t.pending = append(t.pending, r)
		v := t.tables(t.rounds.Vars)
		t.rounds.Eq.Free(t.Dev)
		return logup.Fractions{N0: v[0][0], N1: v[1][0], D0: v[2][0], D1: v[3][0]}
	})
}

// Close implements logup.Tree.
func (t *tree) Close() { t.a.Close() }

// Fractions implements backend.Backend.
func (b *Passes) Fractions(ctx context.Context, l backend.Leaves) (_ logup.Tree, err error) {
	vars := logup.NumVars(l.Size)
	if vars < minTreeVars {
		return b.Backend.Fractions(ctx, l)
	}
	a := device.NewScope(b.s.Dev)
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	return device.Pass(ctx, func() logup.Tree {
		nums, dens := b.leaves(ctx, a, l)
		return newTree(a, b.s.ResultBuffer(), nums, dens, l.Size, b.s.Context.Dry)
	})
}

// leaves returns the numerators and denominators of l, in memory of a. One launch makes all of them.
func (b *Passes) leaves(ctx context.Context, a *device.Scope, l backend.Leaves) (nums, dens kernels.Ptr) {
	nums, dens = device.NewArray[field.M31](a, l.Size), device.NewArray[field.QM31](a, l.Size)
	own := device.NewScope(b.s.Dev)
	defer own.Close()
	base := func(t model.TableID) field.QM31 { return l.Alpha.Sub(l.Beta.Square().MulM31(backend.Tag(t))) }
	// Lists that the jobs point to: offsets of blocks, and pieces of piecewise-linear tables.
	var words []uint64
	for i := range l.Steps {
		for k := range l.Steps[i].Blocks {
			words = append(words, uint64(l.Steps[i].Blocks[k].Offset))
		}
	}
	places := 0
	pieces := make([]int, len(l.Tables))
	for i := range l.Tables {
		pieces[i] = len(words)
		if t := &b.s.Graph.Tables[l.Tables[i].Table]; t.Kind == model.TablePiecewise {
			words = append(words, kernels.TablePieces(t)...)
		}
	}
	var at kernels.Ptr
	if len(words) > 0 {
		at = device.NewCopy(own, words)
	}
	var jobs kernels.LeafJobs
	for i := range l.Steps {
		device.Check(ctx.Err())
		s := &l.Steps[i]
		keys, outs := b.s.Columns(s.Step)
		// Keys that are read from a tensor lack a constant, which is subtracted from the base instead.
		own := base(s.Table).Sub(field.FromM31(keys.Offset()))
		device.Check(jobs.Step(keys.Integers(), outs, kernels.At[uint64](at, places), b.s.Graph.Steps[s.Step].Shape, own))
		places += len(s.Blocks)
	}
	for i := range l.Tables {
		lt, t := &l.Tables[i], &b.s.Graph.Tables[l.Tables[i].Table]
		var values kernels.Integers
		if t.Kind == model.TableFunc {
			values = b.column(own, t.Values)
		}
		jobs.Table(t, b.s.Tensor(lt.Mult).Integers(), values, kernels.At[uint64](at, pieces[i]), lt.Block.Offset, base(lt.Table))
	}
	device.Check(kernels.LogUpLeaves(b.s.Dev, nums, dens, &jobs, device.NewCopy(own, jobs.Jobs), l.Beta.Neg()))
	for i := range l.Steps {
		if s := &l.Steps[i]; !s.IsCut() {
			b.s.DropKeys(s.Step)
		}
	}
	return nums, dens
}

// column returns the values of a function table: the fixed tensor, or if there is no room for one more
// fixed tensor a copy in the scope.
func (b *Passes) column(own *device.Scope, id model.TensorID) kernels.Integers {
	t, err := b.s.Find(id)
	if errors.Is(err, kernels.ErrMemory) {
		t, err = device.NewTensor(own, b.s.Witness.Fixed(id))
	}
	device.Check(err)
	return t.Integers()
}
