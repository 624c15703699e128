package shim

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"

	"github.com/prove-model/prove-model/kernels"
)

//go:embed src/shim.h
var header string

//go:embed src/shim.cc
var host string

// ErrNoCompiler is the reason New fails with where there is no g++ that it
// could use.
var ErrNoCompiler = errors.New("shim: g++ on an x86-64 machine is needed")

var flags = []string{"-O2", "-w", "-std=c++17", "-fno-strict-aliasing", "-rdynamic"}

// build compiles all groups with the shim and returns the helper's path. The
// helper is kept in the folder for temporary files, by the hash of what it is
// made of.
func build() (string, error) {
	cxx, err := exec.LookPath("g++")
	if err != nil || runtime.GOARCH != "amd64" {
		return "", ErrNoCompiler
	}
	files := map[string]string{"shim.h": header, "shim.cc": host}
	for name, text := range kernels.Headers() {
		files[name] = text
	}
	for _, g := range kernels.Groups() {
		if files[g+".cu"], err = kernels.Source(g); err != nil {
			return "", err
		}
	}
	path := filepath.Join(os.TempDir(), "prove-model-shim-"+hash(files))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "prove-model-shim")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	args := append(append([]string(nil), flags...), "-o", filepath.Join(dir, "helper"), "-include", "shim.h")
	args = append(args, "-x", "c++", "shim.cc")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
		if filepath.Ext(name) == ".cu" {
			args = append(args, name)
		}
	}
	cmd := exec.Command(cxx, append(args, "-ldl")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("shim: g++: %w\n%s", err, out)
	}
	// Renaming is atomic: another test may be doing the same.
	return path, os.Rename(filepath.Join(dir, "helper"), path)
}

func hash(files map[string]string) string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	h := sha256.New()
	for _, f := range flags {
		fmt.Fprintf(h, "%q ", f)
	}
	for _, name := range names {
		fmt.Fprintf(h, "%q %q ", name, files[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
