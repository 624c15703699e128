package provemodel_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	provemodel "github.com/prove-model/prove-model"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The version stands in one place: what else has one takes it from there when it is built, and
// the list of changes begins with it.
func TestVersionsAgree(t *testing.T) {
	first := regexp.MustCompile(`(?m)^## v(\S+)`).FindStringSubmatch(read(t, "CHANGELOG.md"))
	if first == nil || first[1] != provemodel.Version {
		t.Errorf("CHANGELOG.md begins with %v, and the version is %s", first, provemodel.Version)
	}
	var manifest map[string]any
	if err := json.Unmarshal([]byte(read(t, "web/npm/package.json")), &manifest); err != nil {
		t.Fatal(err)
	}
	if v, has := manifest["version"]; has {
		t.Errorf("web/npm/package.json has a version of its own, %v", v)
	}
	project := read(t, "python/pyproject.toml")
	if regexp.MustCompile(`(?m)^version *=`).MatchString(project) {
		t.Error("python/pyproject.toml has a version of its own")
	}
	pattern := regexp.MustCompile(`(?m)^pattern = '(.*)'$`).FindStringSubmatch(project)
	if pattern == nil {
		t.Fatal("python/pyproject.toml does not say how the version is found")
	}
	found := regexp.MustCompile(pattern[1]).FindStringSubmatch(read(t, "version.go"))
	if len(found) != 2 || found[1] != provemodel.Version {
		t.Errorf("python/pyproject.toml finds %v in version.go", found)
	}
}

// What the examples pin of this module is a release that has a tag, or a commit.
func TestPinsExist(t *testing.T) {
	if shallow, err := exec.Command("git", "rev-parse", "--is-shallow-repository").Output(); err != nil || strings.TrimSpace(string(shallow)) != "false" {
		t.Skip("no history here")
	}
	pins := 0
	for _, path := range []string{"docs/ci-example.yml", "docs/install.md", "docs/json.md", "README.md", "python/README.md", "web/npm/README.md"} {
		for _, m := range regexp.MustCompile(`prove-model/prove-model\S*@(\S+?)[\s`+"`"+`]`).FindAllStringSubmatch(read(t, path), -1) {
			pins++
			if pin := m[1]; pin != "latest" && exec.Command("git", "merge-base", "--is-ancestor", pin, "HEAD").Run() != nil {
				t.Errorf("%s pins %s, which is neither a tag nor a commit of this history", path, pin)
			}
		}
	}
	if pins < 2 {
		t.Errorf("%d pins found", pins)
	}
}
