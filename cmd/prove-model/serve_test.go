package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/prove-model/prove-model/internal/program"
)

// standIn is a program in the server's place: it says what it was given, waits for a line, or for a signal, and ends with a code of its own.
// What the real one does is tested in cmd/prove-model-server.
func standIn() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	fmt.Printf("%d %q %q\n", os.Getpid(), os.Args[1:], program.Front())
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		line <- text
	}()
	select {
	case text := <-line:
		fmt.Fprint(os.Stderr, "read ", text)
		os.Exit(7)
	case <-ended:
		os.Exit(8)
	}
}

// elsewhere puts the command alone into a folder, under the name by which TestMain knows it.
func elsewhere(t *testing.T, put func(from, to string) error) (path string) {
	t.Helper()
	from, err := exec.LookPath("prove-model")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(folder, filepath.Base(from))
	if err := put(from, path); err != nil {
		t.Skip(err)
	}
	return path
}

// TestServerIsFound: serve and worker are those of prove-model-server, beside the command, wherever it is called from, or on the path. They
// get what was typed, the files and the signals, and their exit code is the command's.
func TestServerIsFound(t *testing.T) {
	beside, err := exec.LookPath("prove-model")
	if err != nil {
		t.Fatal(err)
	}
	folder, nowhere := filepath.Dir(beside), t.TempDir()
	for name, c := range map[string]struct {
		command, path string
		line          []string
		got           string
	}{
		"beside":            {beside, nowhere, []string{"serve", "--model", "a b", "--quiet"}, `["serve" "--model" "a b" "--quiet"]`},
		"behind a link":     {elsewhere(t, os.Symlink), nowhere, []string{"worker", "--workers=0"}, `["worker" "--workers=0"]`},
		"on the path":       {elsewhere(t, os.Link), folder, []string{"--json", "serve", "--model", "worker"}, `["serve" "--json" "--model" "worker"]`},
		"told to end":       {beside, nowhere, []string{"serve"}, `["serve"]`},
		"nowhere":           {elsewhere(t, os.Link), nowhere, []string{"serve"}, ""},
		"nowhere, its help": {elsewhere(t, os.Link), nowhere, []string{"serve", "--help"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(c.command, c.line...)
			cmd.Env = append(os.Environ(), "PATH="+c.path)
			var log bytes.Buffer
			cmd.Stderr = &log
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			out := bufio.NewReader(stdout)
			said, _ := out.ReadString('\n')
			code, want := 7, "read on\n"
			switch {
			case name == "nowhere":
				code, want = program.ExitError, "prove-model: serve is a command of the program prove-model-server: it is neither beside "+c.command+" nor in $PATH\nhint: take both files"
			case name == "nowhere, its help":
				code, want = program.ExitOK, ""
			case name == "told to end" && runtime.GOOS != "windows":
				code, want = 8, ""
				err = cmd.Process.Signal(syscall.SIGTERM)
			default:
				_, err = io.WriteString(stdin, "on\n")
			}
			if err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(out)
			err = cmd.Wait()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != code || !strings.HasPrefix(log.String(), want) {
				t.Errorf("exit code %d: %s", got, log.String())
			}
			if c.got == "" {
				if help := strings.HasPrefix(string(rest), "\n  prove-model serve --model FOLDER"); help != (code == program.ExitOK) {
					t.Errorf("%s%s", said, rest)
				}
				return
			}
			pid, given, _ := strings.Cut(strings.TrimSpace(said), " ")
			if given != fmt.Sprintf("%s %q", c.got, program.Build()) || runtime.GOOS != "windows" && pid != fmt.Sprint(cmd.Process.Pid) {
				t.Errorf("process %d: %s", cmd.Process.Pid, said)
			}
		})
	}
}
