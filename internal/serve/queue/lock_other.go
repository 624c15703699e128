//go:build !unix

package queue

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/internal/must"
)

// lock reserves a folder for this process, by a file in it. An open file cannot be removed on systems such as Windows, so if the file
// can be removed it was left by a process that has ended.
func lock(path string) (release func(), err error) {
	defer must.Catch(&err)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("another server uses the folder %s", filepath.Dir(path))
	}
	f := must.Get(os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600))
	return func() { f.Close() }, nil
}
