package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	provemodel "github.com/prove-model/prove-model"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and how it was built",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), builtAs())
			return err
		},
	}
}

// builtAs is the version of the program, and how it was built.
func builtAs() string {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
	}
	return fmt.Sprintf("prove-model %s%s %s %s/%s", provemodel.Version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
