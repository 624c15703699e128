package proof

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Entries of a public tensor are packed in blocks of blockEntries; the last block has the
// rest. Their order is by column of the last axis, one column after the other, since entries
// of one column are often of similar size, as in a table. A block consists of
//
//   - its least entry minus the tensor's Min, in rangeBits;
//   - shift, in shiftBits: the number of low bits that are zero in all differences from the least entry;
//   - width, in widthBits: the number of bits of the largest difference after shifting it right by shift;
//   - the differences, shifted right by shift, in width bits each.
//
// unpackValues refuses a shift or a width that is not exact, so every tensor has one encoding
// (docs/proof-format.md, "Public values").
const (
	blockEntries = 128
	shiftBits    = 5 // the bits of shift, which is below 31, as differences have at most 31 bits
	widthBits    = 5 // the bits of width, which is at most 31
)

// matrix returns the numbers of rows and columns of a tensor: the columns are those of its
// last axis.
func matrix(shape []int) (rows, columns int) {
	columns = 1
	if len(shape) > 0 {
		columns = max(shape[len(shape)-1], 1)
	}
	return model.Size(shape) / columns, columns
}

// tile is the number of rows or columns that are transposed together: 16 entries of 4 bytes are a cache line of 64 bytes.
const tile = 16

// transpose returns the entries of a row-major matrix in column-major order. It returns v
// itself where both orders are the same.
func transpose(v []int32, rows, columns int) []int32 {
	if rows == 1 || columns == 1 {
		return v
	}
	out := make([]int32, len(v))
	for from := 0; from < rows; from += tile {
		to := min(from+tile, rows)
		for c := range columns {
			for r := from; r < to; r++ {
				out[c*rows+r] = v[r*columns+c]
			}
		}
	}
	return out
}

// rangeBits returns how many bits an entry minus the tensor's Min has at most.
func rangeBits(t *model.Tensor) int { return bits.Len64(uint64(t.Max - t.Min)) }

// packedBytes bounds the length of the encoding of a tensor's entries.
func packedBytes(t *model.Tensor) int64 {
	n, width := int64(model.Size(t.Shape)), int64(rangeBits(t))
	blocks := (n + blockEntries - 1) / blockEntries
	return (blocks*(width+shiftBits+widthBits) + n*width + 7) / 8
}

// packValues encodes the entries of a tensor. It is an error if their number is not that of the shape, or if one is not in the
// tensor's range.
func packValues(t *model.Tensor, values []int32) ([]byte, error) {
	if len(values) != model.Size(t.Shape) {
		return nil, fmt.Errorf("%d entries, shape %v has %d", len(values), t.Shape, model.Size(t.Shape))
	}
	for _, v := range values {
		if int64(v) < t.Min || int64(v) > t.Max {
			return nil, fmt.Errorf("%d is not in [%d, %d]", v, t.Min, t.Max)
		}
	}
	rows, columns := matrix(t.Shape)
	values, width := transpose(values, rows, columns), rangeBits(t)
	var w bitWriter
	for first := 0; first < len(values); first += blockEntries {
		b := values[first:min(first+blockEntries, len(values))]
		least := b[0]
		for _, v := range b {
			least = min(least, v)
		}
		used := uint32(0) // bits that some difference has
		for _, v := range b {
			used |= uint32(v) - uint32(least)
		}
		shift := 0
		if used > 0 {
			shift = bits.TrailingZeros32(used)
		}
		n := bits.Len32(used >> shift)
		w.put(uint64(int64(least)-t.Min), width)
		w.put(uint64(shift), shiftBits)
		w.put(uint64(n), widthBits)
		for _, v := range b {
			w.put(uint64((uint32(v)-uint32(least))>>shift), n)
		}
	}
	return w.bytes, nil
}

var (
	errPacked    = errors.New("public values are not as short as they can be")
	errPackedEnd = errors.New("public values of another length")
)

// unpackValues decodes what packValues encodes, and refuses all other bytes, entries out of the
// tensor's range included. Time and memory are at most proportional to the tensor's entries, however long b is.
func unpackValues(t *model.Tensor, b []byte) ([]int32, error) {
	rows, columns := matrix(t.Shape)
	size, width := rows*columns, rangeBits(t)
	header := width + shiftBits + widthBits
	if int64(len(b))*8 < int64((size+blockEntries-1)/blockEntries)*int64(header) {
		return nil, errPackedEnd // before room for the entries is taken
	}
	values := make([]int32, size)
	// Entries arrive column by column. buf holds up to tile columns and one block, until setColumns copies whole columns into
	// values. Where both orders are the same, blocks are decoded into values directly, and column = columns turns copying off.
	buf, column := values, columns
	if rows > 1 && columns > 1 {
		buf, column = make([]int32, min(size, tile*rows+blockEntries)), 0
	}
	have := 0 // the number of entries in buf, whose first is that of row 0 of the column numbered column
	r := bitReader{bytes: b}
	for first := 0; first < size; first += blockEntries {
		b := buf[have : have+min(blockEntries, size-first)]
		have += len(b)
		if !r.has(header) {
			return nil, errPackedEnd
		}
		least := t.Min + int64(r.get(width))
		shift, n := int(r.get(shiftBits)), int(r.get(widthBits))
		if !r.has(n * len(b)) {
			return nil, errPackedEnd
		}
		used, low, high := r.block(b, n)
		// In the one encoding of a block the least difference is 0, the largest has exactly n bits, and some difference is odd
		// after the shift, unless all are 0: then n and shift are 0.
		if low != 0 || bits.Len64(used) != n || used&1 == 0 && (n > 0 || shift > 0) {
			return nil, errPacked
		}
		if top := least + int64(high<<shift); top > t.Max {
			return nil, fmt.Errorf("%d is not in [%d, %d]", top, t.Min, t.Max)
		}
		if shift == 0 {
			for i, d := range b {
				b[i] = int32(least) + d
			}
		} else {
			for i, d := range b {
				b[i] = int32(least) + d<<shift
			}
		}
		for n := min(tile, columns-column); column < columns && have >= n*rows; n = min(tile, columns-column) {
			setColumns(values, columns, column, buf[:n*rows], rows)
			have = copy(buf, buf[n*rows:have])
			column += n
		}
	}
	if !r.done() {
		return nil, errPackedEnd
	}
	return values, nil
}

// setColumns sets the columns of a matrix from number `from` on. v has their entries, one
// column after the other.
func setColumns(matrix []int32, columns, from int, v []int32, rows int) {
	n := len(v) / rows
	for r := range rows {
		row := matrix[r*columns+from:][:n]
		for c := range row {
			row[c] = v[c*rows+r]
		}
	}
}

// bitWriter writes numbers of given widths one after the other, each with its least significant bit first.
type bitWriter struct {
	bytes []byte
	free  int // how many high bits of the last byte are not used yet
}

// put writes v in n bits, at most 32. v must be below 2^n.
func (w *bitWriter) put(v uint64, n int) {
	if w.free > 0 {
		w.bytes[len(w.bytes)-1] |= byte(v << (8 - w.free))
		if n <= w.free {
			w.free -= n
			return
		}
		v, n = v>>w.free, n-w.free
	}
	for ; n > 0; n -= 8 {
		w.bytes = append(w.bytes, byte(v))
		v >>= 8
	}
	w.free = -n // n is now 0, or minus the number of unused bits of the last byte
}

// bitReader reads what a bitWriter wrote.
type bitReader struct {
	bytes []byte
	at    int // in bits
}

// has says whether that many bits are left.
func (r *bitReader) has(n int) bool { return n <= 8*len(r.bytes)-r.at }

// get reads n bits, at most 32, which must be there.
func (r *bitReader) get(n int) uint64 {
	i := r.at >> 3
	var v uint64
	if i+8 <= len(r.bytes) {
		v = binary.LittleEndian.Uint64(r.bytes[i:])
	} else {
		for k, c := range r.bytes[i:] {
			v |= uint64(c) << (8 * k)
		}
	}
	v = v >> (r.at & 7) & (1<<n - 1)
	r.at += n
	return v
}

// block reads len(dst) numbers of n bits each into dst, n at most 31. They must be there. It returns the
// bitwise or of all of them, the least and the greatest.
func (r *bitReader) block(dst []int32, n int) (or, low, high uint64) {
	low = 1<<32 - 1
	at, mask, b := r.at, uint64(1)<<n-1, r.bytes
	i := 0
	if n <= (64-7)/4 { // four numbers, behind up to 7 bits of another, fit into the eight bytes that are loaded at once
		n := uint(n) & 15
		for ; i+4 <= len(dst) && at>>3+8 <= len(b); i += 4 {
			w := binary.LittleEndian.Uint64(b[at>>3:]) >> (at & 7)
			v0, v1, v2, v3 := w&mask, w>>n&mask, w>>(2*n)&mask, w>>(3*n)&mask
			at += int(4 * n)
			or |= v0 | v1 | v2 | v3
			low, high = min(low, v0, v1, v2, v3), max(high, v0, v1, v2, v3)
			d := dst[i : i+4 : i+4]
			d[0], d[1], d[2], d[3] = int32(v0), int32(v1), int32(v2), int32(v3)
		}
	}
	for ; i < len(dst) && at>>3+8 <= len(b); i++ {
		v := binary.LittleEndian.Uint64(b[at>>3:]) >> (at & 7) & mask
		at += n
		or |= v
		low, high = min(low, v), max(high, v)
		dst[i] = int32(v)
	}
	r.at = at
	for ; i < len(dst); i++ {
		v := r.get(n)
		or |= v
		low, high = min(low, v), max(high, v)
		dst[i] = int32(v)
	}
	return or, low, high
}

// done says whether nothing is left but fewer than 8 zero bits that fill up the last byte.
func (r *bitReader) done() bool {
	rest := 8*len(r.bytes) - r.at
	return rest < 8 && r.get(rest) == 0
}
