package kernels

import (
	stdflag "flag"

	"github.com/prove-model/prove-model/prover/math/field"
)

// Full is whether cases are tried that take long, and kernels are compiled for all generations of devices.
var Full = stdflag.Bool("full", false, "try all cases of tests that else take a few of each kind; make full does")

// LaunchTwoRounds is SumcheckTwoRounds by a kernel of that name.
func LaunchTwoRounds(d Device, kernel string, batch *SumcheckBatch, active, logQuads int, pending []field.QM31, p Post) error {
	lanes := 1
	if kernel == "sumcheck_two_rounds_in_lanes" {
		lanes = 8
	}
	return sumcheckPass(d, kernel, lanes, 16, batch, active, logQuads, pending, p)
}

// SetStepBlocks sets the most blocks of a chain until what it returns is called.
func SetStepBlocks(n int) (back func()) {
	before := stepBlocks
	stepBlocks = n
	return func() { stepBlocks = before }
}

// LaunchThreeRounds is SumcheckThreeRounds by so many blocks.
func LaunchThreeRounds(d Device, blocks int, batch *SumcheckBatch, active, logOctets int, pending []field.QM31, p Post) error {
	return threeRounds(d, blocks, batch, active, logOctets, pending, p)
}
