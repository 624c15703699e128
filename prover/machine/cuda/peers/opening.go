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

// Opening implements backend.Backend. It takes the opening that Prepare has begun, if there is one and it has no error.
func (b *Leader) Opening(ctx context.Context, o backend.Opening) (whir.Passes, error) {
	if passes, err := b.takePrepared(); passes != nil && err == nil {
		return passes, nil
	}
	return b.opening(ctx, o)
}

// opening begins an opening. If memory is short, it returns unused memory to the device and tries once more.
func (b *Leader) opening(ctx context.Context, o backend.Opening) (whir.Passes, error) {
	b.s.DropSegments() // values that were recomputed for chunks
	p, err := b.begun(ctx, o)
	if errors.Is(err, kernels.ErrMemory) && b.s.Context.Trim() { // free blocks, of sizes that chunks needed, may be too small for rows
		p, err = b.begun(ctx, o)
	}
	return p, err
}

// begun returns an opening with its rows packed.
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
	passes func() (whir.Passes, error) // waits until it has begun. It repeats a panic. After an error the opening has to begin again.
	on     []*device.Context           // the machines whose spare memory it has taken (Context.Ahead)
	bytes  int64                       // of each of them
}

// Prepare implements backend.Preparer: it packs the rows of the opening in a goroutine, while tasks run. `beside` is how much memory, in
// bytes, must be free on each machine besides. It does nothing if there is less, if rows are packed anew by each pass, or if their
// values are recomputed.
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
		m.Ahead(packed) // so much less for tasks that start from now on
	}
	b.prepared = &prepared{sync.OnceValues(func() (whir.Passes, error) { return b.opening(ctx, o) }), on, packed}
	go func(p *prepared) {
		defer func() { _ = recover() }() // passes repeats the panic in the goroutine that takes the opening
		_, _ = p.passes()
	}(b.prepared)
}

// takePrepared waits for the prepared opening and returns it, nil if there is none. It gives the spare memory back that Prepare took:
// no tasks of this proof are left that could use it, and those of others may.
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

// unprepare waits for a prepared opening that nobody has taken, and closes it.
func (b *Leader) unprepare() {
	var passes whir.Passes
	func() {
		defer func() { _ = recover() }() // the opening is not wanted, nor is its failure
		passes, _ = b.takePrepared()
	}()
	if passes != nil {
		passes.Close()
	}
}

// packedMost estimates from above the bytes that packed rows take on each of some machines: two bytes
// an entry, more than which few rows have.
func packedMost(o *backend.Opening, machines int) int64 {
	bytes := int64(0)
	for i := range o.Commitments {
		c := &o.Commitments[i]
		bytes += 2 * int64(c.Rows()) << c.RowVars
	}
	return bytes / int64(machines)
}

// opening implements whir.Passes. Its rounds come from several sources, one after the other: products of rows (Rows.Products), maybe
// three rounds in one pass (Rows.ThreeRounds), maybe tables split among machines (splitTables), and then the tables on the leader.
type opening struct {
	o      backend.Opening
	a      *device.Scope // owns all memory of the opening on the leader
	rows   *sharedRows
	rounds open.Rounds  // the source of the next rounds
	left   int          // how many rounds it has left
	then   func()       // called after these: sets the next source; nil if this is the last
	tables *open.Tables // the last source, nil before
	point  []field.QM31 // the challenges that row variables have been bound to so far
}

// pass is device.Pass for a function without a result.
func pass(ctx context.Context, f func()) error {
	_, err := device.Pass(ctx, func() struct{} { f(); return struct{}{} })
	return err
}

// follow makes rounds the source of the next `vars` rounds, after which then is called; at once if vars is 0.
func (o *opening) follow(rounds open.Rounds, vars int, then func()) {
	o.rounds, o.left, o.then = rounds, vars, then
	if vars == 0 {
		then()
	}
}

// Begin implements whir.Passes. It sets up the sources of rounds up to the fold.
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

// fold folds the rows at the challenges so far, and makes the tables that the remaining rounds work on.
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

// Bind hands the challenge to the current source of rounds, and goes on to the next source after its last round.
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

// AuxiliaryRound finds the tables on the leader. They are divided among machines only while row variables are bound, which come before.
func (o *opening) AuxiliaryRound(ctx context.Context, u []field.QM31) (whir.Sums, error) {
	return device.Pass(ctx, func() whir.Sums { return o.rows.AuxiliaryRound(o.tables, u) })
}

func (o *opening) BindAuxiliary(ctx context.Context, r field.QM31) error {
	return pass(ctx, func() { o.rows.BindAuxiliary(o.tables, &o.o, poly.EqTable(o.point), r) })
}

func (o *opening) Search(ctx context.Context, work hash.Work) (uint64, error) {
	return device.Pass(ctx, func() uint64 { return smallest(ctx, o.a, &work) })
}

// Close frees all memory of the opening, on all machines. With several machines it waits for their queues first (sharedRows.release).
func (o *opening) Close() {
	if o.tables != nil {
		o.tables.Close()
	}
	o.rows.release()
	o.a.Close()
}

// smallest searches for the smallest nonce that satisfies work, on a device: a transcript.NonceSearch. It returns field.P if there is
// none.
func smallest(ctx context.Context, dev kernels.Device, work *hash.Work) uint64 {
	a := device.NewScope(dev)
	defer a.Close()
	state, best := device.NewCopy(a, work.State[:]), device.NewCopy(a, []uint64{field.P})
	// A launch tries twice as many nonces as are needed on average, so it finds one with probability 1 − e^−2, about six times in seven.
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
