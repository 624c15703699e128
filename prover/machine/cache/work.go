package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ErrBusy says that another process has the folder of the work locked.
var ErrBusy = errors.New("another process is at it")

const (
	workFolder = "work"
	lockName   = "lock"
	// workStaleAfter is the age from which interrupted work is removed.
	workStaleAfter = 7 * 24 * time.Hour
)

// Work is a folder for the results of the parts of one piece of work, such as a proof, so that
// it can be resumed after it was interrupted. A lock lets one process at a time have it open.
type Work struct {
	dir  Dir
	id   ID
	lock *os.File
}

// Work opens the folder of the work that id names, makes it if it is not there, and removes the
// folders of other work that was not used for a week. The error wraps ErrBusy if a process has it open.
func (d *Dir) Work(id ID) (*Work, error) {
	all := filepath.Join(d.path, workFolder)
	path := filepath.Join(all, id.String())
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	removeOld(all, id.String())
	lock, err := lockFolder(path)
	if err != nil {
		return nil, err
	}
	return &Work{Dir{path}, id, lock}, nil
}

// lockFolder locks a folder by a lock file in it, whose modification time is when the folder was last used.
func lockFolder(path string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	if err := tryLock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// removeOld removes the folders in `all` that were not used for a week and that nobody has locked, except the one named `but`.
func removeOld(all, but string) {
	list, err := os.ReadDir(all)
	if err != nil {
		return
	}
	for _, l := range list {
		path := filepath.Join(all, l.Name())
		info, err := os.Stat(filepath.Join(path, lockName))
		if l.Name() == but || err != nil || time.Since(info.ModTime()) < workStaleAfter {
			continue
		}
		if lock, err := lockFolder(path); err == nil {
			lock.Close()
			_ = os.RemoveAll(path) // if it cannot be, the next one tries
		}
	}
}

// part returns the ID under which part i of a kind is kept in the work's folder.
func (w *Work) part(name string, i int) ID {
	h := NewHasher()
	h.Add("work", w.id[:])
	h.Add(name, binary.LittleEndian.AppendUint64(nil, uint64(i)))
	return h.ID()
}

// Get returns what Put has kept for part i of a kind. The error wraps ErrMiss.
func (w *Work) Get(kind string, i int) (*Entry, error) { return w.dir.Get(w.part(kind, i)) }

// Put keeps the result of part i of a kind, whole or not at all.
func (w *Work) Put(kind string, i int, e *Entry) error {
	if err := w.dir.Put(w.part(kind, i), e); err != nil {
		return err
	}
	now := time.Now()
	return os.Chtimes(w.lock.Name(), now, now)
}

// Close unlocks the folder and keeps it, so that the work can be resumed.
func (w *Work) Close() error { return w.lock.Close() }

// Remove unlocks and removes the folder, when the work is done. Close need not be called.
func (w *Work) Remove() error {
	// Some systems do not remove files that are open, so the lock is given up first. A process that takes the
	// lock in between loses its folder; its results are then not kept.
	return errors.Join(w.lock.Close(), os.RemoveAll(w.dir.path))
}
