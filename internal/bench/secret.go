package bench

import (
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/must"
)

// withSecret names a file for the secret of the key that is measured, if it is to hide weights, in a folder of
// its own, which done removes: nobody makes a proof of the key afterwards.
func withSecret(cfg *config.Config) (done func(), err error) {
	defer must.Catch(&err)
	hides, err := cfg.HiddenOf()
	if err != nil || !hides.Weights {
		return func() {}, err
	}
	dir := must.Get(os.MkdirTemp("", "prove-model-bench-*"))
	cfg.Secret = filepath.Join(dir, "secret")
	return func() { os.RemoveAll(dir) }, nil
}
