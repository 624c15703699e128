package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/internal/program"
)

// full is standard output on a device without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// What cannot be printed is an error, whatever the command: a script must not take an empty file for an answer. Every command
// that there is stands in the table.
func TestFullOutput(t *testing.T) {
	prepare(t)
	lines := map[string][][]string{
		"":                      {{}, {"--json"}, {"--each"}, {"--each", "--json"}, {"--help"}, {"--version"}},
		"chat":                  {{"--help"}}, // of a language model
		"commit":                {{}, {"--json"}},
		"commit-input":          {{"--vk", "m.vk", "--input-commitment", "a.in"}, {"--vk", "m.vk", "--input-commitment", "b.in", "--json"}},
		"verify":                {{"--proof", "m.proof", "--vk", "m.vk"}, {"--proof", "m.proof", "--vk", "m.vk", "--json"}},
		"check-key":             {{"--vk", "m.vk"}, {"--vk", "m.vk", "--json"}},
		"inspect":               {{}, {"--json"}, {"--vk", "m.vk"}, {"--proof", "m.proof"}, {"--html", "m.html"}, {"--html", "m.html", "--json"}},
		"bench":                 {{}},
		"bench accuracy":        {{"--test", "test.json"}, {"--test", "test.json", "--json"}},
		"bench model":           {{"m.onnx"}, {"m.onnx", "--json"}, {"mlp", "--layers", "1", "--width", "8"}},
		"bench scale":           {{"--parameters", "4..4", "--layers", "1"}, {"--parameters", "4..4", "--layers", "1", "--json"}},
		"bench llm":             {{"--help"}}, // takes long
		"bench write":           {{"--help"}}, // likewise
		"bench segments":        {{"--help"}}, // likewise
		"bench texts":           {{"--help"}}, // likewise
		"bench kernels":         {{"--help"}}, // likewise
		"devices":               {{}, {"--json"}},
		"serve":                 {{"--help"}}, // runs until it is stopped
		"worker":                {{"--help"}}, // likewise
		"version":               {{}},
		"man":                   {{"--help"}}, // prints nothing else
		"help":                  {{"verify"}},
		"completion":            {{"--help"}},
		"completion bash":       {{}},
		"completion zsh":        {{}},
		"completion fish":       {{}},
		"completion powershell": {{}},
	}
	for _, name := range commands(newRoot(), "") {
		if lines[name] == nil {
			t.Errorf("the command %q is not tried", name)
		}
		for _, rest := range lines[name] {
			line := append(strings.Fields(name), rest...)
			var stderr bytes.Buffer
			if code := run(line, full{}, &stderr); code != program.ExitError || !strings.Contains(stderr.String(), "standard output: no space left on device") {
				t.Errorf("%v: exit code %d, %s", line, code, stderr.String())
			}
		}
	}
	// A verdict keeps its exit code.
	var stderr bytes.Buffer
	if code := run([]string{"verify", "--proof", "m.proof", "--vk", "m.vk", "--min-bits", "120"}, full{}, &stderr); code != program.ExitNotValid || !strings.Contains(stderr.String(), "standard output: ") {
		t.Errorf("NOT VALID: exit code %d, %s", code, stderr.String())
	}
}

// commands lists all commands by what is typed for them.
func commands(c *cobra.Command, path string) []string {
	if !c.HasParent() {
		c.InitDefaultHelpCmd()
		c.InitDefaultCompletionCmd()
	}
	names := []string{path}
	for _, sub := range c.Commands() {
		names = append(names, commands(sub, strings.TrimSpace(path+" "+sub.Name()))...)
	}
	return names
}

// prepare makes a folder with a model, its proof and its key the current one, and the model that of the settings.
func prepare(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PROVE_MODEL_CACHE_DIR", filepath.Join(dir, "cache"))
	t.Setenv("PROVE_MODEL_QUIET", "true")
	model, err := proto.Marshal(smallModel())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"m.onnx": string(model), "a.json": "[[0.5, -1, 2, 0.25]]", "settings.yaml": "json: true\n",
		"test.json": `{"input_data": [[0.5, -1, 2, 0.25]], "labels": [0]}`, "prove-model.yaml": "model: m.onnx\ninput: [a.json]\n",
	} {
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run(nil, &stdout, &stderr); code != program.ExitOK {
		t.Fatalf("exit code %d, %s", code, stderr.String())
	}
}

// With --json there is one document on standard output, however a command ends.
func TestErrorsAsJSON(t *testing.T) {
	prepare(t)
	for _, tc := range []struct {
		line   []string
		schema string
		code   int
		want   string
	}{
		{[]string{"--model", "none.onnx", "--json"}, "error", program.ExitError, "none.onnx"},
		{[]string{"--modle", "m.onnx", "--json"}, "error", program.ExitError, "unknown flag: --modle"},
		{[]string{"--json", "--mode", "int4"}, "error", program.ExitError, "auto or w8a8 or exact"},
		{[]string{"--json", "extra"}, "error", program.ExitError, "unexpected argument"},
		{[]string{"--config", "settings.yaml", "--mode", "int4"}, "error", program.ExitError, "auto or w8a8 or exact"},
		{[]string{"--json", "--proof", "m.onnx", "--model", "m.onnx"}, "error", program.ExitError, "would overwrite what is read"},
		{[]string{"commit", "--json", "--ranges", "a.json"}, "error", program.ExitError, "not a file of ranges"},
		{[]string{"verify", "--json"}, "error", program.ExitError, "verify needs a proof and a key"},
		{[]string{"verify", "--json", "--proof", "m.vk", "--vk", "m.vk"}, "verify", program.ExitNotValid, "not a prove-model proof"},
		{[]string{"verify", "--json", "--proof", "none", "--vk", "m.vk"}, "error", program.ExitError, "none"},
		{[]string{"check-key", "--json", "--vk", "none"}, "error", program.ExitError, "none"},
		{[]string{"check-key", "--json", "--vk", "m.proof"}, "check-key", program.ExitNotValid, "key"},
		{[]string{"inspect", "--json", "--vk", "m.proof"}, "error", program.ExitError, "m.proof"},
		{[]string{"inspect", "--json", "--html", "m.html", "--model", "none.onnx"}, "error", program.ExitError, "none.onnx"},
		{[]string{"inspect", "--json", "--html", "m.html"}, "inspect-html", program.ExitOK, "m.html"},
		{[]string{"bench", "accuracy", "--json"}, "error", program.ExitError, "no test set"},
		{[]string{"bench", "model", "m.onnx", "--json", "--runs", "0"}, "error", program.ExitError, "--runs 0"},
		{[]string{"bench", "model", "none.onnx", "--json"}, "bench-models", program.ExitError, "none.onnx"},
		{[]string{"bench", "scale", "--json", "--layers", "0"}, "error", program.ExitError, "--layers 0"},
		{[]string{"bench", "llm", "--json", "--shape", "none"}, "error", program.ExitError, "--shape"},
		{[]string{"bench", "kernels", "--json", "--openings", "20"}, "error", program.ExitError, "--openings"},
		{[]string{"devices", "--json", "--devices", "x"}, "error", program.ExitError, "--devices"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(tc.line, &stdout, &stderr)
		if code != tc.code || !strings.Contains(stdout.String(), strings.ReplaceAll(tc.want, `"`, `\"`)) {
			t.Errorf("%v: exit code %d, %s%s", tc.line, code, stdout.String(), stderr.String())
			continue
		}
		if err := valid(tc.schema, stdout.Bytes()); err != nil {
			t.Errorf("%v: %v", tc.line, err)
		}
		if tc.schema != "error" {
			continue
		}
		var f program.Failed
		if err := json.Unmarshal(stdout.Bytes(), &f); err != nil || f.Code != code || !strings.Contains(stderr.String(), "prove-model: ") {
			t.Errorf("%v: %+v, %v, and %s on standard error", tc.line, f, err, stderr.String())
		}
	}
	// By a variable, and not without being asked for.
	var stdout, stderr bytes.Buffer
	if run([]string{"verify"}, &stdout, &stderr); stdout.Len() != 0 {
		t.Errorf("without --json: %s", stdout.String())
	}
	t.Setenv("PROVE_MODEL_JSON", "true")
	if run([]string{"verify", "--threads", "-1"}, &stdout, &stderr); valid("error", stdout.Bytes()) != nil {
		t.Errorf("by a variable: %s", stdout.String())
	}
}

// The version is one line, the same for the flag and the command.
func TestVersion(t *testing.T) {
	t.Chdir(t.TempDir())
	var lines []string
	for _, arg := range []string{"--version", "version"} {
		var stdout, stderr bytes.Buffer
		if code := run([]string{arg}, &stdout, &stderr); code != program.ExitOK || !strings.HasPrefix(stdout.String(), "prove-model ") || strings.Count(stdout.String(), "\n") != 1 {
			t.Errorf("%s: exit code %d, %q", arg, code, stdout.String())
		}
		lines = append(lines, stdout.String())
	}
	if !slices.Equal(lines[:1], lines[1:]) {
		t.Errorf("%q", lines)
	}
}

// TestRootFor: verify by itself is what it is beside all other commands, and every other command line has them all.
func TestRootFor(t *testing.T) {
	all := newRoot()
	want, _, err := all.Find([]string{"verify"})
	if err != nil {
		t.Fatal(err)
	}
	some := rootFor([]string{"verify", "--proof", "x"}).Commands()
	if len(some) != 1 || some[0].Name() != "verify" || some[0].UsageString() != want.UsageString() {
		t.Error("verify is not alone, or has another usage")
	}
	for _, args := range [][]string{nil, {"--model", "verify"}, {"help", "verify"}, {"verfy"}, {""}, {"man", "verify"}} {
		if root := rootFor(args); len(root.Commands()) != len(all.Commands()) || root.Flags().Lookup("model") == nil {
			t.Errorf("%q: commands or flags are missing", args)
		}
	}
}
