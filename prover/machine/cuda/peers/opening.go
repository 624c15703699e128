package peers

import (
	"context"
	"errors"
	"sync"

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
	if passes, err := b.takePrepared(); passes != nil && err == nil {
		return passes, nil
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
	p, err := device.Pass(ctx, func() whir.Passes { return &opening{a: a, o: o, rows: b.loadRows(ctx, a, o)} })
	if err != nil {
		a.Close()
	}
	return p, err
}

// prepared is an opening that has begun before its claims are known.
type prepared struct {
	passes func() (whir.Passes, error) // waits for it, and panics as it has done. With an error the opening has to begin again.
	on     []*device.Context           // of whose spare memory it has
	bytes  int64                       // each
}

// Prepare implements backend.Preparer: rows are packed. Those that are packed anew by each pass, or
// whose values are recomputed, wait for the claims.
func (b *Leader) Prepare(ctx context.Context, o backend.Opening, beside int64) {
	if how := b.s.Context.Mode(); b.prepared != nil || how.Rows || how.Values {
		return
	}
	on := b.machines()
	packed := packedMost(&o, len(on))
	for _, m := range on {
		need, spare := beside+packed, m.Spare()
		if int64(m.FreeBytes()) < need || spare > 0 && spare < need {
			return
		}
	}
	for _, m := range on {
		m.Ahead(packed) // tasks that start later have that much less
	}
	b.prepared = &prepared{sync.OnceValues(func() (whir.Passes, error) { return b.opening(ctx, o) }), on, packed}
	go func(p *prepared) {
		defer func() { _ = recover() }() // who takes it panics, where that can be recovered
		_, _ = p.passes()
	}(b.prepared)
}

// takePrepared returns what has been prepared, nil if nothing has been, once it is done. Tasks take again what it took: none of its
// proof's is left.
func (b *Leader) takePrepared() (whir.Passes, error) {
	p := b.prepared
	if p == nil {
		return nil, nil
	}
	b.prepared = nil
	defer func() {
		for _, m := range p.on {
			m.Ahead(-p.bytes)
		}
	}()
	return p.passes()
}

// unprepare gives back what has been prepared.
func (b *Leader) unprepare() {
	var passes whir.Passes
	func() {
		defer func() { _ = recover() }() // nobody wants what it has failed with
		passes, _ = b.takePrepared()
	}()
	if passes != nil {
		passes.Close()
	}
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

// opening implements whir.Passes.
type opening struct {
	o      backend.Opening
	a      *device.Scope
	rows   *sharedRows
	rounds open.Rounds  // over the variables that are bound next
	left   int          // of these, before what follows
	then   func()       // makes the rounds that follow; nil if there are no others
	tables *open.Tables // of the last rounds
	point  []field.QM31 // the challenges that row variables are bound to so far
}

// pass is device.Pass for what returns nothing.
func pass(ctx context.Context, f func()) error {
	_, err := device.Pass(ctx, func() struct{} { f(); return struct{}{} })
	return err
}

// follow has rounds follow over so many variables, and then others.
func (o *opening) follow(rounds open.Rounds, vars int, then func()) {
	o.rounds, o.left, o.then = rounds, vars, then
	if vars == 0 {
		then()
	}
}

// Begin implements whir.Passes.
func (o *opening) Begin(ctx context.Context, q *whir.Functional) error {
	return pass(ctx, func() {
		first, mem, vars, three := o.rows.products(ctx, q)
		fold := func() { o.fold(ctx) }
		o.follow(first, vars, func() {
			mem.Close()
			if three {
				o.follow(o.rows.ThreeRounds(poly.EqTable(o.point)), open.OctetVars, fold)
				return
			}
			fold()
		})
	})
}

// fold makes the tables that rows fold to.
func (o *opening) fold(ctx context.Context) {
	last := func(t *open.Tables) { o.tables, o.rounds, o.then = t, t, nil }
	if o.rows.shares.n == 0 {
		last(o.rows.fold(ctx, o.point))
		return
	}
	split, rounds := o.rows.foldSplit(ctx, o.point)
	o.follow(split, rounds, func() { last(split.gather()) })
}

// Columns implements whir.Passes, as the other methods do.
func (o *opening) Columns(ctx context.Context, tree int, positions []uint64) ([][]field.M31, error) {
	return device.Pass(ctx, func() [][]field.M31 { return o.rows.columns(ctx, tree, positions) })
}

func (o *opening) Round(ctx context.Context) (whir.Sums, error) {
	return device.Pass(ctx, o.rounds.Round)
}

func (o *opening) Bind(ctx context.Context, r field.QM31) error {
	return pass(ctx, func() {
		if len(o.point) < o.o.Params.Levels[0].FoldVars {
			o.point = append(o.point, r)
		}
		o.rounds.Bind(r)
		if o.left--; o.left == 0 && o.then != nil {
			o.then()
		}
	})
}

func (o *opening) Values(ctx context.Context) ([]field.QM31, error) {
	return device.Pass(ctx, o.tables.Values)
}

func (o *opening) At(ctx context.Context, z field.QM31) (field.QM31, error) {
	return device.Pass(ctx, func() field.QM31 { return o.tables.At(z) })
}

func (o *opening) Add(ctx context.Context, c *whir.Constraints) error {
	return pass(ctx, func() { o.tables.Add(c) })
}

func (o *opening) Commit(ctx context.Context, l soundness.Level) (hash.Digest, error) {
	return device.Pass(ctx, func() hash.Digest {
		return o.tables.Commit(o.o.Params.Config.Hash, l, o.o.Params.LeafRows(len(o.tables.Folded)+1))
	})
}

func (o *opening) Leaves(ctx context.Context, n int, positions []uint64) (whir.Leaves, error) {
	return device.Pass(ctx, func() whir.Leaves { return o.tables.Leaves(n, positions) })
}

func (o *opening) Salts(ctx context.Context, tree int, positions []uint64) ([]hash.Digest, error) {
	return open.Salts(&o.o.Commitments[tree], positions), ctx.Err()
}

func (o *opening) Auxiliary(ctx context.Context, n int) ([]field.M31, error) {
	return open.Auxiliary(&o.o, n), ctx.Err()
}

// AuxiliaryRound finds the tables on one machine, as whose they are is said by row variables.
func (o *opening) AuxiliaryRound(ctx context.Context, u []field.QM31) (whir.Sums, error) {
	return device.Pass(ctx, func() whir.Sums { return o.rows.AuxiliaryRound(o.tables, u) })
}

func (o *opening) BindAuxiliary(ctx context.Context, r field.QM31) error {
	return pass(ctx, func() { o.rows.BindAuxiliary(o.tables, &o.o, poly.EqTable(o.point), r) })
}

func (o *opening) Search(ctx context.Context, work hash.Work) (uint64, error) {
	return device.Pass(ctx, func() uint64 { return smallest(ctx, o.a, &work) })
}

func (o *opening) Close() {
	if o.tables != nil {
		o.tables.Close()
	}
	o.rows.release()
	o.a.Close()
}

// smallest is a transcript.NonceSearch on a device.
func smallest(ctx context.Context, dev kernels.Device, work *hash.Work) uint64 {
	a := device.NewScope(dev)
	defer a.Close()
	state, best := device.NewCopy(a, work.State[:]), device.NewCopy(a, []uint64{field.P})
	// Twice as many as it takes on average are enough six times in seven.
	batch := uint64(min(max(2<<work.Bits, 1<<10), 1<<22))
	for first := uint64(0); first < field.P; first += batch {
		device.Check(ctx.Err())
		device.Check(kernels.SearchNonce(a, work, best, state, first, batch))
		if nonce := device.Fetch[uint64](a, best, 1)[0]; nonce < field.P {
			return nonce
		}
	}
	return field.P
}
