package peers

import (
	"context"
	"errors"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Opening implements backend.Backend.
func (b *Leader) Opening(ctx context.Context, o backend.Opening) (whir.Passes, error) {
	if p := b.prepared; p != nil {
		b.prepared = nil
		<-p.done
		p.giveBack()
		switch {
		case p.panicked != nil: // here, where it can be recovered
			panic(p.panicked)
		case p.err == nil:
			return p.passes, nil
		}
	}
	return b.opening(ctx, o)
}

func (b *Leader) opening(ctx context.Context, o backend.Opening) (whir.Passes, error) {
	b.s.DropSegments() // of the chunks
	p, err := b.begun(ctx, o)
	if errors.Is(err, kernels.ErrMemory) && b.s.Context.Trim() { // blocks of the chunks may lie in the way of rows
		p, err = b.begun(ctx, o)
	}
	return p, err
}

// begun has the rows of an opening packed.
func (b *Leader) begun(ctx context.Context, o backend.Opening) (whir.Passes, error) {
	a := device.NewScope(b.s.Dev)
	made := false
	defer func() {
		if !made { // for an error, or a panic
			a.Close()
		}
	}()
	p, err := device.Pass(ctx, func() whir.Passes {
		return &opening{a: a, o: o, rows: b.loadRows(ctx, a, o), search: open.NewSearch(a)}
	})
	made = err == nil
	return p, err
}

// prepared is an opening that has begun before its claims are known.
type prepared struct {
	done     chan struct{} // closed when there are passes, or an error
	passes   whir.Passes
	err      error // with which the opening has to begin again
	panicked any
	on       []*device.Context // of whose spare memory it has
	bytes    int64             // each
}

// giveBack has tasks take again what the opening has been prepared with: none of its proof's is left.
func (p *prepared) giveBack() {
	for _, m := range p.on {
		m.Ahead(-p.bytes)
	}
}

// Prepare implements backend.Preparer: rows are packed. Those that are packed anew by each pass, or
// whose values are recomputed, wait for the claims.
func (b *Leader) Prepare(ctx context.Context, o backend.Opening, beside int64) {
	if how := b.s.Context.Mode(); b.prepared != nil || how.Rows || how.Values {
		return
	}
	on, packed := append([]*device.Context{b.s.Context}, b.group.Others...), packedMost(&o, 1+len(b.group.Others))
	for _, m := range on {
		need, spare := beside+packed, m.Spare()
		if int64(m.FreeBytes()) < need || spare > 0 && spare < need {
			return
		}
	}
	p := &prepared{done: make(chan struct{}), on: on, bytes: packed}
	for _, m := range on {
		m.Ahead(packed) // tasks that start later have that much less
	}
	b.prepared = p
	go func() {
		defer close(p.done)
		defer func() { p.panicked = recover() }()
		p.passes, p.err = b.opening(ctx, o)
	}()
}

// packedMost is about the most bytes that rows take on one of some machines when they are packed:
// most have entries of two bytes at most.
func packedMost(o *backend.Opening, machines int) int64 {
	bytes := int64(0)
	for i := range o.Commitments {
		c := &o.Commitments[i]
		bytes += 2 * int64(c.Rows()) << c.RowVars
	}
	return bytes / int64(machines)
}

// unprepare gives back what has been prepared.
func (b *Leader) unprepare() {
	if p := b.prepared; p != nil {
		b.prepared = nil
		<-p.done
		p.giveBack()
		if p.passes != nil {
			p.passes.Close()
		}
	}
}

// opening implements whir.Passes.
type opening struct {
	o      backend.Opening
	a      *device.Scope
	rows   *sharedRows
	sums   *open.RowSums     // of the first variables, nil once they are bound
	split  *splitTables      // of the next ones, nil unless several machines have the places
	tables *open.Tables      // of the others
	folded []*open.FoldedRow // nil once opened
	search open.Search
	point  []field.QM31 // the challenges that row variables are bound to so far
}

// Begin implements whir.Passes.
func (o *opening) Begin(ctx context.Context, q *whir.Functional) (err error) {
	defer device.Catch(&err)
	device.Check(ctx.Err())
	o.sums = o.rows.begin(ctx, q)
	o.fold(ctx)
	return nil
}

// fold makes the tables once the sums have no variables left.
func (o *opening) fold(ctx context.Context) {
	if o.sums.Vars == 0 {
		o.sums.Close()
		coefs, q := poly.EqTable(o.sums.Point), o.sums.Q
		if o.sums.Three {
			o.sums.Continue(o.rows.ThreeRounds(coefs, q))
			return
		}
		o.sums = nil
		if o.rows.shares.n > 0 {
			o.split = o.rows.foldSplit(ctx, coefs, q)
			return
		}
		o.tables = o.rows.fold(ctx, coefs, q)
	}
}

// Columns implements whir.Passes.
func (o *opening) Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error) {
	return device.Pass(ctx, func() [][]field.M31 { return o.rows.columns(ctx, tree, positions) })
}

// Round implements whir.Passes.
func (o *opening) Round(ctx context.Context) (whir.Sums, error) {
	if o.sums != nil {
		return device.Pass(ctx, o.sums.Round)
	}
	if o.split != nil {
		return device.Pass(ctx, func() whir.Sums {
			s := o.split.round(ctx)
			// Split tables have variables left once they are one machine's, so that there is a round before anything else.
			if o.split.whole != nil {
				o.tables, o.split = o.split.whole, nil
			}
			return s
		})
	}
	return device.Pass(ctx, o.tables.Round)
}

// Bind implements whir.Passes.
func (o *opening) Bind(ctx context.Context, r field.QM31) (err error) {
	defer device.Catch(&err)
	device.Check(ctx.Err())
	if len(o.point) < o.o.Params.Levels[0].FoldVars {
		o.point = append(o.point, r)
	}
	if o.sums != nil {
		o.sums.Bind(r)
		o.fold(ctx)
		return nil
	}
	if o.split != nil {
		o.split.bind(r)
		return nil
	}
	o.tables.Bind(r)
	return nil
}

// Values implements whir.Passes.
func (o *opening) Values(ctx context.Context) ([]field.QM31, error) {
	return device.Pass(ctx, o.tables.Values)
}

// At implements whir.Passes.
func (o *opening) At(ctx context.Context, z field.QM31) (field.QM31, error) {
	return device.Pass(ctx, func() field.QM31 { return o.tables.At(z) })
}

// Add implements whir.Passes.
func (o *opening) Add(ctx context.Context, c *whir.Constraints) (err error) {
	defer device.Catch(&err)
	device.Check(ctx.Err())
	o.tables.Add(c)
	return nil
}

// Commit implements whir.Passes.
func (o *opening) Commit(ctx context.Context, l soundness.Level) (hash.Digest, error) {
	row, err := device.Pass(ctx, func() *open.FoldedRow {
		return o.tables.Commit(o.o.Params.Config.Hash, l, o.o.Params.LeafRows(len(o.folded)+1))
	})
	if err != nil {
		return hash.Digest{}, err
	}
	o.folded = append(o.folded, row)
	return row.Nodes.Root(), nil
}

// Leaves implements whir.Passes.
func (o *opening) Leaves(ctx context.Context, n int, positions []uint64) (whir.Leaves, error) {
	return device.Pass(ctx, func() whir.Leaves {
		row := o.folded[n]
		leaves := whir.Leaves{Values: row.Columns(positions), Path: row.Nodes.Siblings(positions)}
		row.Free()
		o.folded[n] = nil
		return leaves
	})
}

// Salts implements whir.Passes.
func (o *opening) Salts(ctx context.Context, tree int, positions []uint64) ([]hash.Digest, error) {
	return open.Salts(&o.o.Commitments[tree], positions), ctx.Err()
}

// Auxiliary implements whir.Passes.
func (o *opening) Auxiliary(ctx context.Context, n int) ([]field.M31, error) {
	return open.Auxiliary(&o.o, n), ctx.Err()
}

// AuxiliaryRound implements whir.Passes. The tables are one machine's by then, as whose they are is said by row variables.
func (o *opening) AuxiliaryRound(ctx context.Context, u []field.QM31) (whir.Sums, error) {
	return device.Pass(ctx, func() whir.Sums { return o.rows.AuxiliaryRound(o.tables, u) })
}

// BindAuxiliary implements whir.Passes.
func (o *opening) BindAuxiliary(ctx context.Context, r field.QM31) (err error) {
	defer device.Catch(&err)
	device.Check(ctx.Err())
	o.rows.BindAuxiliary(o.tables, &o.o, poly.EqTable(o.point), r)
	return nil
}

// Search implements whir.Passes.
func (o *opening) Search(ctx context.Context, work hash.Work) (uint64, error) {
	return device.Pass(ctx, func() uint64 { return o.search.Smallest(ctx, &work) })
}

// Close implements whir.Passes.
func (o *opening) Close() {
	if o.sums != nil {
		o.sums.Close()
	}
	for _, row := range o.folded {
		if row != nil {
			row.Free()
		}
	}
	o.rows.release()
	o.a.Close()
}
