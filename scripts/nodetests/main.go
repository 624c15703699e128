// Command nodetests runs the backend tests of Python's package onnx, which
// scripts/nodetests/write.py has written to a folder, in one process. See
// scripts/node-tests.sh.
//
// A test is right if the integer model's outputs are those that the package has:
// exactly where they are integers or truth values, and otherwise within a fraction
// of their range. An input on which shapes depend, as the reader's error says, is
// fixed in the model (onnx.Options.Fixed); the table has such tests in a column of
// their own. A test that is right in the mode auto is quantised and run in the other modes
// too. These have error bounds (bars) of their own. No such test may be refused there, and
// those beyond the bar are in a list.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/prove-model/prove-model/internal/must"
)

// test is an entry of index.json.
type test struct {
	Name string
	Op   string
	Odd  string // if not "", why it is no test of numeric tensors
}

// The settings of a run.
var (
	data    = flag.String("data", "dist/node-tests/data", "the folder of the tests")
	only    = flag.String("only", "", "run the tests whose name matches this regular expression")
	keep    = flag.String("keep", "", "a file that lists tests which must be right")
	off     = flag.String("off", "", "a file that lists tests, after a mode, which may be beyond that mode's bar")
	update  = flag.Bool("update", false, "write these files instead")
	prove   = flag.Duration("prove", 20*time.Minute, "for this long prove those that are right as well, and verify that altered proofs are refused; 0: none")
	seed    = flag.Uint64("seed", 1, "of the order of the tests, and of what is altered")
	limit   = flag.Duration("limit", 60*time.Second, "give a test up after that time")
	table   = flag.String("table", "", "write the table by operator, as Markdown, to this file")
	drawn   = flag.Bool("drawn", false, "the tests are graphs that draw.py has drawn: only what is off without a warning is wrong")
	verbose = flag.Bool("v", false, "print every test")
)

func main() {
	flag.Parse()
	ok, err := run(os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "nodetests:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(w io.Writer) (ok bool, err error) {
	defer must.Catch(&err)
	text := must.Get(os.ReadFile(filepath.Join(*data, "index.json")))
	var index struct {
		Onnx  string
		Tests []test
	}
	must.OK(json.Unmarshal(text, &index))
	match := must.Get(regexp.Compile(*only))
	tests := slices.DeleteFunc(index.Tests, func(t test) bool { return !match.MatchString(t.Name) })
	results := make([]result, len(tests))
	order := rand.New(rand.NewPCG(*seed, 0)).Perm(len(tests))
	end := time.Now().Add(*prove)
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for _, i := range order {
		all.Go(func() error {
			dir := filepath.Join(*data, tests[i].Name)
			results[i] = limited(*limit, func() result { return try(dir, tests[i], *drawn, end, rand.New(rand.NewPCG(*seed, uint64(i)))) })
			if *verbose {
				fmt.Fprintf(w, "%-12s %s %s\n", results[i].verdict, tests[i].Name, results[i].why)
			}
			return nil
		})
	}
	must.OK(all.Wait())
	report(w, tests, results)
	proved := 0
	for _, r := range results {
		if r.proved {
			proved++
		}
	}
	fmt.Fprintf(w, "%d of the right ones proved, and %d alterations of each proof refused\n", proved, alterations)
	if *table != "" {
		var b strings.Builder
		writeTable(&b, tests, results)
		must.OK(os.WriteFile(*table, []byte(b.String()), 0o666))
	}
	ok = true
	for i, r := range results {
		if r.verdict == wrong || r.verdict == crash {
			fmt.Fprintf(w, "%s: %s: %s\n", strings.ToUpper(string(r.verdict)), tests[i].Name, r.why)
			ok = false
		}
	}
	for _, l := range kept(tests, results) {
		fmt.Fprintf(w, "NO LONGER RIGHT: %s\n", l)
		ok = false
	}
	if *drawn {
		return ok, nil
	}
	for _, l := range inModes(w, tests, results) {
		fmt.Fprintf(w, "%s\n", l)
		ok = false
	}
	return ok, nil
}

// inModes counts the tests that are beyond the bars of the other modes. It returns a line for each test that is refused in a mode, or that
// is beyond the bar and not in the list. With -update it writes the list instead.
func inModes(w io.Writer, tests []test, results []result) (lost []string) {
	var list []string
	text := []byte{}
	if *off != "" && !*update {
		text = must.Get(os.ReadFile(*off))
	}
	listed := strings.Split(string(text), "\n")
	for k, mode := range modes {
		ran, beyond := 0, 0
		for i, r := range results {
			if r.modes == nil {
				continue
			}
			ran++
			line := mode.name + " " + tests[i].Name
			switch in := r.modes[k]; {
			case in.verdict == refused:
				lost = append(lost, fmt.Sprintf("REFUSED in mode %s: %s: %s", mode.name, tests[i].Name, in.why))
			case in.verdict == wrong:
				beyond++
				list = append(list, line)
				if *off != "" && !*update && !slices.Contains(listed, line) {
					lost = append(lost, fmt.Sprintf("BEYOND THE BAR in mode %s: %s: %s", mode.name, tests[i].Name, in.why))
				}
			}
		}
		fmt.Fprintf(w, "mode %s: %d tests, %d of them off by more than %g %% of the range\n", mode.name, ran, beyond, 100*mode.bar)
	}
	if *off != "" && *update {
		slices.Sort(list)
		must.OK(os.WriteFile(*off, []byte(strings.Join(list, "\n")+"\n"), 0o666))
	}
	return lost
}

// limited returns the result of f, or a refusal if f takes longer than limit. In that case f goes on running, and its result is dropped.
func limited(limit time.Duration, f func() result) result {
	done := make(chan result, 1)
	go func() { done <- f() }()
	select {
	case r := <-done:
		return r
	case <-time.After(limit):
		return result{verdict: refused, why: fmt.Sprintf("takes more than %v", limit)}
	}
}

// kept returns a line for each test of the list of tests that must be right which is not. With
// -update it writes the list instead.
func kept(tests []test, results []result) (lost []string) {
	if *keep == "" {
		return nil
	}
	now := map[string]verdict{}
	var names []string
	for i, t := range tests {
		now[t.Name] = results[i].verdict
		if v := results[i].verdict; v == right || v == rightFixed {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	if *update {
		must.OK(os.WriteFile(*keep, []byte(strings.Join(names, "\n")+"\n"), 0o666))
		return nil
	}
	text := must.Get(os.ReadFile(*keep))
	for _, name := range strings.Fields(string(text)) {
		if v, ran := now[name]; ran && v != right && v != rightFixed {
			lost = append(lost, fmt.Sprintf("%s: %s", name, v))
		} else if !ran && *only == "" {
			lost = append(lost, name+": there is no such test")
		}
	}
	return lost
}

// report prints the totals, the table by operator, and the refusals by reason.
func report(w io.Writer, tests []test, results []result) {
	writeTable(w, tests, results)
	type group struct {
		reason  string
		count   int
		example string
	}
	groups := map[string]*group{}
	for i, r := range results {
		if r.verdict != refused {
			continue
		}
		reason := general(r.why)
		if groups[reason] == nil {
			groups[reason] = &group{reason: reason, example: tests[i].Name}
		}
		groups[reason].count++
	}
	list := slices.SortedFunc(maps.Values(groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.reason, b.reason))
	})
	fmt.Fprintf(w, "\nrefusals, by reason:\n")
	for _, g := range list {
		fmt.Fprintf(w, "%4d  %s (%s)\n", g.count, g.reason, g.example)
	}
	counts := map[verdict]int{}
	numeric, all := 0, 0
	for i, r := range results {
		counts[r.verdict]++
		if tests[i].Odd == "" {
			numeric++
		}
		if r.all {
			all++
		}
	}
	fmt.Fprintf(w, "\n%d tests, %d of numeric tensors: %d right as they are, %d with inputs fixed, %d of them with all, %d refused, %d off with a warning, %d wrong, %d crashes\n",
		len(tests), numeric, counts[right], counts[rightFixed], all, counts[refused], counts[said], counts[wrong], counts[crash])
}

var file = regexp.MustCompile(`^(model|(in|out)put [0-9]+): [^ ]*: `)

var quoted = regexp.MustCompile(`"[^"]*"|\[[-0-9 ]*\]|[-0-9.e+]*[0-9]`)

// general is a reason for a refusal without names and numbers, so that equal reasons are counted together.
func general(why string) string {
	line, rest, _ := strings.Cut(file.ReplaceAllString(why, ""), "\n")
	if strings.HasSuffix(line, "cannot be used:") {
		line, _, _ = strings.Cut(strings.TrimSpace(rest), "\n")
	}
	op := ""
	if m := regexp.MustCompile(`"([A-Za-z0-9.]+)" "[^"]*": `).FindStringSubmatchIndex(line); m != nil {
		op, line = line[m[2]:m[3]]+": ", line[m[1]:]
	}
	return op + quoted.ReplaceAllString(line, "…")
}

// writeTable writes the table by operator.
func writeTable(w io.Writer, tests []test, results []result) {
	rows := map[string]map[verdict]int{}
	for i, t := range tests {
		if t.Odd != "" {
			continue
		}
		if rows[t.Op] == nil {
			rows[t.Op] = map[verdict]int{}
		}
		rows[t.Op][results[i].verdict]++
	}
	fmt.Fprintln(w, "| operator | right | with inputs fixed | refused |")
	fmt.Fprintln(w, "|---|---|---|---|")
	for _, op := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(w, "| %s | %d | %d | %d |\n", op, rows[op][right], rows[op][rightFixed], rows[op][refused])
	}
}
