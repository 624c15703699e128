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

// drawing is the version of the numbers that Draw draws; folders of another version are not used.
const drawing = 1

// Draw draws and writes drawnPieces pieces at a time. A generator draws the drawnPiece
// numbers of a piece, so that the numbers do not depend on the number of threads.
const (
	drawnPiece  = 1 << 16
	drawnPieces = 256
)

// shardBytes is the greatest size of a file of weights, unless a single tensor takes more.
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

// open opens a model of the shape with so many layers, 0 for all, and the device of the settings. It draws the weights unless the
// cache's folder has them, and takes nothing else from there.
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

// close releases the model, the device and the secret.
func (m *random) close() {
	m.Close()
	m.dev.Close()
	m.done()
}

// calibrated is the number of random tokens that ranges are calibrated on.
const calibrated = 64

// tokens returns n random tokens.
func (m *random) tokens(n int) []int {
	out := m.Outputs()[0].Shape
	ids := make([]int, n)
	for i := range ids {
		ids[i] = m.rng.IntN(out[len(out)-1])
	}
	return ids
}

// sample returns a text of at most `most` random tokens to calibrate on.
func (m *random) sample(most int) provemodel.Input {
	return must.Get(m.TextSamples([][]int{m.tokens(min(calibrated, most))}))[0]
}

// quantise quantises the model, calibrated on a sample.
func (m *random) quantise(ctx context.Context, sample provemodel.Input) *provemodel.Circuit {
	return must.Get(provemodel.Quantise(ctx, m.Model, []provemodel.Input{sample}, &m.opts.Quantise))
}

// Draw writes a model of the shape with random weights to a folder within dir, unless it
// is there already, and returns the folder. The weights are bfloat16 in SafeTensors files,
// and depend on shape, layers and seed alone. As in trained models, a few channels of the
// residual stream are far larger than the others, and the norms have small factors there.
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

// write writes the model's files. A file with several tensors has at most `most` bytes.
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

// writeJSON writes a value to a file.
func writeJSON(path string, v any) {
	data := must.Get(json.MarshalIndent(v, "", "  "))
	must.OK(os.WriteFile(path, data, 0o600))
}

// writeShard writes a file of tensors. It calls each with the number of bytes whenever it has written some.
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

// scales give the distribution of a tensor's numbers. The standard deviation of a
// number is row(its index on the axes before the last one) times column(its index on
// the last axis), and its mean is mean(its index on the last axis).
type scales struct {
	row, column func(i int) float32
	mean        func(channel int) float32
}

// scales returns the distribution of a tensor's numbers in a model with so many layers.
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
		// Every layer adds to the stream twice. All additions together are about as large as
		// the stream is at its beginning.
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

// draw fills dst with numbers of the tensor, from number `at` on, in bfloat16.
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

// normal returns a number whose distribution is nearly normal, with mean 0 and variance
// 1, from 64 random bits: the sum of four uniform numbers, of at most 3.5 in absolute
// value.
func normal(r uint64) float32 {
	sum := int32(r&0xffff) + int32(r>>16&0xffff) + int32(r>>32&0xffff) + int32(r>>48)
	const deviation = 0x10000 * 0.5773502691896258 // the variance of four uniform numbers in an interval of length 1 is 4/12
	return float32(sum-2*0xffff) / deviation
}

// bfloat16 returns the nearest bfloat16; of two that are equally near, the even one.
func bfloat16(v float32) uint16 {
	b := math.Float32bits(v)
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
