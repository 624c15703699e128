package model

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"sort"

	"github.com/prove-model/prove-model/prover/math/ints"
)

// Block is a power-of-two part of a tensor in a Stack: every axis of a tensor
// is cut by the binary expansion of its dimension, so nothing is padded.
type Block struct {
	*Box   // which part of the tensor; shared by tensors of one shape
	Tensor TensorID
	Offset uint64 // in the stack, a multiple of 2^Bits
}

// Part is the range [Start, Start+2^Bits) of an axis; Start is a multiple of 2^Bits.
type Part struct{ Start, Bits int }

// Stack is the layout of one committed polynomial: the blocks of its tensors
// by decreasing size, so that every offset is aligned
// (docs/protocol.md, "Layout and commitments").
type Stack struct {
	Blocks  []Block
	Size    uint64 // the number of entries of all blocks
	Tensors []TensorID
	Of      [][]int32 // by place in Tensors: the indexes into Blocks of its blocks, increasing
}

// NewStack lays out the given tensors of g. ids must not have a tensor twice; the stack keeps the slice.
func NewStack(g *Graph, ids []TensorID) *Stack {
	var cuts Cuts
	var order BySize
	boxes, n := make([][]Box, len(ids)), 0
	for k, id := range ids {
		boxes[k] = cuts.Of(g.Tensors[id].Shape)
		n += len(boxes[k])
		for i := range boxes[k] {
			order.Count(boxes[k][i].Bits)
		}
	}
	s := &Stack{Blocks: make([]Block, n), Size: order.Size(), Tensors: ids, Of: make([][]int32, len(ids))}
	list := make([]int32, n)
	for k, id := range ids {
		own := list[:len(boxes[k]):len(boxes[k])]
		list = list[len(own):]
		for j := range boxes[k] {
			box := &boxes[k][j]
			i, offset := order.Next(box.Bits)
			own[j], s.Blocks[i] = int32(i), Block{Box: box, Tensor: id, Offset: offset}
		}
		slices.Sort(own)
		s.Of[k] = own
	}
	return s
}

// BySize assigns places to blocks by decreasing size, so that each begins at a multiple of its size; blocks of one
// size keep their order. Call Count for every block first, then Size once, and then Next for every block.
type BySize struct {
	counts  [65]int    // by bits: the number of blocks; after Size, the index of the next block
	offsets [65]uint64 // by bits: after Size, the offset of the next block
}

// Count counts a block of 2^bits entries.
func (s *BySize) Count(bits int) { s.counts[bits]++ }

// Size returns the number of entries of all blocks, which must have been counted.
func (s *BySize) Size() uint64 {
	size, first := uint64(0), 0
	for b := len(s.counts) - 1; b >= 0; b-- {
		s.offsets[b] = size
		size += uint64(s.counts[b]) << b
		s.counts[b], first = first, first+s.counts[b]
	}
	return size
}

// Next returns the place of the next block of 2^bits entries: its index, and the offset
// of its first entry.
func (s *BySize) Next(bits int) (index int, offset uint64) {
	index, offset = s.counts[bits], s.offsets[bits]
	s.counts[bits]++
	s.offsets[bits] += 1 << bits
	return index, offset
}

// Splits yields the ways to cut the list of a shape's axes into the axes of rows and those of columns. An axis whose
// dimension is a multiple of 2^k may itself be divided into two: one of d/2^k indexes that number rows, and one of 2^k indexes for
// columns. Dividing an axis in this way changes neither the blocks of a tensor nor their order.
func Splits(shape []int) iter.Seq2[[]int, []int] {
	return func(yield func(rows, columns []int) bool) {
		for a, d := range shape {
			for k := range bits.TrailingZeros(uint(d)) + 1 {
				if !yield(append(shape[:a:a], d>>k), append([]int{1 << k}, shape[a+1:]...)) {
					return
				}
			}
		}
	}
}

// Box is a block of an index space: the product of one part of each axis, 2^Bits entries.
type Box struct {
	Parts []Part // one for each axis
	Bits  int    // Σ Parts[i].Bits
}

// Cuts cuts index spaces into blocks, and remembers the result for each shape. Callers share
// the results and must not change them.
type Cuts struct {
	found map[string][]Box
	key   []byte
}

// Of returns the blocks of a shape, in the order of Cut.
func (c *Cuts) Of(shape []int) []Box {
	c.key = c.key[:0]
	for _, d := range shape {
		c.key = binary.AppendUvarint(c.key, uint64(d))
	}
	boxes, ok := c.found[string(c.key)]
	if !ok {
		if c.found == nil {
			c.found = map[string][]Box{}
		}
		cut := Cut(shape)
		boxes = make([]Box, len(cut))
		for i, parts := range cut {
			boxes[i] = Box{parts, PartBits(parts)}
		}
		c.found[string(c.key)] = boxes
	}
	return boxes
}

// Blocks returns into how many blocks a tensor of this shape is cut.
func Blocks(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= bits.OnesCount(uint(d))
	}
	return n
}

// Cut cuts an index space into its blocks: each axis into the powers of two of its
// dimension, largest first, and the blocks in the order of their parts, those of the
// last axis changing fastest.
func Cut(shape []int) [][]Part {
	n, rank := Blocks(shape), len(shape)
	blocks, all := make([][]Part, n), make([]Part, n*rank)
	for i := range blocks {
		b := all[i*rank : (i+1)*rank : (i+1)*rank]
		blocks[i] = b
		if i == 0 {
			for a, d := range shape {
				b[a] = partAt(d, 0)
			}
			continue
		}
		// The next block: the last axis that has another part advances to it, and the axes
		// after it start again.
		copy(b, blocks[i-1])
		for a := rank - 1; a >= 0; a-- {
			end := b[a].Start + 1<<b[a].Bits
			if end < shape[a] {
				b[a] = partAt(shape[a], end)
				break
			}
			b[a] = partAt(shape[a], 0)
		}
	}
	return blocks
}

// partAt returns the part of [0, d) that begins at start, where the part before it
// ends.
func partAt(d, start int) Part { return Part{start, bits.Len(uint(d-start)) - 1} }

// PartBits returns n for a block of 2^n entries.
func PartBits(parts []Part) int {
	n := 0
	for _, p := range parts {
		n += p.Bits
	}
	return n
}

// Fill sets dst to the entries [offset, offset+len(dst)) of the stack, with zeros beyond its
// size. data has the dense values of the tensors by TensorID.
func (s *Stack) Fill(g *Graph, data []ints.Ints, offset uint64, dst []int32) {
	// The first block that ends after offset.
	i := sort.Search(len(s.Blocks), func(i int) bool {
		return s.Blocks[i].Offset+1<<s.Blocks[i].Bits > offset
	})
	for len(dst) > 0 && i < len(s.Blocks) {
		b := &s.Blocks[i]
		from := offset - b.Offset
		n := min(uint64(len(dst)), 1<<b.Bits-from)
		shape := g.Tensors[b.Tensor].Shape
		switch src := data[b.Tensor].(type) {
		case ints.Int8s:
			read(b, shape, src, from, dst[:n])
		case ints.Int16s:
			read(b, shape, src, from, dst[:n])
		case ints.Int32s:
			read(b, shape, src, from, dst[:n])
		}
		dst, offset, i = dst[n:], offset+n, i+1
	}
	clear(dst)
}

// Sizes that read works with, as log2: runBits of the shortest run that it copies as a whole, and tableBits of its table of
// offsets, which stays in the first-level cache.
const (
	runBits   = 4
	tableBits = 8
)

// read copies entries [from, from+len(dst)) of the block to dst. The offset in the tensor of the block's entry i is the sum of
// steps[k] over the bits k that are set in i. If the low bits of i walk through memory in order, read copies whole runs. Otherwise
// it uses a table of the offsets for the low bits.
func read[T ints.Integer](b *Block, shape []int, src []T, from uint64, dst []int32) {
	start, steps := b.steps(shape)
	src = src[start:]
	run := 0 // the number of low bits of i that count consecutive entries of the tensor
	for run < b.Bits && steps[run] == 1<<run {
		run++
	}
	low := run
	var table []int
	if run < runBits {
		low = min(tableBits, b.Bits)
		table = make([]int, 1, 1<<low)
		for _, s := range steps[:low] {
			for _, o := range table[:len(table):len(table)] {
				table = append(table, o+s)
			}
		}
	}
	for len(dst) > 0 {
		at := 0
		for hi := from >> low << low; hi != 0; hi &= hi - 1 {
			at += steps[bits.TrailingZeros64(hi)]
		}
		lo := int(from & (1<<low - 1))
		n := min(len(dst), 1<<low-lo)
		if table == nil {
			ints.Widen(dst[:n], src[at+lo:][:n])
		} else {
			data := src[at:]
			for i, o := range table[lo : lo+n] {
				dst[i] = int32(data[o])
			}
		}
		dst, from = dst[n:], from+uint64(n)
	}
}

// steps returns the offset of the block's first entry in its tensor of this shape, and for every bit of an index into the block,
// least significant first, by how much that bit moves the offset.
func (b *Block) steps(shape []int) (start int, steps []int) {
	stride := strides(shape)
	for a := len(shape) - 1; a >= 0; a-- {
		p := b.Parts[a]
		start += p.Start * stride[a]
		for i := range p.Bits {
			steps = append(steps, stride[a]<<i)
		}
	}
	return start, steps
}
