package cuda

import (
	"math"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/logup"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/plan"
	"github.com/prove-model/prove-model/prover/poseidon2"
	"github.com/prove-model/prove-model/prover/sites"
	"github.com/prove-model/prove-model/prover/whir"
)

// Need is the device memory, in bytes, that a proof takes if all of it is made
// there: an estimate from the graph and the layout of its commitments alone.
// What steps of some kind take is the most that one of them does.
type Need struct {
	Fixed   int64 `json:"fixed"`   // weights, which stay
	Witness int64 `json:"witness"` // values of one run
	Trees   int64 `json:"trees"`   // digests of the commitments to the witness
	LookUps int64 `json:"look_ups"`
	Sums    int64 `json:"sums"`
	Commit  int64 `json:"commit"`
	Open    int64 `json:"open"`
}

// Working is what is needed beside the weights.
func (n *Need) Working() int64 {
	return n.Witness + n.Trees + max(n.LookUps, n.Sums, n.Commit, n.Open)
}

// Peak is the most that is needed at once.
func (n *Need) Peak() int64 { return n.Fixed + n.Working() }

// Need estimates what proofs of a graph need.
func (m *Machine) Need(p *plan.Plan) *Need {
	n := &Need{}
	for i := range p.Graph.Tensors {
		t := &p.Graph.Tensors[i]
		bytes := int64(model.Size(t.Shape)) * int64(widthOfRange(t.Min, t.Max))
		if t.Kind == model.Fixed {
			n.Fixed += bytes
		} else {
			n.Witness += bytes
		}
	}
	for chunk := range p.Graph.Chunks {
		n.LookUps = max(n.LookUps, lookUpsNeed(p.Graph, chunk))
		n.Sums = max(n.Sums, sumsNeed(p.Graph, chunk))
	}
	if p.Params == nil {
		return n
	}
	for i := range p.Trees {
		s := p.Stack(&p.Trees[i])
		n.Commit = max(n.Commit, commitNeed(s, m.piece))
		if p.Trees[i].Chunk >= 0 {
			n.Trees += digestBytes << (s.RowVars + s.LogBlowup + 1)
		}
	}
	n.Open = openNeed(p, m.piece)
	return n
}

// digestBytes and stateBytes are the sizes of a digest and of a sponge's state.
const (
	digestBytes = poseidon2.DigestLen * 4
	stateBytes  = poseidon2.Width * 4
)

// widthOfRange returns the bytes of the narrowest type for a range.
func widthOfRange(lo, hi int64) int {
	switch {
	case lo == 0 && hi == 0: // not stated
		return 4
	case lo >= math.MinInt8 && hi <= math.MaxInt8:
		return 1
	case lo >= math.MinInt16 && hi <= math.MaxInt16:
		return 2
	default:
		return 4
	}
}

// lookUpsNeed is that of a chunk's tree: a numerator in M31 and a denominator
// in K for each leaf, two heaps of K for the layers above, and the keys of one
// step on the way there.
func lookUpsNeed(g *model.Graph, chunk int) int64 {
	l := sites.NewLeaves(g, chunk)
	if l.Size == 0 {
		return 0
	}
	leaves := int64(1) << logup.NumVars(l.Size)
	return leaves*(4+3*elementBytes) + heapsNeed(logup.NumVars(l.Size))
}

// heapsNeed is that of the heaps of eq weights of a point.
func heapsNeed(vars int) int64 { return 4 * elementBytes << ((vars + 1) / 2) }

// sumsNeed is that of a chunk's largest batch, if all of its sums are in one:
// two tables of K each, with the sums of the largest restriction on the way.
func sumsNeed(g *model.Graph, chunk int) int64 {
	var tables, most int64
	add := func(vars int, operands ...model.TensorID) {
		tables += 2*elementBytes<<vars + heapsNeed(vars)
		for _, id := range operands {
			// Sums of a restriction, its weights, and both again between two axes.
			most = max(most, 4*elementBytes<<vars+6*elementBytes*int64(longestAxis(g.Tensors[id].Shape)))
		}
	}
	view := func(l *model.Linear, out []int) {
		if l.View == nil {
			return
		}
		in, vars := g.Tensors[l.Src].Shape, 0
		for i := range l.View.Groups {
			if gr := &l.View.Groups[i]; !gr.Trivial(out, in) {
				for _, a := range gr.In {
					vars += model.Log2Ceil(in[a])
				}
			}
		}
		if vars > 0 {
			add(vars, l.Src)
		}
	}
	seen := map[model.TensorID]bool{}
	var virtual func(id model.TensorID)
	virtual = func(id model.TensorID) {
		t := &g.Tensors[id]
		if seen[id] {
			return
		}
		seen[id] = true
		for i := range t.Def {
			view(&t.Def[i], t.Shape)
			virtual(t.Def[i].Src)
		}
	}
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Chunk != chunk {
			continue
		}
		for j := range s.Acc.Linear {
			view(&s.Acc.Linear[j], s.Shape)
			virtual(s.Acc.Linear[j].Src)
		}
		for j := range s.Acc.Products {
			p := &s.Acc.Products[j]
			vars := 0
			for a, l := range p.LabelsA {
				for _, m := range p.LabelsB {
					if l == m {
						vars += model.Log2Ceil(g.Tensors[p.A].Shape[a])
					}
				}
			}
			add(vars, p.A, p.B)
			virtual(p.A)
			virtual(p.B)
		}
	}
	return tables + most
}

func longestAxis(shape []int) int {
	d := 1
	for _, n := range shape {
		d = max(d, n)
	}
	return d
}

// commitNeed is that of Commit: values and codewords of some rows, twiddles, the
// sponges of all columns if they take more than one turn, and the digests.
func commitNeed(s backend.Stack, piece int) int64 {
	domain := s.RowVars + s.LogBlowup
	n := rowsAtOnce(s.Rows, domain, piece)
	need := int64(4*n)<<s.RowVars + int64(4*n+4+2*digestBytes)<<domain
	if n < s.Rows {
		need += stateBytes << domain
	}
	return need
}

// openNeed is that of Open: the rows of all stacks in 32 bits, two tables of K
// over what the long rows fold to, and on top either a few rows' codewords or
// what the later levels commit to.
func openNeed(p *plan.Plan, piece int) int64 {
	levels := p.Params.Levels
	first := levels[0]
	var rows, columns, later int64
	domain := 0
	for _, l := range levels {
		domain = max(domain, l.LogDomain())
	}
	blocks := 0
	for i := range p.Trees {
		s := p.Stack(&p.Trees[i])
		rows += int64(4*s.Rows) << s.RowVars
		columns = max(columns, int64(4*rowsAtOnce(s.Rows, first.LogDomain(), piece))<<first.LogDomain())
		blocks += len(s.Layout.Blocks)
	}
	for _, l := range levels[1:] {
		// Limbs of the rows while they are encoded, codewords and digests as long as
		// the opening lasts.
		columns = max(columns, int64(elementBytes)<<(l.FoldVars+l.RowVars))
		later += int64(elementBytes)<<(l.FoldVars+l.LogDomain()) + 2*digestBytes<<l.LogDomain()
	}
	folded := int64(elementBytes) << (first.FoldVars - min(first.FoldVars, whir.GridVars) + first.RowVars)
	// A claim's eq weights on a block of its tensor are a product of two tables;
	// most tensors have two claims.
	high, low := kernels.WeightSizes(first.RowVars)
	weights := int64(2*blocks*elementBytes) * int64(high+low)
	return rows + 4<<domain + 2*folded + weights + later + columns
}
