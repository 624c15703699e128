package cuda

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/whir"
)

// Opening implements backend.Backend.
func (b *Backend) Opening(ctx context.Context, o backend.Opening) (_ whir.Passes, err error) {
	a := newScope(b.dev)
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	return pass(ctx, func() whir.Passes { return &opening{a: a, rows: b.loadRows(a, o), search: newSearch(a)} })
}

// opening implements whir.Passes.
type opening struct {
	a      *scope
	rows   *rows
	tables *tables
	folded []*foldedRow // nil once opened
	search search
}

// Grid implements whir.Passes.
func (o *opening) Grid(ctx context.Context, vars int, q *whir.Functional) ([]field.QM31, error) {
	return pass(ctx, func() []field.QM31 { return o.rows.grid(vars, q) })
}

// Fold implements whir.Passes.
func (o *opening) Fold(ctx context.Context, weights []field.QM31, q *whir.Functional) (err error) {
	o.tables, err = pass(ctx, func() *tables { return o.rows.fold(weights, q) })
	return err
}

// Columns implements whir.Passes.
func (o *opening) Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error) {
	return pass(ctx, func() [][]field.M31 { return o.rows.columns(tree, positions) })
}

// Round implements whir.Passes.
func (o *opening) Round(ctx context.Context) (whir.Sums, error) { return pass(ctx, o.tables.round) }

// Bind implements whir.Passes.
func (o *opening) Bind(ctx context.Context, r field.QM31) (err error) {
	defer catch(&err)
	check(ctx.Err())
	o.tables.bind(r)
	return nil
}

// Values implements whir.Passes.
func (o *opening) Values(ctx context.Context) ([]field.QM31, error) {
	return pass(ctx, o.tables.values)
}

// At implements whir.Passes.
func (o *opening) At(ctx context.Context, z field.QM31) (field.QM31, error) {
	return pass(ctx, func() field.QM31 { return o.tables.at(z) })
}

// Add implements whir.Passes.
func (o *opening) Add(ctx context.Context, c *whir.Constraints) (err error) {
	defer catch(&err)
	check(ctx.Err())
	o.tables.add(c)
	return nil
}

// Commit implements whir.Passes.
func (o *opening) Commit(ctx context.Context, l soundness.Level) (poseidon2.Digest, error) {
	row, err := pass(ctx, func() *foldedRow { return o.tables.commit(l) })
	if err != nil {
		return poseidon2.Digest{}, err
	}
	o.folded = append(o.folded, row)
	return row.nodes.Root(), nil
}

// Leaves implements whir.Passes.
func (o *opening) Leaves(ctx context.Context, n int, positions []uint64) (whir.Leaves, error) {
	return pass(ctx, func() whir.Leaves {
		row := o.folded[n]
		leaves := whir.Leaves{Values: row.columns(positions), Path: row.nodes.path(positions)}
		row.free()
		o.folded[n] = nil
		return leaves
	})
}

// Search implements whir.Passes.
func (o *opening) Search(ctx context.Context, start poseidon2.State, bits int) (uint64, error) {
	return pass(ctx, func() uint64 { return o.search.smallest(ctx, start, bits) })
}

// Close implements whir.Passes.
func (o *opening) Close() {
	for _, row := range o.folded {
		if row != nil {
			row.free()
		}
	}
	o.a.close()
}

// rows are the rows of all trees on the device.
type rows struct {
	b       *Backend
	a       *scope
	rowVars int
	trees   []placed
	at      []kernels.Ptr // where row i of the table is, 0 for zeros
	device  kernels.Ptr   // the same on the device
	code    *encoder
	weights *weights // of the functional
}

// placed is a tree's place in the table.
type placed struct {
	*packer
	shift    int // see whir.Layout
	firstRow uint64
}

// loadRows packs the stacks.
func (b *Backend) loadRows(a *scope, o backend.Opening) *rows {
	first := o.Params.Levels[0]
	domain := 0
	for _, l := range o.Params.Levels {
		domain = max(domain, l.LogDomain())
	}
	r := &rows{b: b, a: a, rowVars: first.RowVars, at: make([]kernels.Ptr, 1<<first.FoldVars), code: newEncoder(a, domain)}
	for i, c := range o.Commitments {
		t := placed{b.newPacker(a, c), first.RowVars - c.RowVars, o.RowOffsets[i]}
		numbers := c.TableRows(t.shift)
		values := newArray[int32](a, len(numbers)<<r.rowVars)
		t.tableRows(values, numbers, t.shift)
		for k, n := range numbers {
			r.at[t.firstRow+n] = values.Offset(k<<r.rowVars, kernels.SizeM31)
		}
		r.trees = append(r.trees, t)
	}
	r.device = newCopy(a, r.at)
	return r
}

// fold is described at whir.Passes.
func (r *rows) fold(coefs []field.QM31, q *whir.Functional) *tables {
	n := len(r.at) / len(coefs)
	size := n << r.rowVars
	t := &tables{b: r.b, a: r.a, code: r.code, n: size, f: newArray[field.QM31](r.a, size), sums: newWords(r.a, 2*kernels.SumWords*maxSums)}
	c := newCopy(r.a, coefs)
	check(kernels.FoldRows(r.a, t.f, r.device, r.rowVars, n, c, len(coefs)))
	t.q = foldFunctional(r.a, r.weightsOf(q), coefs, q, n)
	return t
}

// columns is described at whir.Passes.
func (r *rows) columns(tree int, positions []uint64) [][]field.M31 {
	a := newScope(r.a)
	defer a.close()
	t := &r.trees[tree]
	domain, total := t.c.LogDomain(), t.c.Rows()
	atOnce := rowsAtOnce(total, domain, r.b.m.piece)
	words := newArray[uint32](a, atOnce<<domain)
	leaves := newArray[field.M31](a, total*len(positions))
	where := newCopy(a, positions)
	var own kernels.Ptr // rows of the tree, where those of the table are longer
	if t.shift > 0 {
		own = newArray[int32](a, atOnce<<t.c.RowVars)
	}
	done := 0
	for i, g := range t.c.Groups {
		for first := 0; first < g.Rows; first += atOnce {
			n := min(atOnce, g.Rows-first)
			values := own
			if t.shift > 0 {
				t.rows(own, i, first, n)
			} else {
				values = r.at[t.firstRow+g.First+uint64(first)]
			}
			r.code.encode(words, values, n, t.c.RowVars, domain)
			check(kernels.GatherColumns(a, leaves.Offset(done, kernels.SizeM31), total, words, 1<<domain, n, where, len(positions)))
			done += n
		}
	}
	return split(fetch[field.M31](a, leaves, total*len(positions)), total)
}

// split cuts a slice into pieces of n elements.
func split(v []field.M31, n int) [][]field.M31 {
	pieces := make([][]field.M31, len(v)/n)
	for i := range pieces {
		pieces[i] = v[i*n : (i+1)*n : (i+1)*n]
	}
	return pieces
}

// search looks for nonces on the device.
type search struct {
	a           *scope
	state, best kernels.Ptr
}

func newSearch(a *scope) search {
	return search{a, newArray[field.M31](a, poseidon2.Width), newArray[uint64](a, 1)}
}

// smallest is a transcript.NonceSearch.
func (s search) smallest(ctx context.Context, start poseidon2.State, bits int) uint64 {
	check(kernels.UploadSlice(s.a, s.state, start[:]))
	check(kernels.UploadSlice(s.a, s.best, []uint64{field.P}))
	// Twice as many as it takes on average are enough six times in seven.
	batch := uint64(min(max(2<<bits, 1<<10), 1<<22))
	for first := uint64(0); first < field.P; first += batch {
		check(ctx.Err())
		check(kernels.SearchNonce(s.a, s.best, s.state, first, batch, 1<<bits-1))
		if nonce := fetch[uint64](s.a, s.best, 1)[0]; nonce < field.P {
			return nonce
		}
	}
	return field.P
}
