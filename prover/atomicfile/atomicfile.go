// Package atomicfile writes files that appear under their name whole or not at
// all: into a temporary file of the same folder, renamed when complete.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// TempSuffix ends the names of temporary files.
const TempSuffix = ".partial"

// File is a file being written. Every File must end with Commit or Abort;
// deferring Abort is right, as it does nothing after Commit.
type File struct {
	*os.File
	path string
	done bool
}

// Create starts a file that Commit will put at path, in place of a regular
// file that may be there. A symbolic link at path stays and the file it leads
// to is replaced. It fails early if path is anything else than a regular file,
// or its folder cannot be written.
func Create(path string) (*File, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		target, err = path, nil
	}
	if err != nil {
		return nil, err
	}
	mode := fs.FileMode(0o666)
	info, err := os.Stat(target)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s exists and is not a regular file", path)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	dir, base := filepath.Split(target)
	temp := filepath.Join(dir, "."+base+"."+rand.Text()+TempSuffix)
	// Not os.CreateTemp, which would make it readable by the owner alone.
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return &File{File: f, path: target}, nil
}

// Commit flushes the file to disk and puts it at its path. On an error nothing
// is left, and what was at the path before still is.
func (f *File) Commit() error {
	if f.done {
		return fs.ErrClosed
	}
	f.done = true
	err := f.Sync()
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Abort removes the temporary file. After Commit or Abort it does nothing.
func (f *File) Abort() error {
	if f.done {
		return nil
	}
	f.done = true
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// WriteFile puts data at path.
func WriteFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}
