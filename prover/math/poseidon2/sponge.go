package poseidon2

import (
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/field"
)

// The leaf sponge: rate 8, overwrite mode. It hashes a column of a group of
// rows; most leaves have one group, see groups.go for the others. The capacity
// starts with the length of the message, so no padding is needed: messages of
// different lengths never share an initial state, and of one length they have
// the same number of blocks. A last, partial block overwrites only the words it
// has.

// leafTag stands beside the length in the initial capacity and keeps leaf
// states apart from every other use of the permutation: "leaf" in ASCII.
const leafTag field.M31 = 0x6c656166

// Positions of the two in the state.
const (
	lengthWord = Rate
	tagWord    = Rate + 1
)

// maxLength is the greatest message length a limb can tell apart.
const maxLength = field.P - 1

// checkLength panics unless n is a length the sponge can take.
func checkLength(n int) {
	if n < 0 || int64(n) > maxLength {
		panic("poseidon2: message length out of range")
	}
}

// absorbGrain is the least number of groups of sixteen columns that one goroutine hashes.
const absorbGrain = 8

// ColumnHasher hashes every column of a matrix that comes row by row: the
// leaves of a tree over an interleaved code, where a leaf is one position of
// all codewords. It keeps 64 bytes for each column and works on all cores.
type ColumnHasher struct {
	columns  int
	rows     int     // the number of rows that will come in all
	absorbed int     // how many have come
	groups   []block // by sixteen columns: their sponges
}

// NewColumnHasher returns a hasher for a matrix of totalRows rows and the
// given number of columns, neither negative, totalRows below p.
func NewColumnHasher(columns, totalRows int) *ColumnHasher {
	h := &ColumnHasher{columns: columns, groups: make([]block, (columns+lanes-1)/lanes)}
	h.start(totalRows)
	return h
}

// Reset starts again with the same number of columns, and the given number of rows.
func (h *ColumnHasher) Reset(totalRows int) {
	clear(h.groups)
	h.start(totalRows)
}

// start sets the initial capacities and the number of rows. The states must be zero.
func (h *ColumnHasher) start(totalRows int) {
	checkLength(totalRows)
	h.rows, h.absorbed = totalRows, 0
	for g := range h.groups {
		for k := range lanes {
			h.groups[g][lengthWord][k] = field.M31(totalRows)
			h.groups[g][tagWord][k] = leafTag
		}
	}
}

// AbsorbRows takes the next rows of the matrix, each with one element for
// every column. Calls may split the rows in any way; eight at a time cost
// the fewest passes over memory.
func (h *ColumnHasher) AbsorbRows(rows [][]field.M31) {
	for _, row := range rows {
		if len(row) != h.columns {
			panic("poseidon2: a row of the wrong length")
		}
	}
	absorb := h.Next(len(rows))
	parallel.For(len(h.groups), absorbGrain, func(lo, hi int) {
		from, to := lo*lanes, min(hi*lanes, h.columns)
		part := make([][]field.M31, len(rows))
		for i, row := range rows {
			part[i] = row[from:to]
		}
		absorb(from, part)
	})
}

// Next announces the next n rows. It returns a function that absorbs them for a range of columns, which begins with
// column from, a multiple of 16, and ends at another multiple or at the last column. The calls together must have
// every column once. They may run in parallel.
func (h *ColumnHasher) Next(n int) (absorb func(from int, rows [][]field.M31)) {
	if n > h.rows-h.absorbed {
		panic("poseidon2: more rows than announced")
	}
	start := h.absorbed
	h.absorbed += n
	return func(from int, rows [][]field.M31) {
		if n == 0 {
			return
		}
		columns := len(rows[0])
		if len(rows) != n || from%lanes != 0 || columns%lanes != 0 && from+columns != h.columns {
			panic("poseidon2: other rows than announced, or a range of columns that cuts a group")
		}
		h.absorb(start, from, columns, rows)
	}
}

// absorb absorbs rows of a range of columns. start is the number of the first row, and from that of the first column.
func (h *ColumnHasher) absorb(start, from, columns int, rows [][]field.M31) {
	for at := 0; at < columns; at += lanes {
		b := &h.groups[(from+at)/lanes]
		to := min(at+lanes, columns)
		for i, row := range rows {
			n := start + i + 1
			if to == at+lanes { // one vector
				b[(n-1)%Rate] = [lanes]field.M31(row[at:])
			} else {
				copy(b[(n-1)%Rate][:], row[at:to])
			}
			if n%Rate == 0 || n == h.rows {
				b.permute()
			}
		}
	}
}

// Sum sets dst to the digests of the columns. len(dst) is the number of
// columns, and all rows must have been absorbed. It is called once.
func (h *ColumnHasher) Sum(dst []Digest) {
	if len(dst) != h.columns {
		panic("poseidon2: one digest for each column")
	}
	if h.absorbed != h.rows {
		panic("poseidon2: fewer rows than announced")
	}
	parallel.For(len(h.groups), absorbGrain, func(lo, hi int) {
		for g := lo; g < hi; g++ {
			b := &h.groups[g]
			if h.rows == 0 {
				b.permute() // as for any message, even an empty one
			}
			b.storeDigests(dst[g*lanes : min((g+1)*lanes, h.columns)])
		}
	})
}
