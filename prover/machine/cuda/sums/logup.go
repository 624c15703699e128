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
// proved in the host's memory, together with all above it: so many short rounds
// take less time there than the launches would. A variable, for tests; at
// least leastUpperVars, since the device does two rounds at a time.
var upperVars = 9

const leastUpperVars = 2

// minTreeVars is the number of variables from which a tree is worth the
// device; the last layer there wants two passes, of two rounds each.
const minTreeVars = 5

// inLanes is up to how many quads of entries two rounds of a layer are done with 16 lanes for each.
// A variable, for tests.
var inLanes = kernels.FewQuads

// leanVars is the number of variables from which a tree leaves out the layer above its leaves, which takes as much as all others together.
// When that layer is wanted the others are not any more, and it is made again in their place. Smaller trees save a launch instead. A
// variable, for tests; greater than upperVars + 1.
var leanVars = 20

// tree is a LogUp tree on the device. It implements logup.Tree.
type tree struct {
	device.Results
	a        *device.Scope // of its memory
	n, vars  int           // leaves, and the variables of a power of two of them
	leafNum  kernels.Ptr   // M31
	leafDen  kernels.Ptr
	num, den kernels.Ptr // heaps of the layers above

	lean   bool       // the layer above the leaves is not in the heaps, but made in their place
	dry    bool       // as little as can be is done in the host's memory
	upper  logup.Tree // layers up to that of `hosts` variables
	hosts  int
	inHost bool // the layer in hand is one of them
	rounds kernels.LogUpRounds
	eq     []field.QM31
	// pending are the challenges that the tables have not been bound to yet; ahead are the sums of
	// two rounds of which one is over.
	pending []field.QM31
	ahead   *kernels.TwoRounds
	tail    *logup.Layer // the layer in hand, once it has moved to the host
	since   int          // the tail's first round
}

// newTree adds up n leaves, of minTreeVars variables at least, and takes them and the
// scope over.
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
	last := 0 // where the layer above the leaves lies
	if !t.lean {
		last = 1 << (t.vars - 1)
	}
	if k+1 == t.vars {
		// The layer above, used up, has room for the numerators once they are
		// elements of K.
		t.rounds.Stored = t.n - n
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

func (t *tree) round(round int, r field.QM31) logup.Sums {
	if two := t.ahead; two != nil {
		t.ahead, t.pending = nil, append(t.pending, r)
		return sumsOf(two.Second(r))
	}
	if t.tail == nil && round > 0 {
		t.pending = append(t.pending, r)
	}
	// The leaves are bound in the second pass.
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

// tables fetches what is left of the layer's tables n0, n1, d0, d1 after the
// rounds before the given one.
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

// leaves returns numerators and denominators, made in one launch.
func (b *Passes) leaves(ctx context.Context, a *device.Scope, l backend.Leaves) (nums, dens kernels.Ptr) {
	nums, dens = device.NewArray[field.M31](a, l.Size), device.NewArray[field.QM31](a, l.Size)
	own := device.NewScope(b.s.Dev)
	defer own.Close()
	base := func(t model.TableID) field.QM31 { return l.Alpha.Sub(l.Beta.Square().MulM31(backend.Tag(t))) }
	// What the jobs point to: places of blocks, and pieces of tables.
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
		// Keys that are a tensor lack a constant.
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

// column returns the values of a table, for as long as the scope if there is no room for
// them beside the other fixed tensors.
func (b *Passes) column(own *device.Scope, id model.TensorID) kernels.Integers {
	t, err := b.s.Find(id)
	if errors.Is(err, kernels.ErrMemory) {
		t, err = device.NewTensor(own, b.s.Witness.Fixed(id))
	}
	device.Check(err)
	return t.Integers()
}
