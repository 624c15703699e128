//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/internal/program"
)

// Ctrl-C in the middle of the work: exit code 2, one line, no file.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	model, err := proto.Marshal(largeModel(2048))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "m.onnx"), model, 0o644); err != nil {
		t.Fatal(err)
	}
	// TestMain has put the command on the path.
	cmd := exec.Command("prove-model", "--model", "m.onnx", "--no-cache")
	cmd.Dir = dir
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for !strings.HasPrefix(lines.Text(), "calibrate") {
		if !lines.Scan() {
			t.Fatal("ends before it has calibrated")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != program.ExitError || last != "prove-model: interrupted; no file was written" {
		t.Errorf("exit code %d, last line %q", code, last)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || stdout.Len() != 0 {
		t.Errorf("left behind: %v, %v; printed %q", list, err, stdout.String())
	}
}
