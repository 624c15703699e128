package peers

import (
	"context"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// sharedRows are the rows of an opening on the machine that opens, and on those of its team.
// What the passes over rows make of them is a sum over rows, or something of each row: every
// machine does that for its own rows, as if the others were zeros, and what is added up on
// the first one are tables of K.
type sharedRows struct {
	*open.Rows
	leader *Leader
	o      backend.Opening
	others []*open.Rows
	shares shares // of the places of long rows, once they are dealt
	free   int    // bytes of a machine beside its rows, at least
}

// loadRows deals the rows to the machines that have them, and packs what is not on a device
// as rows already.
func (b *Leader) loadRows(ctx context.Context, a *device.Scope, o backend.Opening) *sharedRows {
	o, cut := open.Shorten(o, b.s.Context.ShortRow)
	r := &sharedRows{Rows: open.NewRows(b.s, a, &o), leader: b, o: o}
	r.Cut = cut
	domain := 0
	for _, l := range o.Params.Levels[1:] {
		domain = max(domain, l.LogDomain())
	}
	r.Code = open.NewEncoder(a, domain)
	owners, used := b.dealRows(&o)
	others, numbers := b.streams(used)
	for _, other := range others {
		x := open.NewRows(other, device.NewScope(other.Dev), &o)
		x.Cut = cut
		r.others = append(r.others, x)
	}
	loaded := false
	defer func() {
		if !loaded {
			r.release()
		}
	}()
	withAll(r, func() struct{} {
		if len(r.Trees) == 0 { // else all have come here, as another machine has failed
			r.together(ctx, func() { r.Load(&o, owners, 0) }, func(i int, x *open.Rows) { x.Load(&o, owners, numbers[i]) })
		}
		return struct{}{}
	})
	loaded = true
	r.free = r.Stream.Context.FreeBytes()
	for _, x := range r.others {
		r.free = min(r.free, x.Stream.Context.FreeBytes())
	}
	return r
}

// dealRows returns the owner of every table row of every tree, as dealGroups numbers them: that
// of the first group that it has a row of. used says which owners there are.
func (b *Leader) dealRows(o *backend.Opening) (owners [][]int, used map[int]bool) {
	used = map[int]bool{}
	for i := range o.Commitments {
		c := &o.Commitments[i]
		groups := b.dealGroups(c)
		shift := o.Params.Levels[0].RowVars - c.RowVars
		numbers := c.TableRows(shift)
		own := make([]int, len(numbers))
		g := 0
		for k, n := range numbers {
			for (c.Groups[g].First+uint64(c.Groups[g].Rows)-1)>>shift < n {
				g++
			}
			own[k] = groups[g]
			used[own[k]] = true
		}
		owners = append(owners, own)
	}
	return owners, used
}

// together is that of b, for the rows of all machines.
func (r *sharedRows) together(ctx context.Context, own func(), other func(i int, x *open.Rows)) {
	others := make([]*run.Stream, len(r.others))
	for i, x := range r.others {
		others[i] = x.Stream
	}
	together(ctx, own, others, func(_ context.Context, i int) { other(i, r.others[i]) })
}

// withAll makes a pass over the rows of all machines. If another machine fails all rows come
// here, and the pass is made again.
func withAll[R any](r *sharedRows, f func() R) R {
	v, failed := device.Attempt(f)
	if failed == nil {
		return v
	}
	if !r.leader.drop(failed) {
		device.Check(failed)
	}
	r.takeBack()
	return f()
}

// takeBack loads the rows of all machines here.
func (r *sharedRows) takeBack() {
	r.release()
	r.Packed.Close()
	r.Trees, r.shares = nil, shares{}
	clear(r.At)
	owners := make([][]int, len(r.o.Commitments))
	for i, c := range r.o.Commitments {
		owners[i] = make([]int, len(c.TableRows(r.RowVars-c.RowVars)))
	}
	r.Load(&r.o, owners, 0)
}

// release gives back what other machines have of the opening.
func (r *sharedRows) release() {
	if len(r.others) == 0 {
		return
	}
	_ = quiesce(r.Stream.Dev) // the next operation tells an error
	for _, x := range r.others {
		_ = quiesce(x.Stream.Dev)
	}
	for _, x := range r.others {
		x.Mem.Close()
	}
	r.others = nil
}

// AddPiece is how many elements of another machine's table are added at once.
const addPiece = 1 << 20

// sumOf is a table of another machine, or some of its elements, and where these belong.
type sumOf struct {
	at   kernels.Ptr
	runs []elementRun
}

// elementRun are n elements of a table from `to` on.
type elementRun struct{ to, n int }

// add adds to the table at dst what other machines have, and frees that.
func (r *sharedRows) add(dst kernels.Ptr, tables []sumOf) {
	if len(tables) == 0 {
		return
	}
	a := device.NewScope(r.Mem)
	defer a.Close()
	room := device.NewArray[field.QM31](a, addPiece)
	for i, x := range r.others {
		behind(a, x.Stream)
		src := tables[i].at
		for _, run := range tables[i].runs {
			for from := 0; from < run.n; from += addPiece {
				k := min(addPiece, run.n-from)
				bring(a, room, x.Stream, src, k*device.ElementBytes)
				to := kernels.At[field.QM31](dst, run.to+from)
				device.Check(kernels.AddQM31(a, to, to, room, k))
				src = kernels.At[field.QM31](src, k)
			}
		}
	}
	r.done(a, tables)
}

// collect copies to the table at dst what other machines have of it, and frees that.
func (r *sharedRows) collect(dst kernels.Ptr, tables []sumOf) {
	for i, x := range r.others {
		behind(r.Mem, x.Stream)
		src := tables[i].at
		for _, run := range tables[i].runs {
			bring(r.Mem, kernels.At[field.QM31](dst, run.to), x.Stream, src, run.n*device.ElementBytes)
			src = kernels.At[field.QM31](src, run.n)
		}
	}
	r.done(r.Mem, tables)
}

// done waits until what other machines have has been read through a queue, and frees it.
func (r *sharedRows) done(a *device.Scope, tables []sumOf) {
	if len(tables) == 0 {
		return
	}
	device.Check(a.Sync())
	for i, x := range r.others {
		x.Mem.Free(tables[i].at)
	}
}

// chooseVars returns v, whether three more rounds come before the tables, and the claims as they are taken. split says that the tables
// will be (splitTables).
func (r *sharedRows) chooseVars(q *whir.Functional, split bool) (vars int, three bool, _ *open.Claims) {
	planes, count := 0, 0
	for _, x := range append([]*open.Rows{r.Rows}, r.others...) {
		for _, row := range x.At {
			planes += row.Width
			if row.Width > 0 {
				count++
			}
		}
	}
	list := open.ClaimsOf(q)
	c := open.JoinRows(list, r.RowVars)
	how := r.Stream.Context.Mode()
	room := open.TableRoom(how, planes*r.Pitch)
	if how.Tables == 0 {
		room = max(room, r.free/open.FreeShare)
	}
	vars, three = open.SumVars(c.Spans(list, r.RowVars), open.RowTable{
		Rows: len(r.At), RowVars: r.RowVars, Planes: open.MeanWidth(planes, count), Cut: r.Cut,
		Bytes: planes * r.Pitch, Twice: len(r.others) == 0 && !r.Passing(), Three: r.Stream.Context.ThreeRounds,
	}, room, 1+len(r.others), split)
	c.ByPlace(len(r.At) >> vars)
	return vars, three, c
}

// begin computes the dots.
func (r *sharedRows) begin(ctx context.Context, q *whir.Functional) *open.RowSums {
	q = open.ShortenFunctional(q, r.Cut)
	return withAll(r, func() *open.RowSums {
		split := r.mayExchange()
		vars, three, c := r.chooseVars(q, split)
		if r.exchange(ctx, len(r.At)>>vars); split && r.shares.n == 0 {
			vars, three, c = r.chooseVars(q, false)
		}
		s := &open.RowSums{Mem: device.NewScope(r.Mem), Q: q, Vars: vars, Three: three}
		made := false
		defer func() {
			if !made {
				s.Close()
			}
		}()
		var t *open.DotTable
		products := make([]sumOf, len(r.others))
		r.together(ctx, func() { t = r.Products(s.Mem, q, c, vars, true) }, func(i int, x *open.Rows) {
			y := x.Products(x.Mem, q, c, vars, false)
			products[i] = sumOf{y.Products, []elementRun{{0, y.Longs * y.Columns}}}
		})
		r.add(t.Products, products)
		s.Pair = t.Pair()
		made = true
		return s
	})
}

// fold is described at whir.Pair: it makes f and q what long rows, as many as there are
// weights, fold to, on the first machine.
func (r *sharedRows) fold(ctx context.Context, coefs []field.QM31, q *whir.Functional) *open.Tables {
	n := len(r.At) / len(coefs)
	size := n << r.RowVars
	t := &open.Tables{Stream: r.Stream, Mem: r.Mem, Code: r.Code, N: size, F: device.NewArray[field.QM31](r.Mem, size)}
	all := make([]int, n)
	for l := range all {
		all[l] = l
	}
	t.Q = device.NewArray[field.QM31](r.Mem, size)
	withAll(r, func() struct{} {
		folded, weights := make([]sumOf, len(r.others)), make([]sumOf, len(r.others))
		// The functional depends on no rows: all machines make some of it.
		share := func(i int) int { return n * i / (1 + len(r.others)) }
		r.together(ctx, func() {
			r.FoldRows(t.F, coefs, all)
			if to := share(1); to > 0 {
				r.FoldFunctional(t.Q, coefs, q, n, all[:to])
			}
		}, func(i int, x *open.Rows) {
			folded[i] = foldedRows(x, coefs)
			if from, to := share(i+1), share(i+2); from < to {
				run := elementRun{from << r.RowVars, (to - from) << r.RowVars}
				weights[i] = sumOf{device.NewArray[field.QM31](x.Mem, run.n), []elementRun{run}}
				x.FoldFunctional(weights[i].at, coefs, q, n, all[from:to])
			}
		})
		r.collect(t.Q, weights)
		r.add(t.F, folded)
		return struct{}{}
	})
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
	return withAll(r, func() [][]field.M31 {
		if len(r.others) == 0 {
			return r.Rows.Columns(tree, positions)
		}
		all := append([]*open.Rows{r.Rows}, r.others...)
		parts := make([][][]field.M31, len(all))
		r.together(ctx, func() { parts[0] = r.Rows.Columns(tree, positions) }, func(i int, x *open.Rows) { parts[i+1] = x.Columns(tree, positions) })
		total := r.o.Commitments[tree].Rows() >> r.Cut // not cut
		values := slices.Collect(slices.Chunk(make([]field.M31, total*len(positions)), total))
		parallel.For(len(positions), 1, func(from, to int) {
			for k := from; k < to; k++ {
				for i, x := range all {
					at := 0
					for _, run := range x.RunsOf(tree) {
						at += copy(values[k][run.First>>r.Cut:(run.First+run.N)>>r.Cut], parts[i][k][at:])
					}
				}
			}
		})
		return values
	})
}
