package whir

import (
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// Layout is the shape of a tree: what it is hashed with, the length of its rows, the rate of the code,
// and its groups of rows. Rows are numbered through all groups, and a leaf is made
// of the groups' digests in order.
//
// A row's slot is its place in the tree's part of an opening's table. Slots
// without a row are zero.
type Layout struct {
	Hash      hash.Suite
	RowVars   int // a row has 2^RowVars values
	LogBlowup int // its codeword has 2^(RowVars+LogBlowup)
	Groups    []Group
	// Auxiliary says that the last group is no part of the table: its rows, 2^s if the table's
	// are 2^s times longer, are the auxiliary row of a hiding opening, in slots of its own from 0 on.
	Auxiliary bool
}

// Group is a number of rows that are hashed by themselves, in slots First,
// First + 1, …. In a tree that hides, every row has a tail of Tail random elements of F behind
// its values, at least one, and the leaves have salts.
type Group struct {
	First uint64
	Rows  int
	Tail  int
}

// SingleStack returns the layout of a tree over one stack of that many rows, in
// groups of as many as the suite says.
func SingleStack(suite hash.Suite, rowVars, logBlowup, rows int) Layout {
	l := Layout{Hash: suite, RowVars: rowVars, LogBlowup: logBlowup}
	for first, most := 0, suite.GroupRows(); first < rows; first += most {
		l.Groups = append(l.Groups, Group{First: uint64(first), Rows: min(most, rows-first)})
	}
	return l
}

// LogDomain returns log2 of the number of leaves.
func (l *Layout) LogDomain() int { return l.RowVars + l.LogBlowup }

// groupRows returns the number of rows of every group.
func (l *Layout) groupRows() []int {
	n := make([]int, len(l.Groups))
	for i, g := range l.Groups {
		n[i] = g.Rows
	}
	return n
}

// Salted says that leaves have salts: the tree hides what is under it.
func (l *Layout) Salted() bool { return len(l.Groups) > 0 && l.Groups[0].Tail > 0 }

// tails returns the length of every row's tail.
func (l *Layout) tails() []int {
	n := make([]int, 0, l.Rows())
	for _, g := range l.Groups {
		for range g.Rows {
			n = append(n, g.Tail)
		}
	}
	return n
}

// Rows returns the number of rows of all groups.
func (l *Layout) Rows() int {
	n := 0
	for _, g := range l.Groups {
		n += g.Rows
	}
	return n
}

// tableGroups returns the groups of rows of the table: all but that of the auxiliary row.
func (l *Layout) tableGroups() []Group {
	if l.Auxiliary {
		return l.Groups[:len(l.Groups)-1]
	}
	return l.Groups
}

// Slots returns the number of slots up to that of the table's last row.
func (l *Layout) Slots() uint64 {
	groups := l.tableGroups()
	if len(groups) == 0 {
		return 0
	}
	last := groups[len(groups)-1]
	return last.First + uint64(last.Rows)
}

// maxSlots bounds the slots of a tree, so that no sum of theirs overflows.
const maxSlots = 1 << 40

// check reports what is wrong with a layout.
func (l *Layout) check() error {
	if l.RowVars < 0 || l.LogBlowup < 0 || l.RowVars > code.MaxLogSize-l.LogBlowup {
		return fmt.Errorf("whir: rows of 2^%d values at rate 2^-%d", l.RowVars, l.LogBlowup)
	}
	if len(l.Groups) == 0 || len(l.tableGroups()) == 0 {
		return fmt.Errorf("whir: a tree without rows")
	}
	if !l.Hash.Valid() {
		return fmt.Errorf("whir: unknown hash suite %d", int(l.Hash))
	}
	var end uint64
	rows := 0
	for i, g := range l.Groups {
		if l.Auxiliary && i == len(l.Groups)-1 {
			if g.First != 0 {
				return fmt.Errorf("whir: the auxiliary row begins in slot %d", g.First)
			}
			end = 0 // of slots of its own
		}
		if g.Tail < 0 || g.Tail > 1<<l.RowVars || g.Tail > 0 != l.Salted() {
			return fmt.Errorf("whir: group %d has tails of %d elements, group 0 of %d, rows 2^%d values", i, g.Tail, l.Groups[0].Tail, l.RowVars)
		}
		if g.Rows < 1 || g.First < end || g.First > maxSlots || g.Rows > 1<<soundness.MaxFoldVars-rows {
			return fmt.Errorf("whir: group %d has %d rows from slot %d on, after slot %d and %d rows", i, g.Rows, g.First, end, rows)
		}
		if len(l.Hash.Groups(g.Rows)) > 1 {
			return fmt.Errorf("whir: group %d has %d rows, more than %s takes", i, g.Rows, l.Hash)
		}
		rows += g.Rows
		end = g.First + uint64(g.Rows)
	}
	return nil
}

// The table of an opening has rows of the length of its longest trees, 2^a. A
// tree with rows of 2^b values, s = a − b, has 2^s slots in each: with u = R·2^s + l,
// slot u is part l of table row R. Value c of the part is value c·2^s + l' of the
// table row, where l' are the s bits of l in reverse.
//
// So the codeword of a table row at x is Σ_l (Π_k t_(s−1−k)(x)^(l_k))·c_l(t_s(x)), where
// c_l is that of part l, l_k is bit k of l, and t_s(x) is at position i >> s if x is
// at position i: the tree's leaf there gives the value of all table rows. It is what
// one gets from making a row of twice the length out of each two, s times. A
// block of 2^k slots, aligned to its size, is a range of the bits of the table row's
// index: all from s − k on, if k ≤ s.

// reverse returns the lowest n bits of v in the opposite order.
func reverse(v uint64, n int) uint64 { return bits.Reverse64(v<<(64-n)) & (1<<n - 1) }

// column returns where value c of the rows of a tree with that shift is in a long
// row, for the row in slot u.
func column(u, c uint64, shift int) int {
	return int(c<<shift | reverse(u&(1<<shift-1), shift))
}

// TableRows returns the numbers of the table rows that have rows of the tree, in
// increasing order, if 2^shift of its slots make one.
func (l *Layout) TableRows(shift int) []uint64 {
	var rows []uint64
	for _, g := range l.tableGroups() {
		r := g.First >> shift
		if n := len(rows); n > 0 {
			r = max(r, rows[n-1]+1)
		}
		for ; r<<shift < g.First+uint64(g.Rows); r++ {
			rows = append(rows, r)
		}
	}
	return rows
}

// FillTableRow sets dst to the values of table row r, of 2^(RowVars+shift), from number
// start on, of the tree with the rows of src.
func (l *Layout) FillTableRow(src RowSource, shift int, r uint64, start int, dst []int32) {
	var values []int32
	first := 0 // row of the group
	if shift > 0 {
		clear(dst)
	}
	for _, g := range l.tableGroups() {
		from, to := max(g.First, r<<shift), min(g.First+uint64(g.Rows), (r+1)<<shift)
		for u := from; u < to; u++ {
			i := first + int(u-g.First)
			if shift == 0 {
				src.FillRow(i, start, dst)
				return
			}
			// The values from number c on that are at start or behind it.
			at := column(u, 0, shift)
			c := max(0, start-at+1<<shift-1) >> shift
			at += c<<shift - start
			n := (len(dst) - at + 1<<shift - 1) >> shift
			if n <= 0 {
				continue
			}
			if cap(values) < n {
				values = make([]int32, n)
			}
			values = values[:n]
			src.FillRow(i, c, values)
			for c, v := range values {
				dst[at+c<<shift] = v
			}
		}
		first += g.Rows
	}
	if shift == 0 {
		clear(dst)
	}
}

// partWeights returns the weights at x of parts 0 … n−1 of table rows, n ≤ 2^shift.
func partWeights(x field.M31, shift, n int) []field.M31 {
	t := make([]field.M31, shift) // t_0(x), t_1(x), …
	for j := range t {
		t[j] = x
		x = code.DoubleX(x)
	}
	w := make([]field.M31, n)
	w[0] = 1
	for k := 0; 1<<k < n; k++ {
		for i := 1 << k; i < min(2<<k, n); i++ {
			w[i] = w[i-1<<k].Mul(t[shift-1-k])
		}
	}
	return w
}

// rowWeights are what rows are folded with: those of the table, by their number, and the
// auxiliary one.
type rowWeights struct {
	table     []field.QM31
	auxiliary field.QM31
}

// from returns the weights of the table's rows from number r on.
func (w rowWeights) from(r uint64) rowWeights { return rowWeights{w.table[r:], w.auxiliary} }

// addValues adds to values[k] the value at points[k], position positions[k] of the
// table's domain, of the codeword that the tree's table rows fold to with the weights.
// leaves are the tree's at the positions that leafPositions gives.
func (l *Layout) addValues(values []field.QM31, leaves [][]field.M31, positions []uint64, points []field.M31, weights rowWeights, shift int) {
	parts := l.parts(shift)
	numbers := make([]int, len(positions)) // of the leaves
	for k := 1; k < len(positions); k++ {
		numbers[k] = numbers[k-1]
		if positions[k]>>shift != positions[k-1]>>shift {
			numbers[k]++
		}
	}
	parallel.For(len(positions), 1+leafGrain/(1+l.Rows()), func(from, to int) {
		for k := from; k < to; k++ {
			w := partWeights(points[k], shift, parts)
			values[k] = values[k].Add(l.fold(leaves[numbers[k]], w, weights, shift))
		}
	})
}

// leafGrain is the least number of a leaf's values worth a goroutine.
const leafGrain = 1 << 13

// parts returns how many parts of a table row, from part 0 on, have rows: no more
// than there are rows if groups begin with table rows, however many the slots.
func (l *Layout) parts(shift int) int {
	n := uint64(0)
	for _, g := range l.Groups {
		n = max(n, min(g.First&(1<<shift-1)+uint64(g.Rows), 1<<shift))
	}
	return int(n)
}

// fold returns Σ weights[R]·parts[l]·(the leaf's value of slot R·2^shift + l).
func (l *Layout) fold(leaf, parts []field.M31, all rowWeights, shift int) field.QM31 {
	var sum field.QM31
	for i, g := range l.Groups {
		weights := all.table
		if l.Auxiliary && i == len(l.Groups)-1 {
			weights = []field.QM31{all.auxiliary}
		}
		u, end := g.First, g.First+uint64(g.Rows)
		if shift == 0 {
			sum = sum.Add(field.DotM31(leaf[:g.Rows], weights[u:end]))
		}
		for shift > 0 && u < end {
			from, long := u&(1<<shift-1), u>>shift
			n := min(1<<shift-from, end-u)
			var v field.M31
			for i, x := range leaf[u-g.First : u-g.First+n] {
				v = v.Add(x.Mul(parts[from+uint64(i)]))
			}
			sum = sum.Add(weights[long].MulM31(v))
			u += n
		}
		leaf = leaf[g.Rows:]
	}
	return sum
}

// leafPositions returns the positions of a tree's leaves for positions of the
// table's domain, both increasing and without repetitions.
func leafPositions(positions []uint64, shift int) []uint64 {
	var own []uint64
	for _, p := range positions {
		if len(own) == 0 || own[len(own)-1] != p>>shift {
			own = append(own, p>>shift)
		}
	}
	return own
}
