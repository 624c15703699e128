package kernels

import (
	"regexp"
	"strings"
	"testing"
)

var (
	comment   = regexp.MustCompile(`//[^\n]*|(?s:/\*.*?\*/)`)
	kernelDef = regexp.MustCompile(`(?:\bKERNEL|__global__\s+void)\s+(?:__launch_bounds__\([^)]*\)\s*)?([\w#]+)\(([^)]*)\)`)
	wideParam = regexp.MustCompile(`\*|\b[ui]64\b`)
)

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
			for _, p := range strings.Split(def[2], ",") {
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
