package soundness

import "fmt"

// Bounds on parameters that Check accepts. They bound the verifier's work.
const (
	maxLevels              = 32   // levels of an opening
	maxQueries             = 4096 // queries of a level
	maxOutOfDomain         = 16   // out-of-domain samples of a level
	maxClearVars           = 14   // log2 of the number of values that are sent in the clear
	maxCheckedMultiplicity = 64   // Level.Multiplicity
)

// Check returns the parameters with the given levels for an opening of a table of which
// rowSlots rows are taken up, if they are well formed and every round reaches the
// config's target. A proof carries its levels, so that a change of the cost model of Derive
// does not change what existing proofs mean.
func Check(c Config, levels []Level, rowSlots uint64) (*Params, error) {
	return check(&Params{Config: c, Levels: levels}, rowSlots)
}

// check is Check for parameters that may have tails.
func check(p *Params, rowSlots uint64) (*Params, error) {
	c, levels := p.Config, p.Levels
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(levels) < 1 || len(levels) > maxLevels {
		return nil, fmt.Errorf("soundness: %d levels", len(levels))
	}
	for i, l := range levels {
		fold, blowup := 1, 1 // the least that the level may have; exactly these in level 0
		if i == 0 {
			fold, blowup = ceilLog2(rowSlots), c.LogBlowup
		}
		switch {
		case i == 0 && (rowSlots == 0 || l.FoldVars != fold || l.LogBlowup != blowup || l.Multiplicity != 0),
			l.FoldVars < fold, l.FoldVars > MaxFoldVars, l.RowVars < 0, l.RowVars > MaxLogDomain,
			l.LogBlowup < blowup, l.LogBlowup > MaxLogDomain-l.RowVars,
			i > 0 && l.FoldVars+l.RowVars != p.FoldedVars(i-1):
			return nil, fmt.Errorf("soundness: level %d does not fit: %+v", i, l)
		case l.Multiplicity != 0 && (c.Mode != Johnson || l.Multiplicity < 3 || l.Multiplicity > maxCheckedMultiplicity),
			(l.Multiplicity == 0) != (l.OutOfDomain == 0), l.OutOfDomain < 0, l.OutOfDomain > maxOutOfDomain:
			return nil, fmt.Errorf("soundness: level %d: %d samples at multiplicity %d in mode %s", i, l.OutOfDomain, l.Multiplicity, c.Mode)
		case l.Queries < 1, l.Queries > maxQueries, l.QueryGrind < 0, l.QueryGrind > c.GrindBits, l.FoldGrind < 0, l.FoldGrind > c.GrindBits:
			return nil, fmt.Errorf("soundness: level %d: %d queries, %d and %d bits of grinding", i, l.Queries, l.QueryGrind, l.FoldGrind)
		}
	}
	if p.FinalVars() > maxClearVars {
		return nil, fmt.Errorf("soundness: 2^%d values in the clear", p.FinalVars())
	}
	for _, r := range p.Rounds() {
		if r.Bits < WholeBits(c.TargetBits) {
			return nil, fmt.Errorf("soundness: %s: %s bits, the target is %d", r.Name, r.Bits, c.TargetBits)
		}
	}
	return p, nil
}
