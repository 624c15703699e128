package simd

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestKernelsKeepToTheirLevel reads all assembly of the prover: a function
// named for AVX2, or for none, may use neither the registers nor the instructions that came
// with AVX-512, which would fault on the processors it is for.
func TestKernelsKeepToTheirLevel(t *testing.T) {
	var (
		function  = regexp.MustCompile(`^TEXT ·(\w+)(?:<>)?\(`)
		forbidden = regexp.MustCompile(`\b(Y1[6-9]|Y2\d|Y3[01]|X1[6-9]|X2\d|X3[01]|Z\d+|K[0-7])\b`)
		requires  = regexp.MustCompile(`^// Requires:(.*)`)
	)
	functions := 0
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_amd64.s") {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		var name, needs string
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			line := lines.Text()
			if m := requires.FindStringSubmatch(line); m != nil {
				needs = m[1]
			}
			if m := function.FindStringSubmatch(line); m != nil {
				name = m[1]
				functions++
				switch {
				case strings.HasSuffix(name, "AVX2"):
					if strings.Contains(needs, "AVX512") {
						t.Errorf("%s:%d: %s requires%s", path, n, name, needs)
					}
				case !strings.HasSuffix(name, "AVX512") && needs != "":
					t.Errorf("%s:%d: %s requires%s and is named for no instruction set", path, n, name, needs)
				}
				needs = ""
				continue
			}
			if !strings.HasSuffix(name, "AVX512") && forbidden.MatchString(line) {
				t.Errorf("%s:%d: %s uses what AVX2 has not: %s", path, n, name, strings.TrimSpace(line))
			}
		}
		return lines.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if functions == 0 {
		t.Fatal("no assembly found")
	}
}
