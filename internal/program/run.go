// Package program has what the programs prove-model and prove-model-server share: how a command
// line is run and how it ends, how settings are read, and the flags of the commands serve and
// worker, which prove-model hands on to prove-model-server.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/ui"
)

// Exit codes.
const (
	ExitOK         = 0
	ExitNotValid   = 1 // verify: the proof does not hold; check-key: the key is not the model's
	ExitError      = 2 // usage, input or output, interruption
	ExitInaccurate = 3 // the run is further from the float model than --max-error
)

// Run executes a command line and returns the exit code.
func Run(root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for a clean stop; a second one ends the process.
	context.AfterFunc(ctx, stop)

	out := &printer{w: stdout}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return job.WithHint(config.FlagError(err), "see "+cmd.CommandPath()+" --help")
	})
	root.SetUsageFunc(usage)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	code := conclude(ctx, out, stderr, err, func() bool { return asJSON(cmd, args) })
	if out.err != nil {
		fmt.Fprintf(stderr, "prove-model: standard output: %v; what was to be printed is not complete\n", out.err)
		if code == ExitOK {
			code = ExitError
		}
	}
	return code
}

// conclude reports the error that ended a command, if any, and returns the exit code.
func conclude(ctx context.Context, out *printer, stderr io.Writer, err error, asJSON func() bool) int {
	var f Failed
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, provemodel.ErrInvalid), errors.Is(err, provemodel.ErrOtherModel):
		// The command has reported it, as text or JSON.
		return ExitNotValid
	case ctx.Err() != nil:
		f = Failed{Error: "interrupted; no file was written", Code: ExitError}
	default:
		f = Failed{Error: err.Error(), Hint: job.Hint(err), Code: ExitError}
		if off := (*provemodel.AccuracyError)(nil); errors.As(err, &off) {
			f.Code = ExitInaccurate
		}
	}
	fmt.Fprintln(stderr, "prove-model: "+ui.PrintableLines(f.Error))
	if f.Hint != "" {
		fmt.Fprintln(stderr, "hint: "+ui.PrintableLines(f.Hint))
	}
	if !out.used && asJSON() {
		_ = ui.JSON(out, f) // out remembers the error
	}
	return f.Code
}

// Failed is what --json prints for a command that ends with an error and has not printed a result.
type Failed struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
	Code  int    `json:"exit_code"`
}

// asJSON says whether a command prints JSON. The command may have failed before it had read its settings.
func asJSON(cmd *cobra.Command, args []string) bool {
	f := cmd.Flags().Lookup("json")
	switch {
	case f == nil:
		return false
	case f.Changed:
		return f.Value.String() == "true"
	case slices.Contains(args, "--json"), slices.Contains(args, "--json=true"): // flags behind one that is unknown were not parsed
		return true
	}
	cfg, _ := config.Load(cmd.Flags()) // with an error, the settings that could be read
	return cfg != nil && cfg.JSON
}

// printer is standard output. It remembers the first error of writing, since the functions that print lines and tables
// ignore errors.
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
