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

// newMan returns the command man, which packagers use.
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

// hasPage says whether a command has a manual page: all have except help.
func hasPage(c *cobra.Command) bool { return !c.HasParent() || c.IsAvailableCommand() }

// pageOf returns the name of a command's page.
func pageOf(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manual returns the page of a command, in roff. Cobra can make such pages only by way of Markdown, with a
// library that takes time and memory whenever any command starts.
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

// describe writes paragraphs. A paragraph of indented lines is an example, whose lines are kept.
func describe(b *strings.Builder, text string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(strings.Trim(paragraph, "\n"), "\n")
		example := !slices.ContainsFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "\t") })
		heading, isHeading := strings.CutPrefix(paragraph, "#### ") // in the help of cobra's own commands
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

// option returns a flag with its default; the default is in brackets if the flag may stand without a value.
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

// quoted matches text in backquotes: the name of a value, or something that is typed.
var quoted = regexp.MustCompile("`([^`]*)`")

// roff escapes a line, or a part of one, so that the formatter takes nothing in it as a command. Text in backquotes
// becomes bold.
func roff(line string) string {
	line = quoted.ReplaceAllString(strings.ReplaceAll(line, `\`, `\e`), `\fB$1\fP`)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}

// builtFrom returns the date of the commit that the program was built from, so that the
// pages of two builds of it are the same; today if it is not known.
func builtFrom() time.Time {
	if t, err := time.Parse(time.RFC3339, program.BuildSetting("vcs.time")); err == nil {
		return t
	}
	return time.Now()
}
