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
	"slices"
	"syscall"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/ui"
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

	out := &printer{w: stdout}
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	code := conclude(ctx, out, stderr, err, asJSON(cmd, args))
	if out.err != nil {
		fmt.Fprintf(stderr, "prove-model: standard output: %v; what was to be printed is not complete\n", out.err)
		if code == exitOK {
			code = exitError
		}
	}
	return code
}

// conclude says what ended a command, and returns the exit code.
func conclude(ctx context.Context, out *printer, stderr io.Writer, err error, asJSON bool) int {
	var f failed
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, provemodel.ErrInvalid), errors.Is(err, provemodel.ErrOtherModel):
		// The command has reported it, as text or JSON.
		return exitNotValid
	case ctx.Err() != nil:
		f = failed{Error: "interrupted; no file was written", Code: exitError}
	default:
		f = failed{Error: err.Error(), Hint: job.Hint(err), Code: exitError}
		if off := (*provemodel.AccuracyError)(nil); errors.As(err, &off) {
			f.Code = exitInaccurate
		}
	}
	fmt.Fprintln(stderr, "prove-model: "+ui.PrintableLines(f.Error))
	if f.Hint != "" {
		fmt.Fprintln(stderr, "hint: "+ui.PrintableLines(f.Hint))
	}
	if asJSON && !out.used {
		_ = ui.JSON(out, f) // which remembers the error
	}
	return f.Code
}

// failed is what --json prints of a command that ends with an error, unless it has a document of its own.
type failed struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
	Code  int    `json:"exit_code"`
}

// asJSON says whether a command, which may have ended before it had read its settings, is to print JSON.
func asJSON(cmd *cobra.Command, args []string) bool {
	f := cmd.Flags().Lookup("json")
	switch {
	case f == nil:
		return false
	case f.Changed:
		return f.Value.String() == "true"
	case slices.Contains(args, "--json"), slices.Contains(args, "--json=true"): // behind a flag that is unknown
		return true
	}
	cfg, _ := config.Load(cmd.Flags()) // as far as it could be read
	return cfg != nil && cfg.JSON
}

// printer is standard output. It remembers the first error, since what prints tables and lines looks at none.
type printer struct {
	w    io.Writer
	used bool
	err  error
}

// Write implements io.Writer. After an error it does nothing.
func (p *printer) Write(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.w.Write(b)
	p.used, p.err = p.used || n > 0, err
	return n, err
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
