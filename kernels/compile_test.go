//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"context"
	"os"
	"testing"

	"github.com/prove-model/prove-model/nvrtc"
)

// Every group compiles for every generation of devices, or without -full for one, the next group for
// the next one, without a warning. What has not changed since an earlier run comes from the cache, with its log.
func TestCompile(t *testing.T) {
	if _, _, err := nvrtc.Compiler(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for i, name := range Groups() {
		src, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		for k, arch := range []string{"sm_80", "sm_90", "sm_100"} {
			if !*Full && k != i%3 {
				continue
			}
			t.Run(name+"/"+arch, func(t *testing.T) {
				t.Parallel()
				_, log, err := nvrtc.Compile(context.Background(), src, arch)
				if err != nil {
					t.Fatal(err)
				}
				if log != "" {
					t.Error(log)
				}
			})
		}
	}
}
