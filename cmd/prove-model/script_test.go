package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"prove-model": main, "prove-model-server": standIn})
}

// TestScripts runs the command as a user would. Besides testscript's own
// commands the scripts have
//
//	exits CODE COMMAND…   runs the command, which must end with the exit code
//	flip FILE OFFSET      changes a byte; negative offsets count from the end
//	cut FILE SIZE         shortens a file; negative sizes cut from the end
//	pinned NAME FILE      sets a variable to the commitment that a command printed
//	schema NAME FILE      holds JSON against a schema in docs, see schema_test.go
//	hardlink OLD NEW      makes a second name for a file
//	mkmodel KIND FILE     writes a small ONNX model, see models_test.go
//	mkpicture FILE W H    writes a picture, likewise
//
// $DIGITS, the folder of the bundled model, $MODELS, that of tiny models in the
// Hugging Face layout, and $SCRIPTS.
func TestScripts(t *testing.T) {
	digits, err := filepath.Abs("../../testdata/digits")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Abs("../../scripts")
	if err != nil {
		t.Fatal(err)
	}
	models, err := filepath.Abs("../../hf/testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("DIGITS", digits)
			env.Setenv("SCRIPTS", scripts)
			env.Setenv("MODELS", models)
			env.Setenv("GOGC", os.Getenv("GOGC"))
			env.Setenv("PROVE_MODEL_CACHE_DIR", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".config"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"flip":      flip,
			"hardlink":  hardlink,
			"cut":       cut,
			"estimated": estimated,
			"mkmodel":   mkmodel,
			"mkpicture": mkpicture,
			"pinned":    pinned,
			"schema":    schema,
		},
		RequireExplicitExec: true,
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != number(ts, args[0]) {
		ts.Fatalf("exit code %d", code)
	}
}

func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE OFFSET")
	}
	data := []byte(ts.ReadFile(args[0]))
	at := number(ts, args[1])
	if at < 0 {
		at += len(data)
	}
	data[at] ^= 0x10
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o644))
}

func hardlink(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hardlink OLD NEW")
	}
	ts.Check(os.Link(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
}

func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FILE SIZE")
	}
	size := number(ts, args[1])
	if size < 0 {
		size += len(ts.ReadFile(args[0]))
	}
	ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(size)))
}

// estimated holds the estimate of memory in a result against what was taken, by the program
// itself.
func estimated(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: estimated FILE FACTOR")
	}
	var p proved
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &p))
	factor := float64(number(ts, args[1]))
	if ratio := float64(p.Estimate.Memory) / float64(p.PeakMemory); p.PeakMemory > 0 && !raceDetector && (ratio > factor || ratio < 1/factor) {
		ts.Fatalf("%d bytes were taken, and %d estimated", p.PeakMemory, p.Estimate.Memory)
	}
}

func pinned(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: pinned NAME FILE")
	}
	m := regexp.MustCompile(`(?m)^commitment  ([0-9a-f]{64})$`).FindStringSubmatch(ts.ReadFile(args[1]))
	if m == nil {
		ts.Fatalf("no commitment in %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}
