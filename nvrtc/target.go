package nvrtc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// target returns what to compile for so that the result runs on a device of the
// given architecture: the architecture itself if the compiler knows it, else
// the nearest older one with the same major number, whose machine code the
// device also runs, else the PTX of the newest older one, which the driver
// compiles when it loads it. supported holds architectures as numbers, 90 for
// sm_90.
func target(arch string, supported []int) (string, error) {
	digits, ok := strings.CutPrefix(arch, "sm_")
	want, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return "", fmt.Errorf("architecture %q is not of the form sm_90", arch)
	}
	best := -1
	for _, s := range supported {
		if s <= want {
			best = max(best, s)
		}
	}
	switch {
	case best < 0:
		return "", fmt.Errorf("this NVRTC cannot compile for %s; the oldest it knows is sm_%d", arch, slices.Min(append(slices.Clone(supported), 1000)))
	case best/10 == want/10:
		return fmt.Sprintf("sm_%d", best), nil
	}
	return fmt.Sprintf("compute_%d", best), nil
}
