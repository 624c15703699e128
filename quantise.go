package provemodel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cache"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/quantise"
	"github.com/prove-model/prove-model/quantise/lower"
	"golang.org/x/sync/errgroup"
)

// Circuit is a quantised model: an integer computation, and the weights that a
// commitment is made to. It no longer needs its Model, which may be closed.
type Circuit struct {
	quantised *quantise.Model
	language  *proof.Text
	words     []byte                     // the file of the vocabulary; nil if the model says nothing of strings
	refuse    func(text []float64) error // as the model's
	outputs   []Spec                     // with the float model's names
	report    Report
	source    *proof.Source // what it was made from; nil for a model made in memory, or if its weights are hidden
	id        *cache.ID     // of what it was made from; nil for a model made in memory
	mapped    int64         // bytes of the model's files, or of its floats in memory
	floats    int64         // that a run of the float model takes
	text      bool          // whether the model leaves the length of texts open
	listens   bool          // to audio, in place of reading a prompt
	writes    int           // as many tokens as the model was opened to write
	base      *Circuit      // what the circuit is an adapter to, nil for others
	baseKey   *Key          // of the base, if it was given
	hides     bool          // whether it is quantised for a key that hides weights
	inSizes   *inSizes
}

// inSizes caches the model in the sizes of the last input. Devices cache by graph, so the same graph
// should be used again for an input of the same sizes.
type inSizes struct {
	sync.Mutex
	model *quantise.Model // nil if there was none
}

// Report tells how a model was quantised.
type Report struct {
	// Steps are the look-ups that round, with their precision.
	Steps []quantise.StepReport
	// Float has the float model's outputs on the first sample, nil if calibration did not run it.
	Float []Tensor
	// Chosen lists the values that got a finer format than the mode's usual one, so that the
	// outputs meet the target error.
	Chosen []quantise.Chosen
	// Choice tells how they were chosen, nil if Cached.
	Choice *quantise.Choice
	// Cached says that the ranges are those of an earlier run.
	Cached bool
	// OneBatch says why the circuit is for one size of the batch, or one length of texts,
	// though the model leaves it open; nil if it is for all, or if the model fixes it.
	OneBatch error
}

// ranges are the real values that calibration met, by name of the tensor.
type ranges = map[string]quantise.Range

// QuantiseOptions say how precise a circuit is, and where its ranges come from. The zero value, as nil, is the mode "auto",
// calibrated on the samples, without a cache.
type QuantiseOptions struct {
	Observer Observer // is told how the work goes, unless nil
	// CacheDir is a folder (UserCacheDir) from which calibrated ranges and quantised models are taken, and in which they are kept;
	// "" is none. One that cannot be used is warned about.
	CacheDir string
	// Mode is the precision: "auto", as "" is, what brings the outputs close to the float model's; "w8a8", eight bits for weights
	// and activations; or "exact", sixteen bits wherever that is possible.
	Mode string
	// TargetError is the error of the outputs, as a fraction of their range, that the mode "auto" chooses formats for: at most 1;
	// 0 is 0.001. A larger one makes proofs cheaper.
	TargetError float64
	// Headroom is the factor by which calibrated ranges are widened: at least 1; 0 is 2.
	Headroom float64
	// PublicConstants are names of constants that need not be hidden where weights are, such as numbers of the architecture that a
	// file has among its weights. As coefficients and in tables they cost less.
	PublicConstants []string
	// Ranges, if not nil, are the ranges of all values, in place of samples. It is an error if they are another model's.
	Ranges Ranges
	// KeepRanges takes the ranges of the samples that the model was first quantised with, if the cache has them: so the key stays
	// the same from input to input.
	KeepRanges bool
	// Provisional says that the samples are made up, so that the cache does not keep their ranges as the model's.
	Provisional bool
	// BaseKey is the key of the model that an adapter is to, without the adapter: its weights are quantised as the key says, so that keys of
	// the adapter have its root. Nil quantises it with the same samples.
	BaseKey *Key
	// Hide has the circuit tell nothing of the weights that need not be public, for a key that hides them (CommitOptions.Hide).
	Hide bool
}

// settings are those of the quantiser, for texts of some length at most.
func (o *QuantiseOptions) settings(length int) (quantise.Options, error) {
	s := quantise.Options{Mode: o.Mode, Headroom: cmp.Or(o.Headroom, 2), Target: o.TargetError, Length: length, Hide: o.Hide}
	s.Public = slices.Sorted(slices.Values(o.PublicConstants))
	switch {
	case !(o.TargetError >= 0 && o.TargetError <= 1):
		return s, fmt.Errorf("TargetError is %v: want a fraction up to 1, or 0 for the default", o.TargetError)
	case !(s.Headroom >= 1 && !math.IsInf(s.Headroom, 1)):
		return s, fmt.Errorf("option Headroom is %v: want a factor of 1 or more, or 0 for 2", o.Headroom)
	}
	return s.WithDefaults()
}

// Quantise turns a model into integers. The samples, at least one unless there
// are ranges (QuantiseOptions.Ranges), show the range of each value. If the model leaves the
// size of its batch open, and only shapes depend on that size, the circuit leaves it open too,
// and samples may be batches of any size. The same holds for the length of texts, up to
// OpenOptions.Tokens. An error about nodes names all of them. opts may be nil.
func Quantise(ctx context.Context, m *Model, samples []Input, opts *QuantiseOptions) (_ *Circuit, err error) {
	defer must.Catch(&err)
	o := orDefault(opts)
	settings := must.Get(o.settings(m.open.most))
	if len(samples) == 0 && o.Ranges == nil {
		return nil, errors.New("no samples to take ranges from")
	}
	w := newWatch(o.Observer)
	defer w.stop()
	base := must.Get(m.quantiseBase(ctx, w, samples, o))
	settings.Base = base.asBase()
	c, err := m.quantiseWith(ctx, w, samples, o, settings)
	if err == nil {
		c.base, c.baseKey = base, o.BaseKey
	}
	return c, err
}

// quantiseBase quantises what the model is an adapter to; nil if it is none.
func (m *Model) quantiseBase(ctx context.Context, w *watch, samples []Input, o *QuantiseOptions) (_ *Circuit, err error) {
	defer must.Catch(&err)
	switch {
	case m.base == nil && o.BaseKey != nil:
		return nil, errors.New("the key of a base is given, and the model is no adapter to one")
	case m.base == nil:
		return nil, nil
	case o.Hide:
		return nil, errors.New("a model with an adapter has weights under two roots, and keys hide one: merge the adapter into the model for a key that hides its weights")
	case o.BaseKey != nil:
		return must.GetAs(m.base.remake(ctx, w, o.BaseKey, nil))("the key of the adapter's base"), nil
	case len(samples) == 0:
		return nil, errors.New("ranges of an adapter say nothing of its base: give the key of that, or samples")
	}
	alone := *o
	alone.Ranges, alone.Observer = nil, w.observer
	return must.GetAs(Quantise(ctx, m.base, samples, &alone))("the base of the adapter"), nil
}

// asBase returns the circuit as what others are adapters to; nil of nil.
func (c *Circuit) asBase() *lower.Base {
	if c == nil {
		return nil
	}
	name := "in memory"
	if c.id != nil {
		name = fmt.Sprintf("%x", *c.id)
	}
	return c.quantised.AsBase(name)
}

// quantiseWith is Quantise with complete settings.
func (m *Model) quantiseWith(ctx context.Context, w *watch, samples []Input, o *QuantiseOptions, settings quantise.Options) (_ *Circuit, err error) {
	defer must.Catch(&err)
	if err := publishable(m.graph); err != nil && !m.open.isText() { // texts may be shorter
		return nil, err
	}
	must.OK(m.hash(ctx, w))
	if o.Ranges != nil {
		given := must.Get(m.match(o.Ranges))
		settings.Formats = o.Ranges.formats()
		return m.quantiseCached(ctx, o.CacheDir, w, given, settings)
	}
	entry := entryOf(o.CacheDir, w, m.rangesID(samples, settings, o.KeepRanges))
	if known, formats, err := m.cachedRanges(entry); err == nil {
		repeat := settings
		repeat.Formats = formats
		c, err := m.quantiseCached(ctx, o.CacheDir, w, known, repeat)
		if err == nil {
			c.report.Cached = true
			c.warn(w)
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		w.warn("cache: the ranges do not fit the model: %v", err)
	}
	var seen *calibration
	must.OK(m.phase(ctx, w, phaseCalibrate, func() (err error) {
		seen, err = m.calibrate(ctx, samples, w.progress)
		return err
	}))
	c, err := m.choose(ctx, w, seen, settings)
	// If the circuit must have one size of the batch, samples are joined to batches of that size.
	if again := m.whole(samples); again != nil && (err != nil || c.report.OneBatch != nil) {
		err = m.phase(ctx, w, phaseCalibrate, func() (err error) {
			seen, err = m.calibrate(ctx, again, w.progress)
			return err
		})
		if err == nil {
			c, err = m.choose(ctx, w, seen, settings)
		}
	}
	must.OK(err)
	c.warn(w)
	c.report.Float = seen.outputs
	if !o.Provisional {
		entry.putCodes(slices.Concat([]uint32{flag(c.free())}, formatsOf(c.quantised, true), codes(c.quantised)))
		settings.Formats = c.quantised.Formats
		entryOf(o.CacheDir, w, m.quantisedID(rangesOf(c.quantised), settings)).putQuantised(m, c.quantised)
	}
	return c, nil
}

// calibration is the result of running the float model on the samples: the range of every value,
// the outputs on the first sample, and the samples on which formats are compared.
type calibration struct {
	ranges  ranges
	outputs []Tensor
	judges  []quantise.Sample
}

// fewValues is below how many values looking at them takes less than handing them to another goroutine.
const fewValues = 1 << 12

// calibrate runs the float model on all samples. Ranges are rounded so that a key can
// hold them.
func (m *Model) calibrate(ctx context.Context, samples []Input, progress func(done, total int)) (_ *calibration, err error) {
	defer must.Catch(&err)
	seen := &calibration{ranges: ranges{}}
	var runs *graph.Graph // that there is memory for
	for i, sample := range samples {
		progress(i, len(samples))
		must.OK(ctx.Err())
		g := must.Get(m.sizedFor(sample))
		run := quantise.NewFloatRun(g)
		var looks errgroup.Group
		looks.SetLimit(runtime.GOMAXPROCS(0)) // beside the run, which computes most values on all cores
		var mu sync.Mutex
		look := func(name string, values []float64) {
			see := func() error {
				r := quantise.RangeIn(g, name, values)
				if i < quantise.MostSamples {
					run.Add(name, values)
				}
				mu.Lock()
				defer mu.Unlock()
				if old, ok := seen.ranges[name]; ok {
					r = r.Union(old)
				}
				seen.ranges[name] = r
				return nil
			}
			if len(values) < fewValues {
				_ = see() // which never fails
			} else {
				looks.Go(see)
			}
		}
		if i == 0 {
			seen.outputs, err = visitFloat(g, sample, look)
		} else {
			if g != runs {
				err = runnable(g)
			}
			if err == nil {
				err = g.VisitFloat(sample, look)
			}
		}
		runs = g
		if waited := looks.Wait(); err == nil {
			err = waited
		}
		must.OK(err)
		if i < quantise.MostSamples {
			seen.judges = append(seen.judges, quantise.Sample{Graph: g, Inputs: sample, Float: run})
		} else if m.open.symbol != "" && !m.open.isText() { // elements of a batch
			seen.judges = append(seen.judges, quantise.Sample{Graph: g, Inputs: sample})
		}
	}
	for _, steps := range m.graph.Alike {
		share(seen.ranges, steps)
	}
	for name, r := range seen.ranges {
		seen.ranges[name] = r.Rounded()
	}
	return seen, nil
}

// share gives values one range, that of all of them.
func share(r ranges, names []string) {
	all := r[names[0]]
	for _, name := range names {
		all = all.Union(r[name])
	}
	for _, name := range names {
		r[name] = all
	}
}

// values lists the values that ranges and formats are of.
func (m *Model) values(free bool) ([]string, error) {
	g, err := m.graph, error(nil)
	switch {
	case free && m.open.isText():
		g, err = m.circuitSize()
	case free:
		g, err = quantise.Pair(g)
	}
	if err != nil {
		return nil, err
	}
	return quantise.Values(g), nil
}

// codes encodes the ranges that a model was quantised with as keys do, in the order of the
// values: three integers for each.
func codes(q *quantise.Model) []uint32 {
	var codes []uint32
	for _, name := range q.Values {
		c := q.Ranges[name].Codes()
		codes = append(codes, c[:]...)
	}
	return codes
}

// rangesOf are the ranges that a model was quantised with, of its values alone.
func rangesOf(q *quantise.Model) ranges {
	r := make(ranges, len(q.Values))
	for _, name := range q.Values {
		r[name] = q.Ranges[name]
	}
	return r
}

// ranges decodes what codes has encoded, for a circuit with a free dimension or without. A wrong
// number of codes, or an invalid one, is an error.
func (m *Model) ranges(codes []uint32, free bool) (_ ranges, err error) {
	defer must.Catch(&err)
	names := must.Get(m.values(free))
	if len(codes) != 3*len(names) {
		return nil, fmt.Errorf("%d numbers, not 3 for each of %d values", len(codes), len(names))
	}
	r := ranges{}
	for i, name := range names {
		r[name] = must.Get(quantise.RangeOf([3]uint32(codes[3*i:])))
	}
	return r, nil
}

// formatsOf encodes the formats that a model was quantised with as keys do, in the order of the
// values. If every format is the usual one the result is nil, unless all is set.
func formatsOf(q *quantise.Model, all bool) []uint32 {
	codes := make([]uint32, len(q.Values))
	for i, name := range q.Values {
		codes[i] = q.Formats[name].Code()
		all = all || codes[i] != 0
	}
	if !all {
		return nil
	}
	return codes
}

// formats is the inverse of formatsOf.
func (m *Model) formats(codes []uint32, free bool) (_ quantise.Formats, err error) {
	defer must.Catch(&err)
	names, err := m.values(free)
	if err != nil || len(codes) == 0 {
		return nil, err
	}
	if len(codes) != len(names) {
		return nil, fmt.Errorf("%d formats for %d values", len(codes), len(names))
	}
	formats := quantise.Formats{}
	for i, name := range names {
		f := must.Get(quantise.FormatOf(codes[i]))
		if codes[i] != 0 {
			formats[name] = f
		}
	}
	return formats, nil
}

// cachedRanges decodes a cache entry: a flag that says whether the circuit had a free dimension,
// then the codes of the formats, then those of the ranges.
func (m *Model) cachedRanges(e *entry) (_ ranges, _ quantise.Formats, err error) {
	defer must.Catch(&err)
	codes := e.codes()
	if len(codes) == 0 {
		return nil, nil, errors.New("no ranges")
	}
	free, n := codes[0] == flag(true), (len(codes)-1)/4
	f := must.Get(m.formats(codes[1:1+n], free))
	r, err := m.ranges(codes[1+n:], free)
	return r, f, err
}

func flag(yes bool) uint32 {
	if yes {
		return 1
	}
	return 0
}

// choose quantises with the formats that meet the target error on the samples.
func (m *Model) choose(ctx context.Context, w *watch, seen *calibration, settings quantise.Options) (_ *Circuit, err error) {
	defer must.Catch(&err)
	var q *quantise.Model
	var choice *quantise.Choice
	must.OK(m.phase(ctx, w, phaseQuantise, func() (err error) {
		q, err = m.freeOrFixed(settings, func(g *graph.Graph, settings quantise.Options) (q *quantise.Model, err error) {
			q, choice, err = quantise.Choose(ctx, g, seen.judges, seen.ranges, settings)
			return q, err
		})
		return err
	}))
	c := m.circuit(q, settings)
	c.report.Choice = choice
	return c, nil
}

// quantise quantises with the formats that the settings have.
func (m *Model) quantise(ctx context.Context, w *watch, r ranges, settings quantise.Options) (_ *Circuit, err error) {
	defer must.Catch(&err)
	var q *quantise.Model
	must.OK(m.phase(ctx, w, phaseQuantise, func() (err error) {
		q, err = m.freeOrFixed(settings, func(g *graph.Graph, settings quantise.Options) (*quantise.Model, error) {
			return quantise.Quantise(g, r, settings)
		})
		return err
	}))
	return m.circuit(q, settings), nil
}

// quantiseCached returns the quantised model of the cache, or quantises and caches the result.
func (m *Model) quantiseCached(ctx context.Context, folder string, w *watch, r ranges, settings quantise.Options) (_ *Circuit, err error) {
	defer must.Catch(&err)
	entry := entryOf(folder, w, m.quantisedID(r, settings))
	var q *quantise.Model
	must.OK(m.phase(ctx, w, phaseQuantise, func() error {
		q = entry.quantised()
		return nil
	}))
	if q != nil {
		return m.circuit(q, settings), nil
	}
	c, err := m.quantise(ctx, w, r, settings)
	if err == nil {
		entry.putQuantised(m, c.quantised)
	}
	return c, err
}

// freeOrFixed quantises a model of texts for any length up to the most; if that fails, for the
// one length that the model was opened for. OneBatch then has the reason.
func (m *Model) freeOrFixed(settings quantise.Options, f func(g *graph.Graph, settings quantise.Options) (*quantise.Model, error)) (_ *quantise.Model, err error) {
	defer must.Catch(&err)
	if settings.Length == 0 {
		return f(m.graph, settings)
	}
	g := must.Get(m.circuitSize())
	q, why := f(g, settings)
	if why == nil || errors.Is(why, context.Canceled) || errors.Is(why, context.DeadlineExceeded) {
		return q, why
	}
	settings.Length = 0
	if q, err = f(m.graph, settings); err == nil {
		q.OneBatch = why
	}
	return q, err
}

// circuit describes a quantised model.
func (m *Model) circuit(q *quantise.Model, settings quantise.Options) *Circuit {
	c := &Circuit{
		outputs: m.Outputs(), quantised: q, language: m.language, words: m.words(), refuse: m.refuse, text: m.open.isText(), writes: m.writes(), listens: m.listens.Samples > 0,
		hides: settings.Hide, inSizes: &inSizes{},
	}
	for _, f := range m.graph.Files {
		c.mapped += int64(len(f.Bytes()))
	}
	if c.mapped == 0 { // made in memory
		for _, t := range m.graph.Consts {
			c.mapped += 4 * int64(len(t.F32))
		}
	}
	c.floats = 16 * int64(m.graph.Alive()) // what is dropped is collected when it is as much again
	c.report.Steps, c.report.OneBatch, c.report.Chosen = q.Steps, q.OneBatch, q.Chosen()
	if files := m.files(); len(files) > 0 {
		source := &proof.Source{
			Files: files, Quantiser: quantise.Version,
			W8A8: settings.Mode == modeW8A8, WeightBits: settings.WeightBits, ActBits: settings.ActBits, TableBits: settings.MaxTableBits,
			Headroom: settings.Headroom, Ranges: codes(q), Formats: formatsOf(q, false),
		}
		c.id = m.circuitID(source, c.free(), settings)
		if !settings.Hide { // it has a digest of the weights, and ranges of what is computed with them
			c.source = source
		}
	}
	return c
}

// modeW8A8 is the quantiser's mode that a source has a flag for.
const modeW8A8 = "w8a8"

// settingsOf returns the options that a source was quantised with.
func settingsOf(s *proof.Source) quantise.Options {
	o := quantise.Options{WeightBits: s.WeightBits, ActBits: s.ActBits, MaxTableBits: s.TableBits, Headroom: s.Headroom}
	if s.W8A8 {
		o.Mode = modeW8A8
	}
	return o
}

// warn says so if the circuit is for one size of an open batch.
func (c *Circuit) warn(w *watch) {
	if err := c.report.OneBatch; err != nil {
		shape := c.Graph().Tensors[c.Graph().Inputs[0]].Shape
		if c.text {
			w.warn("the circuit is for texts of %d tokens alone: %v", shape[1], err)
			return
		}
		w.warn("the circuit is for batches of %d alone: %v", shape[0], err)
	}
}

// Graph returns the integer computation, for a batch of the model's size, or a text of
// some length. It must not be changed.
func (c *Circuit) Graph() *model.Graph { return c.quantised.Graph }

// free says whether the batch is free, or the length of texts.
func (c *Circuit) free() bool { return len(c.quantised.Circuit.Free) > 0 }

// freely says whether the number of tokens that the model writes is free too.
func (c *Circuit) freely() bool {
	n := len(c.quantised.Circuit.Free)
	return n > 1 || n > 0 && c.listens
}

// Free lists the free dimensions: sizes, such as that of the batch or the length of a
// text, that each input has of its own, up to a bound.
func (c *Circuit) Free() []model.FreeDim { return slices.Clone(c.quantised.Circuit.Free) }

// sized returns the quantised model for a batch, or a text, as large as the input, with
// chunks of the size that is chosen for it.
func (c *Circuit) sized(in Input) (*quantise.Model, error) { return c.sizedFor(in, 0) }

// sizedFor is sized for so many texts, each as long as the input; 0 is one.
func (c *Circuit) sizedFor(in Input, texts int) (_ *quantise.Model, err error) {
	defer must.Catch(&err)
	if c.refuse != nil && len(in) > 0 {
		must.OK(c.refuse(in[0]))
	}
	lens := seq.Map(in, func(x []float64) int { return len(x) })
	instance := must.Get(c.quantised.Circuit.InstanceOf(lens))
	instance.Texts = texts
	instance = c.quantised.Circuit.Choose(instance)
	if same(instance, c.quantised.Graph.Instance) {
		return c.quantised, nil
	}
	last := c.inSizes
	last.Lock()
	defer last.Unlock()
	if last.model == nil || !same(instance, last.model.Graph.Instance) {
		q := must.Get(c.quantised.At(instance))
		last.model = q
	}
	return last.model, nil
}

// same says whether two instances of a circuit are the same.
func same(a, b model.Instance) bool {
	return a.Equal(&b)
}

// Ranges returns the ranges that the model was quantised with: with them as QuantiseOptions.Ranges
// the circuit is the same.
func (c *Circuit) Ranges() Ranges {
	return named(c.quantised.Values, codes(c.quantised), formatsOf(c.quantised, true))
}

// Report tells how the circuit came to be.
func (c *Circuit) Report() Report { return c.report }

// A Run is what a circuit computes of an input.
type Run struct {
	Outputs []Tensor
	// Saturated lists where values were clamped, the input first.
	Saturated []statement.Saturation
}

// Run runs the circuit without proving anything.
func (c *Circuit) Run(ctx context.Context, in Input) (_ *Run, err error) {
	defer must.Catch(&err)
	q := must.Get(c.sized(in))
	r, wit, err := c.run(ctx, nil, q, in)
	must.OK(err)
	wit.Close()
	return r, nil
}

// run runs the circuit, in the size of the input, on a machine, nil for the CPU
// alone.
func (c *Circuit) run(ctx context.Context, on forward.Machine, q *quantise.Model, in Input) (_ *Run, _ *forward.Witness, err error) {
	defer must.Catch(&err)
	ints, clamped, err := q.QuantiseInput(in)
	must.OK(err)
	wit := must.Get(forward.RunOn(ctx, on, q.Graph, q.Weights, ints))
	return c.readRounded(q, ints, clamped, wit), wit, nil
}

// readRounded describes a run on an input that is quantised already.
func (c *Circuit) readRounded(q *quantise.Model, ints [][]int32, clamped int, wit *forward.Witness) *Run {
	r := &Run{Saturated: saturations(clamped, ints, q.Saturation(wit))}
	for i, values := range q.Outputs(wit) {
		shape := q.Graph.Tensors[q.Graph.Outputs[i]].Shape
		r.Outputs = append(r.Outputs, tensor(c.outputs[i].Name, shape, values))
	}
	return r
}

// Ranges are the calibrated ranges of a model's values, as integers: with them,
// and the same options, a model is quantised the same on every machine, and has
// the same key. The values are the inputs and then what the nodes of the graph
// compute, in order.
type Ranges []ValueRange

// ValueRange is the range and the format of one value: its bounds, and the least magnitude that
// calibration met in between. A number is given by a code: the first 28 bits of
// the IEEE 754 double, sign, exponent and 16 digits, into which it was rounded
// outwards.
type ValueRange struct {
	Name  string `json:"name"`
	Min   uint32 `json:"min"`
	Max   uint32 `json:"max"`
	Least uint32 `json:"least"`
	// Format is that of a value which was made more precise than others
	// (quantise.Format.Code), 0 for none.
	Format uint32 `json:"format,omitempty"`
}

// rangesFormat is the first member of a file of ranges.
const rangesFormat = "prove-model ranges 1"

// rangesFile is a file of ranges.
type rangesFile struct {
	Format string `json:"format"`
	Ranges Ranges `json:"ranges"`
}

// maxRangesFile is the most that ReadRanges reads, far above what models have.
const maxRangesFile = 256 << 20

// ReadRanges reads what Ranges.File wrote. White space is free; anything else
// that File would not have written is refused.
func ReadRanges(r io.Reader) (_ Ranges, err error) {
	defer must.Catch(&err)
	data := must.Get(io.ReadAll(io.LimitReader(r, maxRangesFile+1)))
	if len(data) > maxRangesFile {
		return nil, fmt.Errorf("a file of ranges has at most %d bytes", maxRangesFile)
	}
	var f rangesFile
	must.OKAs(json.Unmarshal(data, &f), "not a file of ranges")
	if f.Format != rangesFormat {
		return nil, fmt.Errorf("not a file of ranges: its format is %q, not %q", f.Format, rangesFormat)
	}
	var got, want bytes.Buffer
	must.OK(errors.Join(json.Compact(&got, data), json.Compact(&want, f.Ranges.File())))
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		return nil, errors.New("not a file of ranges: members are missing, unknown, repeated or in another order")
	}
	for _, v := range f.Ranges {
		must.Get(v.decode())
	}
	return f.Ranges, nil
}

// File returns the ranges as a JSON file, one value a line.
func (r Ranges) File() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"format\": %q, \"ranges\": [", rangesFormat)
	for i, v := range r {
		line, err := json.Marshal(v)
		if err != nil {
			panic(err) // a string and three integers
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(line)
	}
	b.WriteString("\n]}\n")
	return b.Bytes()
}

func (v ValueRange) decode() (quantise.Range, error) {
	r, err := quantise.RangeOf([3]uint32{v.Min, v.Max, v.Least})
	if err != nil {
		return r, fmt.Errorf("the range of %q: %w", v.Name, err)
	}
	if _, err := quantise.FormatOf(v.Format); err != nil {
		return r, fmt.Errorf("%q: %w", v.Name, err)
	}
	return r, nil
}

// named puts codes beside the names of their values, in order.
func named(names []string, codes, formats []uint32) Ranges {
	var r Ranges
	for i, name := range names {
		r = append(r, ValueRange{name, codes[3*i], codes[3*i+1], codes[3*i+2], formats[i]})
	}
	return r
}

// formats are those of the values that have one.
func (r Ranges) formats() quantise.Formats {
	f := quantise.Formats{}
	for _, v := range r {
		if v.Format != 0 {
			f[v.Name], _ = quantise.FormatOf(v.Format) // it has been decoded
		}
	}
	return f
}

// match returns the ranges by name, which must be those of the model's values: of a
// circuit with a free batch, or of one without.
func (m *Model) match(given Ranges) (_ ranges, err error) {
	defer must.Catch(&err)
	free, err := m.values(true)
	if err == nil && given.names(free) {
		return given.decode()
	}
	names := must.Get(m.values(false))
	if given.names(names) {
		return given.decode()
	}
	if len(given) != len(names) {
		return nil, fmt.Errorf("the ranges are those of another model: they are of %d values, and %s has %d", len(given), m.name, len(names))
	}
	i := 0
	for given[i].Name == names[i] {
		i++
	}
	return nil, fmt.Errorf("the ranges are those of another model: value %d is %q, and %q in %s", i, given[i].Name, names[i], m.name)
}

// names says whether the ranges are of values with these names.
func (r Ranges) names(names []string) bool {
	return slices.EqualFunc(r, names, func(v ValueRange, name string) bool { return v.Name == name })
}

func (r Ranges) decode() (ranges, error) {
	met := ranges{}
	for _, v := range r {
		var err error
		if met[v.Name], err = v.decode(); err != nil {
			return nil, err
		}
	}
	return met, nil
}
