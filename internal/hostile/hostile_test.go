// Package hostile keeps files that are made to cost whoever reads them hours or all memory: a
// model, its tokenizer, a chat template, an input, a key with its proof, of at most a megabyte.
// A test reads each in a process of its own, and measures what that takes before the refusal.
package hostile

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/hf/tokenizer"
)

var all = flag.Bool("hostile", false, "read all files, not one in four")

// acceptedCode is the exit code of a process that has accepted its files.
const acceptedCode = 3

// What a file may cost before it is refused.
const (
	mostTime   = 2 * time.Second // on all cores together
	mostMemory = 300 << 20       // of the process, the program with it
	mostBytes  = 1 << 20         // of all files of an entry together
)

// files are the contents of files by name.
type files map[string]string

// reader reads the files of a folder as the program does.
type reader func(dir string) error

// entry is a set of hostile files.
type entry struct {
	name  string
	read  reader
	files func() files
}

// refused are all files that nobody accepts.
func refused() []entry { return slices.Concat(entries, models, keys, instances, certificates, records) }

// folder is where the process that reads finds its files, and which the number of its entry is.
const folder = "PROVE_MODEL_TEST_HOSTILE"

func TestMain(m *testing.M) {
	if at, name, ok := strings.Cut(os.Getenv(folder), "="); ok {
		for _, e := range slices.Concat(refused(), valid) {
			if e.name == name {
				err := e.read(at)
				fmt.Print(err, peak, resident())
				if err == nil {
					os.Exit(acceptedCode)
				}
				os.Exit(0)
			}
		}
		os.Exit(4)
	}
	os.Exit(m.Run())
}

// peak is what stands before the most memory that a process had, when it says so.
const peak = "\nof memory: "

// resident is the most memory that this process has had, in bytes. What its parent is told of that
// may be the parent's own.
func resident() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		panic(err)
	}
	return kilobytes << 10
}

// Each file is refused, with an error and not a panic, before it has cost much.
func TestCost(t *testing.T) {
	for i, e := range refused() {
		if !*all && i%6 != 0 {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			if e.cost(t) {
				t.Error("it is accepted")
			}
		})
	}
}

// What is valid costs no more than that either, however it was made to.
func TestCostOfValid(t *testing.T) {
	if !*all {
		t.Skip("making them takes a minute: make hostile does")
	}
	for _, e := range valid {
		t.Run(e.name, func(t *testing.T) {
			if !e.cost(t) {
				t.Error("it is refused")
			}
		})
	}
}

// cost has a process of its own read the files, and says whether they are accepted. It is an error if
// that takes more than it may.
func (e *entry) cost(t *testing.T) (accepted bool) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("what a process has had of memory is read as Linux has it")
	}
	dir, size := t.TempDir(), 0
	for name, content := range e.files() {
		size += len(content)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if size > mostBytes {
		t.Fatalf("%d bytes", size)
	}
	ctx, stop := context.WithTimeout(t.Context(), 60*mostTime) // of a machine with other work
	defer stop()
	c := exec.CommandContext(ctx, os.Args[0])
	// The garbage collector is that of the program, whatever the tests have.
	c.Env = append(os.Environ(), folder+"="+dir+"="+e.name, "PROVE_MODEL_CACHE_DIR="+dir, "GOGC=100")
	var said strings.Builder
	c.Stdout, c.Stderr = &said, &said
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == acceptedCode {
		accepted, err = true, nil
	}
	if err != nil || strings.Contains(said.String(), "panic") {
		t.Fatalf("%v: %.2000s", err, said.String())
	}
	text, most, _ := strings.Cut(said.String(), peak)
	memory, err := strconv.Atoi(most)
	if err != nil {
		t.Fatalf("%v: %.2000s", err, said.String())
	}
	took := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	t.Logf("%d bytes: %v, %d MB: %.200s", size, took.Round(time.Millisecond), memory>>20, text)
	if took > mostTime || memory > mostMemory {
		t.Errorf("%d bytes take %v of processor time and %d MB", size, took.Round(time.Millisecond), memory>>20)
	}
	return accepted
}

// How files are read.

func tokenizes(dir string) error {
	t, err := tokenizer.Open(dir)
	if err != nil {
		return err
	}
	ids, err := t.Encode(strings.Repeat("a", 1000) + " Hello, 1 world é")
	if err != nil {
		return err
	}
	_, err = t.Decode(ids)
	return err
}

func talks(dir string) error {
	t, err := chat.Open(dir)
	if err != nil {
		return err
	}
	_, err = t.Render([]chat.Message{{Role: "user", Content: "hello"}}, true)
	return err
}

func opens(name string) reader {
	return func(dir string) error {
		m, err := provemodel.Open(filepath.Join(dir, name), nil)
		if err != nil {
			return err
		}
		defer m.Close()
		_, err = provemodel.Quantise(context.Background(), m, []provemodel.Input{m.Random(1)}, nil)
		return err
	}
}

func publishes(dir string) error {
	m, err := hf.Open(dir)
	if err != nil {
		return err
	}
	defer m.Close()
	_, err = m.Graph(8, 0)
	return err
}

func inputs(name string) reader {
	return func(dir string) error {
		_, err := provemodel.ReadArrays(filepath.Join(dir, name))
		return err
	}
}

// verifies reads the key a.vk and its proof a.proof.
func verifies(dir string) error {
	vk, err := os.Open(filepath.Join(dir, "a.vk"))
	if err != nil {
		return err
	}
	defer vk.Close()
	proof, err := os.Open(filepath.Join(dir, "a.proof"))
	if err != nil {
		return err
	}
	defer proof.Close()
	_, err = provemodel.VerifyFiles(vk, proof, nil)
	return err
}
