//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
)

// become runs another program with the files of this process, and ends as that does. It returns if it cannot. An interrupt reaches both:
// it is for the other.
func become(path string, args, env []string) error {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	cmd := &exec.Cmd{Path: path, Args: args, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err == nil || errors.As(err, &exit) {
		os.Exit(cmd.ProcessState.ExitCode())
	}
	return err
}
