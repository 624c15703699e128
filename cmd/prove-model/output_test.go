package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/program"
)

// Whatever setting names an output of a command, its file is never that of a setting which the command reads. The pairs are made
// from the settings' tags, so that a new one is tried as well.
func TestOutputsAreNoInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	const mine = "what the user gave"
	if err := os.WriteFile("mine", []byte(mine), 0o644); err != nil {
		t.Fatal(err)
	}
	// What else a command needs to write the file of a setting.
	needs := map[string][]string{"commit": {"--certify"}, "inspect": {"--model", "m.onnx"}}
	pairs := 0
	for _, args := range [][]string{{}, {"commit"}, {"inspect"}} {
		cmd, _, err := newRoot().Find(args)
		if err != nil {
			t.Fatal(err)
		}
		for _, out := range fileFlags(cmd, config.CanWrite) {
			if len(args) > 0 && args[0] == "inspect" && out != "html" { // the others are read there
				continue
			}
			for _, in := range fileFlags(cmd, config.CanRead) {
				value := "mine"
				if in == "fix" {
					value = "x=mine"
				}
				line := append(append([]string{}, args...), "--"+in, value, "--"+out, "mine", "--force")
				line = append(line, needs[strings.Join(args, "")]...)
				if (in == "link" || out == "link") && in != "renew" {
					line = append(line, "--renew", "old.vk")
				}
				var stdout, stderr bytes.Buffer
				if in == out || in == "model" && out == "html" || in == "prompts" && out == "report" {
					continue // once in the line; several texts have no report
				}
				code := run(line, &stdout, &stderr)
				said := strings.Contains(stderr.String(), "would overwrite what is read") || strings.Contains(stderr.String(), "are one file")
				if code != program.ExitError || !said {
					t.Errorf("%s: exit code %d, %s", strings.Join(line, " "), code, stderr.String())
				}
				pairs++
			}
		}
	}
	if pairs < 40 {
		t.Errorf("%d pairs of settings", pairs)
	}
	if data, err := os.ReadFile("mine"); err != nil || string(data) != mine {
		t.Errorf("the file is %q, %v", data, err)
	}
	if left, _ := filepath.Glob(".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// fileFlags are the flags of a command that name files of some use.
func fileFlags(cmd *cobra.Command, use func(string) bool) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if use(f.Name) {
			names = append(names, f.Name)
		}
	})
	return names
}

// Every setting whose help speaks of a file says by its tag what commands do with it.
func TestFileSettings(t *testing.T) {
	for _, cmd := range append(newRoot().Commands(), newRoot()) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			kind, _ := pflag.UnquoteUsage(f)
			if strings.Contains(kind, "file") && !config.CanRead(f.Name) && !config.CanWrite(f.Name) && f.Name != "config" {
				t.Errorf("%s --%s names a file, and has no tag that says what for", cmd.Name(), f.Name)
			}
		})
	}
}
