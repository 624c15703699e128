package nvrtc

import (
	"errors"
	"fmt"
)

// ErrNoGPUSupport is returned by everything that needs a GPU in a binary that
// was built without the tag cuda.
var ErrNoGPUSupport = errors.New("this binary was built without GPU support; `make build` on Linux, with a C compiler, builds one that has it (docs/gpu.md)")

// DeviceInfo describes a device.
type DeviceInfo struct {
	Index           int    `json:"index"` // as the driver numbers them, from 0
	Name            string `json:"name"`
	UUID            string `json:"uuid"`
	Major           int    `json:"compute_major"` // compute capability
	Minor           int    `json:"compute_minor"`
	Memory          int64  `json:"memory_bytes"`
	Multiprocessors int    `json:"multiprocessors"`
	ClockKHz        int    `json:"clock_khz"` // 0 if the driver does not say
	L2              int    `json:"l2_bytes"`
	SharedPerBlock  int    `json:"shared_bytes_per_block"` // largest a kernel may ask for
	Driver          string `json:"driver"`                 // newest CUDA version the driver supports, such as 13.0
}

// Arch returns the name of the device's machine code, such as sm_90.
func (d DeviceInfo) Arch() string { return fmt.Sprintf("sm_%d%d", d.Major, d.Minor) }
