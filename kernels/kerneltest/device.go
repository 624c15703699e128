// Package kerneltest gives tests the device to run kernels on.
package kerneltest

import (
	"errors"
	"os"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/shim"
)

// Device returns the host shim. Where it cannot be built the test is skipped,
// except when CI=true: then it fails.
func Device(t testing.TB) kernels.Device {
	t.Helper()
	return Shim(t)
}

// Shim returns a host shim of the test's own.
func Shim(t testing.TB) *shim.Device {
	t.Helper()
	d, err := shim.New()
	if errors.Is(err, shim.ErrNoCompiler) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}
