package peers

import (
	"context"
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// sharedRows are the rows of an opening on the leader and on the other machines of its team. The
// result of a pass over rows is a sum over rows, or has an entry for each row. So every machine makes
// the pass over its own rows, as if all others were zeros, and the leader adds up the results,
// tables over K. If another machine fails, the leader loads all rows itself and repeats the pass
// (withAll).
type sharedRows struct {
	*open.Rows // of the leader
	leader     *Leader
	o          backend.Opening
	all        []*open.Rows // by machine, the leader's first
	shares     shares       // of the places of long rows, once they are dealt (exchange)
	free       int          // the fewest bytes that any machine has free beside its rows
	twiddles   kernels.Ptr  // on the leader
}

// loadRows deals the rows to machines, rows of a run's values to the machine that has these (dealGroups),
// and packs the rows that do not lie in a tensor as they are.
func (b *Leader) loadRows(ctx context.Context, a *device.Scope, o backend.Opening) *sharedRows {
	o, cut := open.Shorten(o, b.s.Context.ShortRow)
	r := &sharedRows{leader: b, o: o}
	var owners [][]*device.Context // by tree and group
	for i := range o.Commitments {
		owners = append(owners, b.dealGroups(&o.Commitments[i]))
	}
	for i, x := range b.streams(slices.Concat(owners...)) {
		own := a
		if i > 0 {
			own = device.NewScope(x.Dev)
		}
		r.all = append(r.all, open.NewRows(x, own, &o))
		r.all[i].Cut = cut
	}
	r.Rows = r.all[0]
	domain := 0
	for _, l := range o.Params.Levels[1:] {
		domain = max(domain, l.LogDomain())
	}
	r.twiddles = open.NewTwiddles(a, domain)
	loaded := false
	defer func() {
		if !loaded {
			r.release()
		}
	}()
	failed := attempt(func() {
		r.together(ctx, func(i int, x *open.Rows) {
			if i == 0 {
				x.LoadAuxiliary(&o)
			}
			x.Load(&o, owners)
		})
	})
	if failed != nil {
		r.takeBack(failed)
	}
	loaded = true
	r.free = math.MaxInt
	for _, x := range r.all {
		r.free = min(r.free, x.Stream.Context.FreeBytes())
	}
	return r
}

// together calls f for the rows of each machine (see the function together).
func (r *sharedRows) together(ctx context.Context, f func(i int, x *open.Rows)) {
	machines := make([]*run.Stream, len(r.all))
	for i, x := range r.all {
		machines[i] = x.Stream
	}
	together(ctx, machines, func(_ context.Context, i int) { f(i, r.all[i]) })
}

// withAll calls f, a pass over the rows of all machines. If another machine than the leader fails
// in it, the leader loads all rows, and f is called again with those of the leader alone.
func (r *sharedRows) withAll(f func()) {
	if failed := attempt(f); failed != nil {
		r.takeBack(failed)
		f()
	}
}

// attempt is device.Attempt for what returns nothing.
func attempt(f func()) *device.Error {
	_, failed := device.Attempt(func() struct{} { f(); return struct{}{} })
	return failed
}

// takeBack drops a machine that has failed, waits for the others and frees their memory, and loads all rows on the leader. If it is the
// leader that failed, takeBack gives up.
func (r *sharedRows) takeBack(failed *device.Error) {
	if !r.leader.drop(failed) {
		device.Check(failed)
	}
	r.release()
	r.Packed.Close()
	r.Trees, r.shares = nil, shares{}
	clear(r.At)
	r.LoadAuxiliary(&r.o)
	r.Load(&r.o, nil)
}

// release frees the memory of the opening on the other machines, after all queues have been waited for, as each may read memory of the
// others.
func (r *sharedRows) release() {
	if len(r.all) == 1 {
		return
	}
	for _, x := range r.all {
		_ = quiesce(x.Stream.Dev) // an error is reported by the next operation
	}
	for _, x := range r.all[1:] {
		x.Mem.Close()
	}
	r.all = r.all[:1]
}

// sumOf is a machine's part of a table, in its memory: runs of elements that lie one behind the other from `at` on, and where in the
// whole table these belong.
type sumOf struct {
	at   kernels.Ptr
	runs []elementRun
}

// elementRun stands for n elements of a table from element `to` on.
type elementRun struct{ to, n int }

// addPiece is how many elements of another machine's table are copied and added at a time.
const addPiece = 1 << 20

// gather adds the parts of other machines to the table at dst on the leader, or copies them there if add is false. It waits for the
// leader's queue and then frees the parts. tables[0], the leader's own, is not read.
func (r *sharedRows) gather(dst kernels.Ptr, tables []sumOf, add bool) {
	if len(r.all) == 1 {
		return
	}
	a := device.NewScope(r.Mem)
	defer a.Close()
	room, piece := kernels.Ptr(0), math.MaxInt
	if add {
		room, piece = device.NewArray[field.QM31](a, addPiece), addPiece
	}
	for i, x := range r.all[1:] {
		behind(a, x.Stream)
		src := tables[i+1].at
		for _, run := range tables[i+1].runs {
			for from := 0; from < run.n; {
				k, to := min(piece, run.n-from), kernels.At[field.QM31](dst, run.to+from)
				if add {
					bring(a, room, x.Stream, src, k*device.ElementBytes)
					device.Check(kernels.AddQM31(a, to, to, room, k))
				} else {
					bring(a, to, x.Stream, src, k*device.ElementBytes)
				}
				from, src = from+k, kernels.At[field.QM31](src, k)
			}
		}
	}
	device.Check(a.Sync())
	for i, x := range r.all[1:] {
		x.Mem.Free(tables[i+1].at)
	}
}

// products returns the rounds over the first row variables (open.DotTable), the scope mem that owns their tables, how many rounds these
// are (vars), and whether three more rounds come before the fold (Rows.ThreeRounds). The caller closes mem after the rounds.
func (r *sharedRows) products(ctx context.Context, q *whir.Functional) (first open.Rounds, mem *device.Scope, vars int, three bool) {
	q = open.ShortenFunctional(q, r.Cut)
	r.withAll(func() {
		split := r.mayExchange()
		var c *open.Claims
		vars, three, c = open.Choose(r.all, q, r.free, split)
		if split && !r.exchange(ctx, len(r.At)>>vars) {
			vars, three, c = open.Choose(r.all, q, r.free, false)
		}
		mem = device.NewScope(r.Mem)
		made := false
		defer func() {
			if !made {
				mem.Close()
			}
		}()
		tables, products := make([]*open.DotTable, len(r.all)), make([]sumOf, len(r.all))
		r.together(ctx, func(i int, x *open.Rows) {
			a := mem
			if i > 0 {
				a = x.Mem
			}
			tables[i] = x.Products(a, q, c, vars)
			products[i] = sumOf{tables[i].Products, []elementRun{{0, tables[i].Longs * tables[i].Columns}}}
		})
		r.gather(products[0].at, products, true)
		first = tables[0].Pair()
		made = true
	})
	return first, mem, vars, three
}

// fold makes the tables f and q of whir.Passes on the leader: f is what the rows fold to at a point of their first variables, q the
// functional on it.
func (r *sharedRows) fold(ctx context.Context, point []field.QM31) *open.Tables {
	coefs := poly.EqTable(point)
	n := len(r.At) / len(coefs)
	every := open.UpTo(n)
	t := r.newTables(r.Rows, n<<r.RowVars)
	r.withAll(func() {
		folded, weights := make([]sumOf, len(r.all)), make([]sumOf, len(r.all))
		r.together(ctx, func(i int, x *open.Rows) {
			if i == 0 {
				x.FoldRows(t.F, coefs, every)
			} else {
				folded[i] = foldedRows(x, coefs)
			}
			// The functional does not depend on rows, so its places are divided evenly.
			from, to := n*i/len(r.all), n*(i+1)/len(r.all)
			if from == to {
				return
			}
			run := elementRun{from << r.RowVars, (to - from) << r.RowVars}
			if weights[i] = (sumOf{t.Q, []elementRun{run}}); i > 0 {
				weights[i].at = device.NewArray[field.QM31](x.Mem, run.n)
			}
			x.FoldFunctional(weights[i].at, coefs, every[from:to])
		})
		r.gather(t.Q, weights, false)
		r.gather(t.F, folded, true)
	})
	return t
}

// newTables returns tables on the machine of x, with room for n elements each.
func (r *sharedRows) newTables(x *open.Rows, n int) *open.Tables {
	t := &open.Tables{Stream: x.Stream, Mem: x.Mem, Twiddles: r.twiddles, N: n, F: device.NewArray[field.QM31](x.Mem, n)}
	t.Q = device.NewArray[field.QM31](x.Mem, n)
	return t
}

// foldedRows returns what the rows of one machine fold to, at the places at which it has any.
func foldedRows(r *open.Rows, coefs []field.QM31) sumOf {
	places := r.Places(len(r.At) / len(coefs))
	if len(places) == 0 {
		return sumOf{}
	}
	s := sumOf{at: device.NewArray[field.QM31](r.Mem, len(places)<<r.RowVars)}
	r.FoldRows(s.at, coefs, places)
	size := 1 << r.RowVars
	for _, l := range places {
		if n := len(s.runs); n > 0 && s.runs[n-1].to+s.runs[n-1].n == l*size {
			s.runs[n-1].n += size
		} else {
			s.runs = append(s.runs, elementRun{l * size, size})
		}
	}
	return s
}

// columns is described at whir.Passes. Each machine makes the values of its rows. A row that was cut (Cut) has one value: that of its
// first part, to which its other parts have been added (open.Rows.Columns).
func (r *sharedRows) columns(ctx context.Context, tree int, positions []uint64) [][]field.M31 {
	var parts [][][]field.M31
	r.withAll(func() {
		parts = make([][][]field.M31, len(r.all))
		r.together(ctx, func(i int, x *open.Rows) { parts[i] = x.Columns(tree, positions) })
	})
	if len(r.all) == 1 {
		return parts[0]
	}
	rows := make([][]int, len(r.all))
	for i, x := range r.all {
		rows[i] = x.RowsOf(tree)
	}
	total := r.o.Commitments[tree].Rows() >> r.Cut // rows before they were cut
	values := slices.Collect(slices.Chunk(make([]field.M31, total*len(positions)), total))
	parallel.For(len(positions), 1, func(from, to int) {
		for k := from; k < to; k++ {
			for i := range r.all {
				for at, v := range parts[i][k] {
					values[k][rows[i][at<<r.Cut]>>r.Cut] = v
				}
			}
		}
	})
	return values
}
