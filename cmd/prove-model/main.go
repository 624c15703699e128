// Command prove-model proves that a committed, quantised model gives an output
// on an input, and verifies such proofs. Each file holds one subcommand.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/job"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK         = 0
	exitNotValid   = 1 // verify: the proof does not hold; check-key: the key is not the model's
	exitError      = 2 // usage, input or output, interruption
	exitInaccurate = 3 // the run is further from the float model than --max-error
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for a clean stop; a second one ends the process.
	context.AfterFunc(ctx, stop)

	cmd := newRoot()
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, provemodel.ErrInvalid), errors.Is(err, provemodel.ErrOtherModel):
		// The command has reported it, as text or JSON.
		return exitNotValid
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "prove-model: interrupted; no file was written")
		return exitError
	}
	fmt.Fprintln(stderr, "prove-model: "+ui.PrintableLines(err.Error()))
	if hint := job.Hint(err); hint != "" {
		fmt.Fprintln(stderr, "hint: "+ui.PrintableLines(hint))
	}
	if off := (*provemodel.AccuracyError)(nil); errors.As(err, &off) {
		return exitInaccurate
	}
	return exitError
}

// noArgs refuses positional arguments with a way out: a model or proof file
// named without its flag is the likely mistake.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return job.WithHint(fmt.Errorf("unexpected argument %q", args[0]),
		"files are named by flags, such as --model x.onnx; see "+cmd.CommandPath()+" --help")
}
