package nvrtc

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/prove-model/prove-model/internal/atomicfile"
)

// cacheMagic is the beginning of every entry of the cache. It is followed by the
// SHA-256 of the rest of the entry, which is: the length of the compiler's log in 8
// bytes, little-endian, the log, and the code.
var cacheMagic = []byte("prove-model cubin 2\n")

// cacheDir is the folder in which compiled code is kept: nil for the default folder, an
// empty text for none.
var cacheDir atomic.Pointer[string]

// SetCacheDir makes Compile keep its results in dir, or, if dir is empty, in
// memory alone. The default is prove-model/cubin in the user's cache folder.
func SetCacheDir(dir string) { cacheDir.Store(&dir) }

// cachePath returns the file for a key, or "" if nothing is kept on disk.
func cachePath(key string) string {
	var folder string
	if own := cacheDir.Load(); own != nil {
		folder = *own
	} else if base, err := os.UserCacheDir(); err == nil {
		folder = filepath.Join(base, "prove-model", "cubin")
	}
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, key)
}

// readCache returns the code kept under key and the log of its compilation. The
// code is nil if there is none or it is damaged.
func readCache(key string) (code []byte, log string) {
	path := cachePath(key)
	if path == "" {
		return nil, ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, ""
	}
	rest, ok := bytes.CutPrefix(data, cacheMagic)
	if !ok || len(rest) < sha256.Size+8 {
		return nil, ""
	}
	sum, body := rest[:sha256.Size], rest[sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(sum, want[:]) {
		return nil, ""
	}
	n, body := binary.LittleEndian.Uint64(body), body[8:]
	if n >= uint64(len(body)) {
		return nil, ""
	}
	return body[n:], string(body[:n])
}

// writeCache keeps code, which is not empty, and the log of its compilation
// under key. A cache that cannot be written is no error: the next process
// compiles again.
func writeCache(key string, code []byte, log string) {
	path := cachePath(key)
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	body := binary.LittleEndian.AppendUint64(nil, uint64(len(log)))
	body = append(append(body, log...), code...)
	sum := sha256.Sum256(body)
	_ = atomicfile.WriteFile(path, bytes.Join([][]byte{cacheMagic, sum[:], body}, nil))
}
