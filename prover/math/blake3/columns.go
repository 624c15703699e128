package blake3

import (
	"unsafe"

	"github.com/prove-model/prove-model/internal/parallel"
)

// RowsAtOnce is how many rows of a matrix one compression takes of each column.
const RowsAtOnce = blockWords

// columnsGrain is the least number of blocks of sixteen columns that one goroutine hashes.
const columnsGrain = 8

// ColumnHasher hashes every column of a matrix that comes row by row. The message of column j is the words rows[0][j],
// rows[1][j] and so on, each as four little-endian bytes. It keeps 32 bytes for each column, and as many again for each
// doubling of the rows beyond MaxRows. It works on all cores.
type ColumnHasher struct {
	columns int
	tree
}

// MaxRows is the number of words of a column in one chunk.
const MaxRows = ChunkBytes / 4

// NewColumnHasher returns a hasher for the given numbers of columns and rows, neither negative.
func NewColumnHasher(key *Key, columns, rows int) *ColumnHasher {
	h := &ColumnHasher{columns: columns, tree: newTree(key, columns)}
	h.Reset(rows)
	return h
}

// Reset starts again with the same number of columns, and the given number of rows.
func (h *ColumnHasher) Reset(rows int) { h.begin(4 * rows) }

// AbsorbRows takes the next rows, each with a word for every column. Their number must be a multiple of RowsAtOnce, except in the last
// call. Another number, or more rows than were announced, is a programmer's error and panics.
func (h *ColumnHasher) AbsorbRows(rows [][]uint32) {
	for _, row := range rows {
		if len(row) != h.columns {
			panic("blake3: a row of the wrong length")
		}
	}
	absorb := h.Next(len(rows))
	if len(rows) == 0 {
		absorb(0, nil)
		return
	}
	parallel.For(len(h.states), columnsGrain, func(lo, hi int) {
		from, to := lo*lanes, min(hi*lanes, h.columns)
		part := make([][]uint32, len(rows))
		for i, row := range rows {
			part[i] = row[from:to]
		}
		absorb(from, part)
	})
}

// Next announces the next n rows, as many as AbsorbRows may take. It returns a function that absorbs them for a range of columns, which
// begins with column from, a multiple of 16, and ends at another multiple or at the last column. The calls together must have every column
// once. They may run in parallel. For 0 rows there must be one call, for all columns.
func (h *ColumnHasher) Next(n int) (absorb func(from int, rows [][]uint32)) {
	first := h.blocks
	h.take(4 * n)
	return func(from int, rows [][]uint32) {
		columns := h.columns - from
		if n > 0 {
			columns = len(rows[0])
		}
		if len(rows) != n || from%lanes != 0 || columns%lanes != 0 && from+columns != h.columns {
			panic("blake3: other rows than announced, or a range of columns that cuts a block")
		}
		h.absorb(first, from, columns, rows)
	}
}

// absorb compresses the blocks of a range of columns. first is the number of the first block, and from that of the first column.
func (h *ColumnHasher) absorb(first, from, columns int, rows [][]uint32) {
	var padded [blockWords][]uint32 // the rows of a block with fewer than 16 columns or rows, filled up with zeros
	var zeros [lanes]uint32
	var tail [blockWords][lanes]uint32
	for at := 0; at < columns; at += lanes {
		n := min(lanes, columns-at)
		for i := 0; i < len(rows) || i == 0 && h.length == 0; i += blockWords {
			block, offset := rows[i:min(i+blockWords, len(rows))], at
			if n < lanes || len(block) < blockWords {
				for k := range padded {
					padded[k] = zeros[:]
					if k < len(block) {
						copy(tail[k][:], block[k][at:at+n])
						padded[k] = tail[k][:]
					}
				}
				block, offset = padded[:], 0
			}
			h.compress((from+at)/lanes, first+i/blockWords, (*[blockWords][]uint32)(block), offset)
		}
	}
}

// Sum sets dst to the digests of the columns, once all rows have been absorbed.
func (h *ColumnHasher) Sum(dst []Digest) {
	if len(dst) != h.columns {
		panic("blake3: one digest for each column")
	}
	h.end()
	h.store(dst)
}

// end checks that all rows have been absorbed. If there are none it compresses the one block of an empty message.
func (h *ColumnHasher) end() {
	if h.length == 0 && h.blocks == 0 {
		h.AbsorbRows(nil) // the one block of an empty message
	}
	h.finish()
}

// DigestHasher hashes lists of digests, one list for each column. It is given one digest of every list at a time. It keeps 64 bytes
// for each column, and 32 more for each doubling of the lists beyond 32 digests. It works on all cores.
type DigestHasher struct {
	columns int
	tree
	waiting  []states // the first digest of a block, which has two, if absorbed is odd
	absorbed int      // how many digests of each list have been absorbed
	digests  int      // the length of the lists
}

// NewDigestHasher returns a hasher for columns lists of digests digests each, neither negative.
func NewDigestHasher(key *Key, columns, digests int) *DigestHasher {
	h := &DigestHasher{columns: columns, digests: digests, tree: newTree(key, columns)}
	h.waiting = make([]states, len(h.states))
	h.begin(DigestBytes * digests)
	return h
}

// Absorb takes the next digest of every list.
func (h *DigestHasher) Absorb(next []Digest) {
	if len(next) != h.columns {
		panic("blake3: one digest for each list")
	}
	h.absorb(func(g int, dst *states) { dst.load(next[g*lanes : min((g+1)*lanes, h.columns)]) })
}

// AbsorbColumns does what Absorb does with the digests of the columns of next, of which all rows must have been absorbed. It takes their
// states as they are, without storing them as digests.
func (h *DigestHasher) AbsorbColumns(next *ColumnHasher) {
	if next.columns != h.columns {
		panic("blake3: one column for each list")
	}
	next.end()
	h.absorb(func(g int, dst *states) { *dst = next.states[g] })
}

// absorb takes the next digest of every list. load sets dst to the digests of the sixteen lists with number g.
func (h *DigestHasher) absorb(load func(g int, dst *states)) {
	if h.absorbed == h.digests {
		panic("blake3: more digests than announced")
	}
	first := h.absorbed%2 == 0
	h.absorbed++
	last := h.absorbed == h.digests
	block := h.blocks
	if !first {
		h.take(BlockBytes)
	} else if last {
		h.take(DigestBytes)
	}
	parallel.For(len(h.states), columnsGrain, func(lo, hi int) {
		var second states
		var rows [blockWords][]uint32
		for g := lo; g < hi; g++ {
			half := &second
			if first {
				half = &h.waiting[g]
			}
			load(g, half)
			if first && !last {
				continue
			}
			if first { // the last block has one digest only
				second = states{}
			}
			for i := range second {
				rows[i], rows[len(second)+i] = h.waiting[g][i][:], second[i][:]
			}
			h.compress(g, block, &rows, 0)
		}
	})
}

// Sum sets dst to the digests of the lists, once all their digests have been absorbed.
func (h *DigestHasher) Sum(dst []Digest) {
	if len(dst) != h.columns {
		panic("blake3: one digest for each list")
	}
	h.finish()
	h.store(dst)
}

// Parents sets dst[i] to the keyed hash of children[2i] and children[2i+1], 64 bytes. There are twice as many
// children as parents; anything else is a programmer's error and panics.
func Parents(dst []Digest, key *Key, children []Digest) {
	if len(children) != 2*len(dst) {
		panic("blake3: a parent has two children")
	}
	const flags = keyedHash | chunkStart | chunkEnd | root
	var words [blockWords][lanes]uint32
	var rows [blockWords][]uint32
	for i := range rows {
		rows[i] = words[i][:]
	}
	begun := beginning(key)
	for len(dst) >= lanes {
		transpose(&words, (*[lanes][blockWords]uint32)(unsafe.Pointer(&children[0])))
		s := begun
		s.compress(&rows, 0, 0, BlockBytes, flags)
		s.store(dst[:lanes])
		dst, children = dst[lanes:], children[2*lanes:]
	}
	for i := range dst {
		pair := (*[blockWords]uint32)(unsafe.Pointer(&children[2*i]))
		out := compress((*[8]uint32)(key), pair, 0, BlockBytes, flags)
		dst[i] = Digest(out[:8])
	}
}

// LeadingZeros returns the least of the n ≤ 2^32 numbers from first on whose keyed hash begins with at least zeros zero bits, 0 to 32.
// What is hashed is the 32 bytes of state and then the number in eight little-endian bytes. The order of bits is that of leadingZeros. ok
// is false if there is no such number.
func LeadingZeros(key *Key, state *Digest, first uint64, n, zeros int) (least uint64, ok bool) {
	const flags = keyedHash | chunkStart | chunkEnd | root
	var words [blockWords][lanes]uint32
	var rows [blockWords][]uint32
	for i := range rows {
		rows[i] = words[i][:]
	}
	for i, w := range state {
		for l := range words[i] {
			words[i][l] = w
		}
	}
	begun := beginning(key)
	for from := uint64(0); from < uint64(n); from += lanes {
		for l := range lanes {
			number := first + from + uint64(l)
			words[8][l], words[9][l] = uint32(number), uint32(number>>32)
		}
		s := begun
		s.compress(&rows, 0, 0, DigestBytes+8, flags)
		for l := range min(lanes, uint64(n)-from) {
			if leadingZeros(s[0][l]) >= zeros {
				return first + from + l, true
			}
		}
	}
	return 0, false
}
