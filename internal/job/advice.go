package job

import (
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/prover/statement"
)

// AccuracyAdvice says what would bring a run closer to the float model. saturated lists
// where values were clamped.
func AccuracyAdvice(cfg *config.Config, saturated []statement.Saturation) string {
	switch {
	case len(saturated) > 0:
		return "values beyond the calibrated ranges were clipped: calibrate on more samples like this input (--calibration), or widen the ranges (--headroom)"
	case cfg.Mode == config.ModeW8A8:
		return "nothing was clipped: eight bits are too few for this model, and --mode auto takes more"
	}
	return "nothing was clipped: small values beside large ones, or ranges much wider than this input's values, are coarse; calibrate on typical samples (--calibration), lower --headroom, or scale features alike before the model"
}
