// Command prove-model-server holds the subcommands serve and worker of prove-model, which starts it in
// its own place for them: serve answers over HTTP, and worker proves what servers have answered. Each
// file has one subcommand.
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

// newRoot returns the commands. front is the build of the prove-model that has started this program, "" if a user has
// started it directly.
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
	if front != "" && front != program.Build() { // its flags may differ from this program's
		root.Args, root.DisableFlagParsing = cobra.ArbitraryArgs, true
		root.RunE = func(*cobra.Command, []string) error { return otherBuild(front) }
		return root
	}
	root.AddCommand(newServe(), newWorker())
	return root
}

// otherBuild returns the error about a prove-model of another build than this program. Their keys and receipts might differ, and users
// would look for the reason elsewhere.
func otherBuild(front string) error {
	self, err := os.Executable()
	if err != nil {
		self = "prove-model-server"
	}
	return job.WithHint(fmt.Errorf("prove-model is of version %s, and %s of %s", front, self, program.Build()), "install both from the same commit")
}
