//go:build unix

package main

import "golang.org/x/sys/unix"

// become makes this process one of another program, with the same number, files and parent. It returns if it cannot.
func become(path string, args, env []string) error { return unix.Exec(path, args, env) }
