package cache

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/prove-model/prove-model/internal/atomicfile"
	"github.com/prove-model/prove-model/internal/mapped"
)

// suffix is the end of the file names of entries.
const suffix = ".commitment"

// ErrMiss is wrapped by the error of Get when there is no usable entry; the
// text says why.
var ErrMiss = errors.New("not in the cache")

// Dir is a cache folder. Processes may share one.
type Dir struct{ path string }

// DefaultPath returns prove-model in the user's cache folder.
func DefaultPath() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w", err)
	}
	return filepath.Join(base, "prove-model"), nil
}

// Open opens the cache at path, DefaultPath if empty, and makes the folder if
// it is not there.
func Open(path string) (*Dir, error) {
	if path == "" {
		var err error
		if path, err = DefaultPath(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	return &Dir{path}, nil
}

// Path returns the folder.
func (d *Dir) Path() string { return d.path }

func (d *Dir) file(id ID) string { return filepath.Join(d.path, id.String()+suffix) }

// Get returns the entry of id, and sets its file's time to now, for Prune. The error wraps
// ErrMiss if there is no entry or it is damaged; Put replaces a damaged one.
func (d *Dir) Get(id ID) (*Entry, error) { return d.get(id, false) }

// GetMapped is Get, but Extra and Layers are parts of the entry's file, mapped into memory. They must
// not be changed, and stay mapped until the process ends. Pages that are not used take no memory.
func (d *Dir) GetMapped(id ID) (*Entry, error) { return d.get(id, true) }

func (d *Dir) get(id ID, inPlace bool) (*Entry, error) {
	f, err := os.Open(d.file(id))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMiss, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMiss, err)
	}
	e, err := read(f, info.Size(), id, inPlace)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMiss, f.Name(), err)
	}
	// Only the order in which Prune removes depends on this.
	now := time.Now()
	_ = os.Chtimes(f.Name(), now, now)
	return e, nil
}

// read reads an entry from a file of that size, and with inPlace maps the file for Extra and Layers.
func read(f *os.File, size int64, id ID, inPlace bool) (*Entry, error) {
	if !inPlace || size < sha256.Size {
		return readEntry(f, size, id, nil)
	}
	m, err := mapped.Read(f)
	if err != nil {
		return nil, err
	}
	e, err := readEntry(io.NewSectionReader(f, 0, size), size, id, m.Bytes())
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return e, nil
}

// Put stores e under id and replaces what was there, atomically: a reader sees the old entry or
// the new one.
func (d *Dir) Put(id ID, e *Entry) error {
	f, err := atomicfile.Create(d.file(id))
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	defer f.Abort()
	if err := writeEntry(f, id, e); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	if err := f.Commit(); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	return nil
}

// staleAfter is the age from which a temporary file is taken to be left over from a
// process that was killed, and not to be one that is being written.
const staleAfter = time.Hour

// Prune removes left-over temporary files, and entries, the least recently used first, until
// at most maxBytes of entries are left. It returns how many files it removed.
func (d *Dir) Prune(maxBytes int64) (removed int, err error) {
	list, err := os.ReadDir(d.path)
	if err != nil {
		return 0, fmt.Errorf("cache: %w", err)
	}
	var entries []fs.FileInfo
	var total int64
	remove := func(name string) {
		switch e := os.Remove(filepath.Join(d.path, name)); {
		case e == nil:
			removed++
		case !errors.Is(e, fs.ErrNotExist): // another process was first
			err = errors.Join(err, fmt.Errorf("cache: %w", e))
		}
	}
	for _, l := range list {
		info, err := l.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // gone since, or not ours
		}
		switch name := l.Name(); {
		case strings.HasSuffix(name, suffix):
			entries = append(entries, info)
			total += info.Size()
		case strings.HasSuffix(name, atomicfile.TempSuffix) &&
			strings.Contains(name, suffix) && time.Since(info.ModTime()) > staleAfter:
			remove(name)
		}
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].ModTime().Before(entries[j].ModTime()) })
	for _, info := range entries {
		if total <= maxBytes {
			break
		}
		remove(info.Name())
		total -= info.Size()
	}
	return removed, err
}
