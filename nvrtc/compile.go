//go:build cuda && cgo && linux && (amd64 || arm64)

package nvrtc

import (
	"context"
	"fmt"
	"sync"

	"github.com/prove-model/prove-model/internal/must"
)

// Compiler opens NVRTC and returns where it is and its version, such as 12.9.
func Compiler() (path, version string, err error) {
	lib, err := openLibrary()
	if err != nil {
		return "", "", err
	}
	return lib.path, lib.version, nil
}

// compiled holds what this process has compiled or read, by key.
var compiled sync.Map // string → *compilation

// A compilation is done once, however many goroutines ask for it.
type compilation struct {
	mu   sync.Mutex
	code []byte // nil until it is done
	log  string
}

// Compile compiles src for a device of the given architecture, such as sm_90, or takes the result
// from memory or disk. The code is a CUBIN where the compiler knows the architecture or one whose
// code it runs, else PTX; the driver loads both. log is the compiler's output, empty if it had no
// warnings; an error contains it. A compilation that has begun runs to its end even if ctx ends.
func Compile(ctx context.Context, src Source, arch string) (code []byte, log string, err error) {
	defer must.Catch(&err)
	lib := must.Get(openLibrary())
	target, err := target(arch, lib.archs)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", lib.path, err)
	}
	key := src.key(target, lib.version)
	entry, _ := compiled.LoadOrStore(key, new(compilation))
	c := entry.(*compilation)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code == nil {
		c.code, c.log = readCache(key)
	}
	if c.code == nil {
		must.OK(ctx.Err())
		if code, log, err = lib.build(src, target); err != nil {
			return nil, log, err
		}
		c.code, c.log = code, log
		writeCache(key, code, log)
	}
	return c.code, c.log, nil
}
