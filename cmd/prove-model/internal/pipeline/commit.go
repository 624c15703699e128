package pipeline

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
)

// Committed is the result of Commit.
type Committed struct {
	Model            string     `json:"model"`
	Parameters       int        `json:"parameters"`
	Calibration      string     `json:"calibration"`
	VK               string     `json:"vk"`
	Commitment       string     `json:"model_commitment"`
	CachedCommitment bool       `json:"cached_commitment"`
	KeyBytes         int64      `json:"key_bytes"`
	Phases           []ui.Phase `json:"phases"`
	PeakMemory       int64      `json:"peak_memory_bytes"`
}

// Print writes the result as text.
func (c *Committed) Print(w io.Writer) {
	fmt.Fprintf(w, "model       %s, %d parameters\n", c.Model, c.Parameters)
	fmt.Fprintf(w, "calibrated  on %s\n", c.Calibration)
	fmt.Fprintf(w, "commitment  %s\n", c.Commitment)
	fmt.Fprintf(w, "key         %s, %s\n", c.VK, ui.Bytes(c.KeyBytes))
}

// Commit quantises and commits, or takes the commitment from the cache, and
// writes the key.
func Commit(ctx context.Context, cfg *config.Config, ph *ui.Phases) (*Committed, error) {
	dev, err := OpenDevice(ctx, cfg, ph)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	src, err := Open(cfg)
	if err != nil {
		return nil, err
	}
	defer src.Close(ctx)
	path := outputPath(cfg.VK, cfg.Model, ".vk")
	file, err := create(path)
	if err != nil {
		return nil, err
	}
	defer file.Abort()
	prep, err := Prepare(ctx, cfg, dev, src, ph)
	if err != nil {
		return nil, err
	}
	warnOfOtherKey(path, prep.Key, ph)
	if err := finish(output{file, path, prep.KeyBytes}); err != nil {
		return nil, err
	}
	return &Committed{
		Model: src.Name, Parameters: Parameters(src.Graph), Calibration: prep.calibration(src), VK: path,
		Commitment: hex.EncodeToString(prep.Key.Digest[:]), CachedCommitment: prep.Cached,
		KeyBytes: int64(len(prep.KeyBytes)), Phases: ph.All(), PeakMemory: ui.PeakMemory(),
	}, nil
}
