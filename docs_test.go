package provemodel_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Tests that the documents name exist, and every item of the three questions of
// docs/security.md names one.
func TestDocumentedTests(t *testing.T) {
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(text, -1) {
			declared[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`")
	docs, err := filepath.Glob("docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatal(docs, err)
	}
	for _, path := range docs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			if !declared[string(m[1])] {
				t.Errorf("%s names %s, which is no test", path, m[1])
			}
		}
	}
	text, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	questions := 0
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		if !strings.HasSuffix(title, "?") {
			continue
		}
		questions++
		for _, item := range strings.Split(body, "\n- ")[1:] {
			if !named.MatchString(item) {
				t.Errorf("docs/security.md, %q: no test is named for %q", title, item)
			}
		}
	}
	if questions != 3 {
		t.Errorf("docs/security.md answers %d questions, not 3", questions)
	}
}
