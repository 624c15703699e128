// Command mutants makes keys that are nobody's: it changes the circuits of the golden
// cases in their structure, after some that are built by hand, and proves honestly what the prover takes
// of them; and golden files that were altered. It prints, a line each as JSON, the key, a proof, and what package
// verifier says of both, which scripts/verify-mutants.py holds the second verifier against. With -judge it holds the
// third one against it, in Rust, and prints what the two do not agree about.
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

// largest is the size of a golden key that is mutated: verifying in Python takes long.
const largest = 3000

// A line is a key with a proof, and the verdicts of package verifier.
type line struct {
	Name     string // the case, and what was changed
	Former   []byte `json:",omitempty"` // of a link: the key that the other takes the place of
	Key      []byte
	Proof    []byte // or the link
	Honest   bool   // the proof was made for the key
	Readable bool   // the key is one
	Valid    bool   // and the proof proves it
	Reason   string // why not
	Built    bool   // by hand: then Want is what both verifiers have to say
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

// each says a line for each key that is built by hand, each mutant and each altered file.
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
	// generator is that of a number, so that what it draws can be made again alone.
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

// linkShare is of how many keys and files that are changed there is a link that is.
const linkShare = 8

// tries is how often a mutation is drawn again for a key that can be proved, which most that
// are changed at random cannot.
const tries = 12

// mutant changes a case until it can be proved, or long enough.
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

// judge sets the verdicts.
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

// judged sets the verdicts: whether the key can be read, and whether the proof is valid.
func (l *line) judged(read, verify func() error) {
	err := read()
	if l.Readable = err == nil; l.Readable {
		err = verify()
	}
	if l.Valid = err == nil; !l.Valid {
		l.Reason = err.Error()
	}
}
