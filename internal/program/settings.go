package program

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/ui"
)

// Load returns the command's settings and puts the number of threads into
// effect.
func Load(cmd *cobra.Command) (*config.Config, error) {
	cfg, err := config.Load(cmd.Flags())
	if err != nil {
		return nil, job.WithHint(err, "see "+cmd.CommandPath()+" --help")
	}
	if cfg.Threads > 0 {
		runtime.GOMAXPROCS(cfg.Threads)
	}
	return cfg, nil
}

// Progress returns the observer that shows a command's work on standard error.
func Progress(cmd *cobra.Command, cfg *config.Config) *ui.Phases {
	if cfg.ProgressJSON {
		return ui.NewEvents(cmd.ErrOrStderr())
	}
	return ui.NewPhases(cmd.ErrOrStderr(), cfg.Quiet)
}

// NoArgs refuses positional arguments with a way out: a model or proof file
// named without its flag is the likely mistake.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return job.WithHint(fmt.Errorf("unexpected argument %q", args[0]),
		"files are named by flags, such as --model x.onnx; see "+cmd.CommandPath()+" --help")
}

// usage prints how a command is called, with its flags in groups. It uses no template of
// cobra's: package text/template calls methods by name, so the linker would keep all methods
// that exist, which would make the command a third larger and slower to start.
func usage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() {
		fmt.Fprintf(&b, "\n  %s", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n  %s [command]\n\nAvailable Commands:", c.CommandPath())
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\n\n%s", config.Help(c.LocalFlags()))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	_, err := fmt.Fprintln(c.OutOrStderr(), b.String())
	return err
}
