// Package plan derives from a key and the header of a proof everything that
// both parties must agree on before the first message: what is committed where,
// the parameters of the opening, and the security of every round.
package plan

import (
	"errors"
	"fmt"
	"sort"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/poly"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/sites"
	"github.com/prove-model/prove-model/prover/soundness"
	"github.com/prove-model/prove-model/prover/whir"
)

// Tree is one committed stack and its place in the common opening.
type Tree struct {
	Stack     *model.Stack
	Tensors   []model.TensorID
	Chunk     int // −1 for the fixed tensors
	Rows      int
	RowOffset uint64
}

// Plan is a function of the circuit and the parameters of the opening.
type Plan struct {
	Graph  *model.Graph
	Config soundness.Config
	// Trees are in the order of the opening; empty if nothing is committed.
	Trees []Tree
	// Params are those of the opening, nil if nothing is committed.
	Params *soundness.Params
	// LookupGrind is the work before the look-up challenges of every chunk.
	LookupGrind int
	// treeOf maps a committed tensor to its tree.
	treeOf map[model.TensorID]int
}

// maxLeaves bounds the look-ups and table rows of a chunk, below p.
const maxLeaves = 1 << 30

// minLookupGrind is spent before the look-up challenges whatever the size.
const minLookupGrind = 8

// New lays out the commitments of a valid graph and chooses the parameters of
// the opening.
func New(g *model.Graph, c soundness.Config) (*Plan, error) {
	return newPlan(g, c, choice{rowVars: -1})
}

// ForKey lays out the commitments of an instance of a key's circuit, in rows of
// the length that the key's fixed tensors have, and chooses the other parameters
// of the opening.
func ForKey(k *proof.Key, g *model.Graph) (*Plan, error) {
	c := choice{rowVars: -1}
	if k.HasFixed {
		c.rowVars = k.RowVars
	}
	return newPlan(g, k.Security.Config(), c)
}

// ForProof lays out the commitments of a proof: those of the key's circuit at
// the sizes of the header, with the header's parameters of the opening if they
// reach the security that the key asks for.
func ForProof(k *proof.Key, h *proof.Header) (*Plan, error) {
	g, err := k.Circuit.At(model.Instance{Sizes: h.Sizes, ChunkEntries: h.ChunkEntries})
	if err != nil {
		return nil, err
	}
	if k.HasFixed && h.RowVars != k.RowVars {
		return nil, fmt.Errorf("rows of 2^%d values beside the key's of 2^%d", h.RowVars, k.RowVars)
	}
	p, err := newPlan(g, k.Security.Config(), choice{h.RowVars, h.Levels, true})
	if err == nil && p.Params == nil && (len(h.Levels) > 0 || h.RowVars != 0) {
		err = errors.New("parameters for an opening, but nothing is committed")
	}
	return p, err
}

// Header is the header of a proof for k with this plan.
func (p *Plan) Header(k *proof.Key) *proof.Header {
	h := &proof.Header{Key: k.Digest, Sizes: p.Graph.Instance.Sizes, ChunkEntries: p.Graph.Instance.ChunkEntries}
	if p.Params != nil {
		h.RowVars, h.Levels = p.Params.RowVars(), p.Params.Levels
	}
	return h
}

// choice is what is given of the parameters of the opening.
type choice struct {
	rowVars int // −1: the cheapest
	levels  []soundness.Level
	made    bool // levels are given
}

func newPlan(g *model.Graph, c soundness.Config, given choice) (*Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Plan{Graph: g, Config: c, treeOf: map[model.TensorID]int{}}
	for chunk := -1; chunk < g.Chunks; chunk++ {
		ids := g.FixedIDs()
		if chunk >= 0 {
			ids = g.WitnessIDs(chunk)
		}
		if len(ids) > 0 {
			p.Trees = append(p.Trees, Tree{Stack: model.NewStack(g, ids), Tensors: ids, Chunk: chunk})
		}
	}
	if err := p.place(given); err != nil {
		return nil, err
	}
	for chunk := range g.Chunks {
		if l := sites.NewLeaves(g, chunk); l.Size > 0 {
			// Counts are field elements: p look-ups would wrap them.
			if l.Size > maxLeaves {
				return nil, fmt.Errorf("chunk %d has %d look-ups and table rows, more than %d", chunk, l.Size, maxLeaves)
			}
			r := soundness.LookUps("", uint64(l.Size), lookupColumns, 0)
			for p.LookupGrind = max(p.LookupGrind, minLookupGrind); r.Bits+soundness.WholeBits(p.LookupGrind) < soundness.WholeBits(c.TargetBits); {
				p.LookupGrind++
			}
		}
	}
	if p.LookupGrind > max(c.GrindBits, minLookupGrind) {
		return nil, fmt.Errorf("%d bits are out of reach for the look-ups with %d bits of grinding", c.TargetBits, c.GrindBits)
	}
	for _, r := range p.Rounds() {
		if r.Bits < soundness.WholeBits(c.TargetBits) {
			return nil, fmt.Errorf("%s: %s bits, the target is %d", r.Name, r.Bits, c.TargetBits)
		}
	}
	return p, nil
}

// place puts the trees one after the other, each at a multiple of its own size
// rounded up to a power of two, so that every block of every stack stays
// aligned.
func (p *Plan) place(given choice) error {
	if len(p.Trees) == 0 {
		return nil
	}
	rowVars, err := p.rowVars(given.rowVars)
	if err != nil {
		return err
	}
	for i := range p.Trees {
		t := &p.Trees[i]
		t.Rows = int((t.Stack.Size + 1<<rowVars - 1) >> rowVars)
	}
	sort.SliceStable(p.Trees, func(i, j int) bool {
		return model.Log2Ceil(p.Trees[i].Rows) > model.Log2Ceil(p.Trees[j].Rows)
	})
	var end uint64
	for i := range p.Trees {
		t := &p.Trees[i]
		t.RowOffset = end
		end += 1 << model.Log2Ceil(t.Rows)
		for _, id := range t.Tensors {
			p.treeOf[id] = i
		}
	}
	last := &p.Trees[len(p.Trees)-1]
	slots := last.RowOffset + uint64(last.Rows)
	if given.made {
		if p.Params, err = soundness.Check(p.Config, given.levels, slots); err == nil && p.Params.RowVars() != rowVars {
			err = fmt.Errorf("parameters for rows of 2^%d values, not 2^%d", p.Params.RowVars(), rowVars)
		}
	} else {
		p.Params, err = soundness.Derive(p.Config, rowVars, slots)
	}
	return err
}

// rowVars returns the given row length, or the cheapest for −1.
func (p *Plan) rowVars(given int) (int, error) {
	if given > soundness.MaxLogDomain {
		return 0, fmt.Errorf("rows of 2^%d values", given)
	}
	if given >= 0 {
		return given, nil
	}
	sizes := make([]uint64, len(p.Trees))
	for i := range p.Trees {
		sizes[i] = p.Trees[i].Stack.Size
	}
	return soundness.ChooseRowVars(p.Config, sizes)
}

// Stack describes the stack of a tree to a backend.
func (p *Plan) Stack(t *Tree) backend.Stack {
	return backend.Stack{Layout: t.Stack, Rows: t.Rows, RowVars: p.Params.RowVars(), LogBlowup: p.Config.LogBlowup}
}

// Fixed returns the tree of the fixed tensors, or nil.
func (p *Plan) Fixed() *Tree { return p.chunkTree(-1) }

// Chunk returns the tree of a chunk's witness, or nil.
func (p *Plan) Chunk(chunk int) *Tree { return p.chunkTree(chunk) }

func (p *Plan) chunkTree(chunk int) *Tree {
	for i := range p.Trees {
		if p.Trees[i].Chunk == chunk {
			return &p.Trees[i]
		}
	}
	return nil
}

// RowCounts returns the rows of every tree.
func (p *Plan) RowCounts() []int {
	n := make([]int, len(p.Trees))
	for i := range p.Trees {
		n[i] = p.Trees[i].Rows
	}
	return n
}

// RowOffsets returns the first row of every tree.
func (p *Plan) RowOffsets() []uint64 {
	n := make([]uint64, len(p.Trees))
	for i := range p.Trees {
		n[i] = p.Trees[i].RowOffset
	}
	return n
}

// Combine joins claims on committed tensors with powers of zeta into one
// claim Σ Stack(x)·Q(x) = value over all trees: the MLE of a tensor is the sum
// over its blocks of eq(prefix)·Block~ (docs/protocol.md, "Openings").
func (p *Plan) Combine(claims []sites.Claim, zeta field.QM31) (terms []whir.Term, value field.QM31) {
	power := field.One
	for _, c := range claims {
		value = value.Add(power.Mul(c.Value))
		tree := &p.Trees[p.treeOf[c.Tensor]]
		base := tree.RowOffset << p.Params.RowVars()
		parts := poly.SplitAxes(p.Graph.Tensors[c.Tensor].Shape, c.Point)
		for _, i := range tree.Stack.ByTensor[c.Tensor] {
			b := &tree.Stack.Blocks[i]
			t := whir.Term{Coef: power, Offset: base + b.Offset, Point: make([]field.QM31, 0, b.Bits)}
			for a, part := range b.Parts {
				high := parts[a][:len(parts[a])-part.Bits]
				t.Coef = t.Coef.Mul(poly.EqIndex(high, uint64(part.Start>>part.Bits)))
				t.Point = append(t.Point, parts[a][len(high):]...)
			}
			terms = append(terms, t)
		}
		power = power.Mul(zeta)
	}
	return terms, value
}
