package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/prove-model/prove-model/internal/must"
)

// A judge is the third verifier. One program checks keys and proofs, and another one links.
type judge struct {
	proofs, links *handed

	lines, valid, refused int            // how many lines there were, and how many the command accepted and refused
	differ                int            // how many verdicts differ
	causes                map[string]int // how often both refused for different causes, by the pair of causes
}

// handed is a running program that reads files from its input and writes a line for each verdict.
type handed struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

func newJudge(program string) (*judge, error) {
	proofs, err := start(exec.Command(program))
	if err != nil {
		return nil, err
	}
	links, err := start(exec.Command(program, "links"))
	return &judge{proofs: proofs, links: links, causes: map[string]int{}}, err
}

func start(c *exec.Cmd) (_ *handed, err error) {
	defer must.Catch(&err)
	c.Stderr = os.Stderr
	in := must.Get(c.StdinPipe())
	out := must.Get(c.StdoutPipe())
	h := &handed{c, in, bufio.NewScanner(out)}
	h.out.Buffer(nil, 1<<20)
	return h, c.Start()
}

// ask sends files to the program, and returns its answer; there is false if there is none.
func (h *handed) ask(files ...[]byte) (answer string, there bool, err error) {
	for _, b := range files {
		if _, err := h.in.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)); err != nil {
			return "", false, fmt.Errorf("the judge is gone: %w", err)
		}
	}
	there = h.out.Scan()
	return h.out.Text(), there, nil
}

func (h *handed) end() error {
	if err := h.in.Close(); err != nil {
		return err
	}
	if err := h.command.Wait(); err != nil {
		return fmt.Errorf("the judge: %w", err)
	}
	return nil
}

// kept is the folder for files about which the two verifiers differ.
const kept = "dist/mutants"

// hold compares a line's verdict with the judge's, and counts the result. It keeps the files if they differ.
func (j *judge) hold(l *line) error {
	to, files := j.proofs, [][]byte{l.Key, l.Proof}
	if l.Former != nil {
		to, files = j.links, [][]byte{l.Former, l.Key, l.Proof}
	}
	answer, there, err := to.ask(files...)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("the judge has no answer to %s: %w", l.Name, j.keep(l))
	}
	verdict, reason, _ := strings.Cut(answer, " ")
	want := "proof"
	switch {
	case l.Valid:
		want = "valid"
		j.valid++
	case !l.Readable:
		want = "key"
	}
	if j.lines++; want != "valid" {
		j.refused++
	}
	if l.Built && l.Want != l.Valid {
		j.differ++
		fmt.Fprintf(os.Stderr, "mutants: %s: docs/proof-format.md says that it is valid: %t\n", l.Name, l.Want)
	}
	// The verifiers may differ in whether they refuse the key or the proof, for example when one of them is too large. So only valid or not
	// is compared.
	if verdict != want && (verdict == "valid" || want == "valid") {
		j.differ++
		fmt.Fprintf(os.Stderr, "mutants: %d: %s: the command says %s (%s), the judge %s (%s)\n", j.lines-1, l.Name, want, l.Reason, verdict, reason)
		return j.keep(l)
	}
	if !same(l.Reason, reason) {
		j.causes[cause(l.Reason)+"\n\t"+cause(reason)]++
	}
	return nil
}

func (j *judge) keep(l *line) (err error) {
	defer must.Catch(&err)
	must.OK(os.MkdirAll(kept, 0o755))
	name := filepath.Join(kept, fmt.Sprint(j.lines-1))
	must.OK(os.WriteFile(name+".vk", l.Key, 0o644))
	if l.Former != nil {
		must.OK(os.WriteFile(name+".former.vk", l.Former, 0o644))
	}
	return os.WriteFile(name+".proof", l.Proof, 0o644)
}

// end prints the results. It returns an error if verdicts differ, or if too many files are refused for different causes.
func (j *judge) end() error {
	if err := errors.Join(j.proofs.end(), j.links.end()); err != nil {
		return err
	}
	var list []string
	other := 0
	for pair, n := range j.causes {
		other += n
		list = append(list, fmt.Sprintf("%6d %s", n, pair))
	}
	sort.Sort(sort.Reverse(sort.StringSlice(list)))
	fmt.Printf("mutants: two verifiers say the same of %d files, of which %d are valid; of %d of the others they name another cause\n",
		j.lines-j.differ, j.valid, other)
	for _, pair := range list {
		fmt.Println(pair)
	}
	switch {
	case j.differ > 0:
		return fmt.Errorf("%d files have two verdicts; see %s", j.differ, kept)
	case other*mostOther > j.refused:
		return fmt.Errorf("%d of %d files are refused for different causes", other, j.refused)
	}
	return nil
}

// mostOther says that one in so many refused files may be refused for different causes: a file may have several faults, and the
// verifiers may find different ones first.
const mostOther = 100

var (
	malformed = regexp.MustCompile(`(proof is not valid|malformed key|malformed link|malformed|proof): `)
	indexes   = regexp.MustCompile(`[[{][^]}]*[]}]`)
	many      = regexp.MustCompile(`(Frame|Key)[.a-z_]*: too many messages`)
	truncated = regexp.MustCompile(`proof is truncated: .*`)
	details   = regexp.MustCompile(`[0-9a-f]{64}|"[^"]*"|-?\d+(\.\d+)?`)
)

// cause is a reason without its details, such as numbers and names.
func cause(reason string) string {
	reason = indexes.ReplaceAllString(malformed.ReplaceAllString(reason, ""), "")
	reason = truncated.ReplaceAllString(many.ReplaceAllString(reason, "$1: too many messages"), "proof is truncated")
	return details.ReplaceAllString(reason, "…")
}

// length matches causes that are about the length of a message. The command checks the length before it reads a message, and the judge
// after it. So the judge may name another fault of the same message first.
var length = regexp.MustCompile(`^(commitments|chunk …|io|opening|the public values|the end): (a stream of … bytes, … are due|frame of … bytes is over the limit of …)`)

// same says whether two reasons name the same cause.
func same(command, judge string) bool {
	a, b := cause(command), cause(judge)
	if a == b {
		return true
	}
	m := length.FindStringSubmatch(a)
	if m == nil {
		return false
	}
	// places are the judge's names of the parts of this message: of the sub-transcript in the message io, and of the public values.
	places := map[string][]string{"io": {"io", "outputs"}, "the public values": {"the public values", "inputs", "outputs", "no public values"}}[m[1]]
	if places == nil {
		places = []string{m[1]}
	}
	return slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(b, place) }) ||
		strings.HasSuffix(b, "where "+m[1]+" is due") || b == "ends within "+m[1] ||
		m[1] == "the end" && b == "a frame after the last one due"
}
