package pipeline

import (
	"errors"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
)

// CheckDevice decides what a wish for a GPU comes to: this program proves on
// the CPU alone, so it warns, or fails if a GPU is required.
func CheckDevice(cfg *config.Config, ph *ui.Phases) error {
	if cfg.GPU == config.GPURequire {
		return WithHint(errors.New("--gpu=require: this program was built without GPU support"),
			"--gpu alone, or no flag, proves on the CPU")
	}
	if cfg.GPU == config.GPUOn || cfg.MultiGPU {
		ph.Printf("warning: this program was built without GPU support; proving on the CPU")
	}
	return nil
}
