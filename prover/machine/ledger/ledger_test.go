package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TestMain lets a test start itself as another process, which reserves until there is nothing left or it is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("LEDGER_TEST_RESERVE"); path != "" {
		reserveAll(path, os.Getenv("LEDGER_TEST_NAME"))
	}
	os.Exit(m.Run())
}

// reserveAll prints a line for each proof that it has reserved positions for, and may open.
func reserveAll(path, name string) {
	l, err := Open(path)
	for i := 0; err == nil; i++ {
		var id ID
		copy(id[:], fmt.Sprint(name, i))
		if err = l.Reserve(id, 10); err == nil {
			fmt.Println("reserved", 10)
		}
	}
	if !errors.Is(err, ErrUsedUp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func made(t *testing.T, positions uint64) *Ledger {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	l, err := Create(filepath.Join(t.TempDir(), "m.vk.secret"), Secret{Seed: NewSeed(), Key: [32]byte{7}, RowVars: 12, TailLog: 2, Positions: positions})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func left(t *testing.T, l *Ledger) uint64 {
	t.Helper()
	b, err := l.Budget()
	if err != nil {
		t.Fatal(err)
	}
	return b.Left
}

// TestLedger: positions are counted once for a proof, across openings of the file, until they are used up; and the file is
// its owner's alone.
func TestLedger(t *testing.T) {
	l := made(t, 100)
	if info, err := os.Stat(l.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	if _, err := Create(l.Path(), l.Secret); !errors.Is(err, os.ErrExist) {
		t.Fatalf("a second secret in its place: %v", err)
	}
	for range 3 {
		if err := l.Reserve(ID{1}, 40); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Reserve(ID{1}, 41); err == nil {
		t.Error("another number of positions for one proof: no error")
	}
	again, err := Open(l.Path())
	if err != nil || again.Secret != l.Secret || left(t, again) != 60 {
		t.Fatalf("%v, %d left", err, left(t, again))
	}
	if err := again.Check(30, 2); err != nil {
		t.Error(err)
	}
	if err := again.Check(31, 2); !errors.Is(err, ErrUsedUp) {
		t.Errorf("twice 31 of 60: %v", err)
	}
	if err := again.Reserve(ID{2}, 60); err != nil {
		t.Fatal(err)
	}
	err = l.Reserve(ID{3}, 1)
	if !errors.Is(err, ErrUsedUp) || !strings.Contains(err.Error(), "may be opened at 0 more positions, and a proof takes 1: make another key") {
		t.Errorf("beyond the budget: %v", err)
	}
	if err := l.Reserve(ID{2}, 60); err != nil {
		t.Errorf("a proof that is counted already: %v", err)
	}
}

// TestKilled: whatever moment a process is killed at, what it said that it had reserved is in the ledger, and the file can be
// used on.
func TestKilled(t *testing.T) {
	const positions = 20000
	l := made(t, positions)
	for round := range 8 {
		var out bytes.Buffer
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "LEDGER_TEST_RESERVE="+l.Path(), fmt.Sprint("LEDGER_TEST_NAME=", round))
		started := &firstWrite{w: &out, seen: make(chan struct{})}
		cmd.Stdout = started
		before := left(t, l)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range round + 1 {
			<-started.seen
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		said := uint64(10 * strings.Count(out.String(), "reserved"))
		if taken := before - left(t, l); taken < said || taken > said+10 {
			t.Fatalf("round %d: %d positions are counted, %d were reserved", round, taken, said)
		}
	}
	// A line that was being written: whatever part of it is there.
	whole, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	rest := left(t, l)
	for cut := at; cut < len(whole); cut++ {
		if err := os.WriteFile(l.Path(), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := left(t, l); got != rest+10 {
			t.Fatalf("the last line cut to %d bytes: %d left, want %d", cut-at, got, rest+10)
		}
	}
}

// firstWrite says when something is written.
type firstWrite struct {
	w    *bytes.Buffer
	seen chan struct{}
}

func (f *firstWrite) Write(b []byte) (int, error) {
	select {
	case f.seen <- struct{}{}:
	default:
	}
	return f.w.Write(b)
}

// TestProcesses: processes and goroutines that use one ledger at a time take no more than there is.
func TestProcesses(t *testing.T) {
	l := made(t, 1005)
	var wg sync.WaitGroup
	counts := make([]int, 3)
	for i := range counts {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "LEDGER_TEST_RESERVE="+l.Path(), fmt.Sprint("LEDGER_TEST_NAME=", i, " "))
			out, err := cmd.Output()
			if err != nil {
				t.Error(err)
			}
			counts[i] = strings.Count(string(out), "reserved")
		})
	}
	wg.Wait()
	if n := counts[0] + counts[1] + counts[2]; n != 100 || left(t, l) != 5 {
		t.Errorf("%d proofs of 10 positions, %d left of 1005", n, left(t, l))
	}
}

// TestOlderCopies: a ledger is refused where it was not counted, and one that was put back in its place; a share that is meant
// is taken over.
func TestOlderCopies(t *testing.T) {
	l := made(t, 100)
	old, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Reserve(ID{1}, 10); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	now, _ := os.ReadFile(l.Path())
	if err := os.WriteFile(copied, now, 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := Open(copied)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"check": other.Check(10, 1), "reserve": other.Reserve(ID{2}, 10), "claim": other.Claim(Share{}), "half": other.Claim(Share{1, 2})} {
		if !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), "another file") {
			t.Errorf("%s of a copy: %v", name, err)
		}
	}
	// Divided first, and then copied: two halves.
	if err := l.Claim(Share{1, 2}); err != nil {
		t.Fatal(err)
	}
	if err := l.Claim(Share{1, 2}); err != nil { // which divides once
		t.Fatal(err)
	}
	now, _ = os.ReadFile(l.Path())
	if err := os.WriteFile(copied, now, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := other.Claim(Share{2, 2}); err != nil {
		t.Fatal(err)
	}
	if left(t, l) != 45 || left(t, other) != 45 {
		t.Errorf("%d and %d left, want 45 each", left(t, l), left(t, other))
	}
	if err := other.Reserve(ID{3}, 45); err != nil {
		t.Error(err)
	}
	// The first content of the file, in the same file.
	if err := os.WriteFile(l.Path(), old, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"check": l.Check(10, 1), "reserve": l.Reserve(ID{2}, 10), "claim": l.Claim(Share{1, 1})} {
		if !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), "longer before") {
			t.Errorf("%s of an older copy in its place: %v", name, err)
		}
	}
}

// TestRememberedLate: a process that ended between an entry and the memory of it leaves a memory of a shorter file, or one that
// cannot be read. The next use of the ledger puts that right, even if it adds nothing, so that older copies are refused again.
func TestRememberedLate(t *testing.T) {
	for name, memoryOf := range map[string]func(old []byte) []byte{
		"of the file before": func(old []byte) []byte { return fmt.Appendln(nil, len(old)) },
		"empty":              func([]byte) []byte { return nil },
	} {
		l := made(t, 100)
		old, err := os.ReadFile(l.Path())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Reserve(ID{1}, 10); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "prove-model", "ledgers", "*"))
		if runtime.GOOS == "darwin" || err != nil || len(files) != 1 {
			t.Skip("the configuration folder is not the test's: ", files, err)
		}
		if err := os.WriteFile(files[0], memoryOf(old), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := l.Check(10, 1); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(l.Path(), old, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := l.Reserve(ID{2}, 10); !errors.Is(err, ErrMoved) {
			t.Errorf("memory %s: an older copy: %v", name, err)
		}
	}
}

// TestOthersMayRead: no proof is made with a secret that others than its owner may read or write.
func TestOthersMayRead(t *testing.T) {
	l := made(t, 100)
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(l.Path(), mode); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{"claim": l.Claim(Share{1, 1}), "check": l.Check(1, 1), "reserve": l.Reserve(ID{1}, 1)} {
			if err == nil || !strings.Contains(err.Error(), "chmod 600") {
				t.Errorf("%s at mode %o: %v", name, mode, err)
			}
		}
	}
	if err := os.Chmod(l.Path(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Reserve(ID{1}, 1); err != nil {
		t.Error(err)
	}
}

// TestStarts: a ledger that was counted on another machine, or before this one was started, is refused until somebody says that it
// is the only one.
func TestStarts(t *testing.T) {
	for want, at := range map[string]func(*place){
		"another machine": func(p *place) { p.machine = "x" }, "started anew": func(p *place) { p.boot = "x" },
	} {
		l := made(t, 100)
		err := l.locked(func(f *os.File, b *book, p place) error {
			at(&p)
			return b.append(f, p.entry(whole))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Reserve(ID{1}, 1); !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err := errors.Join(l.Claim(Share{1, 1}), l.Reserve(ID{1}, 1)); err != nil {
			t.Error(err)
		}
	}
}

// TestDamaged: a file with a byte changed is refused, and so is one that is no secret.
func TestDamaged(t *testing.T) {
	l := made(t, 100)
	for i := range 3 {
		if err := l.Reserve(ID{byte(i)}, 10); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(whole) - 1 { // without the last newline the last line is not whole
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		if b, err := parse(bad); err == nil {
			t.Fatalf("byte %d changed: read, %d left", i, b.left())
		}
	}
	for _, text := range []string{"", "prove-model key", firstLine, firstLine + "seed 00 00000000\n"} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%q: read", text)
		}
	}
}

// FuzzParse reads any bytes: what is read has an entry, and adds up.
func FuzzParse(f *testing.F) {
	b := newBook(Secret{Positions: 100})
	b.add("at a b c 1/1")
	b.add("used 00000000000000000000000000000001 10")
	b.add("at a b c 3/3")
	f.Add(b.text)
	f.Add(b.text[:200])
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := parse(text)
		if err == nil && (b.fresh() || b.left() > b.Positions || !bytes.HasPrefix(text, b.text)) {
			t.Fatalf("%q: %d left of %d", text, b.left(), b.Positions)
		}
	})
}
