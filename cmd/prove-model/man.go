package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
)

// newMan writes what packagers need.
func newMan() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages, one for each command",
		Args:  cobra.ExactArgs(1),
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, args []string) (err error) {
			must.OK(os.MkdirAll(args[0], 0o755))
			files := outputsOf(cmd.Flags(), cfg, false)
			defer files.abort()
			must.OK(writePages(cmd.Root(), files, args[0]))
			return files.place()
		}),
	}
	config.AddFlags(cmd.Flags(), "force")
	return cmd
}

// writePages writes the manual pages of a command and of those below it.
func writePages(c *cobra.Command, files *outputs, folder string) (err error) {
	defer must.Catch(&err)
	if !hasPage(c) {
		return nil
	}
	page := must.Get(files.create("", filepath.Join(folder, pageOf(c)+".1"), manualFile))
	must.OK(page.write([]byte(manual(c))))
	for _, sub := range c.Commands() {
		must.OK(writePages(sub, files, folder))
	}
	return nil
}

// hasPage says whether a command has a page: all have but help.
func hasPage(c *cobra.Command) bool { return !c.HasParent() || c.IsAvailableCommand() }

// pageOf is the name of a command's page.
func pageOf(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manual is the page of a command, in roff. Cobra's would be made by way of Markdown, with a library that takes
// time and memory whenever any command starts.
func manual(c *cobra.Command) string {
	c.InitDefaultHelpFlag()
	var b strings.Builder
	fmt.Fprintf(&b, ".nh\n.TH %q \"1\" %q \"prove-model\" \"prove-model\"\n", strings.ToUpper(pageOf(c)), builtFrom().Format("Jan 2006"))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", pageOf(c), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fP\n", roff(c.UseLine()))
	b.WriteString(".SH DESCRIPTION\n")
	describe(&b, cmp.Or(c.Long, c.Short))
	b.WriteString(".SH OPTIONS\n")
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		fmt.Fprintf(&b, ".TP\n%s\n%s\n", option(f), roff(f.Usage))
	})
	var others []string
	if c.HasParent() {
		others = append(others, pageOf(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if hasPage(sub) {
			others = append(others, pageOf(sub))
		}
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n\\fB%s\\fP(1)\n", strings.Join(others, "\\fP(1), \\fB"))
	return b.String()
}

// describe writes paragraphs. Lines that are indented are examples, and stay lines of their own.
func describe(b *strings.Builder, text string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(strings.Trim(paragraph, "\n"), "\n")
		example := !slices.ContainsFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "\t") })
		heading, isHeading := strings.CutPrefix(paragraph, "#### ") // in cobra's commands
		switch {
		case isHeading:
			fmt.Fprintf(b, ".SS %s\n", roff(heading))
			continue
		case example:
			b.WriteString(".PP\n.EX\n")
		case i > 0:
			b.WriteString(".PP\n")
		}
		for _, line := range lines {
			fmt.Fprintln(b, roff(line))
		}
		if example {
			b.WriteString(".EE\n")
		}
	}
}

// option is a flag with its default, in brackets where it may stand alone.
func option(f *pflag.Flag) string {
	name, value := `\fB--`+f.Name+`\fP`, "="+roff(f.DefValue)
	if f.Shorthand != "" {
		name = `\fB-` + f.Shorthand + `\fP, ` + name
	}
	if f.Value.Type() == "string" {
		value = `="` + value[1:] + `"`
	}
	if f.NoOptDefVal != "" {
		value = "[" + value + "]"
	}
	return name + value
}

// quoted is what stands in backquotes: the name of a value, or what is typed.
var quoted = regexp.MustCompile("`([^`]*)`")

// roff is a line, or what stands in one, with nothing that the formatter takes for its own.
func roff(line string) string {
	line = quoted.ReplaceAllString(strings.ReplaceAll(line, `\`, `\e`), `\fB$1\fP`)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}

// builtFrom is the date of the commit that the program was built from, so that the
// pages of two builds are the same; today if it is not known.
func builtFrom() time.Time {
	if t, err := time.Parse(time.RFC3339, program.BuildSetting("vcs.time")); err == nil {
		return t
	}
	return time.Now()
}
