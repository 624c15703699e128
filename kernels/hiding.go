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

// Elements writes pseudo-random elements of M31 that a key gives for a use (prf.Key.Elements): for each of `rows` rows, from
// number row on, the elements from to from + n − 1.
func Elements(d Device, dst Ptr, key *prf.Key, use prf.Use, row, from uint64, rows, n int) error {
	k := Kernel{"hiding", "prf_elements"}.of(rows, n).unless((from+uint64(n))>>36 != 0, "up to element %d of a row", from+uint64(n))
	blocks := int((from+uint64(n)+15)/16 - from/16)
	return k.each(d, rows*blocks, masked(key, uint64(dst), uint64(use), row, from, uint64(rows), uint64(n))...)
}

// TailPlanes is the number of planes of the rows that TailRows makes.
const TailPlanes = 4

// TailRows writes the tails of `rows` rows of a tree, from number row on, as rows of bytes: each has n elements followed by
// zeros, in TailPlanes planes of pitch bytes (RowPitch). Unlike in ByteRows, no bias was subtracted from the bytes, so
// PlaneBias does not apply.
func TailRows(d Device, dst Ptr, key *prf.Key, row uint64, rows, n, pitch int) error {
	k := Kernel{"hiding", "prf_planes"}.of(rows, n).unless(pitch < n || pitch%16 != 0, "of %d elements, one row %d bytes behind another", n, pitch)
	return k.each(d, rows*pitch/16, masked(key, uint64(dst), uint64(prf.Tail), row, uint64(rows), uint64(n), uint64(pitch))...)
}

// AddTails adds tau times the tails, of n M31 each, to the first values of rows of 2^vars signed integers. The result is what
// EncodePart encodes: tau is the value, on that part of the codewords, of the polynomial that tails are multiplied with, less
// the tau of earlier calls.
func AddTails(d Device, values, tails Ptr, vars, n, rows int, tau field.M31) error {
	k := Kernel{"hiding", "add_tails"}.of(n, rows, vars+1).unless((n-1)>>max(0, vars) > 0, "of %d elements to 2^%d values", n, vars)
	return k.each(d, rows*n, uint64(values), uint64(tails), uint64(vars), uint64(n), uint64(rows), uint64(tau))
}

// JoinTails adds 2^shift rows of 2^vars elements of K at src to a table row at dst. They are arranged in it as rows of a tree
// are in a row of the table (whir.Layout).
func JoinTails(d Device, dst, src Ptr, vars, shift int) error {
	k := Kernel{"hiding", "join_tails"}
	if vars < 0 || shift < 0 || vars+shift > code.MaxLogSize {
		return fmt.Errorf("%w: %s of 2^%d rows of 2^%d elements", ErrSize, k.Name, shift, vars)
	}
	return launchFor(d, k, 1<<(vars+shift), uint64(dst), uint64(src), uint64(vars), uint64(shift))
}

// An AuxiliaryRow is the auxiliary row of a hiding opening. It is stored as 2^Shift rows of a tree, each with
// 2^RowVars values and a tail of Tail elements, all in M31. A row of the table is 2^Shift times as long.
type AuxiliaryRow struct {
	Values, Tails        Ptr
	RowVars, Shift, Tail int
}

// Round makes the sums of the round that binds a folded row f, with its functional q, together with the auxiliary row
// (whir.Passes.AuxiliaryRound). At u are the first `given` values of −1 times the auxiliary row's functional.
func (a *AuxiliaryRow) Round(d Device, f, q, u Ptr, given int, p Post) error {
	k := Kernel{"hiding", "auxiliary_round"}
	if err := a.check(k, given); err != nil {
		return err
	}
	return d.Launch(k, roundLaunch(1<<(a.RowVars+a.Shift)), p.sums(uint64(f), uint64(q), uint64(a.Values), 1<<a.RowVars, uint64(a.Shift), uint64(u), uint64(given))...)
}

// Bind writes the tables of twice the length that result from that round when its variable is bound to r. The tail that
// follows newF is there already.
func (a *AuxiliaryRow) Bind(d Device, newF, newQ, f, q, u Ptr, given int, r field.QM31) error {
	k := Kernel{"hiding", "auxiliary_bind"}
	if err := a.check(k, given); err != nil {
		return err
	}
	low, high := pack(r)
	return d.Launch(k, roundLaunch(1<<(a.RowVars+a.Shift)), uint64(newF), uint64(newQ), uint64(f), uint64(q), uint64(a.Values), 1<<a.RowVars, uint64(a.Shift),
		uint64(a.Tails), uint64(a.Tail), uint64(u), uint64(given), low, high)
}

// check refuses sizes that the kernels do not take.
func (a *AuxiliaryRow) check(k Kernel, given int) error {
	if vars := a.RowVars + a.Shift; a.RowVars < 0 || a.Shift < 0 || vars >= code.MaxLogSize || a.Tail < 1 || a.Tail > 1<<a.RowVars || given < 1 || given > 1<<vars {
		return fmt.Errorf("%w: %s of 2^%d rows of 2^%d values with tails of %d, %d of the functional", ErrSize, k.Name, a.Shift, a.RowVars, a.Tail, given)
	}
	return nil
}
