package nvrtc

import "testing"

func TestTarget(t *testing.T) {
	supported := []int{75, 80, 86, 90, 100, 120}
	for arch, want := range map[string]string{
		"sm_90":  "sm_90",
		"sm_89":  "sm_86",
		"sm_87":  "sm_86",
		"sm_103": "sm_100",
		"sm_110": "compute_100",
		"sm_75":  "sm_75",
		"sm_70":  "",
		"90":     "",
		"sm_x":   "",
	} {
		got, err := target(arch, supported)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("target(%s) = %q, %v, want %q", arch, got, err, want)
		}
	}
}
