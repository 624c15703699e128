package bench

import (
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/must"
)

// withSecret sets a file for the secret of the key that is measured, if the key is to hide weights. The file
// is in a temporary folder, which done removes: no proof of the key is made after that.
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
