package cuda

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/transcript"
	"github.com/prove-model/prove-model/prover/whir"
)

// Open implements backend.Backend.
func (b *Backend) Open(w *transcript.Writer, o backend.Opening) {
	a := newScope(b.dev)
	defer a.close()
	search := w.Search
	defer func() { w.Search = search }()
	w.Search = newSearch(a)
	whir.OpenRows(w, o.Params, o.Trees, b.loadRows(a, o), o.RowOffsets, o.Terms, o.Value)
}

// rows implements whir.Rows.
type rows struct {
	b       *Backend
	a       *scope
	rowVars int
	at      []kernels.Ptr // where row i of the table is, 0 for zeros
	device  kernels.Ptr   // the same on the device
	code    *encoder
	weights *weights // of the functional
}

// loadRows packs the stacks.
func (b *Backend) loadRows(a *scope, o backend.Opening) *rows {
	first := o.Params.Levels[0]
	domain := 0
	for _, l := range o.Params.Levels {
		domain = max(domain, l.LogDomain())
	}
	r := &rows{b: b, a: a, rowVars: first.RowVars, at: make([]kernels.Ptr, 1<<first.FoldVars), code: newEncoder(a, domain)}
	for i, s := range o.Stacks {
		values := newArray[int32](a, s.Rows<<s.RowVars)
		b.newPacker(a, s).rows(values, 0, s.Rows)
		for k := range s.Rows {
			r.at[int(o.RowOffsets[i])+k] = values.Offset(k<<s.RowVars, kernels.SizeM31)
		}
	}
	r.device = newCopy(a, r.at)
	return r
}

// Fold implements whir.Rows.
func (r *rows) Fold(coefs []field.QM31, q *whir.Functional) whir.Tables {
	n := len(r.at) / len(coefs)
	size := n << r.rowVars
	t := &tables{b: r.b, a: r.a, code: r.code, n: size, f: newArray[field.QM31](r.a, size), sums: newWords(r.a, 2*kernels.SumWords*maxSums)}
	c := newCopy(r.a, coefs)
	backend.Check(kernels.FoldRows(r.a, t.f, r.device, r.rowVars, n, c, len(coefs)))
	t.q = foldFunctional(r.a, r.weightsOf(q), coefs, q, n)
	return t
}

// Columns implements whir.Rows.
func (r *rows) Columns(first, n, logBlowup int, positions []uint64) [][]field.M31 {
	a := newScope(r.a)
	defer a.close()
	domain := r.rowVars + logBlowup
	atOnce := rowsAtOnce(n, domain, r.b.m.piece)
	words := newArray[uint32](a, atOnce<<domain)
	leaves := newArray[field.M31](a, n*len(positions))
	where := newCopy(a, positions)
	for i := 0; i < n; i += atOnce {
		k := min(atOnce, n-i)
		r.code.encode(words, r.at[first+i], k, r.rowVars, domain)
		backend.Check(kernels.GatherColumns(a, leaves.Offset(i, kernels.SizeM31), n, words, 1<<domain, k, where, len(positions)))
	}
	return split(fetch[field.M31](a, leaves, n*len(positions)), n)
}

// split cuts a slice into pieces of n elements.
func split(v []field.M31, n int) [][]field.M31 {
	pieces := make([][]field.M31, len(v)/n)
	for i := range pieces {
		pieces[i] = v[i*n : (i+1)*n : (i+1)*n]
	}
	return pieces
}

// newSearch returns a search for nonces on the device.
func newSearch(a *scope) transcript.NonceSearch {
	state, best := newArray[field.M31](a, poseidon2.Width), newArray[uint64](a, 1)
	return func(start poseidon2.State, bits int) uint64 {
		backend.Check(kernels.UploadSlice(a, state, start[:]))
		backend.Check(kernels.UploadSlice(a, best, []uint64{field.P}))
		// Twice as many as it takes on average are enough six times in seven.
		batch := uint64(min(max(2<<bits, 1<<10), 1<<22))
		for first := uint64(0); first < field.P; first += batch {
			backend.Check(kernels.SearchNonce(a, best, state, first, batch, 1<<bits-1))
			if nonce := fetch[uint64](a, best, 1)[0]; nonce < field.P {
				return nonce
			}
		}
		return field.P
	}
}
