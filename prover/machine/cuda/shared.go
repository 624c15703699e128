package cuda

import (
	"context"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// sharedRows are the rows of an opening on the machine that opens, and on those of its team.
// What the passes over rows make of them is a sum over rows, or something of each row: every
// machine does that for its own rows, as if the others were zeros, and what is added up on
// the first one are tables of K.
type sharedRows struct {
	*rows
	leader *Leader
	o      backend.Opening
	others []*rows
	shares shares // of the places of long rows, once they are dealt
	free   int    // bytes of the first machine beside its rows
}

// loadRows deals the rows to the machines that have them, and packs what is not on a device
// as rows already.
func (b *Leader) loadRows(ctx context.Context, a *scope, o backend.Opening) *sharedRows {
	r := &sharedRows{rows: newRows(b.s, a, &o), leader: b, o: o}
	domain := 0
	for _, l := range o.Params.Levels[1:] {
		domain = max(domain, l.LogDomain())
	}
	r.code = newEncoder(a, domain)
	homes, used := b.dealRows(&o)
	mates, numbers := b.mates(used)
	for _, mate := range mates {
		r.others = append(r.others, newRows(mate, newScope(mate.dev), &o))
	}
	loaded := false
	defer func() {
		if !loaded {
			r.release()
		}
	}()
	withAll(r, func() struct{} {
		if len(r.trees) == 0 { // else all have come here, as another machine has failed
			r.together(ctx, func() { r.load(&o, homes, 0) }, func(i int, x *rows) { x.load(&o, homes, numbers[i]) })
		}
		return struct{}{}
	})
	loaded = true
	r.free = r.b.m.free()
	return r
}

// dealRows returns the home of every table row of every tree, as dealGroups numbers them: that
// of the first group that it has a row of. used says which homes there are.
func (b *Leader) dealRows(o *backend.Opening) (homes [][]int, used map[int]bool) {
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
		homes = append(homes, own)
	}
	return homes, used
}

// together is that of b, for the rows of all machines.
func (r *sharedRows) together(ctx context.Context, own func(), other func(i int, x *rows)) {
	mates := make([]*Stream, len(r.others))
	for i, x := range r.others {
		mates[i] = x.b
	}
	together(ctx, own, mates, func(_ context.Context, i int) { other(i, r.others[i]) })
}

// withAll makes a pass over the rows of all machines. If another machine fails all rows come
// here, and the pass is made again.
func withAll[R any](r *sharedRows, f func() R) R {
	v, failed := attempt(f)
	if failed == nil {
		return v
	}
	if !r.leader.drop(failed) {
		check(failed)
	}
	r.takeBack()
	return f()
}

// takeBack loads the rows of all machines here.
func (r *sharedRows) takeBack() {
	r.release()
	r.packed.close()
	r.trees, r.shares = nil, shares{}
	clear(r.at)
	homes := make([][]int, len(r.o.Commitments))
	for i, c := range r.o.Commitments {
		homes[i] = make([]int, len(c.TableRows(r.rowVars-c.RowVars)))
	}
	r.load(&r.o, homes, 0)
}

// release gives back what other machines have of the opening.
func (r *sharedRows) release() {
	if len(r.others) == 0 {
		return
	}
	_ = r.b.dev.Sync() // nothing reads there any more; an error is told by the next pass
	for _, x := range r.others {
		_ = x.b.dev.Sync() // nor there
	}
	for _, x := range r.others {
		x.a.close()
	}
	r.others = nil
}

// addPiece is how many elements of another machine's table are added at once.
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
	a := newScope(r.a)
	defer a.close()
	room := newArray[field.QM31](a, addPiece)
	for i, x := range r.others {
		behind(a, x.b)
		src := tables[i].at
		for _, run := range tables[i].runs {
			for from := 0; from < run.n; from += addPiece {
				k := min(addPiece, run.n-from)
				bring(a, room, x.b, src, k*elementBytes)
				to := kernels.At[field.QM31](dst, run.to+from)
				check(kernels.AddQM31(a, to, to, room, k))
				src = kernels.At[field.QM31](src, k)
			}
		}
	}
	r.done(a, tables)
}

// collect copies to the table at dst what other machines have of it, and frees that.
func (r *sharedRows) collect(dst kernels.Ptr, tables []sumOf) {
	for i, x := range r.others {
		behind(r.a, x.b)
		src := tables[i].at
		for _, run := range tables[i].runs {
			bring(r.a, kernels.At[field.QM31](dst, run.to), x.b, src, run.n*elementBytes)
			src = kernels.At[field.QM31](src, run.n)
		}
	}
	r.done(r.a, tables)
}

// done waits until what other machines have has been read through a queue, and frees it.
func (r *sharedRows) done(a *scope, tables []sumOf) {
	if len(tables) == 0 {
		return
	}
	check(a.Sync())
	for i, x := range r.others {
		x.a.Free(tables[i].at)
	}
}

// chooseVars returns v, and the claims as they are taken.
func (r *sharedRows) chooseVars(q *whir.Functional) (int, *claims) {
	planes, count := 0, 0
	for _, x := range append([]*rows{r.rows}, r.others...) {
		for _, row := range x.at {
			planes += row.width
			if row.width > 0 {
				count++
			}
		}
	}
	list := claimsOf(q)
	c := joinRows(list, r.rowVars)
	how := r.b.m.Mode()
	room := tableRoom(how, planes*r.pitch)
	if how.Tables == 0 {
		room = max(room, r.free/freeShare)
	}
	vars := sumVars(c.spans(list, r.rowVars), rowTable{len(r.at), r.rowVars, meanWidth(planes, count)}, room, 1+len(r.others))
	c.byPlace(len(r.at) >> vars)
	return vars, c
}

// begin computes the dots.
func (r *sharedRows) begin(ctx context.Context, q *whir.Functional) *rowSums {
	vars, c := r.chooseVars(q)
	return withAll(r, func() *rowSums {
		r.exchange(len(r.at) >> vars)
		s := &rowSums{a: newScope(r.a), q: q, vars: vars}
		made := false
		defer func() {
			if !made {
				s.close()
			}
		}()
		var t *dotTable
		products := make([]sumOf, len(r.others))
		r.together(ctx, func() { t = r.products(s.a, q, c, vars, true) }, func(i int, x *rows) {
			y := x.products(x.a, q, c, vars, false)
			products[i] = sumOf{y.products, []elementRun{{0, y.longs * y.columns}}}
		})
		r.add(t.products, products)
		s.pair = t.pair()
		made = true
		return s
	})
}

// fold is described at whir.Pair: it makes f and q what long rows, as many as there are
// weights, fold to, on the first machine.
func (r *sharedRows) fold(ctx context.Context, coefs []field.QM31, q *whir.Functional) *tables {
	n := len(r.at) / len(coefs)
	size := n << r.rowVars
	t := &tables{b: r.b, a: r.a, code: r.code, n: size, f: newArray[field.QM31](r.a, size)}
	all := make([]int, n)
	for l := range all {
		all[l] = l
	}
	t.q = newArray[field.QM31](r.a, size)
	withAll(r, func() struct{} {
		folded, weights := make([]sumOf, len(r.others)), make([]sumOf, len(r.others))
		// The functional depends on no rows: all machines make some of it.
		share := func(i int) int { return n * i / (1 + len(r.others)) }
		r.together(ctx, func() {
			r.foldRows(t.f, coefs, all)
			if to := share(1); to > 0 {
				r.foldFunctional(t.q, coefs, q, n, all[:to])
			}
		}, func(i int, x *rows) {
			folded[i] = x.folded(coefs)
			if from, to := share(i+1), share(i+2); from < to {
				run := elementRun{from << r.rowVars, (to - from) << r.rowVars}
				weights[i] = sumOf{newArray[field.QM31](x.a, run.n), []elementRun{run}}
				x.foldFunctional(weights[i].at, coefs, q, n, all[from:to])
			}
		})
		r.collect(t.q, weights)
		r.add(t.f, folded)
		return struct{}{}
	})
	return t
}

// folded returns what the long rows fold to at the places of the rows that are here.
func (r *rows) folded(coefs []field.QM31) sumOf {
	places := r.places(len(r.at) / len(coefs))
	if len(places) == 0 {
		return sumOf{}
	}
	s := sumOf{at: newArray[field.QM31](r.a, len(places)<<r.rowVars)}
	r.foldRows(s.at, coefs, places)
	size := 1 << r.rowVars
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
			return r.rows.columns(tree, positions)
		}
		all := append([]*rows{r.rows}, r.others...)
		parts := make([][][]field.M31, len(all))
		r.together(ctx, func() { parts[0] = r.rows.columns(tree, positions) }, func(i int, x *rows) { parts[i+1] = x.columns(tree, positions) })
		total := r.trees[tree].c.Rows()
		values := slices.Collect(slices.Chunk(make([]field.M31, total*len(positions)), total))
		parallel.For(len(positions), 1, func(from, to int) {
			for k := from; k < to; k++ {
				for i, x := range all {
					at := 0
					for _, run := range x.trees[tree].runs {
						at += copy(values[k][run.first:run.first+run.n], parts[i][k][at:])
					}
				}
			}
		})
		return values
	})
}
