package shim

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prove-model/prove-model/internal/atomicfile"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/nvrtc"
)

var (
	//go:embed host/cuda_host.h
	header []byte
	//go:embed host/host.cc
	runtime []byte
)

// ErrNoCompiler is returned where there is no g++ ($CXX).
var ErrNoCompiler = errors.New("no C++ compiler")

// flags are the flags of every compilation. The C library's check against jumps between
// stacks is off, as fibres jump between stacks.
var flags = []string{
	"-std=c++17", "-Wall", "-Werror", "-Wno-unused-function", "-Wno-unused-variable", "-Wno-unknown-pragmas", "-U_FORTIFY_SOURCE",
}

// kernelFlags are further flags for kernels. The sanitiser makes undefined behaviour
// fatal, including misaligned access, which a GPU refuses too.
var kernelFlags = []string{"-O1", "-fsanitize=undefined", "-fno-sanitize=vptr", "-fno-sanitize-recover=all"}

// compiler returns the C++ compiler to use.
func compiler() (string, error) {
	name := os.Getenv("CXX")
	if name == "" {
		name = "g++"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %s", ErrNoCompiler, name)
	}
	return path, nil
}

// buildRuntime returns the path of the program that runs kernels.
func buildRuntime() (string, error) {
	return build("host", map[string]string{"cuda_host.h": string(header), "host.cc": string(runtime)},
		"-O2", "-rdynamic", "host.cc", "-ldl")
}

// buildSource compiles the kernels of a program, and returns the path of the shared library.
func buildSource(src nvrtc.Source) (string, error) {
	texts := maps.Clone(src.Headers)
	texts["cuda_host.h"] = string(header)
	texts[src.Name] = src.Text
	return build(strings.TrimSuffix(src.Name, ".cu"), texts,
		slices.Concat(kernelFlags, []string{"-shared", "-fPIC", "-include", "cuda_host.h", "-x", "c++", src.Name})...)
}

// build compiles the given texts, by file name, and returns the path of the result. It
// is kept for later processes, under a name that depends on the compiler, its arguments
// and the texts.
func build(name string, texts map[string]string, args ...string) (_ string, err error) {
	defer must.Catch(&err)
	cxx := must.Get(compiler())
	args = slices.Concat(flags, []string{"-I."}, args)
	version, err := exec.Command(cxx, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", cxx, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q", version, args)
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(h, " %q %q", file, texts[file])
	}
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	dir := filepath.Join(base, "prove-model", "shim")
	must.OK(os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, fmt.Sprintf("%s-%x", name, h.Sum(nil)[:12]))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}

	defer begin(path)()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}

	work := must.Get(os.MkdirTemp("", "prove-model-shim-"))
	defer os.RemoveAll(work)
	for file, text := range texts {
		must.OK(os.WriteFile(filepath.Join(work, file), []byte(text), 0o600))
	}
	cmd := exec.Command(cxx, append([]string{"-o", "result"}, args...)...)
	cmd.Dir = work
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("compiling %s for the host: %w\n%s", name, err, said.Bytes())
	}
	code := must.Get(os.ReadFile(filepath.Join(work, "result")))
	f := must.Get(atomicfile.Create(path))
	defer f.Abort()
	must.Get(f.Write(code))
	must.OK(f.Chmod(0o700))
	return path, f.Commit()
}

// begin waits while another process compiles the file that will be at path, since tests of
// several packages need the same kernels at once. end lets others begin. A lock is ignored after
// two minutes, so that a process that was killed does not block others.
func begin(path string) (end func()) {
	lock := path + ".lock"
	for errors.Is(os.Mkdir(lock, 0o700), fs.ErrExist) {
		if _, err := os.Stat(path); err == nil {
			return func() {}
		}
		if info, err := os.Stat(lock); err == nil && time.Since(info.ModTime()) > 2*time.Minute {
			os.Remove(lock)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return func() { os.Remove(lock) }
}
