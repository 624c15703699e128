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

// Circuit is a quantised model: a computation on integers, with its weights. It does
// not need its Model, which may be closed.
type Circuit struct {
	quantised *quantise.Model
	language  *proof.Text                // what the tokens of a language model mean; nil for other models
	words     []byte                     // the file of the vocabulary; nil if the model has no strings
	refuse    func(text []float64) error // as in Model
	outputs   []Spec                     // with the names that the float model has for them
	report    Report
	source    *proof.Source // what the circuit was made from; nil for a model made in memory, or if the weights are to be hidden
	id        *cache.ID     // of the circuit in the cache; nil for a model made in memory
	mapped    int64         // bytes of the model's files, or, for one made in memory, of its floats
	floats    int64         // bytes that a run of the float model takes
	text      bool          // whether the model leaves the length of texts open
	listens   bool          // whether the model hears audio instead of reading a prompt
	writes    int           // number of tokens that the model was opened to write
	base      *Circuit      // the circuit of the model that this one is an adapter to; nil if it is no adapter
	baseKey   *Key          // key of the base, if QuantiseOptions had one
	hides     bool          // whether it is quantised for a key that hides weights
	inSizes   *inSizes
}

// inSizes keeps the model in the sizes of the last input. Devices cache by graph, so the same graph
// should be used again for the next input of the same sizes.
type inSizes struct {
	sync.Mutex
	model *quantise.Model // nil before the first input
}

// Report tells how a model was quantised.
type Report struct {
	// Steps are the look-ups that round, with their precision.
	Steps []quantise.StepReport
	// Float has the float model's outputs on the first sample, nil if calibration did not run it.
	Float []Tensor
	// Chosen lists the values that got a finer format than the usual one of the mode, to
	// meet the target error of the outputs.
	Chosen []quantise.Chosen
	// Choice tells how the formats were chosen, nil if Cached.
	Choice *quantise.Choice
	// Cached says that the ranges were taken from the cache, where an earlier run had put them.
	Cached bool
	// OneBatch says why the circuit is for a single size of the batch, or a single length
	// of texts, though the model leaves it open. It is nil if the circuit is for all
	// sizes, or if the model itself fixes the size.
	OneBatch error
}

// ranges are the ranges of the real values that calibration met, by the name of the value.
type ranges = map[string]quantise.Range

// QuantiseOptions say how precise a circuit is, and where its ranges come from. The zero value and nil stand for the mode
// "auto", calibrated on the samples, without a cache.
type QuantiseOptions struct {
	Observer Observer // is told how the work goes, unless nil
	// CacheDir is a folder (UserCacheDir) in which calibrated ranges and quantised models are kept, and from which they are taken;
	// "" is no cache. If the folder cannot be used, there is a warning and no cache.
	CacheDir string
	// Mode is the precision. "auto", or "", chooses formats that bring the outputs close to the float model's; "w8a8" uses eight
	// bits for weights and activations; "exact" uses sixteen bits wherever that is possible.
	Mode string
	// TargetError is the error of the outputs, as a fraction of their range, that the formats of mode "auto" are chosen for. It
	// is at most 1; 0 is 0.001. A larger error makes proofs cheaper.
	TargetError float64
	// Headroom is the factor by which calibrated ranges are widened: at least 1; 0 is 2.
	Headroom float64
	// PublicConstants names constants that need not be hidden by a key that hides weights, such as numbers of the architecture
	// that a file stores among its weights. As public numbers, in coefficients and tables, they make proofs cheaper.
	PublicConstants []string
	// Ranges, if not nil, has the ranges of all values; the samples are then not needed. Ranges of another model are an
	// error.
	Ranges Ranges
	// KeepRanges uses the ranges of the samples that the model was first quantised with, if the cache has them. So the key does
	// not change from input to input.
	KeepRanges bool
	// Provisional says that the samples are made up. The cache then does not keep their ranges for KeepRanges.
	Provisional bool
	// BaseKey, for a model with an adapter, is the key of the model without the adapter. The model's weights are quantised as that key says,
	// so that keys of the adapter have the root of its weights. If it is nil, the weights are quantised with the same samples as the
	// adapter.
	BaseKey *Key
	// Hide keeps out of the circuit all that depends on the weights and need not be public. A key that hides weights
	// (CommitOptions.Hide) needs such a circuit.
	Hide bool
}

// settings returns the options of package quantise, for texts of at most `length` tokens (0: not a text model).
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

// Quantise turns a model into integers. At least one sample is needed to find the range of
// each value, unless opts has Ranges. If the model leaves the size of its batch open, and
// nothing but shapes depends on that size, the circuit is for all sizes, and samples may be
// batches of any size. The same holds for the length of texts, up to OpenOptions.Tokens. An
// error about nodes names all nodes that cannot be quantised. opts may be nil.
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

// quantiseBase quantises the model that m is an adapter to; it returns nil if m is no adapter.
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

// asBase returns the circuit in the form that adapters to it are quantised with; nil for a nil circuit.
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

// quantiseWith quantises with complete settings. It takes the ranges from the options, or from the cache if it has
// them, or else calibrates on the samples.
func (m *Model) quantiseWith(ctx context.Context, w *watch, samples []Input, o *QuantiseOptions, settings quantise.Options) (_ *Circuit, err error) {
	defer must.Catch(&err)
	if err := publishable(m.graph); err != nil && !m.open.isText() { // the length of texts is open, and shorter ones may fit
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
// the outputs on the first sample, and the samples on which candidate formats are compared.
type calibration struct {
	ranges  ranges
	outputs []Tensor
	judges  []quantise.Sample
}

// fewValues is the number of values below which finding their range takes less time than handing them to another
// goroutine.
const fewValues = 1 << 12

// calibrate runs the float model on all samples. It rounds the ranges to numbers that a
// key can hold.
func (m *Model) calibrate(ctx context.Context, samples []Input, progress func(done, total int)) (_ *calibration, err error) {
	defer must.Catch(&err)
	seen := &calibration{ranges: ranges{}}
	var runs *graph.Graph // the graph of the last sample, for which there is enough memory
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
				_ = see() // see returns no error
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
		} else if m.open.symbol != "" && !m.open.isText() { // one element of the batch
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

// share gives the named values one common range, the union of theirs.
func share(r ranges, names []string) {
	all := r[names[0]]
	for _, name := range names {
		all = all.Union(r[name])
	}
	for _, name := range names {
		r[name] = all
	}
}

// values lists the values that have ranges and formats, of a circuit with a free dimension or without.
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

// codes encodes the ranges that a model was quantised with, as keys hold them: three
// integers for each value, in the order of the values.
func codes(q *quantise.Model) []uint32 {
	var codes []uint32
	for _, name := range q.Values {
		c := q.Ranges[name].Codes()
		codes = append(codes, c[:]...)
	}
	return codes
}

// rangesOf returns the ranges that a model was quantised with, for the values of q.Values only.
func rangesOf(q *quantise.Model) ranges {
	r := make(ranges, len(q.Values))
	for _, name := range q.Values {
		r[name] = q.Ranges[name]
	}
	return r
}

// ranges is the inverse of codes, for a circuit with a free dimension or without. A wrong number
// of codes, or an invalid code, is an error.
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

// formatsOf encodes the formats that a model was quantised with, as keys hold them: one integer
// for each value, in the order of the values; 0 is the usual format. If every format is the
// usual one the result is nil, unless all is set.
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

// cachedRanges decodes a cache entry: a flag that says whether the circuit has a free dimension,
// then one code for the format of each value, then three for its range.
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

// flag encodes a boolean as an integer of a cache entry.
func flag(yes bool) uint32 {
	if yes {
		return 1
	}
	return 0
}

// choose quantises with formats that it chooses, so that the outputs meet the target error on the samples.
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

// quantiseCached returns the quantised model from the cache, or quantises and puts the result into the cache.
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

// freeOrFixed quantises a text model, by f, for any length up to settings.Length. If that
// fails, it quantises for the one length that the model was opened for, and OneBatch of the
// result has the reason. Other models are quantised once.
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

// circuit makes a Circuit of a quantised model.
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
	c.floats = 16 * int64(m.graph.Alive()) // float64; doubled, as the garbage collector lets memory grow to twice what is in use
	c.report.Steps, c.report.OneBatch, c.report.Chosen = q.Steps, q.OneBatch, q.Chosen()
	if files := m.files(); len(files) > 0 {
		source := &proof.Source{
			Files: files, Quantiser: quantise.Version,
			W8A8: settings.Mode == modeW8A8, WeightBits: settings.WeightBits, ActBits: settings.ActBits, TableBits: settings.MaxTableBits,
			Headroom: settings.Headroom, Ranges: codes(q), Formats: formatsOf(q, false),
		}
		c.id = m.circuitID(source, c.free(), settings)
		if !settings.Hide { // a source has a digest of the weights, and ranges of values that depend on them
			c.source = source
		}
	}
	return c
}

// modeW8A8 is the mode for which proof.Source has a flag.
const modeW8A8 = "w8a8"

// settingsOf returns the options of the quantiser that a source was made with.
func settingsOf(s *proof.Source) quantise.Options {
	o := quantise.Options{WeightBits: s.WeightBits, ActBits: s.ActBits, MaxTableBits: s.TableBits, Headroom: s.Headroom}
	if s.W8A8 {
		o.Mode = modeW8A8
	}
	return o
}

// warn warns if the circuit is for a single size of a batch, or a single length of texts, that the model leaves open.
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

// Graph returns the integer computation, for a batch of the size that the model was
// opened for or a text of some length. It must not be changed.
func (c *Circuit) Graph() *model.Graph { return c.quantised.Graph }

// free says whether the size of the batch, or the length of texts, is free.
func (c *Circuit) free() bool { return len(c.quantised.Circuit.Free) > 0 }

// freely says whether the number of tokens that the model writes is free as well. A speech model has that one free
// dimension; other models have it in addition to the length.
func (c *Circuit) freely() bool {
	n := len(c.quantised.Circuit.Free)
	return n > 1 || n > 0 && c.listens
}

// Free lists the free dimensions: sizes, such as that of the batch or the length of a
// text, that may differ from input to input, up to a bound.
func (c *Circuit) Free() []model.FreeDim { return slices.Clone(c.quantised.Circuit.Free) }

// sized returns the quantised model for a batch, or a text, as large as the input. It
// also chooses the size of chunks.
func (c *Circuit) sized(in Input) (*quantise.Model, error) { return c.sizedFor(in, 0) }

// sizedFor is sized for a number of texts, each as long as the input; 0 is a single text without an axis for several.
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

// Ranges returns the ranges and formats that the model was quantised with. Quantise gives the same
// circuit if it gets them as QuantiseOptions.Ranges.
func (c *Circuit) Ranges() Ranges {
	return named(c.quantised.Values, codes(c.quantised), formatsOf(c.quantised, true))
}

// Report tells how the model was quantised.
func (c *Circuit) Report() Report { return c.report }

// A Run has what a circuit computes from an input.
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

// run runs the circuit, in the size of the input, on a machine; nil is the processor.
func (c *Circuit) run(ctx context.Context, on forward.Machine, q *quantise.Model, in Input) (_ *Run, _ *forward.Witness, err error) {
	defer must.Catch(&err)
	ints, clamped, err := q.QuantiseInput(in)
	must.OK(err)
	wit := must.Get(forward.RunOn(ctx, on, q.Graph, q.Weights, ints))
	return c.readRounded(q, ints, clamped, wit), wit, nil
}

// readRounded describes a run: ints is the quantised input, of which `clamped` entries were clamped, and wit has the
// values of the run.
func (c *Circuit) readRounded(q *quantise.Model, ints [][]int32, clamped int, wit *forward.Witness) *Run {
	r := &Run{Saturated: saturations(clamped, ints, q.Saturation(wit))}
	for i, values := range q.Outputs(wit) {
		shape := q.Graph.Tensors[q.Graph.Outputs[i]].Shape
		r.Outputs = append(r.Outputs, tensor(c.outputs[i].Name, shape, values))
	}
	return r
}

// Ranges are the calibrated ranges and the formats of a model's values, encoded as
// integers. With the same Ranges and the same options, quantising a model gives the
// same circuit and the same key on every machine. The values are the inputs, followed
// by the results of the graph's nodes, in order.
type Ranges []ValueRange

// ValueRange is the range and the format of one value. Min and Max are the bounds, and Least is
// the least magnitude that calibration met between them. Each of the three is a code: the first
// 28 bits of an IEEE 754 double, which are the sign, the exponent and 16 digits of the
// mantissa. Bounds were rounded outwards to such numbers.
type ValueRange struct {
	Name  string `json:"name"`
	Min   uint32 `json:"min"`
	Max   uint32 `json:"max"`
	Least uint32 `json:"least"`
	// Format is the code (quantise.Format.Code) of the finer format that the value got, 0
	// for the usual one.
	Format uint32 `json:"format,omitempty"`
}

// rangesFormat is the member "format" of a file of ranges, which says what the file is.
const rangesFormat = "prove-model ranges 1"

// rangesFile is a file of ranges.
type rangesFile struct {
	Format string `json:"format"`
	Ranges Ranges `json:"ranges"`
}

// maxRangesFile is the greatest size, in bytes, of a file that ReadRanges accepts, far above the size for real models.
const maxRangesFile = 256 << 20

// ReadRanges reads what Ranges.File wrote. White space may differ; any other deviation
// from what File would write is an error.
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

// decode returns the range, and checks the format's code too.
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

// named makes Ranges of the names of values, their codes (three for each) and their formats, in the same order.
func named(names []string, codes, formats []uint32) Ranges {
	var r Ranges
	for i, name := range names {
		r = append(r, ValueRange{name, codes[3*i], codes[3*i+1], codes[3*i+2], formats[i]})
	}
	return r
}

// formats returns the formats of the values that have another than the usual one.
func (r Ranges) formats() quantise.Formats {
	f := quantise.Formats{}
	for _, v := range r {
		if v.Format != 0 {
			f[v.Name], _ = quantise.FormatOf(v.Format) // it has been decoded
		}
	}
	return f
}

// match decodes ranges that were given for the model. Their names must be those of the
// model's values, of a circuit with a free dimension or of one without.
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

// names says whether the ranges are for exactly these values, in this order.
func (r Ranges) names(names []string) bool {
	return slices.EqualFunc(r, names, func(v ValueRange, name string) bool { return v.Name == name })
}

// decode returns the ranges by the name of the value.
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
