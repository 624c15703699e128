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
// and its groups of rows (docs/protocol.md, "Layout and commitments"). Rows are numbered
// consecutively through all groups. A leaf is a hash of the groups' digests, in order.
//
// A row's slot is its place in the tree's part of an opening's table. Slots
// without a row are zero.
type Layout struct {
	Hash      hash.Suite
	RowVars   int // a row has 2^RowVars values
	LogBlowup int // its codeword has 2^(RowVars+LogBlowup)
	Groups    []Group
	// Auxiliary says that the last group is not in the table but is the auxiliary row of a hiding
	// opening. That row is as long as a table row. So it is made of 2^s rows of the tree if table rows
	// are 2^s times longer than these; they are numbered by slots of their own, from 0 on.
	Auxiliary bool
}

// Group is a number of rows whose part of a column is hashed by itself. The rows are in slots
// First, First + 1, …. In a tree that hides, every row has a tail of Tail ≥ 1 random elements of
// F behind its values, and the leaves have salts; otherwise Tail is 0.
type Group struct {
	First uint64
	Rows  int
	Tail  int
}

// SingleStack returns the layout of a tree over one stack of that many rows, cut into groups of
// hash.Suite.GroupRows rows; the last has what is left.
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

// The table of an opening (docs/protocol.md, "Layout and commitments") has rows of the length
// of its longest trees' rows, 2^a. A tree with rows of 2^b values has 2^s slots in each table
// row, s = a − b, called the parts of the table row: slot u = R·2^s + l is part l of table row R.
// Value c of the part is value c·2^s + l' of the table row, where l' is l with its s bits in
// reverse order. The code calls s the tree's shift.
//
// So the codeword of a table row at x is Σ_l (Π_k t_(s−1−k)(x)^(l_k))·c_l(t_s(x)), where
// c_l is the codeword of part l, and l_k is bit k of l. If x is at position i, then t_s(x) is at
// position i >> s of the smaller domain: the tree's leaf there gives the values of all its table
// rows at x. The same table row results from interleaving rows in pairs, s times.
//
// The values of 2^k ≤ 2^s slots that are aligned to their number are those with given bits in
// the lowest s − k places of their index in the table row; all higher bits are free.

// reverse returns the lowest n bits of v in the opposite order.
func reverse(v uint64, n int) uint64 { return bits.Reverse64(v<<(64-n)) & (1<<n - 1) }

// column returns the index in a table row of value c of the row in slot u, for a tree with
// that shift.
func column(u, c uint64, shift int) int {
	return int(c<<shift | reverse(u&(1<<shift-1), shift))
}

// TableRows returns the numbers of the table rows that have rows of the tree, in increasing
// order, counted from the table row of the tree's slot 0. 2^shift slots make a table row.
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

// FillTableRow sets dst to the values start, start + 1, … of table row r, which has
// 2^(RowVars+shift) values. src has the rows of the tree; r counts as in [Layout.TableRows].
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
			// The row's first value, c, at start or behind it, where it is in dst (at), and how many
			// values from there on are in dst (n).
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

// partWeights returns the weights at x of parts 0 … n−1 of table rows, n ≤ 2^shift: part l has
// the weight Π_k t_(shift−1−k)(x)^(l_k), l_k being bit k of l.
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

// rowWeights are the weights with which rows are folded to one: those of the table's rows, by
// their number, and that of the auxiliary row, which is zero in an opening that has none.
type rowWeights struct {
	table     []field.QM31
	auxiliary field.QM31
}

// from returns the weights of the table's rows from number r on.
func (w rowWeights) from(r uint64) rowWeights { return rowWeights{w.table[r:], w.auxiliary} }

// addValues adds to values[k] the value, at position positions[k] of the table's domain, of
// the codeword that the tree's table rows fold to with the weights. points[k] is the point at
// that position. leaves are the tree's leaves at the positions that leafPositions returns.
func (l *Layout) addValues(values []field.QM31, leaves [][]field.M31, positions []uint64, points []field.M31, weights rowWeights, shift int) {
	parts := l.parts(shift)
	numbers := make([]int, len(positions)) // by position: the number of its leaf in leaves
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

// parts returns an n such that all rows of the tree are in parts 0 … n−1 of table rows. If every
// group begins a table row, n is at most the number of rows.
func (l *Layout) parts(shift int) int {
	n := uint64(0)
	for _, g := range l.Groups {
		n = max(n, min(g.First&(1<<shift-1)+uint64(g.Rows), 1<<shift))
	}
	return int(n)
}

// fold returns Σ_{R,l} weights[R]·parts[l]·(the leaf's value of slot R·2^shift + l), the value that
// table rows fold to. The rows of an auxiliary group count with the auxiliary weight.
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

// leafPositions returns the positions of a tree's leaves that positions of the table's domain
// lie over, p >> shift for position p. Both lists increase strictly.
func leafPositions(positions []uint64, shift int) []uint64 {
	var own []uint64
	for _, p := range positions {
		if len(own) == 0 || own[len(own)-1] != p>>shift {
			own = append(own, p>>shift)
		}
	}
	return own
}
