// Command prove-model-server is what `prove-model serve` and `prove-model worker` become: the programs
// that answer over HTTP, and that prove what others have answered. Each file holds one subcommand.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/program"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	return program.Run(newRoot(program.Front()), args, stdout, stderr)
}

// newRoot returns the commands, for somebody who may have typed prove-model, which is then of the build front.
func newRoot(front string) *cobra.Command {
	root := &cobra.Command{
		Use:   "prove-model-server",
		Short: "Serve models and prove the answers: prove-model serve and prove-model worker",
		Args:  program.NoArgs,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	if front != "" {
		root.Use = "prove-model"
	}
	if front != "" && front != program.Build() { // whose flags may be others
		root.Args, root.DisableFlagParsing = cobra.ArbitraryArgs, true
		root.RunE = func(*cobra.Command, []string) error { return otherBuild(front) }
		return root
	}
	root.AddCommand(newServe(), newWorker())
	return root
}

// otherBuild refuses another build of prove-model than this program's: keys and receipts of builds may differ, and people would look for
// the difference elsewhere.
func otherBuild(front string) error {
	self, err := os.Executable()
	if err != nil {
		self = "prove-model-server"
	}
	return job.WithHint(fmt.Errorf("prove-model is of version %s, and %s of %s", front, self, program.Build()), "install both from the same commit")
}
