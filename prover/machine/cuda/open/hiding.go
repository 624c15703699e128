package open

import (
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// The additional data of commitments and openings that hide (docs/protocol.md, "Hiding openings"). All randomness follows from a
// secret key, so any device makes what it needs, whenever it needs it: masks and the auxiliary row as tensors from which rows are
// packed, salts as digests of a group, and tails as elements behind rows, or as planes of bytes.

// secretsOf returns the secrets of a commitment that hides. A commitment of a plan, which is only estimated, has none; the result is
// zeros then.
func secretsOf(c *backend.Commitment) *backend.Secrets {
	if c.Secrets == nil {
		return &backend.Secrets{}
	}
	return c.Secrets
}

// rowsBefore returns the number of rows of a commitment before those of a group.
func rowsBefore(c *backend.Commitment, group int) int {
	n := 0
	for _, g := range c.Groups[:group] {
		n += g.Rows
	}
	return n
}

// secretStack describes the values of a group that come from no tensor of the circuit, as one tensor, without its address yet.
func secretStack(c *backend.Commitment, group int) *stack {
	part := &c.Parts[group]
	begin := uint64(part.First) << c.RowVars
	end := begin + uint64(c.Groups[group].Rows)<<c.RowVars
	if part.Kind == backend.Pads {
		end = min(end, part.Stack.Size)
	}
	return &stack{
		offsets: []uint64{begin, end},
		blocks:  []kernels.StackBlock{{Width: kernels.SizeM31, Run: uint64(bits.Len64(end - begin - 1))}},
		ranges:  []valueRange{{0, field.P - 1}},
	}
}

// secretValues makes the values that secretStack has described, in memory of a: pads, masks or the auxiliary row.
func secretValues(a *device.Scope, c *backend.Commitment, group int, of *stack) kernels.Ptr {
	s, rows, use := secretsOf(c), c.Groups[group].Rows, prf.Auxiliary
	switch c.Parts[group].Kind {
	case backend.Pads:
		pads := make([]field.QM31, of.offsets[1]/limbs)
		copy(pads, s.Pads)
		return device.NewCopy(a, pads[of.offsets[0]/limbs:])
	case backend.Masks:
		use = prf.Mask
	}
	p := device.NewArray[field.M31](a, rows<<c.RowVars)
	device.Check(kernels.Elements(a, p, &s.Key, use, uint64(rowsBefore(c, group)), 0, rows, 1<<c.RowVars))
	return p
}

// tailRun is n consecutive rows of a tree, from number row on, which have tails of the same length. at is the index of the first one in a
// list of rows.
type tailRun struct{ row, n, tail, at int }

// tailRuns divides an increasing list of rows of a commitment into runs with tails of one length.
func tailRuns(c *backend.Commitment, rows []int) []tailRun {
	var tails []int
	for _, g := range c.Groups {
		tails = append(tails, slices.Repeat([]int{g.Tail}, g.Rows)...)
	}
	var all []tailRun
	for at, row := range rows {
		if n := len(all); n > 0 && all[n-1].tail == tails[row] && all[n-1].row+all[n-1].n == row {
			all[n-1].n++
		} else {
			all = append(all, tailRun{row, 1, tails[row], at})
		}
	}
	return all
}

// vars returns log2 of the length to which tails are padded with zeros.
func (t tailRun) vars() int { return bits.Len(uint(t.tail - 1)) }

// each makes the tails of a run's rows on the device, as rows of bytes (kernels.TailRows), about `piece` bytes at a time, and calls f with
// those. first is the index in the run of the first of them; a owns their memory, which is freed after the call.
func (t tailRun) each(
	parent *device.Scope, c *backend.Commitment, piece int, f func(a *device.Scope, first int, rows []ByteRow, pitch int),
) {
	pitch := kernels.RowPitch(1 << t.vars())
	atOnce := max(1, piece/(4*kernels.TailPlanes*pitch))
	for first := 0; first < t.n; first += atOnce {
		a, rows := device.NewScope(parent), make([]ByteRow, min(atOnce, t.n-first))
		planes := device.NewArray[int8](a, len(rows)*kernels.TailPlanes*pitch)
		device.Check(kernels.TailRows(a, planes, &secretsOf(c).Key, uint64(t.row+first), len(rows), t.tail, pitch))
		for i := range rows {
			rows[i] = ByteRow{At: planes.Offset(kernels.TailPlanes*i, pitch), Width: kernels.TailPlanes}
		}
		f(a, first, rows, pitch)
		a.Close()
	}
}

// addTailProducts adds to sums the contribution of tails to the codewords at the positions, for the rows of the tree that are here: the
// block's point times the value of the tail at the position (docs/protocol.md). The sums have `each` targets for a row; the
// contribution goes to the first of them.
func (t *placed) addTailProducts(a *device.Scope, sums kernels.Ptr, positions []uint64, each, piece int) {
	points := make([]kernels.PointWeight, len(positions))
	domain, blocks := code.NewDomain(t.C.LogDomain()), code.NewDomain(t.C.LogBlowup)
	for k, p := range positions {
		points[k] = kernels.PointWeight{Coef: field.FromM31(blocks.Point(p >> t.C.RowVars)), Z: domain.Point(p)}
	}
	for _, run := range tailRuns(&t.C, t.rows) {
		own := device.NewScope(a)
		panels := newPointPanels(own, points, run.vars())
		run.each(own, &t.C, piece, func(a *device.Scope, first int, rows []ByteRow, pitch int) {
			var list []kernels.ByteRow
			for i, row := range rows {
				list = row.appendPlanes(list, (run.at+first+i)*each, pitch)
			}
			panels.add(a, sums, list, len(t.rows)*each)
		})
		own.Close()
	}
}

// foldTails sets dst, which has the length of a table row, to the tail that the table's rows fold to with the weights, followed by
// zeros. It makes the tails of all rows itself, also of rows on other machines.
func foldTails(parent *device.Scope, dst kernels.Ptr, o *backend.Opening, weights []field.QM31, piece int) {
	rowVars := o.Params.RowVars()
	device.Check(parent.Clear(dst, device.ElementBytes<<rowVars))
	for i := range o.Commitments {
		c := tableOf(&o.Commitments[i])
		if !c.Salted() {
			continue
		}
		shift, slots := rowVars-c.RowVars, c.TableRows(0)
		for _, run := range tailRuns(&c, UpTo(c.Rows())) {
			run.each(parent, &c, piece, func(a *device.Scope, first int, rows []ByteRow, pitch int) {
				lists := newFoldLists(1<<shift, len(rows)*kernels.TailPlanes>>shift) // one for each of the 2^shift slots of a table row
				for k, row := range rows {
					slot := slots[run.row+first+k]
					lists.add(int(slot&(1<<shift-1)), row, pitch, weights[o.RowOffsets[i]+slot>>shift])
				}
				folded := device.NewArray[field.QM31](a, 1<<(run.vars()+shift))
				lists.fold(a, folded, run.vars(), false)
				device.Check(kernels.JoinTails(a, dst, folded, run.vars(), shift))
			})
		}
	}
}

// tableOf returns the part of a commitment that is in an opening's table: all groups but that of the auxiliary row.
func tableOf(c *backend.Commitment) backend.Commitment {
	t := *c
	if n := len(c.Groups) - 1; c.Auxiliary {
		t.Groups, t.Parts, t.Auxiliary = c.Groups[:n], c.Parts[:n], false
	}
	return t
}

// auxiliary is the auxiliary row on the device: as rows of its tree, for their columns (placed), and as values and tails (row).
type auxiliary struct {
	placed
	tree int
	row  kernels.AuxiliaryRow
	u    []field.QM31 // the argument of AuxiliaryRound, for BindAuxiliary
}

// LoadAuxiliary makes the auxiliary row of an opening, if it has one. It is called on the leader alone.
func (r *Rows) LoadAuxiliary(o *backend.Opening) {
	for tree := range o.Commitments {
		c := &o.Commitments[tree]
		if !c.Auxiliary {
			continue
		}
		last, shift := len(c.Groups)-1, r.RowVars-c.RowVars
		before, rows, tail := rowsBefore(c, last), c.Groups[last].Rows, c.Groups[last].Tail
		p := newPacker(r.Stream, r.Packed, *c, []int{last}, r.Stream.Find)
		x := &auxiliary{placed: placed{packer: p, sources: make([]source, 1), shift: shift, aside: true}, tree: tree}
		for l := range rows {
			x.sources[0].slots, x.rows = append(x.sources[0].slots, uint64(l)), append(x.rows, before+l)
		}
		x.row = kernels.AuxiliaryRow{Values: p.stacks[last].blocks[0].Values, RowVars: c.RowVars, Shift: shift, Tail: tail}
		x.row.Tails = device.NewArray[field.M31](r.Packed, rows*tail)
		device.Check(kernels.Elements(r.Packed, x.row.Tails, &secretsOf(c).Key, prf.Tail, uint64(before), 0, rows, tail))
		r.auxiliary = x
	}
}

// AuxiliaryRound is described at whir.Passes. t has the row to which all rows of the table have been folded, and the functional.
func (r *Rows) AuxiliaryRound(t *Tables, u []field.QM31) whir.Sums {
	t.Bound()
	r.auxiliary.u = u
	a := device.NewScope(t.Mem)
	defer a.Close()
	given := device.NewCopy(a, u)
	words := t.Stream.Results().Read(2*kernels.SumWords, func(p kernels.Post) error {
		return r.auxiliary.row.Round(a, t.F, t.Q, given, len(u), p)
	})
	return whir.Sums{Zero: kernels.FromSum(words), Top: kernels.FromSum(words[kernels.SumWords:])}
}

// BindAuxiliary is described at whir.Passes. weights are those with which the rows of the table have been folded. The tables of t are
// replaced by tables of twice the length: f with its tail behind it, and q with zeros.
func (r *Rows) BindAuxiliary(t *Tables, o *backend.Opening, weights []field.QM31, z field.QM31) {
	a := device.NewScope(t.Mem)
	defer a.Close()
	f, q := device.NewArray[field.QM31](t.Mem, 2*t.N), device.NewArray[field.QM31](t.Mem, 2*t.N)
	foldTails(a, kernels.At[field.QM31](f, t.N), o, weights, r.Stream.Context.Piece)
	u := r.auxiliary.u
	device.Check(r.auxiliary.row.Bind(a, f, q, t.F, t.Q, device.NewCopy(a, u), len(u), z))
	t.Mem.Free(t.F)
	t.Mem.Free(t.Q)
	t.F, t.Q, t.N = f, q, 2*t.N
}

// Salts is described at whir.Passes. c is the commitment of the tree.
func Salts(c *backend.Commitment, positions []uint64) []hash.Digest {
	if !c.Salted() {
		return nil
	}
	salts := make([]hash.Digest, len(positions))
	for i, at := range positions {
		secretsOf(c).Key.Salts(at, salts[i:i+1])
	}
	return salts
}

// Auxiliary is described at whir.Passes.
func Auxiliary(o *backend.Opening, n int) []field.M31 {
	values := make([]field.M31, n)
	for i := range o.Commitments {
		c := &o.Commitments[i]
		if !c.Auxiliary {
			continue
		}
		shift, first := o.Params.RowVars()-c.RowVars, rowsBefore(c, len(c.Groups)-1)
		for k := range values {
			row := bits.Reverse64(uint64(k)&(1<<shift-1)) >> (64 - shift)
			secretsOf(c).Key.Elements(prf.Auxiliary, uint64(first)+row, uint64(k)>>shift, values[k:k+1])
		}
	}
	return values
}
