package proof

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof/wire"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// Mode says which proximity bound the rounds after the first may use.
type Mode = soundness.Mode

const (
	// UniqueDecoding uses the unique-decoding radius everywhere.
	UniqueDecoding = soundness.Unique
	// Johnson uses the Johnson bound in the tail, for shorter proofs.
	Johnson = soundness.Johnson
)

// ParseMode is the inverse of Mode.String.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{UniqueDecoding, Johnson} {
		if s == m.String() {
			return m, nil
		}
	}
	return 0, fmt.Errorf("unknown soundness %q: want unique or johnson", s)
}

// Security is what every proof for a key has to reach: the verifier refuses a proof
// whose parameters, such as its numbers of queries, do not reach it. The key's issuer
// chooses it, so it may be too little: verifier.Policy demands a minimum.
type Security struct {
	// TargetBits is the proven security of every round, 1 to 120.
	TargetBits int
	// GrindBits is the largest proof of work of a round, 0 to 24.
	GrindBits int
	// Mode is the proximity bound for rounds after the first.
	Mode Mode
	// Hash is the suite that keys and proofs are hashed with.
	Hash hash.Suite
}

// Validate checks the ranges. It does not judge whether the target is enough,
// nor whether it can be reached.
func (s Security) Validate() error { return s.Config().Validate() }

// Config returns the parameters for the soundness calculator. The first trees have rate
// 1/4 for every key (soundness.DefaultConfig.LogBlowup).
func (s Security) Config() soundness.Config {
	return soundness.Config{
		TargetBits: s.TargetBits, GrindBits: s.GrindBits,
		LogBlowup: soundness.DefaultConfig.LogBlowup, Mode: s.Mode, Hash: s.Hash,
	}
}

// DefaultSecurity is 100 proven bits in every round within the unique decoding
// radius, with up to 16 bits of grinding, hashed with BLAKE3.
var DefaultSecurity = Security{
	TargetBits: soundness.DefaultConfig.TargetBits,
	GrindBits:  soundness.DefaultConfig.GrindBits,
	Mode:       UniqueDecoding,
}

var securityMessage = wire.New("Security", nil,
	wire.Num(1, "target_bits", count, func(s *Security) *int { return &s.TargetBits }),
	wire.Num(2, "grind_bits", count, func(s *Security) *int { return &s.GrindBits }),
	wire.Num(3, "soundness", wire.EnumOf(2), func(s *Security) *Mode { return &s.Mode }),
	wire.Num(4, "hash", wire.EnumOf(2), func(s *Security) *hash.Suite { return &s.Hash }),
)
