// Package regular opens files that must be regular, such as those of a model, and secrets. A path may also
// name a pipe, whose opening waits for a writer, or a device, which may never end. These are refused
// before they are opened.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/prove-model/prove-model/internal/must"
)

// Open opens a regular file, or the regular file to which a link leads.
func Open(path string) (*os.File, error) {
	if err := check(os.Stat(path)); err != nil {
		return nil, named(path, err)
	}
	return os.Open(path)
}

// OpenIn opens a regular file inside a folder; links cannot lead out of it.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	if err := check(root.Stat(name)); err != nil {
		return nil, named(name, err)
	}
	return root.Open(name)
}

// Read reads a regular file whole. It returns an error if the file has more than most
// bytes.
func Read(path string, most int) (_ []byte, err error) {
	defer must.Catch(&err)
	f := must.Get(Open(path))
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("%s: more than %d bytes", path, most)
	}
	return data, err
}

// check returns an error unless st is a regular file; it passes err on.
func check(st fs.FileInfo, err error) error {
	if err != nil {
		return err
	}
	switch mode := st.Mode(); {
	case mode.IsDir():
		return errors.New("a folder, not a regular file")
	case mode&fs.ModeNamedPipe != 0:
		return errors.New("a pipe: write what comes out of it to a file first")
	case !mode.IsRegular():
		return errors.New("a device or a socket, not a regular file")
	}
	return nil
}

// named adds the file's name to an error that does not have it.
func named(path string, err error) error {
	var known *fs.PathError
	if errors.As(err, &known) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}
