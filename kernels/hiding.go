package kernels

import (
	"encoding/binary"
	"fmt"

	"github.com/prove-model/prove-model/prover/math/blake3"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/prf"
)

// masked appends a secret key to the arguments of a kernel.
func masked(key *prf.Key, args ...uint64) []uint64 {
	var words blake3.Key
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(key[4*i:])
	}
	return keyed(&words, args...)
}

// Elements sets the M31 at dst to the elements `from` to from + n − 1 that a key gives for a use, of each of some rows, from
// `row` on (prf.Key.Elements).
func Elements(d Device, dst Ptr, key *prf.Key, use prf.Use, row, from uint64, rows, n int) error {
	k := Kernel{"hiding", "prf_elements"}.of(rows, n).unless((from+uint64(n))>>36 != 0, "up to element %d of a row", from+uint64(n))
	blocks := int((from+uint64(n)+15)/16 - from/16)
	return k.each(d, rows*blocks, masked(key, uint64(dst), uint64(use), row, from, uint64(rows), uint64(n))...)
}

// TailPlanes is the width of the rows that TailRows makes.
const TailPlanes = 4

// TailRows sets rows at dst to the tails of some rows of a tree, from `row` on: n elements and zeros behind them, as TailPlanes
// planes of bytes of a pitch that RowPitch gives. Unlike those of ByteRows they lack nothing: PlaneBias does not count.
func TailRows(d Device, dst Ptr, key *prf.Key, row uint64, rows, n, pitch int) error {
	k := Kernel{"hiding", "prf_planes"}.of(rows, n).unless(pitch < n || pitch%16 != 0, "of %d elements, one row %d bytes behind another", n, pitch)
	return k.each(d, rows*pitch/16, masked(key, uint64(dst), uint64(prf.Tail), row, uint64(rows), uint64(n), uint64(pitch))...)
}

// AddTails adds tau times the tails, n M31 each, to the first values of some rows of 2^vars signed integers: what is then to
// be encoded, where tau is the value on a part of the codewords (EncodePart) of what tails are multiplied with, less what was
// added before.
func AddTails(d Device, values, tails Ptr, vars, n, rows int, tau field.M31) error {
	k := Kernel{"hiding", "add_tails"}.of(n, rows, vars+1).unless((n-1)>>max(0, vars) > 0, "of %d elements to 2^%d values", n, vars)
	return k.each(d, rows*n, uint64(values), uint64(tails), uint64(vars), uint64(n), uint64(rows), uint64(tau))
}

// JoinTails adds 2^shift rows of 2^vars elements of K at src, which lie in a row of a table as those of a tree do that make one
// (whir.Layout), to what is at dst.
func JoinTails(d Device, dst, src Ptr, vars, shift int) error {
	k := Kernel{"hiding", "join_tails"}
	if vars < 0 || shift < 0 || vars+shift > code.MaxLogSize {
		return fmt.Errorf("%w: %s of 2^%d rows of 2^%d elements", ErrSize, k.Name, shift, vars)
	}
	return launchFor(d, k, 1<<(vars+shift), uint64(dst), uint64(src), uint64(vars), uint64(shift))
}

// An AuxiliaryRow is that of a hiding opening, as 2^Shift rows of a tree, each of 2^RowVars values and a tail of Tail
// elements, all M31. The table's rows are 2^Shift times longer.
type AuxiliaryRow struct {
	Values, Tails        Ptr
	RowVars, Shift, Tail int
}

// Round makes the sums of the round that binds a folded row f with its functional q, and the auxiliary row with the functional
// of which −1 times the first `given` values are at u (whir.Passes.AuxiliaryRound).
func (a *AuxiliaryRow) Round(d Device, f, q, u Ptr, given int, p Post) error {
	k := Kernel{"hiding", "auxiliary_round"}
	if err := a.check(k, given); err != nil {
		return err
	}
	return d.Launch(k, roundLaunch(1<<(a.RowVars+a.Shift)), p.sums(uint64(f), uint64(q), uint64(a.Values), 1<<a.RowVars, uint64(a.Shift), uint64(u), uint64(given))...)
}

// Bind sets new tables of twice the length to those of that round with its variable bound to r. Behind f the tail that it
// folds to is there already.
func (a *AuxiliaryRow) Bind(d Device, newF, newQ, f, q, u Ptr, given int, r field.QM31) error {
	k := Kernel{"hiding", "auxiliary_bind"}
	if err := a.check(k, given); err != nil {
		return err
	}
	low, high := pack(r)
	return d.Launch(k, roundLaunch(1<<(a.RowVars+a.Shift)), uint64(newF), uint64(newQ), uint64(f), uint64(q), uint64(a.Values), 1<<a.RowVars, uint64(a.Shift),
		uint64(a.Tails), uint64(a.Tail), uint64(u), uint64(given), low, high)
}

func (a *AuxiliaryRow) check(k Kernel, given int) error {
	if vars := a.RowVars + a.Shift; a.RowVars < 0 || a.Shift < 0 || vars >= code.MaxLogSize || a.Tail < 1 || a.Tail > 1<<a.RowVars || given < 1 || given > 1<<vars {
		return fmt.Errorf("%w: %s of 2^%d rows of 2^%d values with tails of %d, %d of the functional", ErrSize, k.Name, a.Shift, a.RowVars, a.Tail, given)
	}
	return nil
}
