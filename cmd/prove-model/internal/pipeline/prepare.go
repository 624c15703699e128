package pipeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/prover/cache"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/quantise"
	"github.com/prove-model/prove-model/prover/whir"
)

// Prepared is a quantised model with its commitment.
type Prepared struct {
	Model    *quantise.Model
	Key      *proof.Key
	KeyBytes []byte
	Tree     *whir.Tree // nil if the model has no fixed tensors
	// Cached says that calibration and commitment are those of an earlier run.
	Cached bool

	chunkBudget float64 // GB
}

// PhaseCommitModel names the phase that commits to the model.
const PhaseCommitModel = "commit model"

// cacheBytes is the size the cache is pruned to.
const cacheBytes = 4 << 30

// Prepare calibrates, quantises and commits, or takes calibration and
// commitment from the cache. The cache goes by the content of the model, the
// settings that the key depends on and the calibration file. Without such a
// file the first input that a model is run on calibrates it, and later ones
// keep to that: so the key stays the same from input to input.
func Prepare(ctx context.Context, cfg *config.Config, dev *Device, src *Source, ph *ui.Phases) (*Prepared, error) {
	sec, err := security(cfg)
	if err != nil {
		return nil, err
	}
	dir, id := openCache(cfg, src, ph)
	if dir != nil {
		p, err := restore(ctx, dir, id, cfg, src, ph)
		if p != nil || err != nil {
			return p, err
		}
	}
	ranges, err := calibrate(ctx, src, ph)
	if err != nil {
		return nil, err
	}
	p := &Prepared{chunkBudget: cfg.ChunkBudgetGB}
	if p.Model, err = quantised(ctx, cfg, src, ranges, ph); err != nil {
		return nil, err
	}
	if err := dev.reserve(p.Model.Graph, sec, ph); err != nil {
		return nil, err
	}
	err = ph.Run(ctx, PhaseCommitModel, func(func(done, total int)) (err error) {
		p.Key, p.Tree, err = prover.Commit(ctx, p.Model.Circuit, p.Model.Weights, sec, prover.Options{Backend: dev.Backend})
		if err != nil {
			return err
		}
		p.KeyBytes, err = proof.EncodeKey(p.Key)
		return err
	})
	if err != nil {
		return nil, err
	}
	if dir != nil {
		if err := store(dir, id, p, ranges); err != nil {
			// A proof without a cache is as good.
			ph.Printf("warning: the commitment is not cached: %v", err)
		}
	}
	return p, nil
}

// Quantise calibrates and quantises without committing.
func Quantise(ctx context.Context, cfg *config.Config, src *Source, ph *ui.Phases) (*quantise.Model, error) {
	ranges, err := calibrate(ctx, src, ph)
	if err != nil {
		return nil, err
	}
	return quantised(ctx, cfg, src, ranges, ph)
}

func security(cfg *config.Config) (proof.Security, error) {
	mode, err := proof.ParseMode(cfg.Soundness)
	return proof.Security{TargetBits: cfg.SecurityBits, GrindBits: cfg.GrindBits, Mode: mode}, err
}

// options returns what the settings say to the quantiser.
func options(cfg *config.Config) quantise.Options {
	return quantise.Options{Mode: cfg.Mode, Headroom: cfg.Headroom}
}

// entryBytes is what proving takes for an entry of a chunk's witness: about
// 110 bytes where it was measured, on convolutions, and twice that to be safe.
const entryBytes = 256

// warnOfChunks says so when the estimate for the largest chunk is over the
// budget. The circuit alone decides what a chunk is.
func warnOfChunks(g *model.Graph, budget float64, ph *ui.Phases) {
	most := 0
	for chunk := range g.Chunks {
		entries := 0
		for _, id := range g.WitnessIDs(chunk) {
			entries += model.Size(g.Tensors[id].Shape)
		}
		most = max(most, entries)
	}
	if need := int64(most) * entryBytes; float64(need) > budget*(1<<30) {
		ph.Printf("warning: a chunk of the witness takes about %s, more than the %g GB of --chunk-budget-gb", ui.Bytes(need), budget)
	}
}

// calibrate runs the float model on all samples and returns the range of every
// value.
func calibrate(ctx context.Context, src *Source, ph *ui.Phases) (map[string]quantise.Range, error) {
	ranges := map[string]quantise.Range{}
	err := ph.Run(ctx, "calibrate", func(step func(done, total int)) error {
		for i, sample := range src.Samples {
			step(i, len(src.Samples))
			if err := ctx.Err(); err != nil {
				return err
			}
			values, err := src.runFloat(sample)
			if err != nil {
				return err
			}
			for name, r := range quantise.Ranges(values) {
				if old, ok := ranges[name]; ok {
					r = r.Union(old)
				}
				ranges[name] = r
			}
		}
		return nil
	})
	return ranges, err
}

func quantised(ctx context.Context, cfg *config.Config, src *Source, ranges map[string]quantise.Range, ph *ui.Phases) (*quantise.Model, error) {
	var m *quantise.Model
	err := ph.Run(ctx, "quantise", func(func(done, total int)) (err error) {
		m, err = quantise.Quantise(src.Graph, ranges, options(cfg))
		return err
	})
	return m, err
}

// openCache returns the cache and the name of the model's entry, or a nil
// folder if the cache is off or cannot be used.
func openCache(cfg *config.Config, src *Source, ph *ui.Phases) (*cache.Dir, cache.ID) {
	if cfg.NoCache {
		return nil, cache.ID{}
	}
	dir, err := cache.Open(cfg.CacheDir)
	if err != nil {
		ph.Printf("warning: no cache: %v", err)
		return nil, cache.ID{}
	}
	h := cache.NewHasher()
	content := contentDigest(src.Graph)
	h.Add("model", content[:])
	h.Add("options", fmt.Appendf(nil, "%#v %s %d %d", options(cfg), cfg.Soundness, cfg.SecurityBits, cfg.GrindBits))
	if src.Calibrated {
		h.Add("samples", sampleBytes(src.Samples))
	}
	return dir, h.ID()
}

func sampleBytes(samples [][][]float64) []byte {
	var b []byte
	for _, s := range samples {
		for _, v := range s {
			b = binary.LittleEndian.AppendUint64(b, uint64(len(v)))
			for _, x := range v {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
			}
		}
	}
	return b
}

func store(dir *cache.Dir, id cache.ID, p *Prepared, ranges map[string]quantise.Range) error {
	extra, err := json.Marshal(ranges)
	if err != nil {
		return err
	}
	e := &cache.Entry{Key: p.KeyBytes, Extra: extra}
	if p.Tree != nil {
		e.Layers = p.Tree.Layers()
	}
	if err := dir.Put(id, e); err != nil {
		return err
	}
	_, err = dir.Prune(cacheBytes)
	return err
}

// restore returns the prepared model of a cache entry, or nil if there is none
// that fits. Quantising again is quick, and that it gives the very key of the
// entry shows that the entry is this model's. The error is that of the context.
func restore(ctx context.Context, dir *cache.Dir, id cache.ID, cfg *config.Config, src *Source, ph *ui.Phases) (*Prepared, error) {
	e, err := dir.Get(id)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			ph.Printf("warning: cache: %v", err)
		}
		return nil, nil
	}
	var ranges map[string]quantise.Range
	if json.Unmarshal(e.Extra, &ranges) != nil {
		return nil, nil
	}
	p := &Prepared{Cached: true, chunkBudget: cfg.ChunkBudgetGB}
	if p.Model, err = quantised(ctx, cfg, src, ranges, ph); err != nil {
		return nil, ctx.Err()
	}
	if p.Key, err = proof.DecodeKey(e.Key); err != nil {
		return nil, nil
	}
	again := *p.Key
	again.Circuit = p.Model.Circuit
	if p.KeyBytes, err = proof.EncodeKey(&again); err != nil || !bytes.Equal(p.KeyBytes, e.Key) {
		return nil, nil
	}
	if p.Tree, err = restoreTree(p.Key, e); err != nil {
		return nil, nil
	}
	return p, nil
}

func restoreTree(key *proof.Key, e *cache.Entry) (*whir.Tree, error) {
	if !key.HasFixed {
		return nil, nil
	}
	g := key.Circuit.Graph
	stack := model.NewStack(g, g.FixedIDs())
	rows := int((stack.Size + 1<<key.RowVars - 1) >> key.RowVars)
	tree, err := whir.FromLayers(key.RowVars, key.Security.Config().LogBlowup, rows, e.Layers)
	if err == nil && tree.Root() != key.Root {
		err = errors.New("the layers are not those of the key's root")
	}
	return tree, err
}

// calibration says what the ranges were taken from.
func (p *Prepared) calibration(src *Source) string {
	if p.Cached && !src.Calibrated {
		return "the first input this model was run on (cached)"
	}
	return src.SamplesFrom
}
