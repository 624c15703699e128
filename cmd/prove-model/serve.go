package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/program"
)

// server is the program that serves. It is separate since proving and verifying need no store, broker or metrics, which make up half of
// it.
const server = "prove-model-server"

// newServe returns the command serve.
func newServe() *cobra.Command { return handedOn(program.Serve()) }

// newWorker returns the command worker.
func newWorker() *cobra.Command { return handedOn(program.Worker()) }

// handedOn makes a command run the server's program, in the place of this process.
func handedOn(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := findServer()
		if err != nil {
			return job.WithHint(fmt.Errorf("%s is a command of the program %s: %w", cmd.Name(), server, err),
				"take both files of the archive, or go install github.com/prove-model/prove-model/cmd/"+server+"@"+cmp.Or(program.Commit(), "latest"))
		}
		_, rest, err := cmd.Root().Find(os.Args[1:])
		if err != nil {
			return err
		}
		// From here on the server handles signals. A signal that came before this is handled here.
		signal.Reset(os.Interrupt, syscall.SIGTERM)
		if err := context.Cause(cmd.Context()); err != nil {
			return err
		}
		if err := become(path, append([]string{server, cmd.Name()}, rest...), program.AsFront()); err != nil {
			return fmt.Errorf("%s cannot be started: %w", path, err)
		}
		return nil
	}
	return cmd
}

// findServer looks for the server's program beside this one, and then on the path.
func findServer() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), server)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(server)
	if err != nil {
		return "", fmt.Errorf("it is neither beside %s nor in $PATH", cmp.Or(self, "this one"))
	}
	return path, nil
}
