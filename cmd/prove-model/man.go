package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/prove-model/prove-model/config"
)

// newMan writes what packagers need.
func newMan() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages, one for each command",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := load(cmd)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			forManual(root)
			files := outputsOf(cmd.Flags(), cfg, false)
			defer files.abort()
			if err := writePages(root, files, args[0]); err != nil {
				return err
			}
			return files.place()
		},
	}
	config.AddFlags(cmd.Flags(), "force")
	return cmd
}

// writePages writes the manual pages of a command and of those below it.
func writePages(c *cobra.Command, files *outputs, folder string) error {
	if !c.IsAvailableCommand() && c.HasParent() || c.IsAdditionalHelpTopicCommand() {
		return nil
	}
	page, err := files.create("", filepath.Join(folder, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"), manualFile)
	if err != nil {
		return err
	}
	if err := doc.GenMan(c, &doc.GenManHeader{Source: "prove-model", Manual: "prove-model", Date: builtFrom()}, page); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if err := writePages(sub, files, folder); err != nil {
			return err
		}
	}
	return nil
}

// forManual makes Markdown of descriptions, which is what manual pages are made from:
// lines that begin with two spaces are examples, and stay lines of their own.
func forManual(c *cobra.Command) {
	plain := strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`)
	lines := strings.Split(c.Long, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line
		} else {
			lines[i] = plain.Replace(line)
		}
	}
	c.Long = strings.Join(lines, "\n")
	c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "<", `\<`) })
	for _, sub := range c.Commands() {
		forManual(sub)
	}
}

// builtFrom is the date of the commit that the program was built from, so that the
// pages of two builds are the same; nil, which stands for today, if it is not known.
func builtFrom() *time.Time {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
				return &t
			}
		}
	}
	return nil
}
