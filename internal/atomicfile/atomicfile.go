// Package atomicfile writes files that appear under their name either whole or not at
// all. It writes into a temporary file in the same folder, and renames it when it is
// complete. On systems that support it the temporary file has no name, so a killed
// process leaves nothing behind; elsewhere a later process removes what it has left.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prove-model/prove-model/internal/must"
)

// TempSuffix ends the names of temporary files.
const TempSuffix = ".partial"

// staleAfter is the time since the last write after which a temporary file counts as
// left over from a killed process.
const staleAfter = 24 * time.Hour

// randomLen is the length of rand.Text.
const randomLen = 26

// File is a file being written. Every File must end with Commit or Abort;
// deferring Abort is right, as it does nothing after Commit.
type File struct {
	*os.File
	path    string
	temp    string // the path of the file until Commit renames it
	unnamed bool   // the file has no name yet, so it is not at temp
	done    bool   // Commit or Abort has been called
}

// Create starts a file that Commit will put at path, in place of a regular file that may
// be there. If path is a symbolic link, the link stays and the file to which it leads is
// replaced. Create fails if path is anything other than a regular file, or its folder
// cannot be written.
func Create(path string) (_ *File, err error) {
	defer must.Catch(&err)
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		target, err = path, nil
	}
	must.OK(err)
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
	prefix := "." + base + "."
	removeStale(dir, prefix)
	temp := filepath.Join(dir, prefix+rand.Text()+TempSuffix)
	if f := createUnnamed(filepath.Clean(dir), temp, mode); f != nil {
		return &File{File: f, path: target, temp: temp, unnamed: true}, nil
	}
	// os.CreateTemp would make a file that only its owner can read.
	f := must.Get(os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode))
	return &File{File: f, path: target, temp: temp}, nil
}

// removeStale removes left-over temporary files for one target. It ignores a folder
// that cannot be read: creating the file will report the problem.
func removeStale(dir, prefix string) {
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return
	}
	for _, e := range entries {
		name := e.Name()
		if len(name) != len(prefix)+randomLen+len(TempSuffix) || !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, TempSuffix) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAfter {
			_ = os.Remove(filepath.Join(dir, name))
		}
	}
}

// Commit flushes the file to disk and puts it at its path. On an error nothing
// is left, and what was at the path before still is.
func (f *File) Commit() error {
	if f.done {
		return fs.ErrClosed
	}
	f.done = true
	err := f.Sync()
	if err == nil && f.unnamed {
		// link cannot replace an existing file, so the file first gets the temporary name.
		if err = link(f.File, f.temp); err == nil {
			f.unnamed = false
		}
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.temp, f.path)
	}
	if err != nil {
		return errors.Join(err, f.remove())
	}
	return nil
}

// Abort removes the temporary file. After Commit or Abort it does nothing.
func (f *File) Abort() error {
	if f.done {
		return nil
	}
	f.done = true
	return errors.Join(f.Close(), f.remove())
}

// remove removes the temporary file if it has a name.
func (f *File) remove() error {
	if f.unnamed {
		return nil
	}
	return os.Remove(f.temp)
}

// WriteFile writes data to a file at path, atomically.
func WriteFile(path string, data []byte) (err error) {
	defer must.Catch(&err)
	f := must.Get(Create(path))
	defer f.Abort()
	must.Get(f.Write(data))
	return f.Commit()
}
