package job

import (
	"io"
	"os"

	"github.com/prove-model/prove-model/config"
)

// OpenFile opens a file that a setting names, or standard input.
func OpenFile(path string) (io.ReadCloser, error) {
	if path == config.Stdin {
		return io.NopCloser(os.Stdin), nil
	}
	return os.Open(path)
}
