package main

import (
	"errors"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/job"
)

// provisional is printed about a key whose ranges come from a random input.
const provisional = "PROVISIONAL the ranges are those of a random input and are not kept: the key is not the model's. Give --input, --calibration or --ranges"

// writeRanges writes the circuit's ranges, unless they come from a random input.
func writeRanges(to *output, j *job.Job, c *provemodel.Circuit) error {
	if to == nil {
		return nil
	}
	if j.Provisional(c) {
		return job.WithHint(errors.New("--ranges-out: the ranges of a random input are not written, as they say nothing about real ones"),
			"give samples with --calibration, or --input")
	}
	return to.write(c.Ranges().File())
}
