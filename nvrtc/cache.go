package nvrtc

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"sync"

	"github.com/prove-model/prove-model/prover/atomicfile"
)

// cacheMagic begins every entry of the cache. The SHA-256 of the code follows,
// then the code.
var cacheMagic = []byte("prove-model cubin\n")

// cacheDir is where compiled code is kept: nil for the default folder, an empty
// text for nowhere.
var (
	cacheMu  sync.Mutex
	cacheDir *string
)

// SetCacheDir makes Compile keep its results in dir, or, if dir is empty, in
// memory alone. The default is prove-model/cubin in the user's cache folder.
func SetCacheDir(dir string) {
	cacheMu.Lock()
	defer cacheMu.Unlock()
	cacheDir = &dir
}

// cachePath returns the file for a key, or "" if nothing is kept on disk.
func cachePath(key string) string {
	cacheMu.Lock()
	defer cacheMu.Unlock()
	switch {
	case cacheDir == nil:
		base, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		return filepath.Join(base, "prove-model", "cubin", key)
	case *cacheDir == "":
		return ""
	}
	return filepath.Join(*cacheDir, key)
}

// readCache returns the code kept under key, nil if there is none or it is
// damaged.
func readCache(key string) []byte {
	path := cachePath(key)
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	rest, ok := bytes.CutPrefix(data, cacheMagic)
	if !ok || len(rest) <= sha256.Size {
		return nil
	}
	code := rest[sha256.Size:]
	if sum := sha256.Sum256(code); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return nil
	}
	return code
}

// writeCache keeps code under key. A cache that cannot be written is no error:
// the next process compiles again.
func writeCache(key string, code []byte) {
	path := cachePath(key)
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	sum := sha256.Sum256(code)
	_ = atomicfile.WriteFile(path, bytes.Join([][]byte{cacheMagic, sum[:], code}, nil))
}
