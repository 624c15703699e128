//go:build cuda && linux && (amd64 || arm64)

package libcuda

import (
	"debug/elf"
	"errors"
	"os"
	"strings"
	"testing"

	"gorgonia.org/cu"
)

// The program has started although gorgonia.org/cu initialises the driver when
// it does. Before Open, or after a failed one, its calls fail in order.
func TestWithoutDriver(t *testing.T) {
	if err := Open(); err == nil {
		t.Skip("this machine has a driver")
	} else if !strings.Contains(err.Error(), "NVIDIA driver") {
		t.Errorf("Open: %v", err)
	}
	_, err := cu.NumDevices()
	if err = Wrap("cuDeviceGetCount", err); err == nil {
		t.Fatal("counted devices without a driver")
	}
	var e *Error
	if !errors.As(err, &e) || e.Code != int(cu.NotInitialized) {
		t.Errorf("error %v, want code %d", err, cu.NotInitialized)
	}
	if got, want := err.Error(), "cuDeviceGetCount: CUDA error 3"; got != want {
		t.Errorf("error text %q, want %q", got, want)
	}
	if e.OutOfMemory() || e.Sticky() {
		t.Error("a missing driver reported as out of memory or a lost context")
	}
	if _, err := HostAlloc(Context{}, 16); !errors.As(err, &e) || e.Call != "cuMemHostAlloc" {
		t.Errorf("HostAlloc: %v", err)
	}
}

// No library of CUDA is needed to start.
func TestNotLinked(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libs, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, lib := range libs {
		if strings.Contains(lib, "cuda") || strings.Contains(lib, "nv") {
			t.Errorf("linked against %s", lib)
		}
	}
}

func TestWrap(t *testing.T) {
	if err := Wrap("x", nil); err != nil {
		t.Errorf("Wrap(nil) = %v", err)
	}
	var e *Error
	if err := Wrap("x", cu.OutOfMemory); !errors.As(err, &e) || !e.OutOfMemory() {
		t.Errorf("Wrap(OutOfMemory) = %v", err)
	}
	if err := Wrap("x", cu.IllegalAddress); !errors.As(err, &e) || !e.Sticky() {
		t.Errorf("Wrap(IllegalAddress) = %v", err)
	}
	plain := errors.New("plain")
	if err := Wrap("x", plain); !errors.Is(err, plain) {
		t.Errorf("Wrap(plain) = %v", err)
	}
}
