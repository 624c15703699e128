package model

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/prove-model/prove-model/prover/ints"
)

// Block is a power-of-two part of a tensor in a Stack: every axis of a tensor
// is cut by the binary expansion of its dimension, so nothing is padded.
type Block struct {
	Tensor TensorID
	Parts  []Part // one an axis
	Bits   int    // Σ Parts[i].Bits
	Offset uint64 // in the stack, a multiple of 2^Bits
}

// Part is the range [Start, Start+2^Bits) of an axis; Start is a multiple of 2^Bits.
type Part struct{ Start, Bits int }

// Stack is the layout of one committed polynomial: the blocks of its tensors
// by decreasing size, so that every offset is aligned
// (docs/protocol.md, "Layout and commitments").
type Stack struct {
	Blocks   []Block
	Size     uint64             // entries used
	ByTensor map[TensorID][]int // indexes into Blocks
}

// NewStack lays out the given tensors of g.
func NewStack(g *Graph, ids []TensorID) *Stack {
	first := make([]int, len(ids)+1) // where each tensor's blocks begin in a list of all
	for k, id := range ids {
		first[k+1] = first[k] + Blocks(g.Tensors[id].Shape)
	}
	n := first[len(ids)]
	type numbered struct {
		Block
		of int // among ids
	}
	blocks := make([]numbered, 0, n)
	for k, id := range ids {
		for _, parts := range Cut(g.Tensors[id].Shape) {
			blocks = append(blocks, numbered{Block{Tensor: id, Parts: parts, Bits: PartBits(parts)}, k})
		}
	}
	s := &Stack{Blocks: make([]Block, n), ByTensor: make(map[TensorID][]int, len(ids))}
	list, next := make([]int, n), slices.Clone(first)
	for i, b := range BySize(blocks, func(b *numbered) int { return b.Bits }) {
		b.Offset = s.Size
		s.Blocks[i] = b.Block
		s.Size += 1 << b.Bits
		list[next[b.of]] = i
		next[b.of]++
	}
	for k, id := range ids {
		s.ByTensor[id] = list[first[k]:first[k+1]:first[k+1]]
	}
	return s
}

// BySize returns blocks by decreasing size, those of one size in their order.
func BySize[B any](blocks []B, bits func(*B) int) []B {
	var first [65]int // of the blocks with so many bits, and then of those that are left
	for i := range blocks {
		first[bits(&blocks[i])]++
	}
	next := 0
	for n := len(first) - 1; n >= 0; n-- {
		first[n], next = next, next+first[n]
	}
	sorted := make([]B, len(blocks))
	for i := range blocks {
		n := bits(&blocks[i])
		sorted[first[n]] = blocks[i]
		first[n]++
	}
	return sorted
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
		// The block after the one before: the last axis that has a further part goes
		// on, and those behind it begin anew.
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

// Fill writes entries [offset, offset+len(dst)) of the stack, zero beyond its
// size. data holds the tensors' dense values.
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

// Sizes, in bits, of what read does at a time: a run that copying is worth, and a
// table of offsets that stays in the first-level cache.
const (
	runBits   = 4
	tableBits = 8
)

// read copies entries [from, from+len(dst)) of the block. In the tensor, entry i
// is where the bits of i say, each adding the stride it stands for.
func read[T ints.Integer](b *Block, shape []int, src []T, from uint64, dst []int32) {
	start, steps := b.steps(shape)
	src = src[start:]
	run := 0 // low bits that walk memory in order
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

// steps returns where the block's first entry lies in its tensor, and how far
// apart entries are whose indices differ in one bit, least significant first.
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
