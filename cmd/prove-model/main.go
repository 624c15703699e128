// Command prove-model proves that a committed, quantised model gives an output on an
// input, and verifies such proofs. Most files hold one subcommand.
package main

import (
	"io"
	"os"

	"github.com/prove-model/prove-model/internal/program"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	return program.Run(rootFor(args), args, stdout, stderr)
}
