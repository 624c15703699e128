package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/internal/atomicfile"
)

// outputPath is the given path, or the model's name with another extension in
// the current folder.
func outputPath(path, model, ext string) string {
	if path != "" {
		return path
	}
	if st, err := os.Stat(model); err == nil && st.IsDir() {
		if whole, err := filepath.Abs(model); err == nil {
			model = whole // of ".", too
		}
		return filepath.Base(model) + ext // a dot in it begins no extension
	}
	base := filepath.Base(model)
	return strings.TrimSuffix(base, filepath.Ext(base)) + ext
}

// output is a file that appears at its path when it is complete.
type output struct {
	*atomicfile.File
	path string
}

// create begins a file, so that a folder that cannot be written fails before
// the work.
func create(path string) (output, error) {
	f, err := atomicfile.Create(path)
	return output{f, path}, cannotWrite(path, err)
}

// cannotWrite names path in an error rather than the temporary file.
func cannotWrite(path string, err error) error {
	var temp *fs.PathError
	if errors.As(err, &temp) {
		err = temp.Err
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot write %s: %w", path, err)
}

func (o output) write(data []byte) error {
	_, err := o.Write(data)
	return cannotWrite(o.path, err)
}

// place puts the files, which have been written, where they belong: a full disk
// leaves none of them.
func place(files ...output) error {
	for _, o := range files {
		if err := o.Commit(); err != nil {
			return cannotWrite(o.path, err)
		}
	}
	return nil
}

// warnOfOtherKey says so when the key that is about to be replaced is not the
// one that takes its place: proofs for it no longer verify with the file.
func warnOfOtherKey(path string, c provemodel.Commitment, ph *ui.Phases) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	if old, err := provemodel.ReadKey(f); err == nil && old.Digest != c {
		ph.Warn(path + " held the key of another model, calibration or setting; it is replaced")
	}
}
