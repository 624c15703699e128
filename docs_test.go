package provemodel_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
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

// Links between documents lead to files and sections that exist, and so do the sections that code and documents name, as in
// docs/security.md, "Static bounds".
func TestDocumentedSections(t *testing.T) {
	paths, err := filepath.Glob("docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	paths = append(paths, "README.md", "CONTRIBUTING.md", "SECURITY.md", "python/README.md", "web/npm/README.md")
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	texts, anchors := map[string]string{}, map[string]bool{} // by the file's name; file and anchor
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(path)] += string(text)
		for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
			anchors[path+"#"+anchorOf(m[1])] = true
		}
	}

	link := regexp.MustCompile(`\]\(([^)\s:]+)\)`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: no file for the link %s", path, m[1])
			} else if anchor != "" && filepath.Ext(to) == ".md" && !anchors[to+"#"+anchor] {
				t.Errorf("%s: no section for the link %s", path, m[1])
			}
		}
	}

	named := regexp.MustCompile(`([\w-]+\.md)\)?,(?:\s|//[/!]?|#)+"([^"]{2,70})"`)
	broken := regexp.MustCompile(`\s+(?://[/!]?|#)?\s*`) // where a comment goes on in the next line
	err = filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "dist" || d.Name() == "target") {
			return filepath.SkipDir
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".py", ".rs", ".cu", ".cuh", ".sh", ".proto":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			in, section := texts[m[1]], broken.ReplaceAllString(m[2], " ")
			if in == "" || strings.Contains(in, "# "+section+"\n") || strings.Contains(in, "*"+section) { // a heading, or how a paragraph begins
				continue
			}
			t.Errorf("%s names a section of %s that is not there: %q", path, m[1], section)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// anchorOf is the anchor of a heading, by GitHub's rule.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
