package quantise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/arena"
)

// Target is the error of the outputs, in units of their range, that formats are
// chosen for by default. Within a search errors are in units such that this is
// what is aimed at.
const Target = 1e-3

// vocabulary is the number of entries from which on the last axis of an output is
// taken for logits over a vocabulary, unless none is negative: then it may be a
// distribution itself. Logits are judged by the divergence of the distributions,
// with targetKL as the target.
const (
	vocabulary = 4096
	targetKL   = 4e-4
)

// Of a divergence a few rows of text are most, so that other text may well have twice
// as much: what is taken back is only what leaves it below this part of the target.
const narrowKL = 0.5

// A Sample is an input that formats are judged with: the float graph in its size,
// its values, and what the float model makes of them, if that is known.
type Sample struct {
	Graph  *graph.Graph
	Inputs [][]float64
	Float  *FloatRun
}

// MostSamples is how many samples formats are judged with: the first ones.
const MostSamples = 4

// FloatRun is what is needed of a run of the float model: its outputs, and of each value
// the error of rounding it to whole numbers.
type FloatRun struct {
	graph   *graph.Graph
	images  bool
	mu      sync.Mutex
	outputs [][]float64
	rounds  map[string]float64 // in units of a value's rows
}

// NewFloatRun returns one of a graph, to which its values are to be added.
func NewFloatRun(g *graph.Graph) *FloatRun {
	return &FloatRun{graph: g, images: hasImages(g), outputs: make([][]float64, len(g.Outputs)), rounds: make(map[string]float64, len(g.Nodes))}
}

// Add adds a value of the run (graph.VisitFloat). It may be called concurrently.
func (r *FloatRun) Add(name string, values []float64) {
	round := enteredError(values, values, rowOf(r.graph.Shapes[name], r.images), 1).round
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rounds[name] = round
	for i, output := range r.graph.Outputs {
		if output == name {
			r.outputs[i] = values
		}
	}
}

// Choice is how formats were chosen.
type Choice struct {
	Formats Formats
	// Error is that of the outputs on the samples: the largest, in units of their
	// range; a divergence counts such that the target for it is Options.Target. First is
	// what it was at the first attempt: without any formats, but of large transformers.
	Error, First float64
	// Runs is how many integer runs of all samples this took.
	Runs int
}

// Choose chooses the formats with which the integer model is within the target on
// the samples, if there are any, and returns the model with them. It begins with
// those that the mode has for all values, and makes values more precise where
// errors enter, the largest first, in groups of values that are alike; then it
// takes back what was not needed. Large transformers have few attempts, and begin with
// formats that suit most of them. What it chooses depends on its arguments alone.
func Choose(ctx context.Context, fg *graph.Graph, samples []Sample, ranges map[string]Range, opts Options) (*Model, *Choice, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	if batch := Batch(fg); batch != "" && len(samples) > 0 && (opts.Length == 0 || Length(fg) == "") {
		m, c, err := chooseFree(ctx, fg, batch, samples, ranges, opts)
		if !errors.Is(err, errOneBatch) {
			return m, c, err
		}
	}
	s := &search{ctx: ctx, fg: fg, ranges: ranges, opts: opts, samples: samples}
	defer s.memory.Close()
	return s.choose()
}

// choose is Choose with complete options.
func (s *search) choose() (*Model, *Choice, error) {
	opts, fg := s.opts, s.fg
	if opts.Mode == modeExact {
		s.opts.Formats = widest(fg)
		m, err := s.try(s.opts.Formats)
		if err != nil {
			return nil, nil, err
		}
		return s.taken(m), &Choice{m.formats, s.inRange(m.error), s.inRange(m.error), 1}, nil
	}
	if s.large = opts.Mode == modeAuto && large(fg); s.large {
		return s.chooseLarge()
	}
	best, err := s.try(opts.Formats)
	if err != nil {
		return nil, nil, err
	}
	first := best.error
	if opts.Mode == modeAuto {
		if best, err = s.widen(best); err == nil {
			best, err = s.narrow(best)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return s.taken(best), &Choice{best.formats, s.inRange(best.error), s.inRange(first), s.runs}, nil
}

// taken returns an attempt's model, with its weights.
func (s *search) taken(a *attempt) *Model {
	s.stats.fill(a.model)
	a.model.making = nil
	return a.model
}

// inRange returns an error of the search in units of the range.
func (s *search) inRange(e float64) float64 { return e * (s.opts.Target / Target) }

// Bounds on the work of a search: samples that are run, and runs of them all, by
// the size of a run in products of numbers.
const (
	sampleWork = 1 << 35
	mostRuns   = 48
	leastRuns  = 8
	searchWork = 1 << 37
	weightWork = 1 << 6 // of a weight, which is made anew for each model
)

type search struct {
	ctx     context.Context
	fg      *graph.Graph
	ranges  map[string]Range
	opts    Options
	samples []Sample
	float   []*FloatRun // of the samples
	groups  []group
	stats   weightStats
	runs    int
	large   bool        // whether the model is
	free    bool        // whether models are of one element of a free batch (chooseFree)
	judged  bool        // whether the number of samples is known
	worst   int         // sample, as far as is known
	last    sampleRun   // of the only sample, of the last attempt
	memory  arena.Arena // of runs, one after the other
}

// attempt is a model with some formats and what is known of it.
type attempt struct {
	formats Formats
	model   *Model
	error   float64
	spread  float64            // root mean square of the error of each output, in units of its own; and of those, the root of the sum of squares
	local   map[string]entered // of the first sample; nil if it is not known yet
}

// sampleRun is what an attempt's model has computed of a sample: the values of the float
// graph that tensors hold.
type sampleRun struct {
	of      *attempt
	at      *Model
	witness *forward.Witness
	memory  *arena.Arena // of the values; nil if there are none
}

// cost is about what a look-up costs, for each entry that is looked up and for each
// row of a table.
func (m *Model) cost() int {
	cost := 0
	for i := range m.Graph.Steps {
		if s := &m.Graph.Steps[i]; s.Kind == model.StepLookup {
			cost += model.Size(s.Shape)
		}
	}
	for i := range m.Graph.Tables {
		cost += 1 << m.Graph.Tables[i].Bits
	}
	return cost
}

// try makes a model and measures it.
func (s *search) try(f Formats) (*attempt, error) {
	m, err := s.make(f)
	if err != nil {
		return nil, err
	}
	return s.measure(f, m, math.Inf(1))
}

// localErrors tells where the errors of an attempt enter on the first sample.
func (s *search) localErrors(a *attempt) (map[string]entered, error) {
	if a.local != nil {
		return a.local, nil
	}
	if s.last.of != a {
		s.forget()
		s.stats.fill(a.model)
		r, err := s.run(a.model, s.samples[0].Inputs)
		if err != nil {
			return nil, err
		}
		s.last = r
	}
	defer s.forget()
	var err error
	a.local, err = s.last.at.localErrors(s.samples[0].Graph, s.last.witness)
	return a.local, err
}

// forget gives the memory of the last run back.
func (s *search) forget() {
	s.last.memory.Close()
	s.last = sampleRun{}
}

// make makes a model but for its weights.
func (s *search) make(f Formats) (*Model, error) {
	s.runs++
	opts := s.opts
	opts.Formats, opts.searched = f, true
	m, err := quantise(s.fg, s.ranges, opts, &s.stats)
	if err != nil || !s.free {
		return m, err
	}
	if m.OneBatch != nil {
		return nil, errOneBatch
	}
	return m.At(model.Instance{Sizes: []int{1}})
}

// judge decides how many samples models of this size are judged with, and has the float
// model run on them, unless that is done.
func (s *search) judge(m *Model) error {
	if !s.judged {
		s.judged = true
		n := max(1, min(MostSamples, int(sampleWork/m.products())))
		s.samples = s.samples[:min(n, len(s.samples))]
	}
	return s.runFloat(len(s.samples))
}

// measure gives a model its weights and runs it on the samples. With one whose error is above most there is
// nothing to be done: no further samples are run.
func (s *search) measure(f Formats, m *Model, most float64) (*attempt, error) {
	if err := s.judge(m); err != nil {
		return nil, err
	}
	s.forget()
	s.stats.fill(m)
	a := &attempt{formats: f, model: m}
	off, size := make([]float64, len(s.fg.Outputs)), make([]float64, len(s.fg.Outputs))
	for n := range s.samples {
		i := n
		if !math.IsInf(most, 1) { // the hardest first
			i = (s.worst + n) % len(s.samples)
		}
		sample := s.samples[i]
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
		s.forget()
		var err error
		if s.last, err = s.run(m, sample.Inputs); err != nil {
			return nil, err
		}
		at := s.last.at
		for j, got := range at.Outputs(s.last.witness) {
			want := s.float[i].outputs[j]
			if e := outputError(got, want, at.Graph.Tensors[at.Graph.Outputs[j]].Shape) * (Target / s.opts.Target); e > a.error {
				a.error, s.worst = e, i
			}
			for k, x := range want {
				if x-x != 0 || got[k]-got[k] != 0 {
					continue
				}
				off[j] += float64((got[k] - x) * (got[k] - x))
				size[j] += float64(x * x)
			}
		}
		if a.error > most {
			return a, nil
		}
	}
	if len(s.samples) == 1 {
		s.last.of = a
	}
	for j, x := range size {
		if x > 0 {
			a.spread += off[j] / x
		}
	}
	a.spread = math.Sqrt(a.spread)
	return a, nil
}

// run executes a model in the size of the inputs.
func (s *search) run(m *Model, inputs [][]float64) (r sampleRun, err error) {
	at, ints, err := m.sized(inputs)
	if err != nil {
		return r, err
	}
	r = sampleRun{at: at, memory: s.memory.Sub()}
	held := slices.Collect(maps.Values(at.entries))
	if r.witness, err = forward.RunPart(s.ctx, at.Graph, at.Weights, ints, held, r.memory); err != nil {
		r.memory.Close()
	}
	return r, err
}

// sized returns the model in the size of the inputs, and their integers.
func (m *Model) sized(inputs [][]float64) (*Model, [][]int32, error) {
	lens := make([]int, len(inputs))
	for i := range inputs {
		lens[i] = len(inputs[i])
	}
	in, err := m.Circuit.InstanceOf(lens)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Equal(in.Sizes, m.Graph.Instance.Sizes) {
		if m, err = m.At(in); err != nil {
			return nil, nil, err
		}
	}
	ints, _, err := m.QuantiseInput(inputs)
	return m, ints, err
}

// runFloat runs the float model on those of the first n samples for which that was not done.
func (s *search) runFloat(n int) error {
	for i := len(s.float); i < n; i++ {
		sample := s.samples[i]
		if err := s.ctx.Err(); err != nil {
			return err
		}
		run := sample.Float
		if run == nil {
			run = NewFloatRun(sample.Graph)
			if err := sample.Graph.VisitFloat(sample.Inputs, run.Add); err != nil {
				return err
			}
		}
		s.float = append(s.float, run)
	}
	return nil
}

// outputError is the error of an output such that Target is what is aimed at by default.
func outputError(got, want []float64, shape []int) float64 {
	if isLogits(want, shape) {
		return Divergence(got, want, shape[len(shape)-1]) / targetKL * Target
	}
	return Compare(got, want).Relative
}

// logits reports whether a sample's output is judged by divergence.
func (s *search) logits() bool {
	for j, name := range s.fg.Outputs {
		if len(s.float) > 0 && isLogits(s.float[0].outputs[j], s.fg.Shapes[name]) {
			return true
		}
	}
	return false
}

func isLogits(values []float64, shape []int) bool {
	n := len(shape)
	return n > 0 && shape[n-1] >= vocabulary && slices.Min(values) < 0
}

// Divergence is the mean over rows of the Kullback–Leibler divergence, in nats, of
// the distributions whose logits are the rows: of got from want.
func Divergence(got, want []float64, row int) float64 {
	total := 0.0
	for at := 0; at < len(want); at += row {
		g, w := got[at:at+row], want[at:at+row]
		lg, lw := logSum(g), logSum(w)
		for i := range w {
			total += float64(elementary.Exp(w[i]-lw) * ((w[i] - lw) - (g[i] - lg)))
		}
	}
	return total / float64(len(want)/row)
}

// logSum is log Σ exp(x).
func logSum(x []float64) float64 {
	most, sum := slices.Max(x), 0.0
	for _, v := range x {
		sum += elementary.Exp(v - most)
	}
	return most + elementary.Log(sum)
}

// A group is the values of nodes that are alike, as those of a model's layers are.
type group struct {
	names   []string
	product bool // with constant weights
	sum     bool

	matrices bool // a product of two computed ones
}

// alike groups the graph's values: by operator, shapes, and the operators around.
func alike(fg *graph.Graph) []group {
	readers := map[string][]*graph.Node{}
	kinds := map[string]string{}
	for _, n := range fg.Nodes {
		for _, in := range n.Inputs {
			readers[in] = append(readers[in], n)
		}
		kinds[n.Output] = n.Op.Kind()
	}
	index := map[string]int{}
	var groups []group
	add := func(key, name string, product, sum bool) {
		i, ok := index[key]
		if !ok {
			i = len(groups)
			index[key] = i
			groups = append(groups, group{product: product, sum: sum})
		}
		groups[i].names = append(groups[i].names, name)
	}
	for _, in := range fg.Inputs {
		add("input "+in.Name, in.Name, false, false)
	}
	a := newDefUse(fg)
	for _, n := range fg.Nodes {
		if a.residual(n) { // their precision is of use together
			add(fmt.Sprintf("stream %v", fg.Shapes[n.Output]), n.Output, false, true)
			continue
		}
		key := fmt.Sprintf("%s %v", n.Op.Kind(), fg.Shapes[n.Output])
		for _, in := range n.Inputs {
			key += fmt.Sprintf(" (%s %v", kinds[in], fg.Shapes[in])
			if fg.Consts[in] != nil {
				key += " constant"
			}
			key += ")"
		}
		for _, r := range readers[n.Output] {
			key += fmt.Sprintf(" > %s %v", r.Op.Kind(), fg.Shapes[r.Output])
		}
		add(key, n.Output, hasWeights(a, n), traitsOf(n.Op).sums)
		if a.attends(n) {
			groups[index[key]].matrices = true
		}
	}
	return groups
}

// hasWeights reports whether a node multiplies a value by constants.
func hasWeights(a *defUse, n *graph.Node) bool {
	return a.weighs(n) != "" || n.Op == graph.Mul && (!a.computed(n.Inputs[0]) || !a.computed(n.Inputs[1]))
}

// Sizes that formats take one after the other, from the one the mode has on. More
// than 20 bits are of use to sums alone: the limbs of a factor take bits from the
// weights.
var (
	bitSteps    = []int{15, 20, 26}
	weightSteps = []int{10, 13, 15}
)

const limbedBits = 20

// next is the next larger format of the values of a group; the same if there is none.
func (g *group) next(f Format, weights bool) Format {
	step := func(x *int, steps []int, most int) {
		for _, s := range steps {
			if s > *x && s <= most {
				*x = s
				return
			}
		}
	}
	switch {
	case weights:
		step(&f.Weights, weightSteps, formatWeights)
	case g.sum:
		step(&f.Bits, bitSteps, formatBits)
	default:
		step(&f.Bits, bitSteps, limbedBits)
	}
	return f
}

// widest are the largest formats of one limb, of more than that where transformers
// need it, and weights as wide as they can be.
func widest(fg *graph.Graph) Formats {
	f, wide := Formats{}, transformerPrior(fg, mostSteps, needs{func(string) int { return limbedBits }, priorNeeds.attention})
	for _, g := range alike(fg) {
		for _, name := range g.names {
			w := Format{Bits: max(bitSteps[0], wide[name].Bits)}
			if g.product {
				w.Weights = weightSteps[len(weightSteps)-1]
			}
			f[name] = w
		}
	}
	return f
}

// budget is the number of runs that a search may take.
func (s *search) budget(m *Model) int {
	work := m.products() + float64(weightWork*m.making.entries())
	return max(leastRuns, min(mostRuns, int(searchWork/work)))
}

// products is the number of products of numbers in a run, at least 1.
func (m *Model) products() float64 {
	products := 1.0
	for i := range m.Graph.Steps {
		step := &m.Graph.Steps[i]
		for j := range step.Acc.Products {
			p := &step.Acc.Products[j]
			c := model.NewContraction(p, m.Graph.Tensors[p.A].Shape, m.Graph.Tensors[p.B].Shape, step.Shape)
			n := float64(model.Size(step.Shape))
			for _, l := range c.Sum {
				n *= float64(l.Dim)
			}
			products += n
		}
	}
	return products
}

// A move makes a group of values, or the weights of their products, more precise.
type move struct {
	group   int
	weights bool
}

func (m move) kind() int {
	if m.weights {
		return 1
	}
	return 0
}

// widen makes values more precise, those where the largest errors enter first, until
// the model is within the target or there is nothing left to do. Of what it met on
// the way it returns the best: a single step may well make the outputs a little
// worse by chance. One that makes them much worse is tried in parts.
func (s *search) widen(first *attempt) (*attempt, error) {
	if first.error <= Target {
		return first, nil
	}
	s.groups = alike(s.fg)
	best, err := s.start(first)
	if err != nil {
		return nil, err
	}
	now := best
	refused := map[move]bool{}
	tried := map[string]bool{}
	most := math.MaxInt // moves at a time
	for budget := s.budget(first.model); best.error > Target && s.runs < budget; {
		moves, err := s.moves(now, refused)
		if err != nil {
			return nil, err
		}
		if len(moves) == 0 {
			break
		}
		moves = moves[:min(len(moves), most)]
		f := maps.Clone(now.formats)
		if f == nil {
			f = Formats{}
		}
		for _, mv := range moves {
			s.apply(f, mv)
		}
		// Formats that were met before lead nowhere new.
		key := fmt.Sprint(f)
		var a *attempt
		if !tried[key] {
			tried[key] = true
			a, err = s.try(f)
			if s.ctx.Err() != nil {
				return nil, s.ctx.Err()
			}
		}
		// An error says that the formats cannot be had together.
		if a == nil || err != nil || a.error > Target && a.spread > chance*best.spread {
			now = best
			if most = len(moves) / 2; most == 0 {
				refused[moves[0]], most = true, math.MaxInt
			}
			continue
		}
		now, most = a, math.MaxInt
		if better(now, best) {
			best = now
			clear(refused)
		}
	}
	if first.error <= far*Target && best.error > missed*Target {
		return s.best(best, s.finer())
	}
	return best, nil
}

// mostSteps is how many steps finer than usual formats are tried all at once.
const mostSteps = 2

// far is how many times the target's the first error is where single values are not
// what it comes from: all values become finer together. So they do where single ones did not
// bring it below missed times the target.
const (
	far    = 16
	missed = 4
)

// levels are the formats of all values that are tried for that.
var levels = []Format{{15, 13}, {18, 16}, {20, 16}, {20, formatWeights}, {22, formatWeights}}

// start returns the first attempt, or one with the usual formats of transformers,
// as fine as the target needs, with those of a spectrum before its logarithm, or of models
// that are far from it with all values finer, if that is better.
func (s *search) start(first *attempt) (*attempt, error) {
	best := first
	var starts []Formats
	finest := transformerPrior(s.fg, mostSteps, s.needs())
	for steps := 0; len(finest) > 0 && steps < mostSteps; steps++ {
		starts = append(starts, transformerPrior(s.fg, steps, s.needs()))
	}
	if len(finest) > 0 {
		starts = append(starts, finest)
	}
	if f := spectral(s.fg, s.groups); f != nil {
		starts = append(starts, f)
	}
	if first.error > far*Target {
		starts = append(starts, s.finer()...)
	}
	return s.best(best, starts)
}

// finer are the levels of all values.
func (s *search) finer() []Formats {
	finest := transformerPrior(s.fg, mostSteps, s.needs())
	var all []Formats
	for _, f := range levels {
		all = append(all, allOf(s.groups, f, finest))
	}
	return all
}

// best returns the best of an attempt and those with some formats, of which none is made after
// one within the target.
func (s *search) best(best *attempt, starts []Formats) (*attempt, error) {
	for _, f := range starts {
		if best.error <= Target {
			break
		}
		a, err := s.try(f)
		if s.ctx.Err() != nil {
			return nil, s.ctx.Err()
		}
		if err == nil && better(a, best) {
			best = a
		}
	}
	return best, nil
}

// allOf gives all values at least one format; weights to those that are products with
// some.
func allOf(groups []group, format Format, least Formats) Formats {
	f := Formats{}
	for _, g := range groups {
		for _, name := range g.names {
			f[name] = Format{max(format.Bits, least[name].Bits), least[name].Weights}
			if g.product || g.matrices && format.Bits > narrowBits {
				f[name] = Format{f[name].Bits, max(format.Weights, f[name].Weights)}
			}
		}
	}
	return f
}

// needs are those of the values of the graph, as far as ranges and the first sample tell.
func (s *search) needs() needs { return needs{s.productBits, s.attention} }

// productError is the error that rounding a product of two values may have, in units
// of its rows: there a few large entries leave little for the others.
const productError = 1.0 / 256

// productBits is how many bits such a product takes for that, on the first sample: no
// more than limbs leave the weights enough bits beside.
func (s *search) productBits(name string) int {
	r := s.ranges[name].abs() * s.opts.Headroom
	if r == 0 || s.float[0].rounds[name] == 0 {
		return productBits
	}
	frac := floorLog2(s.float[0].rounds[name]/productError) + 1
	return min(max(floorLog2(r)+1+frac, productBits), limbedBits)
}

// chance is how much larger a spread may be by chance than one of no finer values.
const chance = 1.2

// better reports whether a model is closer to the target: by the spread of its
// outputs, since the largest error is a matter of chance.
func better(a, than *attempt) bool {
	return a.error <= Target || than.error > Target && a.spread < than.spread
}

// apply makes a move.
func (s *search) apply(f Formats, mv move) {
	for _, name := range s.groups[mv.group].names {
		f[name] = s.groups[mv.group].next(f[name], mv.weights)
	}
}

// moves lists the moves that address the largest of the errors that enter: within
// a factor of four of the largest one that can be.
func (s *search) moves(a *attempt, refused map[move]bool) ([]move, error) {
	local, err := s.localErrors(a)
	if err != nil {
		return nil, err
	}
	before := segments(s.fg, a.model)
	scores := map[move]float64{}
	groupOf := map[string]int{}
	for i, g := range s.groups {
		for _, name := range g.names {
			groupOf[name] = i
		}
	}
	for name, e := range local {
		// Of values that no tensor holds the error shows where the next one does.
		for _, source := range slices.Concat(before[name], []string{name}) {
			i := groupOf[source]
			mv := move{i, s.groups[i].product && e.relative > 2*e.round}
			scores[mv] = math.Max(scores[mv], e.relative)
		}
	}
	for _, in := range s.fg.Inputs {
		mv := move{groupOf[in.Name], false}
		scores[mv] = math.Max(scores[mv], s.inputError(a, in.Name))
	}
	most := 0.0
	var moves []move
	for mv, score := range scores {
		f := a.formats[s.groups[mv.group].names[0]]
		if refused[mv] || s.groups[mv.group].next(f, mv.weights) == f {
			continue
		}
		moves = append(moves, mv)
		most = math.Max(most, score)
	}
	moves = slices.DeleteFunc(moves, func(mv move) bool { return scores[mv] < most/4 || scores[mv] == 0 })
	slices.SortFunc(moves, func(a, b move) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a.group, b.group), cmp.Compare(a.kind(), b.kind()))
	})
	return moves, nil
}

// inputError is the error with which an input is rounded.
func (s *search) inputError(a *attempt, name string) float64 {
	id := a.model.entries[name]
	for i, in := range s.samples[0].Graph.Inputs {
		if in.Name == name {
			x := s.samples[0].Inputs[i]
			row := 1
			if n := len(in.Shape); n > 0 {
				row = in.Shape[n-1]
			}
			return columnError(&a.model.Graph.Tensors[id], x, row)
		}
	}
	return 0
}

// columnError is the largest error with which the features of an input, of which
// there are row, are rounded: the root mean square of a feature's, in units of its
// own, and at most 1.
func columnError(t *model.Tensor, x []float64, row int) float64 {
	most := 0.0
	for j := range row {
		var e, s float64
		for i := j; i < len(x); i += row {
			if x[i]-x[i] != 0 { // which a code stands for
				continue
			}
			unit := pow2(-t.FracAt(i))
			d := float64(math.Round(x[i]/unit)*unit) - x[i]
			e, s = e+float64(d*d), s+float64(x[i]*x[i])
		}
		if s > 0 {
			most = math.Max(most, math.Min(1, math.Sqrt(e/s)))
		}
	}
	return most
}

// segments lists, for each value that a tensor holds, those before it that none
// holds and that it is computed from.
func segments(fg *graph.Graph, m *Model) map[string][]string {
	open := map[string][]string{}
	for _, n := range fg.Nodes {
		var list []string
		for _, in := range n.Inputs {
			if _, held := m.entries[in]; !held && fg.Consts[in] == nil {
				list = append(append(list, in), open[in]...)
			}
		}
		if len(list) > 0 {
			slices.Sort(list)
			open[n.Output] = slices.Compact(list)
		}
	}
	return open
}

// narrow takes back what is not needed for the target, in whole or in part, the
// dearest first.
func (s *search) narrow(best *attempt) (*attempt, error) {
	if len(best.formats) == 0 || best.error > Target {
		return best, nil
	}
	budget := s.budget(best.model)
	most := Target
	if s.logits() {
		most = math.Max(narrowKL*Target, best.error)
	}
	costs := map[string]int{}
	for _, c := range best.model.Chosen() {
		costs[c.Value] = c.LookUps + c.TableRows
	}
	order, cost := make([]int, len(s.groups)), make([]int, len(s.groups))
	for i, g := range s.groups {
		order[i] = i
		for _, name := range g.names {
			cost[i] += costs[name]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cost[b], cost[a]) })
	for _, i := range order {
		names := s.groups[i].names
		given, ok := best.formats[names[0]]
		if !ok {
			continue
		}
		for _, less := range lesser(given) {
			if s.runs >= budget {
				return best, nil
			}
			f := maps.Clone(best.formats)
			for _, name := range names {
				if less == (Format{}) {
					delete(f, name)
				} else {
					f[name] = less
				}
			}
			m, err := s.make(f)
			if err != nil || m.cost() >= best.model.cost() {
				continue
			}
			a, err := s.measure(f, m, most)
			if s.ctx.Err() != nil {
				return nil, s.ctx.Err()
			}
			if err == nil && a.error <= most {
				best = a
				break
			}
		}
	}
	return best, nil
}

// lesser lists formats that may do instead of one: none, fewer bits, narrower
// weights.
func lesser(f Format) []Format {
	list := []Format{{}}
	for _, b := range bitSteps {
		if b < f.Bits {
			list = append(list, Format{b, f.Weights})
		}
	}
	if f.Bits > 0 && f.Weights > 0 {
		list = append(list, Format{Bits: f.Bits}, Format{Weights: f.Weights})
	}
	for _, w := range weightSteps {
		if w < f.Weights {
			list = append(list, Format{f.Bits, w})
		}
	}
	return list
}
