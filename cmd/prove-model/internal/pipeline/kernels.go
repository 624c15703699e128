package pipeline

import (
	"context"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/kernels"
)

// OpenGPU opens the first GPU, for a command that cannot do without, and loads
// its kernels.
func OpenGPU(ctx context.Context, ph *ui.Phases) (kernels.Device, error) {
	dev, err := kernels.Cached()
	if err == nil {
		err = load(ctx, dev, ph)
	}
	if err != nil {
		return nil, WithHint(err, "`prove-model devices` lists what there is")
	}
	return dev, nil
}
