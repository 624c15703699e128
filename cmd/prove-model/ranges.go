package main

import (
	"errors"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/job"
	"github.com/prove-model/prove-model/config"
)

// provisional is said of a key whose ranges a random input gave.
const provisional = "PROVISIONAL the ranges are those of a random input and are not kept: the key is not the model's. Give --input, --calibration or --ranges"

// rangesOut is the file that the ranges go to; nil if none is asked for.
type rangesOut struct{ output }

// createRanges begins the file.
func createRanges(cfg *config.Config) (*rangesOut, error) {
	if cfg.RangesOut == "" {
		return nil, nil
	}
	file, err := create(cfg.RangesOut)
	return &rangesOut{file}, err
}

// take writes the circuit's ranges, unless they are made up.
func (r *rangesOut) take(j *job.Job, c *provemodel.Circuit) error {
	if r == nil {
		return nil
	}
	if j.Provisional(c) {
		return job.WithHint(errors.New("--ranges-out: the ranges of a random input are not written, as they say nothing about real ones"),
			"give samples with --calibration, or --input")
	}
	return r.write(c.Ranges().File())
}

// with returns the files that are to be placed together with this one.
func (r *rangesOut) with(files ...output) []output {
	if r == nil {
		return files
	}
	return append(files, r.output)
}

func (r *rangesOut) abort() {
	if r != nil {
		r.Abort()
	}
}
