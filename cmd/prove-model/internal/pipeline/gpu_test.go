package pipeline

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/kernels"
)

var errNoDriver = errors.New("no driver on this machine")

// Where there is no GPU, a wish for one is a warning and a demand an error.
func TestNoGPU(t *testing.T) {
	none := func() (kernels.Device, error) { return nil, errNoDriver }
	var said bytes.Buffer
	cfg := settings(t)
	cfg.GPU = config.GPUAuto
	dev, err := openDevice(t.Context(), cfg, ui.NewPhases(&said, false), none)
	if err != nil || dev.usable() || !strings.Contains(said.String(), errNoDriver.Error()) {
		t.Errorf("%v, said %q", err, &said)
	}
	cfg.GPU = config.GPURequire
	if _, err := openDevice(t.Context(), cfg, ui.NewPhases(nil, true), none); !errors.Is(err, errNoDriver) {
		t.Errorf("required: %v", err)
	}
}
