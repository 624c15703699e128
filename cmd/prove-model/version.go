package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/prove-model/prove-model/internal/program"
)

// newVersion returns the command version.
func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and how it was built",
		Args:  program.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), builtAs())
			return err
		},
	}
}

// builtAs returns the version of the program, and how it was built.
func builtAs() string {
	return fmt.Sprintf("prove-model %s %s %s/%s", program.Build(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
