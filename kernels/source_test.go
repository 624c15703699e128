package kernels

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/nvrtc"
)

var (
	comment   = regexp.MustCompile(`//[^\n]*|(?s:/\*.*?\*/)`)
	kernelDef = regexp.MustCompile(`(?:\bKERNEL|__global__\s+void)\s+(?:__launch_bounds__\([^)]*\)\s*)?([\w#]+)\(([^)]*)\)`)
	wideParam = regexp.MustCompile(`\*|\b[ui]64\b`)
	// A macro without parameters, which may stand for some of a kernel's.
	macroDef = regexp.MustCompile(`(?m)^#define (\w+) (.+)$`)
)

// expand puts what macros of a source and its headers stand for in their place in a list of parameters.
func expand(params string, src nvrtc.Source) string {
	text := src.Text
	for _, header := range src.Headers {
		text += "\n" + header
	}
	for _, m := range macroDef.FindAllStringSubmatch(text, -1) {
		params = regexp.MustCompile(`\b`+m[1]+`\b`).ReplaceAllLiteralString(params, m[2])
	}
	return params
}

// A launch passes 8 bytes for every parameter, so each must take 8.
func TestParameters(t *testing.T) {
	for _, group := range Groups() {
		src, err := Source(group)
		if err != nil {
			t.Fatal(err)
		}
		defs := kernelDef.FindAllStringSubmatch(comment.ReplaceAllString(src.Text, ""), -1)
		if len(defs) == 0 {
			t.Errorf("%s.cu has no kernels", group)
		}
		for _, def := range defs {
			for _, p := range strings.Split(expand(def[2], src), ",") {
				if strings.TrimSpace(p) != "" && !wideParam.MatchString(p) {
					t.Errorf("%s.cu: %s: parameter %q is not a pointer, u64 or i64", group, def[1], strings.TrimSpace(p))
				}
			}
		}
	}
	if _, err := Source("none"); err == nil {
		t.Error("a source that is not there")
	}
}

// The kernels are not compiled for devices that lack their instructions: an error says what is needed.
func TestCheckDevice(t *testing.T) {
	for _, c := range []struct {
		major, minor int
		want         string
	}{
		{7, 5, "T4 has compute capability 7.5, and 8.0 or later is needed"}, {8, 0, ""}, {8, 9, ""}, {12, 0, ""},
	} {
		got := ""
		if err := checkDevice(nvrtc.DeviceInfo{Name: "T4", Major: c.major, Minor: c.minor}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%d.%d: %q, want %q", c.major, c.minor, got, c.want)
		}
	}
}
