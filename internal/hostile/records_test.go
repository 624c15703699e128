package hostile

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/serve/receipt"
	"github.com/prove-model/prove-model/prover/machine/ledger"
)

// records are what is kept beside keys and proofs: ledgers of secrets, ranges, and the receipts of servers.
var records = []entry{
	{"ledger: one line", counts, one("a.secret", ledgerHead+strings.Repeat("a ", 1<<19-20))},
	{"ledger: empty lines", counts, one("a.secret", ledgerHead+strings.Repeat("\n", 1<<19))},
	{"ledger: damaged at its end", counts, spent(used, "used 00000000000000000000000000000000 9999999999 00000000\n")},
	{"ledger: many shares", counts, spent(func(i int) string { return fmt.Sprintf("at a b c %d/20000", i+1) }, "a\n")},
	{"ranges: nested", ranges, one("a.json", strings.Repeat(`{"ranges":`, 1<<16))},
	{"ranges: many", ranges, func() files {
		var b strings.Builder
		for i := range 30000 {
			fmt.Fprintf(&b, `,"v%d":{"min":-1,"max":1e999}`, i)
		}
		return files{"a.json": `{"ranges":{` + b.String()[1:] + "}}"}
	}},
	{"receipt: nested", signs, one("a.json", `{"text":`+strings.Repeat("[", 1<<19))},
	{"receipt: many inputs", signs, func() files {
		var b strings.Builder
		for i := range 60000 {
			fmt.Fprintf(&b, `,"i%d":""`, i)
		}
		return files{"a.json": `{"version":1,"inputs":{` + b.String()[1:] + `},"public_key":"` + strings.Repeat("A", 43) + `="}`}
	}},
	{"receipt: a long number", signs, one("a.json", `{"version":1,"created":`+strings.Repeat("9", 1<<20-40)+"}")},
}

const ledgerHead = "prove-model secret 3\n"

func used(i int) string { return fmt.Sprintf("used %032x 1", i) }

// spent is a ledger of as many entries as fit, and something behind them.
func spent(entry func(i int) string, behind string) func() files {
	return func() files {
		var b strings.Builder
		b.WriteString(ledgerHead)
		var state [sha256.Size]byte
		line := func(text string) {
			state = sha256.Sum256(append(state[:], text...))
			fmt.Fprintf(&b, "%s %x\n", text, state[:4])
		}
		line("seed " + strings.Repeat("00", 32))
		line("key " + strings.Repeat("00", 32))
		line("rows 10 4")
		line(fmt.Sprint("positions ", 1<<30))
		line("at a b c 1/1")
		for i := range 19000 {
			line(entry(i))
		}
		return files{"a.secret": b.String() + behind}
	}
}

func counts(dir string) error {
	l, err := ledger.Open(filepath.Join(dir, "a.secret"))
	if err != nil {
		return err
	}
	_, err = l.Budget()
	return err
}

func ranges(dir string) error {
	f, err := os.Open(filepath.Join(dir, "a.json"))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = provemodel.ReadRanges(f)
	return err
}

func signs(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "a.json"))
	if err != nil {
		return err
	}
	_, err = receipt.Read(data, "")
	return err
}
