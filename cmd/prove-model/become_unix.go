//go:build unix

package main

import "golang.org/x/sys/unix"

// become replaces this process by another program, with the same process id, files and parent. It returns only if it
// fails.
func become(path string, args, env []string) error { return unix.Exec(path, args, env) }
