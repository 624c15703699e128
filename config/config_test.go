package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// load parses args as a command with every flag would, in an empty folder that
// holds the given settings file.
func load(t *testing.T, yaml string, args ...string) (*Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if yaml != "" {
		if err := os.WriteFile(DefaultFile, []byte(yaml), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs, names()...)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return Load(fs)
}

func names() []string {
	var out []string
	for _, s := range settings {
		out = append(out, s.name)
	}
	return out
}

func TestEveryFieldIsASetting(t *testing.T) {
	typ := reflect.TypeFor[Config]()
	for i := range typ.NumField() {
		if name := typ.Field(i).Tag.Get("mapstructure"); find(name) == nil {
			t.Errorf("field %s has no setting", typ.Field(i).Name)
		}
	}
	if typ.NumField() != len(settings) {
		t.Errorf("%d fields, %d settings", typ.NumField(), len(settings))
	}
}

// Every setting says what it is, in a group that the help has, and has a default that is allowed.
func TestDescriptions(t *testing.T) {
	d := Default()
	for _, s := range settings {
		known := slices.ContainsFunc(groups, func(g [2]string) bool { return g[0] == s.group })
		if s.usage == "" || s.group == "" || !known {
			t.Errorf("--%s: usage %q, group %q", s.name, s.usage, s.group)
		}
		if err := s.validate(&d); err != nil {
			t.Errorf("the default: %v", err)
		}
	}
}

// The help lists every flag once, those of a command's own under the last heading.
func TestHelp(t *testing.T) {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs, names()...)
	fs.Bool("own", false, "a flag of the command's own")
	text := Help(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		if n := len(regexp.MustCompile(`(?m)^ +--`+f.Name+`( |\[|$)`).FindAllString(text, -1)); n != 1 {
			t.Errorf("--%s is listed %d times", f.Name, n)
		}
	})
	at := -1
	for _, heading := range []string{"What to prove:", "--model ", "Accuracy:", "--mode ", "Machine:", "--gpu ", "Files and printing:", "--config ", "For experts:", "--soundness ", "Other:", "--own "} {
		next := strings.Index(text, heading)
		if next <= at {
			t.Errorf("%q is not where it should be", heading)
		}
		at = next
	}
}

func TestDefaults(t *testing.T) {
	c, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	// A list flag without a value is an empty list rather than none.
	if len(c.Dim) == 0 {
		c.Dim = nil
	}
	if diff := cmp.Diff(&want, c); diff != "" {
		t.Error(diff)
	}
}

func TestPrecedence(t *testing.T) {
	const file = "threads: 3\nmode: w8a8\nseed: 5\nchunk-budget-gb: 2.5\ndim: [a=1, B.c=2]\n"
	t.Setenv("PROVE_MODEL_SEED", "6")
	t.Setenv("PROVE_MODEL_GRIND_BITS", "12")
	t.Setenv("PROVE_MODEL_THREADS", "4")
	c, err := load(t, file, "--threads=7", "--gpu")
	if err != nil {
		t.Fatal(err)
	}
	if c.Threads != 7 {
		t.Errorf("flag: threads %d", c.Threads)
	}
	if c.Seed != 6 || c.GrindBits != 12 {
		t.Errorf("environment: seed %d, grind-bits %d", c.Seed, c.GrindBits)
	}
	if c.Mode != ModeW8A8 || c.ChunkBudgetGB != 2.5 {
		t.Errorf("file: mode %s, chunk-budget-gb %v", c.Mode, c.ChunkBudgetGB)
	}
	if c.GPU != GPUAuto {
		t.Errorf("bare flag: gpu %s", c.GPU)
	}
	dims, err := c.Dims()
	if diff := cmp.Diff(map[string]int{"a": 1, "B.c": 2}, dims); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestListsFromEverySource(t *testing.T) {
	want := map[string]int{"a": 1, "b": 2}
	c, err := load(t, "", "--dim", "a=1", "--dim", "b=2")
	if err != nil {
		t.Fatal(err)
	}
	if dims, _ := c.Dims(); !cmp.Equal(want, dims) {
		t.Errorf("flags: %v", c.Dim)
	}
	t.Setenv("PROVE_MODEL_DIM", "a=1,b=2")
	if c, err = load(t, ""); err != nil {
		t.Fatal(err)
	}
	if dims, _ := c.Dims(); !cmp.Equal(want, dims) {
		t.Errorf("environment: %q", c.Dim)
	}
}

func TestNamedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.conf")
	if err := os.WriteFile(path, []byte("seed: 9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := load(t, "seed: 8\n", "--config", path)
	if err != nil || c.Seed != 9 {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := load(t, "", "--config", path+".missing"); err == nil {
		t.Error("a missing named file is accepted")
	}
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		yaml, want string
		args       []string
	}{
		"unknown key":     {yaml: "thread: 3\n", want: `unknown "thread" (did you mean "threads"?)`},
		"nested key":      {yaml: "prover:\n  threads: 3\n", want: `unknown "prover"`},
		"not yaml":        {yaml: "threads: [3\n", want: "settings file"},
		"wrong type":      {yaml: "threads: many\n", want: `prove-model.yaml: threads "many": want a whole number from 0 to`},
		"wrong truth":     {yaml: "quiet: perhaps\n", want: `quiet "perhaps": want true or false`},
		"mode":            {args: []string{"--mode=int4"}, want: "auto or w8a8 or exact"},
		"soundness":       {args: []string{"--soundness=none"}, want: "unique or johnson"},
		"gpu":             {args: []string{"--gpu=maybe"}, want: "auto or require or off"},
		"threads":         {args: []string{"--threads=-1"}, want: "--threads -1"},
		"security":        {args: []string{"--security-bits=0"}, want: "--security-bits 0"},
		"grind":           {args: []string{"--grind-bits=64"}, want: "--grind-bits 64"},
		"least bits":      {args: []string{"--min-bits=0"}, want: "--min-bits 0"},
		"budget":          {args: []string{"--chunk-budget-gb=NaN"}, want: "--chunk-budget-gb NaN"},
		"devices":         {args: []string{"--devices=0,x"}, want: "--devices \"0,x\""},
		"devices twice":   {args: []string{"--devices=1, 1"}, want: "GPU 1 is named twice"},
		"lanes":           {args: []string{"--gpu-streams=0"}, want: "--gpu-streams 0"},
		"headroom":        {args: []string{"--headroom=0.5"}, want: "--headroom 0.5"},
		"target":          {args: []string{"--target-error=0"}, want: "--target-error 0"},
		"error":           {args: []string{"--max-error=-0.01"}, want: "--max-error -0.01"},
		"fix":             {args: []string{"--fix=shape"}, want: "name=file"},
		"fix twice":       {args: []string{"--fix=s=a.npy", "--fix=s=b.npy"}, want: "given twice"},
		"dim":             {args: []string{"--dim=batch"}, want: "name=value"},
		"dim sign":        {args: []string{"--dim=batch=-1"}, want: "name=value"},
		"hide":            {args: []string{"--hide=inputs"}, want: `--hide "inputs"`},
		"proofs":          {args: []string{"--proofs=-1"}, want: "--proofs -1"},
		"share":           {args: []string{"--share=2"}, want: "want K/N"},
		"share of none":   {args: []string{"--share=1/0"}, want: "want K/N"},
		"share beyond":    {args: []string{"--share=5/4"}, want: "want K/N"},
		"dim twice":       {args: []string{"--dim=n=1", "--dim=n=2"}, want: "given twice"},
		"an empty list":   {args: []string{"--input=", "--dim=n=1"}, want: "--input is empty"},
		"an empty entry":  {args: []string{"--stop=x", "--stop="}, want: "--stop is empty"},
		"stdin twice":     {args: []string{"--input=-", "--calibration=x=-"}, want: "standard input can be read once, and --input and --calibration want it"},
		"model on stdin":  {args: []string{"--model=-"}, want: "--model -: it takes a file"},
		"report on -":     {args: []string{"--report=-"}, want: "--report -: it takes a file"},
		"several at once": {args: []string{"--mode=x", "--threads=-1"}, want: "--threads -1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tc.yaml, tc.args...)
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tc.want)) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

// A value of the wrong type is refused with the variable or the flag that has it, and what it may be.
func TestWrongValues(t *testing.T) {
	t.Setenv("PROVE_MODEL_MAX_ERROR", "5x")
	want := `environment variable PROVE_MODEL_MAX_ERROR "5x": want a number from 0 to`
	if _, err := load(t, ""); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(flags, "threads", "max-error")
	flags.Int("runs", 1, "")
	for arg, want := range map[string]string{
		"--threads=two": `--threads "two": want a whole number from 0 to`, "--max-error=1e400": `--max-error "1e400": want a number from 0 to`,
		"--runs=x": "--runs", "--nonsense": "unknown flag",
	} {
		if err := FlagError(flags.Parse([]string{arg})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}

// A command may have a flag of its own with a setting's name.
func TestFlagOfAnother(t *testing.T) {
	t.Chdir(t.TempDir())
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs, "mode")
	fs.IntSlice("tokens", []int{1, 128}, "")
	if err := fs.Parse([]string{"--mode", "exact", "--tokens", "3,4"}); err != nil {
		t.Fatal(err)
	}
	c, err := Load(fs)
	if err != nil || c.Mode != "exact" || c.Tokens != Default().Tokens {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestUnknownVariables(t *testing.T) {
	t.Setenv("PROVE_MODEL_MAX_EROR", "1e-7")
	if _, err := Load(pflag.NewFlagSet("test", pflag.ContinueOnError)); err == nil || !strings.Contains(err.Error(), "PROVE_MODEL_MAX_EROR (did you mean PROVE_MODEL_MAX_ERROR?)") {
		t.Errorf("a misspelt variable: %v", err)
	}
	for _, name := range []string{"PROVE_MODEL_ASM", "PROVE_MODEL_TEST_GPU", "PROVE_MODEL_MAX_ERROR"} {
		if err := checkEnvironment([]string{name + "=1"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestShares(t *testing.T) {
	for share, want := range map[string][2]int{"": {0, 0}, "1": {1, 1}, "1/1": {1, 1}, "1/4": {1, 4}, "4/4": {4, 4}} {
		if number, of, err := (&Config{Share: share}).ShareOf(); err != nil || [2]int{number, of} != want {
			t.Errorf("%q: %d of %d, %v", share, number, of, err)
		}
	}
}

func TestReveals(t *testing.T) {
	c := Config{Reveal: []string{"logits=argmax", "a=b=top-5"}}
	if got, err := c.Reveals(); err != nil || !cmp.Equal(got, map[string]int{"logits": 0, "a=b": 5}) {
		t.Error(got, err)
	}
	for _, bad := range [][]string{{"logits"}, {"=argmax"}, {"logits=top-0"}, {"logits=top-x"}, {"logits=top--1"}, {"a=argmax", "a=top-2"}} {
		c := Config{Reveal: bad}
		if got, err := c.Reveals(); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestHidden(t *testing.T) {
	for hide, want := range map[string]Hidden{
		"": {}, "weights": {Weights: true}, "input,output": {Inputs: []string{""}, Outputs: []string{""}},
		"input:a:b,weights,output:y,input:x": {Weights: true, Inputs: []string{"a:b", "x"}, Outputs: []string{"y"}},
	} {
		if got, err := (&Config{Hide: hide}).HiddenOf(); err != nil || !cmp.Equal(*got, want) {
			t.Errorf("%q: %+v, %v", hide, got, err)
		}
	}
	for _, bad := range []string{"none", "input:", "weights:x", ",", "input, output"} {
		if got, err := (&Config{Hide: bad}).HiddenOf(); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

// A number of the settings file that is not whole is refused where a whole one is wanted, and so are truths that are numbers.
func TestWholeNumbers(t *testing.T) {
	for yaml, want := range map[string]string{
		"min-bits: 99.9\n": `min-bits "99.9": want a whole number`,
		"seed: 1.5\n":      `seed "1.5": want a whole number`, "threads: .nan\n": "threads", "seed: 1e30\n": "seed",
		"threads: true\n": `threads "true": want a whole number`, "quiet: 3\n": "quiet",
		"seed: 18446744073709551615\n": "seed", "proofs: 1e3\n": "", "quiet: 1\n": "",
		"headroom: true\n": "headroom", "share: 1\n": "", "prove: 0.5\n": "", "keep-hours: 2\n": "",
	} {
		c, err := load(t, yaml)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v, %v", yaml, c, err)
		}
	}
}
