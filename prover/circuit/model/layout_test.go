package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/math/ints"
)

// Every entry of a stack is the one that its block says, read in pieces of any
// size, and what is behind the last block is zero.
func TestStackFill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &Graph{}
		var ids []TensorID
		var data []ints.Ints
		for id := range rapid.IntRange(1, 3).Draw(t, "tensors") {
			shape := rapid.SliceOfN(rapid.IntRange(1, 9), 0, 4).Draw(t, "shape")
			values := make([]int32, Size(shape))
			shift := rapid.SampledFrom([]int{0, 16, 24}).Draw(t, "shift") // leaves 32, 16 or 8 bits
			for i := range values {
				values[i] = int32(id*100000+i+1) << shift >> shift
			}
			g.Tensors, data, ids = append(g.Tensors, Tensor{Shape: shape}), append(data, ints.Of(values)), append(ids, TensorID(id))
		}
		s := NewStack(g, ids)
		want := make([]int32, s.Size+5)
		for _, b := range s.Blocks {
			shape := g.Tensors[b.Tensor].Shape
			for i := range 1 << b.Bits {
				at, rest, stride := 0, i, 1
				for a := len(shape) - 1; a >= 0; a-- {
					p := b.Parts[a]
					at += (p.Start + rest&(1<<p.Bits-1)) * stride
					rest >>= p.Bits
					stride *= shape[a]
				}
				want[b.Offset+uint64(i)] = ints.All(data[b.Tensor])[at]
			}
		}
		n := rapid.IntRange(1, len(want)).Draw(t, "piece")
		for from := 0; from < len(want); from += n {
			dst := make([]int32, min(n, len(want)-from))
			for i := range dst {
				dst[i] = -1
			}
			s.Fill(g, data, uint64(from), dst)
			for i, x := range dst {
				if x != want[from+i] {
					t.Fatalf("entry %d is %d, want %d", from+i, x, want[from+i])
				}
			}
		}
	})
}

// TestBySize compares with a sort.
func TestBySize(t *testing.T) {
	type block struct{ bits, at int }
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 100} {
		blocks := make([]block, n)
		for i := range blocks {
			blocks[i] = block{rng.IntN(35), i}
		}
		want := slices.Clone(blocks)
		slices.SortStableFunc(want, func(a, b block) int { return b.bits - a.bits })
		var order BySize
		for _, b := range blocks {
			order.Count(b.bits)
		}
		size, got, offsets := order.Size(), make([]block, n), make([]uint64, n)
		for _, b := range blocks {
			i, offset := order.Next(b.bits)
			got[i], offsets[i] = b, offset
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		at := uint64(0)
		for i, b := range want {
			if offsets[i] != at {
				t.Errorf("block %d begins at %d, want %d", i, offsets[i], at)
			}
			at += 1 << b.bits
		}
		if size != at {
			t.Errorf("size %d, want %d", size, at)
		}
	}
}
