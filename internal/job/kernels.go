package job

import (
	"context"

	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/kernels"
)

// OpenKernels opens the first GPU and loads its kernels, for benchmarks of the kernels.
func OpenKernels(ctx context.Context, ph *ui.Phases) (kernels.Device, error) {
	dev, err := kernels.Cached()
	if l, ok := dev.(interface {
		Load(ctx context.Context, groups ...string) error
	}); ok && err == nil {
		ph.Begin("load kernels")
		err = l.Load(ctx)
		ph.End(err)
	}
	if err != nil {
		return nil, WithHint(err, "`prove-model devices` lists what there is")
	}
	return dev, nil
}
