//go:build cuda && cgo && linux && (amd64 || arm64)

package nvrtc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// needCompiler skips the test where there is no NVRTC, except in CI, which
// fetches one.
func needCompiler(t *testing.T) {
	t.Helper()
	if _, _, err := Compiler(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestCompile(t *testing.T) {
	needCompiler(t)
	dir := t.TempDir()
	SetCacheDir(dir)
	defer SetCacheDir("")
	src := Source{
		Name:    "twice.cu",
		Text:    "#include \"two.cuh\"\nextern \"C\" __global__ void twice(unsigned *x) { x[threadIdx.x] *= TWO; }",
		Headers: map[string]string{"two.cuh": "#define TWO 2u\n"},
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			code, log, err := Compile(context.Background(), src, "sm_90")
			if err != nil || log != "" || !strings.HasPrefix(string(code), "\x7fELF") {
				t.Errorf("%d bytes, log %q, error %v", len(code), log, err)
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("cache has %d entries, error %v, want 1", len(entries), err)
	}
	// What the disk says is taken, in a process that has not compiled it.
	key := entries[0].Name()
	writeCache(key, []byte("from disk"), "its log")
	compiled.Delete(key)
	if code, log, err := Compile(context.Background(), src, "sm_90"); string(code) != "from disk" || log != "its log" {
		t.Errorf("the cache was not used: %d bytes, %v", len(code), err)
	}
	// A damaged entry is compiled anew.
	if err := os.WriteFile(filepath.Join(dir, key), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	compiled.Delete(key)
	if code, _, err := Compile(context.Background(), src, "sm_90"); !strings.HasPrefix(string(code), "\x7fELF") {
		t.Errorf("a damaged entry was used: %q, %v", code, err)
	}
}

func TestCompileErrors(t *testing.T) {
	needCompiler(t)
	SetCacheDir("")
	_, log, err := Compile(context.Background(), Source{Name: "bad.cu", Text: "__global__ void f() { undeclared = 1; }"}, "sm_90")
	if err == nil || !strings.Contains(err.Error(), "undeclared") || !strings.Contains(err.Error(), "bad.cu") || !strings.Contains(log, "undeclared") {
		t.Errorf("error %v, log %q", err, log)
	}
	if _, _, err := Compile(context.Background(), Source{Text: "int x;"}, "sm_10"); err == nil {
		t.Error("compiled for sm_10")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Compile(ctx, Source{Name: "late.cu", Text: "__global__ void late() {}"}, "sm_90"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A device newer than the compiler gets PTX.
func TestCompilePTX(t *testing.T) {
	needCompiler(t)
	SetCacheDir("")
	code, _, err := Compile(context.Background(), Source{Name: "p.cu", Text: "extern \"C\" __global__ void p() {}"}, "sm_990")
	if err != nil || !strings.Contains(string(code), ".visible .entry p(") {
		t.Errorf("%q, %v", code, err)
	}
}
