package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/prove-model/prove-model/internal/program"
)

func TestMain(m *testing.M) {
	testscript.Main(besideServer{m}, map[string]func(){"prove-model-server": main})
}

// besideServer builds the command prove-model beside the program prove-model-server, which is this one under another name, in a folder
// that is on the path: what users type becomes what is tested.
type besideServer struct{ *testing.M }

// Run implements testscript.TestingM. Tests with workers that are killed wait half a minute for their jobs to be given to others, and
// compute little: they wait together, however few processors there are.
func (b besideServer) Run() int {
	_ = flag.Set("test.parallel", "8")
	server, err := exec.LookPath("prove-model-server")
	if err == nil {
		// The command must have a commit if this one has, which tests rarely have.
		build := exec.Command("go", "build", fmt.Sprintf("-buildvcs=%v", program.Commit() != ""), "-ldflags=-s -w", "-o", filepath.Dir(server)+string(filepath.Separator), "../prove-model")
		build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return b.M.Run()
}

// proveModel runs the command and returns its exit code.
func proveModel(args []string, stdout, stderr io.Writer) int {
	cmd := exec.Command("prove-model", args...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		fmt.Fprintln(stderr, err)
		return -1
	}
	return cmd.ProcessState.ExitCode()
}

// TestRefused: what a server or a worker cannot begin with is said before it listens.
func TestRefused(t *testing.T) {
	const digits = "../../testdata/digits/digits.onnx"
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	nobody, exact := file("nokeys", "# nobody\n"), file("x.yaml", "mode: exact\n")
	whole := "model: " + digits + "\ncalibration: ../../testdata/digits/calibration.json\n"
	hides, reveals := file("hides.yaml", whole+"hide: weights\n"), file("reveals.yaml", whole+"reveal: logits=argmax\n")
	for _, c := range []struct {
		line, want, hint string
	}{
		{"serve", "no model", "name one with --model"},
		{"serve --model nowhere --listen 127.0.0.1:0", "model nowhere: ", ""},
		{"serve --model " + digits + " --listen 127.0.0.1:0", "model digits: nothing says what its values are like", "give samples with --calibration"},
		{"serve --model " + digits + " --model " + digits, "two models are called digits", "give them names"},
		{"serve --model a,b=x.onnx", `"a,b" cannot be a model's name`, "give it one of letters"},
		{"serve --model a=" + digits + " --model b=" + digits + " --calibration x.json", "there are several ONNX models", "give each a settings file"},
		{"serve --model m --model n=m --adapter a", "--adapter and --base are of one", "give each a settings file"},
		{"serve --model x.onnx --prove sometimes", "want all, requested, or a number from 0 to 1", "see prove-model serve --help"},
		{"serve --model x.onnx --prove 1.5", "want all, requested, or a number from 0 to 1", "see prove-model serve --help"},
		{"serve --model x.onnx --tls-cert c.pem", "--tls-cert and --tls-key go together", "see prove-model serve --help"},
		{"serve --model x.onnx --workers 0", "nothing would be proved", "leave it out"},
		{"serve --model x.onnx --cluster-creds c", "--cluster-creds without a cluster", "name its NATS servers"},
		{"serve --model x.onnx --keys " + nobody, "nokeys: no keys", ""},
		{"serve --model x.onnx --batch-across-keys", "each answer is proved by itself", "--batch N says"},
		{"serve --model x.onnx --batch 1025", "batch", "see prove-model serve --help"},
		{"serve --model x.onnx --webhook nowhere", "want a URL", ""},
		{"serve --model x.onnx --listen nowhere", "--listen: ", ""},
		{"serve --model " + exact, "x.yaml: it names no model", ""},
		{"serve --model " + hides + " --listen 127.0.0.1:0", "servers make no proofs that hide", "without hide"},
		{"serve --model " + reveals + " --listen 127.0.0.1:0", "servers prove whole outputs", "leave out reveal"},
		{"serve x.onnx", `unexpected argument "x.onnx"`, "files are named by flags"},
		{"serve --modle x.onnx", "unknown flag: --modle", "see prove-model serve --help"},
		{"worker --model x.onnx", "no cluster", "name its NATS servers"},
		{"worker --model x.onnx --cluster nats://127.0.0.1:1 --workers 0", "at least one job at a time", ""},
		{"worker --model x.onnx --batch some", `--batch "some": want a whole number`, "see prove-model worker --help"},
	} {
		line := strings.Fields(c.line)
		if line[0] == "serve" {
			line = append(line, "--data", filepath.Join(t.TempDir(), "d"))
		}
		var out, log bytes.Buffer
		code := proveModel(line, &out, &log)
		if hinted := strings.Contains(log.String(), "\nhint: "+c.hint); code != program.ExitError || out.Len() > 0 || !strings.HasPrefix(log.String(), "prove-model: ") ||
			!strings.Contains(log.String(), c.want) || c.hint != "" && !hinted {
			t.Errorf("%s: code %d: %s%s", c.line, code, out.String(), log.String())
		}
	}
	// By a variable, and a flag that other commands have too, before the command's name.
	t.Setenv("PROVE_MODEL_HIDE", "weights")
	var out, log bytes.Buffer
	line := []string{"--json", "serve", "--model", digits, "--calibration", "../../testdata/digits/calibration.json", "--data", filepath.Join(t.TempDir(), "d"), "--listen", "127.0.0.1:0"}
	if code := proveModel(line, &out, &log); code != program.ExitError || !strings.Contains(log.String(), "servers make no proofs that hide weights") || !strings.HasPrefix(out.String(), `{`) {
		t.Errorf("code %d: %s%s", code, out.String(), log.String())
	}
}

// TestOtherBuild: a prove-model of another build is refused, and none is needed.
func TestOtherBuild(t *testing.T) {
	for front, want := range map[string]string{
		"0.0.1 abcdef":  "prove-model is of version 0.0.1 abcdef, and ",
		program.Build(): "\nhint: see prove-model worker --help",
		"":              "\nhint: see prove-model-server worker --help",
	} {
		t.Setenv("PROVE_MODEL_FRONT", front)
		var out, log bytes.Buffer
		if code := run([]string{"worker", "--batch", "none"}, &out, &log); code != program.ExitError || !strings.Contains(log.String(), want) {
			t.Errorf("%q: code %d: %s", front, code, log.String())
		}
	}
}
