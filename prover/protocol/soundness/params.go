package soundness

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/math/hash"
)

// MaxLogDomain is the largest log2 size of an evaluation domain: the circle
// group of F_p has order 2^31 and a domain of 2^n points needs order 2^(n+2).
const MaxLogDomain = 29

// maxGrindBits is the most bits of grinding that the transcript's nonces allow.
const maxGrindBits = 24

// MaxFoldVars is the largest log2 of the number of rows of an opening: beyond
// it leaves would be longer than the values they stand for.
const MaxFoldVars = 16

// Config has the security parameters that a key prescribes for its proofs.
type Config struct {
	TargetBits int  // least bits of security of every round, 1..120
	GrindBits  int  // most bits of grinding before any challenge, 0..24
	LogBlowup  int  // rate of the first trees is 2^(−LogBlowup), 1..8
	Mode       Mode // proximity parameter of the trees after the first
	Hash       hash.Suite
}

// DefaultConfig is 100 bits within the unique decoding radius, up to 16 bits of
// grinding a round, first trees of rate 1/4.
var DefaultConfig = Config{TargetBits: 100, GrindBits: 16, LogBlowup: 2, Mode: Unique}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	switch {
	case c.TargetBits < 1 || c.TargetBits > 120:
		return fmt.Errorf("soundness: target of %d bits, want 1 to 120", c.TargetBits)
	case c.GrindBits < 0 || c.GrindBits > maxGrindBits:
		return fmt.Errorf("soundness: %d grinding bits, want 0 to %d", c.GrindBits, maxGrindBits)
	case c.LogBlowup < 1 || c.LogBlowup > 8:
		return fmt.Errorf("soundness: first rate of 2^-%d, want 1 to 8", c.LogBlowup)
	case c.Mode != Unique && c.Mode != Johnson:
		return fmt.Errorf("soundness: unknown mode %d", int(c.Mode))
	case !c.Hash.Valid():
		return fmt.Errorf("soundness: unknown hash suite %d", int(c.Hash))
	}
	return nil
}

// Level describes one oracle of an opening. Level 0 is all first trees
// together, as words of the code of their longest rows (docs/security.md, "Trees of
// shorter rows"). Level i ≥ 1 is the tree of the row that level i − 1 folds to.
type Level struct {
	FoldVars     int // the leaf is a column of 2^FoldVars rows
	RowVars      int // every row has 2^RowVars values
	LogBlowup    int // the code has 2^(RowVars+LogBlowup) positions
	Multiplicity int // 0: unique decoding; m: δ = 1 − √ρ·(1+1/m)
	Queries      int // number of positions drawn, with repetition
	OutOfDomain  int // samples after the commitment; 0 in unique decoding
	QueryGrind   int // grinding bits before the positions are drawn
	FoldGrind    int // grinding bits before each challenge that binds a row variable
}

// bound returns the level's code with its decoding radius. tailLog is that of codeBound, 0 for all levels but level 0 of a hiding
// opening.
func (l Level) bound(tailLog int) codeBound {
	return codeBound{l.RowVars + l.LogBlowup, l.LogBlowup, l.Multiplicity, tailLog}
}

// LogDomain returns log2 of the number of code positions.
func (l Level) LogDomain() int { return l.RowVars + l.LogBlowup }

// Params are the parameters of one opening. The row left after the last level is
// sent in the clear.
type Params struct {
	Config Config
	Levels []Level
	// TailLog is 0 in an opening that hides nothing. In a hiding one it is j, 2 to 6: every row
	// of the first trees has a tail of random values, of at most a 2^j-th of its length
	// (docs/protocol.md, "Hiding openings").
	TailLog int
}

// RowVars returns log2 of the longest row of the first trees.
func (p *Params) RowVars() int { return p.Levels[0].RowVars }

// NumVars returns the number of variables of the opened polynomial.
func (p *Params) NumVars() int { return p.Levels[0].FoldVars + p.Levels[0].RowVars }

// FinalVars returns log2 of the number of values sent in the clear.
func (p *Params) FinalVars() int { return p.Levels[len(p.Levels)-1].RowVars }

// Rounds returns the bits of every challenge of the opening, in order. The
// claims it starts from are the caller's to account for (Join).
func (p *Params) Rounds() []Round {
	var rs []Round
	for i, l := range p.Levels {
		c := p.bound(i)
		if l.OutOfDomain > 0 {
			rs = append(rs, Round{fmt.Sprintf("opening %d: out of domain", i), 1, 0,
				c.outOfDomainBits(l.FoldVars+l.RowVars, l.OutOfDomain)})
		}
		if i > 0 {
			// The constraints joined here are held against this level's list.
			prev := p.Levels[i-1]
			rs = append(rs, Round{fmt.Sprintf("opening %d: join %d queries", i, prev.Queries), 1, 0,
				c.joinBits(prev.Queries + l.OutOfDomain)})
		}
		if l.FoldVars > 0 {
			rs = append(rs, Round{fmt.Sprintf("opening %d: fold", i), l.FoldVars, l.FoldGrind,
				c.bits().fold + WholeBits(l.FoldGrind)})
		}
		if i == 0 && p.TailLog > 0 {
			rs = append(rs, Round{"opening 0: auxiliary row", 1, l.FoldGrind, c.bits().fold + WholeBits(l.FoldGrind)})
		}
		rs = append(rs, Round{fmt.Sprintf("opening %d: %d queries", i, l.Queries), 1, l.QueryGrind,
			Bits(l.Queries)*c.bits().perQuery + WholeBits(l.QueryGrind)})
	}
	if v := p.FinalVars(); v > 0 {
		rs = append(rs, Sumcheck("opening: last sumcheck", v, 2))
	}
	return rs
}

var errNoRows = errors.New("soundness: nothing to open")

// secure sets the bits of grinding, queries and out-of-domain samples of l with which its rounds
// reach the target. It reports whether that is possible within the grinding that the config
// allows. tailLog is that of codeBound.
func (c Config) secure(l *Level, tailLog int) bool {
	target := WholeBits(c.TargetBits)
	code := l.bound(tailLog)
	b := code.bits()
	if l.FoldVars > 0 {
		l.FoldGrind = missingBits(target - b.fold)
	}
	if l.FoldGrind > c.GrindBits || b.perQuery <= 0 {
		return false
	}
	l.QueryGrind = min(c.GrindBits, c.TargetBits)
	need := target - WholeBits(l.QueryGrind)
	l.Queries = max(1, int((need+b.perQuery-1)/b.perQuery))
	if l.Multiplicity > 0 {
		l.OutOfDomain = 1
		for code.outOfDomainBits(l.FoldVars+l.RowVars, l.OutOfDomain) < target {
			l.OutOfDomain++
		}
	}
	return true
}

// missingBits returns the whole bits that make up for a deficit, at least 0.
func missingBits(deficit Bits) int {
	if deficit <= 0 {
		return 0
	}
	return int((deficit + 1<<fracBits - 1) >> fracBits)
}
