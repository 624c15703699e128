// Command dist builds what a release consists of: an archive for each system, with
// the command and its server, manual pages and shell completions, and the checksums of
// all. The same commit gives the same bytes, wherever it is built.
//
//	go run ./scripts/dist [-o dist] [-targets linux/amd64,…] [-gpu auto|require|off]
package main

import (
	"bytes"
	"debug/elf"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	provemodel "github.com/prove-model/prove-model"
)

// programs are what an archive is of. The second is what commands of the first become.
var programs = []string{"prove-model", "prove-model-server"}

// targets are built without a C compiler, for the CPU alone.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// documents go into every archive.
var documents = []string{"README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "SECURITY.md"}

// shells are those that cobra writes completions for, with the files' extensions.
var shells = map[string]string{"bash": "bash", "zsh": "zsh", "fish": "fish", "powershell": "ps1"}

// flags of the compiler: nothing of the machine, and no symbols. The commit is stamped
// in, whatever GOFLAGS of the environment says.
const flags = "-trimpath -buildvcs=true '-ldflags=-s -w -buildid='"

func main() {
	out := flag.String("o", "dist", "`folder` for the archives")
	wanted := flag.String("targets", strings.Join(targets, ","), "`systems`, as GOOS/GOARCH")
	gpu := flag.String("gpu", "auto", "`when` to build Linux with GPU support: auto (where it can be), require or off")
	flag.Parse()
	if err := run(*out, strings.Split(*wanted, ","), *gpu); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(out string, wanted []string, gpu string) error {
	work, err := os.MkdirTemp("", "prove-model-dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := &release{work: work, out: out}
	if err := r.describe(); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, target := range wanted {
		goos, goarch, ok := strings.Cut(target, "/")
		if !ok {
			return fmt.Errorf("target %q: want GOOS/GOARCH, such as linux/amd64", target)
		}
		if err := r.plain(goos, goarch); err != nil {
			return err
		}
	}
	if gpu != "off" {
		if err := r.withGPU(); err != nil {
			if gpu == "require" {
				return err
			}
			fmt.Fprintln(os.Stderr, "dist: no archive with GPU support:", err)
		}
	}
	return r.checksums()
}

// release is what all archives share.
type release struct {
	work, out string
	time      time.Time // of the commit
	common    []file    // documents, manual pages, completions
	archives  []string  // names of those that were written
}

// describe finds the time and makes what is the same on every system, with a build
// for this one.
func (r *release) describe() error {
	stamp, err := output("git", "log", "-1", "--format=%cI")
	if err != nil {
		return fmt.Errorf("files bear the time of the Git commit: %w", err)
	}
	if r.time, err = time.Parse(time.RFC3339, stamp); err != nil {
		return err
	}
	r.time = r.time.UTC()
	for _, name := range documents {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		r.common = append(r.common, file{name, data, false})
	}
	if _, err := output("go", "generate", "./internal/serve"); err != nil { // the verifier of the server's page
		return fmt.Errorf("go generate ./internal/serve: %w", err)
	}
	host, err := build(filepath.Join(r.work, "host"), runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	command := host[0].path
	manuals := filepath.Join(r.work, "man")
	if err := os.Mkdir(manuals, 0o755); err != nil {
		return err
	}
	if _, err := output(command, "man", manuals); err != nil {
		return err
	}
	pages, err := os.ReadDir(manuals)
	if err != nil {
		return err
	}
	for _, page := range pages {
		data, err := os.ReadFile(filepath.Join(manuals, page.Name()))
		if err != nil {
			return err
		}
		r.common = append(r.common, file{"man/man1/" + page.Name(), data, false})
	}
	for shell, extension := range shells {
		script, err := exec.Command(command, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("completions for %s: %w", shell, err)
		}
		r.common = append(r.common, file{"completions/prove-model." + extension, script, false})
	}
	return nil
}

// plain builds and packs the programs for the CPU alone.
func (r *release) plain(goos, goarch string) error {
	built, err := build(filepath.Join(r.work, goos+"-"+goarch), goos, goarch)
	if err != nil {
		return err
	}
	return r.pack(built, goos+"_"+goarch, goos == "windows")
}

// withGPU does so for Linux, on this machine's processor, with GPU support. That
// needs a C compiler, whose C library is what the programs ask for.
func (r *release) withGPU() error {
	built := in(filepath.Join(r.work, "gpu"), "")
	cmd := exec.Command("scripts/build.sh", built[0].path)
	cmd.Env = append(os.Environ(), "GPU=require", "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS="+flags)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("scripts/build.sh: %w", err)
	}
	for _, b := range built {
		needs, err := newestSymbols(b.path)
		if err != nil {
			return err
		}
		fmt.Printf("dist: %s with GPU support: needs %s or later\n", b.name, strings.ReplaceAll(needs, "GLIBC_", "glibc "))
	}
	return r.pack(built, "linux_"+runtime.GOARCH+"_cuda", false)
}

// newestSymbols returns the newest version of the C library that a program asks for.
func newestSymbols(program string) (string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return "", err
	}
	defer f.Close()
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return "", err
	}
	newest, minor := "", 0
	for _, s := range symbols {
		var n int
		if _, err := fmt.Sscanf(s.Version, "GLIBC_2.%d", &n); err == nil && n >= minor {
			newest, minor = s.Version, n
		}
	}
	return newest, nil
}

// pack writes an archive with built programs.
func (r *release) pack(built []program, system string, windows bool) error {
	name, write, extension := fmt.Sprintf("prove-model_%s_%s", provemodel.Version, system), tarball, ".tar.gz"
	if windows {
		write, extension = zipfile, ".zip"
	}
	files := slices.Clone(r.common)
	for _, b := range built {
		data, err := os.ReadFile(b.path)
		if err != nil {
			return err
		}
		files = append(files, file{b.name, data, true})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for i := range files {
		files[i].name = name + "/" + files[i].name
	}
	var archive bytes.Buffer
	if err := write(&archive, files, r.time); err != nil {
		return err
	}
	r.archives = append(r.archives, name+extension)
	fmt.Printf("dist: %s, %.1f MB\n", name+extension, float64(archive.Len())/1e6)
	return os.WriteFile(filepath.Join(r.out, name+extension), archive.Bytes(), 0o644)
}

// program is one that was built, with its name in archives.
type program struct{ name, path string }

// in returns where the programs are in a folder.
func in(folder, ending string) (built []program) {
	for _, name := range programs {
		built = append(built, program{name + ending, filepath.Join(folder, name+ending)})
	}
	return built
}

// build compiles the programs into a folder.
func build(folder, goos, goarch string) ([]program, error) {
	args := []string{"build", "-o", folder + string(filepath.Separator)}
	for _, name := range programs {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS="+flags)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build for %s/%s: %w", goos, goarch, err)
	}
	ending := ""
	if goos == "windows" {
		ending = ".exe"
	}
	return in(folder, ending), nil
}

// output runs a program and returns what it prints.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
