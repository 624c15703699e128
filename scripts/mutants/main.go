// Command mutants makes keys and proofs on which the verifiers of this repository are compared. The keys are built
// by hand, or are those of the golden cases with the structure of their circuits changed; the proofs are honest
// where the prover takes the key. Golden files that were altered come last. It prints a line of JSON for each key with its
// proof and the verdict of package verifier, with which scripts/verify-mutants.py compares the second
// verifier's. With -judge it compares the verdict with that of the third verifier, in Rust, and prints the differences.
//
//	go run ./scripts/mutants [-count 100] [-altered 0] [-seed 1] [-judge rust/target/release/judge]
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/verifier"
)

// largest is the most bytes of a golden key that is mutated, because verifying in Python takes long.
const largest = 3000

// A line is a key with a proof, and the verdicts of package verifier.
type line struct {
	Name     string // the case, and what was changed
	Former   []byte `json:",omitempty"` // for a link: the key that Key replaces
	Key      []byte
	Proof    []byte // the proof, or the link
	Honest   bool   // the proof was made for this key
	Readable bool   // the key can be read
	Valid    bool   // the key can be read, and the proof or link is valid
	Reason   string // why it is not valid
	Built    bool   // the line is built by hand or a golden link: all verifiers must have the verdict Want
	Want     bool
}

var (
	folder  = flag.String("golden", "testdata/golden", "the golden cases")
	masked  = flag.String("masked", "testdata/masked", "the masked proofs")
	linked  = flag.String("links", "testdata/links", "the links")
	count   = flag.Int("count", 100, "number of keys, beside those built by hand")
	changed = flag.Int("altered", 0, "number of golden files that are altered")
	seed    = flag.Uint64("seed", 1, "the same one makes the same files")
	program = flag.String("judge", "", "the third verifier, which every verdict is held against")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	defer must.Catch(&err)
	if *program == "" {
		return each(printed())
	}
	j := must.Get(newJudge(*program))
	must.OK(each(j.hold))
	return j.end()
}

// printed returns a function that prints lines.
func printed() func(*line) error {
	out := bufio.NewWriter(os.Stdout)
	enc := json.NewEncoder(out)
	return func(l *line) error {
		if err := enc.Encode(l); err != nil {
			return err
		}
		return out.Flush()
	}
}

// each calls say with a line for each key that is built by hand, each mutant, each link and each altered file.
func each(say func(*line) error) (err error) {
	defer must.Catch(&err)
	all := must.Get(golden.ReadAll(*folder))
	var cases []*golden.Case
	for _, c := range all {
		if len(c.Want.Key) <= largest {
			cases = append(cases, c)
		}
	}
	if len(cases) < 10 {
		return fmt.Errorf("only %d cases in %s", len(cases), *folder)
	}
	for _, b := range allBuilt() {
		must.OK(say(b.line()))
	}
	for _, l := range bases() {
		must.OK(say(l))
	}
	// Each line has a random generator of its own, so that it does not depend on the other lines.
	generator := func(n int) *rand.Rand { return rand.New(rand.NewPCG(*seed, uint64(n))) }
	for n := range *count {
		rng := generator(n)
		must.OK(say(mutant(cases[rng.IntN(len(cases))], rng)))
	}
	files := parsed(append(all, must.Get(golden.ReadMasked(*masked))...))
	links := parsedLinks(must.Get(golden.ReadLinks(*linked)))
	for _, l := range links {
		must.OK(say(l.line()))
	}
	for n := range (*count + *changed) / linkShare {
		must.OK(say(alteredLink(links, generator(1<<33+n))))
	}
	for n := range *changed {
		must.OK(say(altered(files, generator(1<<32+n))))
	}
	return nil
}

// linkShare says that there is one altered link for so many changed keys and files.
const linkShare = 8

// tries is the most mutations that are drawn to find a key that can be proved. Most keys that
// are changed at random cannot.
const tries = 12

// mutant returns a changed case. It draws changes until the changed key can be proved, at most tries times; otherwise the proof is the
// golden one under the changed key's name.
func mutant(c *golden.Case, rng *rand.Rand) *line {
	l := &line{}
	for range 1 + rng.IntN(tries) {
		m := newMutation(c.Want.Key, rng)
		for range 1 + rng.IntN(3) {
			m.change()
		}
		file := m.encode()
		l = &line{Name: c.Name + ": " + strings.Join(m.what, ", "), Key: file}
		if made := prove(c, file, rng); made != nil {
			l.Key, l.Proof, l.Honest = made.Key, made.Proof, true
			break
		}
		l.Proof = renamed(c.Want, file)
	}
	l.judge()
	return l
}

// judge sets the verdicts of package verifier on a key and a proof.
func (l *line) judge() {
	var key *proof.Key
	l.judged(func() (err error) {
		defer must.Catch(&err)
		key = must.Get(proof.DecodeKey(l.Key))
		return plan.CheckSizes(must.Get(key.Circuit.At(key.Circuit.Unit())))
	}, func() error {
		_, err := verifier.Verify(key, bytes.NewReader(l.Proof))
		return err
	})
}

// judged sets the verdicts: whether the key can be read, by read, and whether the proof is valid, by verify.
func (l *line) judged(read, verify func() error) {
	err := read()
	if l.Readable = err == nil; l.Readable {
		err = verify()
	}
	if l.Valid = err == nil; !l.Valid {
		l.Reason = err.Error()
	}
}
