package pipeline

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/prover/atomicfile"
	"github.com/prove-model/prove-model/prover/proof"
)

// Prove does everything: it reads model and input, quantises, commits (or takes
// the commitment from the cache), proves, checks its own proof, and writes
// proof and key. On an error no file is written.
func Prove(ctx context.Context, cfg *config.Config, ph *ui.Phases) (*Proved, error) {
	dev, err := OpenDevice(ctx, cfg, ph)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	return proveOn(ctx, cfg, dev, ph)
}

func proveOn(ctx context.Context, cfg *config.Config, dev *Device, ph *ui.Phases) (*Proved, error) {
	src, err := Open(cfg)
	if err != nil {
		return nil, err
	}
	defer src.Close(ctx)
	// Before the work, so that a folder that cannot be written fails at once.
	proofPath, vkPath := outputPath(cfg.Proof, cfg.Model, ".proof"), outputPath(cfg.VK, cfg.Model, ".vk")
	proofFile, err := create(proofPath)
	if err != nil {
		return nil, err
	}
	defer proofFile.Abort()
	vkFile, err := create(vkPath)
	if err != nil {
		return nil, err
	}
	defer vkFile.Abort()

	prep, err := Prepare(ctx, cfg, dev, src, ph)
	if err != nil {
		return nil, err
	}
	run, err := prep.Prove(ctx, dev, src, ph)
	if err != nil {
		return nil, err
	}
	if !cfg.NoSelfCheck {
		if err := run.Check(ctx, prep, ph); err != nil {
			return nil, err
		}
	}
	warnOfOtherKey(vkPath, prep.Key, ph)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := finish(output{vkFile, vkPath, prep.KeyBytes}, output{proofFile, proofPath, run.Proof}); err != nil {
		return nil, err
	}
	return &Proved{
		Model: src.Name, Parameters: Parameters(src.Graph), Input: src.InputFrom, Calibration: prep.calibration(src),
		Proof: proofPath, VK: vkPath, Commitment: hex.EncodeToString(prep.Key.Digest[:]), CachedCommitment: prep.Cached,
		Outputs: run.Outputs, Saturated: run.Saturated, Phases: ph.All(),
		ProofBytes: int64(len(run.Proof)), KeyBytes: int64(len(prep.KeyBytes)), PeakMemory: ui.PeakMemory(),
		SecurityBits: run.Security, SelfChecked: !cfg.NoSelfCheck,
	}, nil
}

// outputPath is the given path, or the model's name with another extension in
// the current folder.
func outputPath(path, model, ext string) string {
	if path != "" {
		return path
	}
	base := filepath.Base(model)
	return strings.TrimSuffix(base, filepath.Ext(base)) + ext
}

// create begins a file that appears at path when it is complete.
func create(path string) (*atomicfile.File, error) {
	f, err := atomicfile.Create(path)
	return f, cannotWrite(path, err)
}

// cannotWrite names path in an error rather than the temporary file.
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

// output is a file with its content.
type output struct {
	file *atomicfile.File
	path string
	data []byte
}

// finish writes all files and then puts them in their places, so that a full
// disk leaves none of them.
func finish(outputs ...output) error {
	for _, o := range outputs {
		if _, err := o.file.Write(o.data); err != nil {
			return cannotWrite(o.path, err)
		}
	}
	for _, o := range outputs {
		if err := o.file.Commit(); err != nil {
			return cannotWrite(o.path, err)
		}
	}
	return nil
}

// warnOfOtherKey says so when the key that is about to be replaced is not the
// one that takes its place: proofs for it no longer verify with the file.
func warnOfOtherKey(path string, key *proof.Key, ph *ui.Phases) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	if old, err := proof.ReadKey(f, proof.MaxKeySize); err == nil && old.Digest != key.Digest {
		ph.Printf("warning: %s held the key of another model, calibration or setting; it is replaced", path)
	}
}
