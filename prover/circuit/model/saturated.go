package model

import (
	"errors"
	"fmt"
	"math/bits"
)

// MaxSaturated is the largest number of intervals of saturated rows of a table.
const MaxSaturated = 64

// Rows are the rows [From, To) of a table.
type Rows struct{ From, To int64 }

// validateSaturated checks that the saturated rows are rows of the table, in increasing intervals that do not
// touch. In a piecewise table they must be in pieces of slope 0, as the ends of a clamped range are. In a
// function's table any row may be marked, as only the issuer knows what the function does beyond its range. A
// range table, which has no values, and a high-bits table, which splits a number that has been clamped before,
// must have none.
func (t *Table) validateSaturated() error {
	if len(t.Saturated) > MaxSaturated || (t.Kind == TableRange || t.Drop > 0) && len(t.Saturated) > 0 {
		return fmt.Errorf("%d intervals of saturated rows", len(t.Saturated))
	}
	end := int64(-1)
	for _, r := range t.Saturated {
		if r.From <= end || r.To <= r.From || r.To > 1<<t.Bits {
			return fmt.Errorf("saturated rows [%d, %d)", r.From, r.To)
		}
		end = r.To
		from := int64(0) // of the piece
		for _, p := range t.Pieces {
			if p.Slope != 0 && from < r.To && r.From < p.End {
				return errors.New("saturated rows whose values differ")
			}
			from = p.End
		}
	}
	return nil
}

// Aligned cuts the interval [from, to) into the fewest blocks of a power of two that
// begin at a multiple of their size, in order: at most two of each size.
func Aligned(from, to uint64) []AlignedBlock {
	var blocks []AlignedBlock
	for from < to {
		b := min(bits.TrailingZeros64(from), bits.Len64(to-from)-1)
		blocks = append(blocks, AlignedBlock{from, b})
		from += 1 << b
	}
	return blocks
}

// AlignedBlock is the interval [Start, Start+2^Bits), where Start is a multiple of 2^Bits.
type AlignedBlock struct {
	Start uint64
	Bits  int
}

// SaturatedBlocks returns the saturated rows of a table, cut into aligned blocks.
func (t *Table) SaturatedBlocks() []AlignedBlock {
	var blocks []AlignedBlock
	for _, r := range t.Saturated {
		blocks = append(blocks, Aligned(uint64(r.From), uint64(r.To))...)
	}
	return blocks
}

// SaturatedRows returns the number of saturated rows.
func (t *Table) SaturatedRows() int {
	n := int64(0)
	for _, r := range t.Saturated {
		n += r.To - r.From
	}
	return int(n)
}

// LookedUp returns, by table, the number of entries that steps look up in it.
func (g *Graph) LookedUp() []int {
	n := make([]int, len(g.Tables))
	for i := range g.Steps {
		if s := &g.Steps[i]; s.Kind == StepLookup {
			n[s.Table] += Size(s.Shape)
		}
	}
	return n
}
