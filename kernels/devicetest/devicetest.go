// Package devicetest gives tests a device to run kernels on: a GPU if
// PROVE_MODEL_TEST_GPU is 1, else the host (package shim).
package devicetest

import (
	"errors"
	"os"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/shim"
)

// Open returns a device for the test. Where there is neither a GPU nor a C++
// compiler the test is skipped, or fails if CI is true.
func Open(t testing.TB) kernels.Device {
	t.Helper()
	if os.Getenv("PROVE_MODEL_TEST_GPU") == "1" {
		d, err := kernels.Cached()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d, err := shim.New()
	if err != nil {
		if errors.Is(err, shim.ErrNoCompiler) && os.Getenv("CI") != "true" {
			t.Skip("kernels cannot run on the host: ", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Two returns two GPUs, if PROVE_MODEL_TEST_GPU is 1 and there are as many.
func Two(t testing.TB) (gpus [2]kernels.Device, ok bool) {
	t.Helper()
	if os.Getenv("PROVE_MODEL_TEST_GPU") != "1" {
		return gpus, false
	}
	for i := range gpus {
		d, err := kernels.CachedFor(i)
		if err != nil {
			t.Log("one GPU: ", err)
			return gpus, false
		}
		gpus[i] = d
	}
	return gpus, true
}
