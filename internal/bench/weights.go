package bench

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/machine/cache"
)

// drawing is the version of what Draw draws: folders of another one are not taken.
const drawing = 1

// Sizes of what is drawn and written at once: numbers that one generator draws, whatever
// the number of threads, and such pieces.
const (
	drawnPiece  = 1 << 16
	drawnPieces = 256
)

// shardBytes is the most that a file of weights holds, unless one tensor takes more.
const shardBytes = 4 << 30

// random is a model with random weights, and what it is measured with.
type random struct {
	*provemodel.Model
	path   string
	layers int
	dev    *provemodel.Device
	opts   *job.Options
	rng    *rand.Rand
	ph     *ui.Phases
	done   func()
}

// open opens a model with so many of the shape's layers, or all for 0, and the device that the settings say. The model is drawn unless
// the cache's folder has it, and nothing but the weights as they are drawn is taken from there.
func (s *Shape) open(ctx context.Context, cfg *config.Config, layers int, o *provemodel.OpenOptions, ph *ui.Phases) *random {
	local := *cfg
	local.NoCache, local.NoSelfCheck = true, true
	m := &random{layers: cmp.Or(layers, s.Layers), rng: rand.New(rand.NewPCG(uint64(cfg.Seed), 1)), ph: ph}
	folder := must.Get(cache.Open(cfg.CacheDir))
	m.path = must.Get(s.Draw(ctx, filepath.Join(folder.Path(), "bench"), m.layers, uint64(cfg.Seed), ph))
	m.dev = must.Get(job.OpenDevice(ctx, cfg, ph))
	ph.Begin("open")
	float, err := provemodel.Open(m.path, o)
	ph.End(err)
	if err != nil {
		m.dev.Close()
	}
	must.OK(err)
	m.Model, m.done = float, must.Get(withSecret(&local))
	m.opts = job.OptionsOf(&local, ph, m.dev)
	return m
}

func (m *random) close() {
	m.Close()
	m.dev.Close()
	m.done()
}

// calibrated is the number of random tokens that ranges are taken from.
const calibrated = 64

// tokens are random ones.
func (m *random) tokens(n int) []int {
	out := m.Outputs()[0].Shape
	ids := make([]int, n)
	for i := range ids {
		ids[i] = m.rng.IntN(out[len(out)-1])
	}
	return ids
}

// sample is a text of random tokens, at most so many, that ranges are taken from.
func (m *random) sample(most int) provemodel.Input {
	return must.Get(m.TextSamples([][]int{m.tokens(min(calibrated, most))}))[0]
}

func (m *random) quantise(ctx context.Context, sample provemodel.Input) *provemodel.Circuit {
	return must.Get(provemodel.Quantise(ctx, m.Model, []provemodel.Input{sample}, &m.opts.Quantise))
}

// Draw writes a model of the shape with random weights, in bfloat16 as SafeTensors, to a
// folder of its own in dir, unless it is there, and returns the folder. The numbers depend
// on shape, layers and seed alone. A few channels of the residual stream are far larger
// than the others and its norms have small factors there, as in trained models.
func (s *Shape) Draw(ctx context.Context, dir string, layers int, seed uint64, ph *ui.Phases) (path string, err error) {
	defer must.Catch(&err)
	path = filepath.Join(dir, fmt.Sprintf("%s-%d-layers-seed-%d-v%d", s.Name, layers, seed, drawing))
	if _, err := os.Stat(filepath.Join(path, "config.json")); err == nil {
		return path, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	must.OK(os.MkdirAll(dir, 0o700))
	part := must.Get(os.MkdirTemp(dir, "part-*"))
	defer os.RemoveAll(part)
	ph.Begin("draw weights")
	err = s.write(ctx, part, layers, seed, shardBytes, ph)
	ph.End(err)
	must.OK(err)
	if err := os.Rename(part, path); err != nil {
		// Another process may have drawn the same meanwhile.
		if _, there := os.Stat(filepath.Join(path, "config.json")); there != nil {
			return "", err
		}
	}
	return path, nil
}

// write writes the files, of which none holds more than most bytes of several tensors.
func (s *Shape) write(ctx context.Context, dir string, layers int, seed uint64, most int, ph *ui.Phases) (err error) {
	defer must.Catch(&err)
	shards := [][]drawn{nil}
	total, held := 0, 0
	for _, t := range s.tensors(layers) {
		n := 2 * graph.Size(t.shape)
		if last := len(shards) - 1; held > 0 && held+n > most {
			shards, held = append(shards, []drawn{t}), 0
		} else {
			shards[last] = append(shards[last], t)
		}
		held, total = held+n, total+n
	}
	done, where := 0, map[string]string{}
	for i, list := range shards {
		name := "model.safetensors"
		if len(shards) > 1 {
			name = fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(shards))
		}
		for _, t := range list {
			where[t.name] = name
		}
		writeShard(ctx, filepath.Join(dir, name), list, layers, seed, func(n int) {
			done += n
			ph.Progress(done>>20, total>>20)
		})
	}
	if len(shards) > 1 {
		writeJSON(filepath.Join(dir, "model.safetensors.index.json"), map[string]any{"weight_map": where})
	}
	config := maps.Clone(s.config)
	config[s.layers] = layers
	writeJSON(filepath.Join(dir, "config.json"), config)
	return nil
}

func writeJSON(path string, v any) {
	data := must.Get(json.MarshalIndent(v, "", "  "))
	must.OK(os.WriteFile(path, data, 0o600))
}

// writeShard writes a file of tensors; each is told how many bytes were written.
func writeShard(ctx context.Context, path string, list []drawn, layers int, seed uint64, each func(n int)) {
	header, at := map[string]any{}, 0
	for _, t := range list {
		n := 2 * graph.Size(t.shape)
		header[t.name] = map[string]any{"dtype": "BF16", "shape": t.shape, "data_offsets": [2]int{at, at + n}}
		at += n
	}
	data := must.Get(json.Marshal(header))
	f := must.Get(os.Create(path))
	defer f.Close()
	must.Get(f.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(data))), data...)))
	buf := make([]byte, 2*drawnPiece*drawnPieces)
	for i := range list {
		t := &list[i]
		scale := t.scales(layers)
		for from, n := 0, graph.Size(t.shape); from < n; from += drawnPiece * drawnPieces {
			must.OK(ctx.Err())
			out := buf[:2*min(drawnPiece*drawnPieces, n-from)]
			parallel.For((len(out)/2+drawnPiece-1)/drawnPiece, 1, func(lo, hi int) {
				for p := lo; p < hi; p++ {
					t.draw(out[2*p*drawnPiece:min(2*(p+1)*drawnPiece, len(out))], from+p*drawnPiece, scale, seed)
				}
			})
			must.Get(f.Write(out))
			each(len(out))
		}
	}
	must.OK(f.Close())
}

// outlier says whether a channel of the residual stream is far larger than the others.
func outlier(channel, width int) bool {
	return channel == 3%width || channel == 17%width || channel == width/2+1 || channel == width-1
}

// scales are the standard deviations of a tensor's numbers, by their place on the last
// axis and on the one before, of which a number has the product.
type scales struct {
	row, column func(i int) float32
	mean        func(channel int) float32
}

func (t *drawn) scales(layers int) scales {
	one := func(int) float32 { return 1 }
	all := func(x float64) func(int) float32 { return func(int) float32 { return float32(x) } }
	last := t.shape[len(t.shape)-1]
	large := func(width int, x float32) func(int) float32 {
		return func(i int) float32 {
			if outlier(i, width) {
				return x
			}
			return 1
		}
	}
	s := scales{one, one, func(int) float32 { return 0 }}
	switch t.part {
	case inner:
		s.row = all(1 / math.Sqrt(float64(t.shape[t.inputs])))
	case residual:
		// Twice a layer something is added to the stream: together about as much as it
		// began with.
		size := all(0.2 / math.Sqrt(float64(t.shape[t.inputs]*layers)))
		if t.inputs == 1 {
			big := large(t.shape[0], 8)
			s.row = func(i int) float32 { return size(i) * big(i) }
		} else {
			s.row, s.column = size, large(last, 8)
		}
	case embedding:
		s.row, s.column = all(0.05), large(last, 20)
	case norm:
		s.row = all(0.1)
		s.mean = func(i int) float32 { return 1 / large(last, 8)(i) }
	case headNorm:
		s.row, s.mean = all(0.1), one
	case shift:
		s.row = all(0.02)
	}
	return s
}

// draw fills dst with the numbers of the tensor from number at on.
func (t *drawn) draw(dst []byte, at int, s scales, seed uint64) {
	h := fnv.New64a()
	h.Write([]byte(t.name))
	rng := rand.NewPCG(seed^h.Sum64(), uint64(at))
	last := t.shape[len(t.shape)-1]
	row, column := at/last, at%last
	scale := s.row(row)
	for i := 0; i < len(dst); i += 2 {
		v := normal(rng.Uint64())*scale*s.column(column) + s.mean(column)
		binary.LittleEndian.PutUint16(dst[i:], bfloat16(v))
		if column++; column == last {
			row, column = row+1, 0
			scale = s.row(row)
		}
	}
}

// normal is nearly normally distributed, with mean 0, variance 1 and at most 3.5: the sum
// of four uniform numbers.
func normal(r uint64) float32 {
	sum := int32(r&0xffff) + int32(r>>16&0xffff) + int32(r>>32&0xffff) + int32(r>>48)
	const deviation = 0x10000 * 0.5773502691896258 // 4 / 12, of uniform ones
	return float32(sum-2*0xffff) / deviation
}

// bfloat16 is the nearest number of that type, the even one of two.
func bfloat16(v float32) uint16 {
	b := math.Float32bits(v)
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
