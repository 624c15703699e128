package plan

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// lookupColumns is the width of a table row: key, value, tag.
const lookupColumns = 3

// Name names the part of the proof that the sub-transcript is for.
func (f *Fork) Name() string {
	if f.Chunk < 0 {
		return "outputs"
	}
	return fmt.Sprintf("chunk %d", f.Chunk)
}

// rounds lists the challenges of a proof, in order, with their bits of security.
func (p *Plan) rounds() []soundness.Round {
	var rs []soundness.Round
	claims := 0
	for _, f := range p.Forks {
		rs = append(rs, f.rounds(p.LookupGrind)...)
		claims += len(f.Claims)
	}
	if p.Params != nil {
		if v := p.TailVars(); v > 0 {
			rs = append(rs, soundness.Point("unused ends of rows", uint64(v)))
		}
		joined := uint64(claims + len(p.tails()))
		if p.Pads != nil {
			rs = append(rs, p.Pads.rounds()...)
			joined += uint64(p.Pads.joined)
		}
		rs = append(rs, soundness.Join("join of claims", joined))
		rs = append(rs, p.Params.Rounds()...)
	}
	return rs
}

// rounds lists the challenges of a sub-transcript. grind is the work before the look-ups, in bits.
func (f *Fork) rounds(grind int) []soundness.Round {
	var rs []soundness.Round
	name := func(what string) string { return f.Name() + ": " + what }
	if n := f.Leaves.Size; n > 0 {
		rs = append(rs,
			soundness.LookUps(name("look-ups"), uint64(n), lookupColumns, grind),
			soundness.FractionalSum(name("fractional sum"), model.Log2Ceil(n)))
	}
	if f.JoinVars > 0 {
		rs = append(rs, soundness.Sumcheck(name("steps in blocks"), f.JoinVars, 2))
	}
	if len(f.Equations) > 0 || f.Chunk < 0 {
		what := name("exact steps")
		if f.Chunk < 0 {
			what = f.Name()
		}
		rs = append(rs, soundness.Point(what, uint64(f.Tau)))
	}
	if len(f.Batches) > 0 {
		most, rounds, degree := 0, 0, 0
		for _, b := range f.Batches {
			most, rounds, degree = max(most, b.To-b.From), rounds+b.Rounds, max(degree, b.Degree)
		}
		join := soundness.Join(name("batch of sums"), uint64(most))
		join.Times = len(f.Batches)
		rs = append(rs, join, soundness.Sumcheck(name("sums"), rounds, degree))
	}
	return rs
}
