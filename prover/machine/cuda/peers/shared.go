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

// sharedRows are the rows of an opening on the machine that opens, and on those of its team.
// What the passes over rows make of them is a sum over rows, or something of each row: every
// machine does that for its own rows, as if the others were zeros, and what is added up on
// the first one are tables of K.
type sharedRows struct {
	*open.Rows
	leader   *Leader
	o        backend.Opening
	all      []*open.Rows // by machine, those here first
	shares   shares       // of the places of long rows, once they are dealt
	free     int          // bytes of a machine beside its rows, at least
	twiddles kernels.Ptr  // of the first machine
}

// loadRows deals the rows to the machines that have them, and packs what is not on a device
// as rows already.
func (b *Leader) loadRows(ctx context.Context, a *device.Scope, o backend.Opening) *sharedRows {
	o, cut := open.Shorten(o, b.s.Context.ShortRow)
	r := &sharedRows{leader: b, o: o}
	var owners [][]*device.Context // of the groups of each tree
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

// together is that of machines, for their rows.
func (r *sharedRows) together(ctx context.Context, f func(i int, x *open.Rows)) {
	machines := make([]*run.Stream, len(r.all))
	for i, x := range r.all {
		machines[i] = x.Stream
	}
	together(ctx, machines, func(_ context.Context, i int) { f(i, r.all[i]) })
}

// withAll makes a pass over the rows of all machines. If another machine fails all rows come
// here, and the pass is made again.
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

// takeBack loads the rows of all machines here, after an error of another one.
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

// release gives back what other machines have of the opening.
func (r *sharedRows) release() {
	if len(r.all) == 1 {
		return
	}
	for _, x := range r.all {
		_ = quiesce(x.Stream.Dev) // the next operation tells an error
	}
	for _, x := range r.all[1:] {
		x.Mem.Close()
	}
	r.all = r.all[:1]
}

// sumOf is a table of a machine, or some of its elements, and where these belong.
type sumOf struct {
	at   kernels.Ptr
	runs []elementRun
}

// elementRun are n elements of a table from `to` on.
type elementRun struct{ to, n int }

// addPiece is how many elements of another machine's table are added at once.
const addPiece = 1 << 20

// gather adds to the table at dst what other machines have of it, or copies it there, and frees that.
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

// products returns the rounds over the first variables, with tables in memory of a scope, how many these are, and whether three more
// rounds come before the tables.
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

// fold makes f and q of whir.Passes what rows fold to at a point of their first variables, on the first machine.
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
			// The functional depends on no rows: all machines make some of it.
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

// newTables returns tables of a machine with room for so many elements.
func (r *sharedRows) newTables(x *open.Rows, n int) *open.Tables {
	t := &open.Tables{Stream: x.Stream, Mem: x.Mem, Twiddles: r.twiddles, N: n, F: device.NewArray[field.QM31](x.Mem, n)}
	t.Q = device.NewArray[field.QM31](x.Mem, n)
	return t
}

// foldedRows returns what the long rows fold to at the places of the rows that are here.
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

// columns is described at whir.Passes.
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
	total := r.o.Commitments[tree].Rows() >> r.Cut // not cut
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
