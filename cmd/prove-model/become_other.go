//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
)

// become runs another program with the standard files of this process, and ends with the same exit code. It returns only if the program
// cannot be run. An interrupt reaches both processes; this one ignores it.
func become(path string, args, env []string) error {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	cmd := &exec.Cmd{Path: path, Args: args, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err == nil || errors.As(err, &exit) {
		os.Exit(cmd.ProcessState.ExitCode())
	}
	return err
}
