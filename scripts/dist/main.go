// Command dist builds a release: an archive for each system, with the command, its server,
// manual pages and shell completions, and a file with the checksums of all archives. The
// same commit gives the same bytes, wherever it is built.
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
	"github.com/prove-model/prove-model/internal/must"
)

// programs are the programs in an archive. The first runs the second for some of its commands.
var programs = []string{"prove-model", "prove-model-server"}

// targets are the systems whose programs are built without a C compiler and without GPU support.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// documents go into every archive.
var documents = []string{"README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "SECURITY.md"}

// shells are the shells for which the command writes completions, with the extensions of the files.
var shells = map[string]string{"bash": "bash", "zsh": "zsh", "fish": "fish", "powershell": "ps1"}

// flags are the values of GOFLAGS: the programs have no paths of this machine and no symbols, but
// they have the commit, even if the environment's GOFLAGS says otherwise.
const flags = "-trimpath -buildvcs=true '-ldflags=-s -w -buildid='"

func main() {
	out := flag.String("o", "dist", "`folder` for the archives")
	wanted := flag.String("targets", strings.Join(targets, ","), "`systems`, as GOOS/GOARCH")
	gpu := flag.String("gpu", "auto", "`when` to build Linux with GPU support: auto (where it can be), require or off")
	flag.Parse()
	if err := publish(*out, strings.Split(*wanted, ","), *gpu); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// publish builds the archives for the wanted targets and their checksums in the folder out.
func publish(out string, wanted []string, gpu string) (err error) {
	defer must.Catch(&err)
	work := must.Get(os.MkdirTemp("", "prove-model-dist"))
	defer os.RemoveAll(work)
	r := &release{work: work, out: out}
	r.describe()
	must.OK(os.MkdirAll(out, 0o755))
	for _, target := range wanted {
		goos, goarch, ok := strings.Cut(target, "/")
		if !ok {
			return fmt.Errorf("target %q: want GOOS/GOARCH, such as linux/amd64", target)
		}
		r.pack(build(filepath.Join(r.work, goos+"-"+goarch), goos, goarch), goos+"_"+goarch, goos == "windows")
	}
	if gpu != "off" {
		if err := r.withGPU(); err != nil {
			if gpu == "require" {
				return err
			}
			fmt.Fprintln(os.Stderr, "dist: no archive with GPU support:", err)
		}
	}
	r.checksums()
	return nil
}

// release is what all archives share.
type release struct {
	work, out string
	time      time.Time // of the commit
	common    []file    // documents, manual pages, completions
	archives  []string  // names of those that were written
}

// describe finds the time of the commit and makes the files that are the same on every system. For
// the manual pages and completions it runs a build for this system.
func (r *release) describe() {
	r.time = must.Get(time.Parse(time.RFC3339, output("git", "log", "-1", "--format=%cI"))).UTC() // files bear the time of the commit
	for _, name := range documents {
		r.common = append(r.common, file{name, must.Get(os.ReadFile(name)), false})
	}
	output("go", "generate", "./internal/serve") // the verifier of the server's page
	command := build(filepath.Join(r.work, "host"), runtime.GOOS, runtime.GOARCH)[0].path
	manuals := filepath.Join(r.work, "man")
	must.OK(os.Mkdir(manuals, 0o755))
	output(command, "man", manuals)
	for _, page := range must.Get(os.ReadDir(manuals)) {
		r.common = append(r.common, file{"man/man1/" + page.Name(), must.Get(os.ReadFile(filepath.Join(manuals, page.Name()))), false})
	}
	for shell, extension := range shells {
		r.common = append(r.common, file{"completions/prove-model." + extension, run(exec.Command(command, "completion", shell)), false})
	}
}

// withGPU builds and packs the programs for Linux, with GPU support, for this machine's kind of processor. It
// needs a C compiler. The programs then need the C library of this machine, or a later one.
func (r *release) withGPU() (err error) {
	defer must.Catch(&err)
	built := in(filepath.Join(r.work, "gpu"), "")
	cmd := exec.Command("scripts/build.sh", built[0].path)
	cmd.Env = append(os.Environ(), "GPU=require", "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS="+flags)
	run(cmd)
	for _, b := range built {
		fmt.Printf("dist: %s with GPU support: needs %s or later\n", b.name, strings.ReplaceAll(newestSymbols(b.path), "GLIBC_", "glibc "))
	}
	r.pack(built, "linux_"+runtime.GOARCH+"_cuda", false)
	return nil
}

// newestSymbols returns the newest version of the C library whose symbols a program uses, such as "GLIBC_2.34".
func newestSymbols(program string) string {
	f := must.Get(elf.Open(program))
	defer f.Close()
	newest, minor := "", 0
	for _, s := range must.Get(f.ImportedSymbols()) {
		var n int
		if _, err := fmt.Sscanf(s.Version, "GLIBC_2.%d", &n); err == nil && n >= minor {
			newest, minor = s.Version, n
		}
	}
	return newest
}

// pack writes an archive with built programs and the common files.
func (r *release) pack(built []program, system string, windows bool) {
	name, write, extension := fmt.Sprintf("prove-model_%s_%s", provemodel.Version, system), tarball, ".tar.gz"
	if windows {
		write, extension = zipfile, ".zip"
	}
	files := slices.Clone(r.common)
	for _, b := range built {
		files = append(files, file{b.name, must.Get(os.ReadFile(b.path)), true})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for i := range files {
		files[i].name = name + "/" + files[i].name
	}
	var archive bytes.Buffer
	write(&archive, files, r.time)
	r.archives = append(r.archives, name+extension)
	fmt.Printf("dist: %s, %.1f MB\n", name+extension, float64(archive.Len())/1e6)
	must.OK(os.WriteFile(filepath.Join(r.out, name+extension), archive.Bytes(), 0o644))
}

// program is a built program: its name in archives, and its file.
type program struct{ name, path string }

// in returns the programs with their paths in a folder; ending is that of their names.
func in(folder, ending string) (built []program) {
	for _, name := range programs {
		built = append(built, program{name + ending, filepath.Join(folder, name+ending)})
	}
	return built
}

// build compiles the programs into a folder.
func build(folder, goos, goarch string) []program {
	args := []string{"build", "-o", folder + string(filepath.Separator)}
	for _, name := range programs {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS="+flags)
	run(cmd)
	ending := ""
	if goos == "windows" {
		ending = ".exe"
	}
	return in(folder, ending)
}

// output runs a program and returns what it prints.
func output(name string, args ...string) string {
	return strings.TrimSpace(string(run(exec.Command(name, args...))))
}

// run runs a command and returns its output unchanged.
func run(cmd *exec.Cmd) []byte {
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		must.OK(fmt.Errorf("%s: %w", cmd, err))
	}
	return out
}
