package soundness

import "fmt"

// Strength is the security of a proof, that of its weakest round, in two parts: bits that
// hold against any prover, and bits that proofs of work add because every attempt costs
// hash calls.
type Strength struct {
	Total  Bits // of the weakest round, work included
	Proven Bits // of the round that is weakest without its work; at most Total
}

// Weakest returns the strength of a proof with the given rounds, at least one.
func Weakest(rounds []Round) Strength {
	return Strength{Total: MinBits(rounds), Proven: least(rounds, Round.Proven)}
}

// Proven returns the statistical bits of a round: those without its work.
func (r Round) Proven() Bits { return r.Bits - WholeBits(r.Grind) }

// Work returns the bits that proofs of work add.
func (s Strength) Work() Bits { return s.Total - s.Proven }

// String returns a text such as "100.1 bits = 84.1 proven + 16 of work". The first
// two numbers are rounded down, and the third is their difference.
func (s Strength) String() string {
	work := s.Total.tenths() - s.Proven.tenths()
	part := ""
	if work%10 != 0 {
		part = fmt.Sprintf(".%d", work%10)
	}
	return fmt.Sprintf("%s bits = %s proven + %d%s of work", s.Total, s.Proven, work/10, part)
}
