package plan

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/sites"
	"github.com/prove-model/prove-model/prover/soundness"
)

// lookupColumns is the width of a table row: key, value, tag.
const lookupColumns = 3

// Rounds returns the bits of security of every challenge of a proof, in order.
func (p *Plan) Rounds() []soundness.Round {
	g := p.Graph
	var rs []soundness.Round
	sums, widest := sumsBound(g)
	for chunk := range g.Chunks {
		name := func(what string) string { return fmt.Sprintf("chunk %d: %s", chunk, what) }
		if l := sites.NewLeaves(g, chunk); l.Size > 0 {
			rs = append(rs,
				soundness.LookUps(name("look-ups"), uint64(l.Size), lookupColumns, p.LookupGrind),
				soundness.FractionalSum(name("fractional sum"), model.Log2Ceil(l.Size)))
		}
		if v := exactVars(g, chunk); v > 0 {
			rs = append(rs, soundness.Join(name("exact steps"), uint64(v)))
		}
		if sums > 0 {
			rs = append(rs,
				soundness.Join(name("batch of sums"), sums),
				soundness.Sumcheck(name("sums"), widest, 3))
		}
	}
	v := 0
	for _, id := range g.Outputs {
		v = max(v, model.Vars(g.Tensors[id].Shape))
	}
	rs = append(rs, soundness.Join("outputs", uint64(max(v, 1))))
	if p.Params != nil {
		rs = append(rs, soundness.Join("join of claims", claimsBound(g, sums)))
		rs = append(rs, p.Params.Rounds()...)
	}
	return rs
}

func exactVars(g *model.Graph, chunk int) int {
	v := 0
	for i := range g.Steps {
		if s := &g.Steps[i]; s.Chunk == chunk && (s.Kind == model.StepExact || s.Kind == model.StepZero) {
			v = max(v, model.Vars(s.Shape), 1)
		}
	}
	return v
}

// sumsBound bounds the number of sums that one chunk can batch, and their
// variables: every product and every view of the graph, for every claim that
// can reach it. Claims on a tensor arise at most once for each of its uses.
func sumsBound(g *model.Graph) (sums uint64, widest int) {
	uses := g.Uses()
	count := func(n uint64, terms []model.Linear) {
		for i := range terms {
			if terms[i].View != nil {
				sums += n
			}
			widest = max(widest, model.Vars(g.Tensors[terms[i].Src].Shape))
		}
	}
	for i := range g.Steps {
		count(2, g.Steps[i].Acc.Linear)
		for _, p := range g.Steps[i].Acc.Products {
			sums++
			widest = max(widest, model.Vars(g.Tensors[p.A].Shape), model.Vars(g.Tensors[p.B].Shape))
		}
	}
	for i := range g.Tensors {
		count(uses[i], g.Tensors[i].Def)
	}
	return sums, widest
}

func claimsBound(g *model.Graph, sums uint64) uint64 {
	n := sums
	for _, u := range g.Uses() {
		n = min(n+u, 1<<60)
	}
	return max(n, 1)
}
