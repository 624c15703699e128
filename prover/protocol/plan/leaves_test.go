package plan

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// TestLeaves: a look-up tree has one leaf for every look-up and every table row, in
// aligned blocks of decreasing size without gaps, and every entry of a step is in one
// of them.
func TestLeaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &model.Graph{}
		var steps []int
		want := 0
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			shape := rapid.SliceOfN(rapid.IntRange(1, 9), 0, 4).Draw(t, "shape")
			kind := rapid.SampledFrom([]model.StepKind{model.StepLookup, model.StepExact}).Draw(t, "kind")
			steps = append(steps, len(g.Steps))
			g.Steps = append(g.Steps, model.Step{Kind: kind, Shape: shape})
			if kind == model.StepLookup {
				want += model.Size(shape)
			}
		}
		var mults []*model.Mult
		for i := range rapid.IntRange(0, 3).Draw(t, "tables") {
			bits := rapid.IntRange(0, 6).Draw(t, "bits")
			g.Tables = append(g.Tables, model.Table{Bits: bits})
			mults = append(mults, &model.Mult{Table: model.TableID(i)})
			want += 1 << bits
		}
		l := NewLeaves(g, steps, mults)
		if l.Size != want {
			t.Fatalf("%d leaves for %d look-ups and rows", l.Size, want)
		}
		bitsAt := make(map[int]int) // of the block that begins there
		add := func(b backend.LeafBlock) {
			if _, ok := bitsAt[b.Offset]; ok || b.Offset>>b.Bits<<b.Bits != b.Offset {
				t.Fatalf("a block of 2^%d leaves at %d", b.Bits, b.Offset)
			}
			bitsAt[b.Offset] = b.Bits
		}
		for i := range l.Steps {
			shape := g.Steps[l.Steps[i].Step].Shape
			seen := make([]bool, model.Size(shape))
			for _, b := range l.Steps[i].Blocks {
				add(b)
				for x := range 1 << b.Bits {
					at, stride := 0, 1
					for a := len(shape) - 1; a >= 0; a-- {
						i := b.Parts[a].Start + x&(1<<b.Parts[a].Bits-1)
						if i >= shape[a] {
							t.Fatalf("%v: a block in the padding", shape)
						}
						at, stride, x = at+i*stride, stride*shape[a], x>>b.Parts[a].Bits
					}
					if seen[at] {
						t.Fatalf("%v: entry %d is in two blocks", shape, at)
					}
					seen[at] = true
				}
			}
		}
		for i := range l.Tables {
			add(l.Tables[i].Block)
		}
		last := 1 << 30
		for at := 0; at < l.Size; at += 1 << bitsAt[at] {
			bits, ok := bitsAt[at]
			if !ok || bits > last {
				t.Fatalf("no block at %d, or a larger one than before", at)
			}
			last = bits
		}
	})
}
