package proof

import "github.com/prove-model/prove-model/prover/protocol/soundness"

// Config returns the parameters for the soundness calculator: the first trees
// have rate 1/4.
func (s Security) Config() soundness.Config {
	mode := soundness.Unique
	if s.Mode == Johnson {
		mode = soundness.Johnson
	}
	return soundness.Config{
		TargetBits: s.TargetBits, GrindBits: s.GrindBits,
		LogBlowup: soundness.DefaultConfig.LogBlowup, Mode: mode, Hash: s.Hash,
	}
}

// DefaultSecurity is 100 proven bits a round within the unique decoding
// radius, with up to 16 bits of grinding.
var DefaultSecurity = Security{
	TargetBits: soundness.DefaultConfig.TargetBits,
	GrindBits:  soundness.DefaultConfig.GrindBits,
	Mode:       UniqueDecoding,
}
