package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/internal/atomicfile"
	"github.com/prove-model/prove-model/internal/hiding"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/mapped"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/certify"
	"github.com/prove-model/prove-model/prover/chain"
	"github.com/prove-model/prove-model/prover/proof"
)

// kind is a kind of file that the command writes. Its first bytes distinguish a file of this kind from other people's
// files.
type kind struct {
	name   string
	begins string // first bytes; in a JSON file there may be white space in between
}

var (
	proofFile       = kind{"a proof", proof.ProofMagic}
	storedFile      = kind{"keys and values of a segment", chain.StoreMagic}
	keyFile         = kind{"a verification key", proof.KeyMagic}
	certificateFile = kind{"a certificate", certify.Magic}
	linkFile        = kind{"a link", proof.LinkMagic}
	rangesFile      = kind{"a file of ranges", `{"format":"prove-modelranges`}
	pageFile        = kind{"a page of prove-model", pageMark}
	manualFile      = kind{"a manual page of prove-model", ".nh\n.TH\"PROVE-MODEL"}
)

// pageMark is the beginning of the pages of --report and --html.
const pageMark = "<!-- prove-model -->\n"

// wrote says whether a file that begins with head is of this kind.
func (k kind) wrote(head []byte) bool {
	squeeze := strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "").Replace
	return bytes.HasPrefix(head, []byte(k.begins)) || strings.HasPrefix(squeeze(string(head)), squeeze(k.begins))
}

// headBytes is how much of a file is read to find out its kind.
const headBytes = 256

// outputs are the files that a command writes. They appear at their paths together, when all are complete (place). They never
// replace files that the command reads, or each other, nor, without --force, files of other kinds.
type outputs struct {
	reads  []config.File
	models []string // folders of models, all of whose files count as read
	force  bool
	files  []*output
}

// output is a file that appears at its path when it is complete. A nil output stands for one that nobody has asked for.
type output struct {
	*atomicfile.File
	setting, path string
}

// outputsOf begins the outputs of a command with these flags. makes says that the command writes proofs, keys and
// certificates, which other commands read.
func outputsOf(flags *pflag.FlagSet, cfg *config.Config, makes bool) *outputs {
	o := &outputs{reads: cfg.Reads(flags, makes), force: cfg.Force}
	if makes { // commit makes these secrets, and proofs read them
		o.reads = append(o.reads, config.File{Setting: "secret", Path: secretPath(cfg, outputPath(cfg.VK, cfg.Model, ".vk"))})
		if _, file := cfg.InputOf(); file != "" {
			o.reads = append(o.reads, config.File{Setting: "input-commitment", Path: hiding.SecretOf(file)})
		}
	}
	if strings.EqualFold(filepath.Ext(cfg.Model), ".safetensors") {
		o.models = append(o.models, filepath.Dir(cfg.Model))
	} else if hf.Is(cfg.Model) && isFolder(cfg.Model) {
		o.models = append(o.models, cfg.Model)
	}
	return o
}

// create begins the file of a setting. It fails before the work if another file is in its way, or its folder cannot be
// written.
func (o *outputs) create(setting, path string, k kind) (*output, error) {
	if setting != "" && !config.CanWrite(setting) {
		panic("no output: " + setting)
	}
	made := &output{setting: setting, path: path}
	if path == config.Stdin {
		return nil, fmt.Errorf("%s: it takes a file, as standard output has the result", made)
	}
	for _, r := range o.reads {
		if same(r.Path, path) {
			return nil, job.WithHint(fmt.Errorf("%s would overwrite what is read: %s", made, r), "name another file for what is written")
		}
	}
	for _, other := range o.files {
		if same(other.path, path) {
			return nil, job.WithHint(fmt.Errorf("%s and %s are one file", other, made), "give each a file of its own")
		}
	}
	if err := o.replaceable(path, k); err != nil {
		return nil, err
	}
	var err error
	if made.File, err = atomicfile.Create(path); err != nil {
		return nil, cannotWrite(path, err)
	}
	o.files = append(o.files, made)
	return made, nil
}

// optional does what create does if path is not ""; else it returns nil.
func (o *outputs) optional(setting, path string, k kind) (*output, error) {
	if path == "" {
		return nil, nil
	}
	return o.create(setting, path, k)
}

// replaceable returns an error if there is a file at the path that an output of this kind must not replace.
func (o *outputs) replaceable(path string, k kind) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // beginning the file reports what is wrong with the path
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil // likewise
	}
	head, err := io.ReadAll(io.LimitReader(f, headBytes))
	if err != nil {
		return cannotWrite(path, err)
	}
	if len(head) == 0 || k.wrote(head) {
		return nil
	}
	foreign := fmt.Errorf("%s exists and is not %s: it is not overwritten", path, k.name)
	for _, folder := range o.models {
		if within(folder, path) {
			return job.WithHint(fmt.Errorf("%w, and it may be part of the model in %s", foreign, folder), "name another file for what is written")
		}
	}
	if o.force {
		return nil
	}
	return job.WithHint(foreign, "name another file, or say --force to replace it")
}

// apartFrom returns an error if an output would overwrite a file that the model was read from, such as its external
// data.
func (o *outputs) apartFrom(m *provemodel.Model) error {
	for _, out := range o.files {
		st, err := os.Stat(out.path)
		if err != nil {
			continue
		}
		for _, f := range m.Graph().Files {
			if f, ok := f.(*mapped.File); ok && f.Is(st) {
				return job.WithHint(fmt.Errorf("%s would overwrite what is read: it is part of the model", out), "name another file for what is written")
			}
		}
	}
	return nil
}

// place moves all files, which have been written, to their paths. If the disk is full, none of them appears.
func (o *outputs) place() error {
	for _, f := range o.files {
		if err := f.Commit(); err != nil {
			return cannotWrite(f.path, err)
		}
	}
	return nil
}

// abort removes the files that have not been placed.
func (o *outputs) abort() {
	for _, f := range o.files {
		_ = f.Abort() // the file has no name, or a later run removes it
	}
}

func (o *output) String() string {
	if o.setting == "" {
		return o.path
	}
	return config.File{Setting: o.setting, Path: o.path}.String()
}

// write writes the content of the file.
func (o *output) write(data []byte) error {
	_, err := o.Write(data)
	return cannotWrite(o.path, err)
}

// name returns the path, "" if nobody has asked for the file.
func (o *output) name() string {
	if o == nil {
		return ""
	}
	return o.path
}

// cannotWrite is an error of writing that names the path rather than the temporary file.
func cannotWrite(path string, err error) error {
	var temp *fs.PathError
	if errors.As(err, &temp) {
		err = temp.Err
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot write %s: %w", path, err)
}

// same says whether two paths lead to the same file, by whatever links, or would if it existed. Names that do not exist and
// differ in case only count as the same, as they are on many systems.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil && errY == nil {
		return os.SameFile(x, y)
	}
	return errX != nil && errY != nil && strings.EqualFold(resolved(a), resolved(b))
}

// within says whether a path leads into a folder.
func within(folder, path string) bool {
	rel, err := filepath.Rel(resolved(folder), resolved(path))
	return err == nil && filepath.IsLocal(rel)
}

// resolved returns the absolute path without links. The last part of the path need not exist.
func resolved(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(whole); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(whole)); err == nil {
		return filepath.Join(dir, filepath.Base(whole))
	}
	return whole
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// outputPath returns the given path or, if it is "", the model's name with another extension, in the current folder.
func outputPath(path, model, ext string) string {
	if path != "" {
		return path
	}
	if isFolder(model) {
		if whole, err := filepath.Abs(model); err == nil {
			model = whole // also for "."
		}
		return filepath.Base(model) + ext // a dot in a folder's name does not begin an extension
	}
	base := filepath.Base(model)
	return strings.TrimSuffix(base, filepath.Ext(base)) + ext
}

// warnOfOtherKey warns if the key file that is about to be replaced has another key:
// proofs of that key no longer verify with the file.
func warnOfOtherKey(path string, c provemodel.Commitment, ph *ui.Phases) {
	if old, _ := keyIn(path); old != nil && old.Digest != c {
		ph.Warn(path + " held the key of another model, calibration or setting; it is replaced")
	}
}
