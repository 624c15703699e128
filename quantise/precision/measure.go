package precision

import (
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/quantise/lower"
)

// Accuracy compares a quantised output with the float one.
type Accuracy struct {
	MaxError float64 // largest absolute difference
	Range    float64 // of the float output: from its least value, or 0, to its greatest, or 0
	Relative float64 // MaxError/Range; 0 if both are 0
	Cosine   float64 // of the angle between the two; 1 if both are zero
}

// Compare returns the accuracy of got against want, which are of one length.
func Compare(got, want []float64) Accuracy {
	var a Accuracy
	var dot, gg, ww, lo, hi float64
	for i, w := range want {
		if w-w != 0 || got[i]-got[i] != 0 { // NaN or infinite: either the same, or an infinite error
			if got[i] != w && !(got[i] != got[i] && w != w) {
				a.MaxError = math.Inf(1)
			}
			continue
		}
		a.MaxError = math.Max(a.MaxError, math.Abs(got[i]-w))
		lo, hi = math.Min(lo, w), math.Max(hi, w)
		// The conversions forbid fused multiply-adds.
		dot, gg, ww = dot+float64(got[i]*w), gg+float64(got[i]*got[i]), ww+float64(w*w)
	}
	if a.Range = hi - lo; a.MaxError > 0 {
		a.Relative = a.MaxError / a.Range // infinite if either is
	}
	switch {
	case gg == 0 && ww == 0:
		a.Cosine = 1
	case gg > 0 && ww > 0:
		a.Cosine = dot / math.Sqrt(gg*ww)
	}
	return a
}

// An output with at least vocabulary entries along its last axis, some of them negative, is taken for
// logits over a vocabulary; without negative entries it may be a distribution. Logits are judged by the
// divergence of the distributions that they stand for, with targetKL as the target.
const (
	vocabulary = 4096
	targetKL   = 4e-4
)

// narrowKL is the part of the target below which a divergence has to stay when formats are made
// narrower. A few rows of text make up most of a divergence, so that other text may well have
// twice as much.
const narrowKL = 0.5

// Sample is an input that formats are judged with: the float graph in the input's size,
// its values, and the run of the float model on them, nil if there was none yet.
type Sample struct {
	Graph  *graph.Graph
	Inputs [][]float64
	Float  *FloatRun
}

// MostSamples is how many samples formats are judged with: the first ones.
const MostSamples = 4

// FloatRun is what the search needs of a run of the float model: its outputs, and for each value
// the error that rounding it to whole numbers would make.
type FloatRun struct {
	graph   *graph.Graph
	images  bool // whether the graph has convolutions (rowOf)
	mu      sync.Mutex
	outputs [][]float64
	rounds  map[string]float64 // by value, the error in units of the value's rows (entered.round)
}

// NewFloatRun returns the run of a graph, to which Add adds the values.
func NewFloatRun(g *graph.Graph) *FloatRun {
	return &FloatRun{graph: g, images: hasImages(g), outputs: make([][]float64, len(g.Outputs)), rounds: map[string]float64{}}
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

// sampleRun is a run of an attempt's model on a sample: the values of the float graph that tensors
// hold.
type sampleRun struct {
	of      *attempt
	at      *lower.Result // the model in the size of the sample
	witness *forward.Witness
	memory  *arena.Arena // of the values; nil if there are none
}

// cost estimates what a proof of a model costs, in units of a look-up: one for each entry that is looked
// up, and one for each row of a table.
func cost(m *lower.Result) int {
	total := 0
	lookUps, _ := m.LookUps()
	for _, n := range lookUps {
		total += n
	}
	for i := range m.Graph.Tables {
		total += 1 << m.Graph.Tables[i].Bits
	}
	return total
}

// forget gives back the memory of the last run.
func (s *search) forget() {
	s.last.memory.Close()
	s.last = sampleRun{}
}

// judge decides, for the first model of a search, how many samples formats are judged with.
func (s *search) judge(m *lower.Result) {
	if !s.judged {
		s.judged = true
		n := max(1, min(MostSamples, int(sampleWork/products(m))))
		s.samples = s.samples[:min(n, len(s.samples))]
	}
}

// mostAtOnce bounds the committed entries of the runs that are made at once, since they take memory: 4 bytes each while
// they are held.
const mostAtOnce = 1 << 29

// atOnce is how many samples a model may be run on at once.
func atOnce(m *lower.Result) int {
	entries := 1
	for i := range m.Graph.Tensors {
		if t := &m.Graph.Tensors[i]; t.Kind == model.Witness {
			entries += model.Size(t.Shape)
		}
	}
	return max(1, mostAtOnce/entries)
}

// order is the order in which samples are run: from the first on, or, where an attempt may stop early, from the one that was
// hardest so far.
func (s *search) order(stops bool) []int {
	order, first := make([]int, len(s.samples)), 0
	if stops {
		first = s.worst
	}
	for n := range order {
		order[n] = (first + n) % len(order)
	}
	return order
}

// measure gives a model its weights and runs it on the samples. It returns an attempt with the largest
// error of an output and with the spread, unless the error exceeds most: then it stops at once.
func (s *search) measure(f lower.Formats, m *lower.Result, most float64) (of *attempt, err error) {
	defer must.Catch(&err)
	s.judge(m)
	s.forget()
	s.memory.Fill(m)
	a := &attempt{formats: f, model: m}
	off, size := make([]float64, len(s.fg.Outputs)), make([]float64, len(s.fg.Outputs)) // sums of squares: of errors, and of values
	stops := !math.IsInf(most, 1)
	order := s.order(stops)
	for len(order) > 0 {
		must.OK(s.ctx.Err())
		n := min(len(order), runtime.GOMAXPROCS(0), atOnce(m))
		if arena.Bounded() > 0 || stops && len(order) == len(s.samples) {
			n = 1 // values of several runs take memory, and the first one decides on most attempts that may stop early
		}
		for k, r := range s.runAll(m, order[:n]) {
			i := order[k]
			for j, e := range r.errors {
				if e > a.error {
					a.error, s.worst = e, i
				}
				got := r.outputs[j]
				for at, x := range s.float(i).outputs[j] {
					if x-x != 0 || got[at]-got[at] != 0 {
						continue
					}
					off[j] += float64((got[at] - x) * (got[at] - x))
					size[j] += float64(x * x)
				}
			}
			if a.error > most {
				return a, nil
			}
		}
		order = order[n:]
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

// outcome is what a run of a sample has given: its outputs, and the error of each, such that Target is what is aimed at.
type outcome struct {
	outputs [][]float64
	errors  []float64
}

// runAll runs a model on some samples at once. The values of the only sample that there is are kept.
func (s *search) runAll(m *lower.Result, samples []int) []outcome {
	all, errs := make([]outcome, len(samples)), make([]error, len(samples))
	var runs []func()
	for n, i := range samples {
		runs = append(runs, func() {
			defer must.Catch(&errs[n])
			run := s.run(m, s.samples[i].Inputs)
			if len(s.samples) == 1 {
				s.last = run
			} else {
				defer run.memory.Close()
			}
			r := &all[n]
			r.outputs = run.at.Outputs(run.witness)
			for j, got := range r.outputs {
				e := outputError(got, s.float(i).outputs[j], run.at.Graph.Tensors[run.at.Graph.Outputs[j]].Shape)
				r.errors = append(r.errors, e*(lower.Target/s.opts.Target))
			}
		})
	}
	parallel.Do(runs...)
	must.OK(errors.Join(errs...))
	return all
}

// run runs a model on inputs, in the size that these have.
func (s *search) run(m *lower.Result, inputs [][]float64) sampleRun {
	lens := make([]int, len(inputs))
	for i := range inputs {
		lens[i] = len(inputs[i])
	}
	if in := must.Get(m.Circuit.InstanceOf(lens)); !slices.Equal(in.Sizes, m.Graph.Instance.Sizes) {
		m = must.Get(m.At(in))
	}
	ints, _, err := m.QuantiseInput(inputs)
	must.OK(err)
	r := sampleRun{at: m, memory: s.arena.Sub()}
	if r.witness, err = forward.RunPart(s.ctx, m.Graph, m.Weights, ints, slices.Collect(maps.Values(m.Held)), r.memory); err != nil {
		r.memory.Close()
	}
	must.OK(err)
	return r
}

// float returns the run of the float model on sample i, which is made the first time.
func (s *search) float(i int) *FloatRun {
	sample := &s.samples[i]
	if sample.Float == nil {
		must.OK(s.ctx.Err())
		sample.Float = NewFloatRun(sample.Graph)
		must.OK(sample.Graph.VisitFloat(sample.Inputs, sample.Float.Add))
	}
	return sample.Float
}

// outputError is the error of an output, in units of which lower.Target is the default target: the largest
// error in units of the output's range, or for logits the divergence times Target/targetKL.
func outputError(got, want []float64, shape []int) float64 {
	if isLogits(want, shape) {
		return Divergence(got, want, shape[len(shape)-1]) / targetKL * lower.Target
	}
	return Compare(got, want).Relative
}

// logits reports whether some output is judged by divergence.
func (s *search) logits() bool {
	for j, name := range s.fg.Outputs {
		if len(s.samples) > 0 && isLogits(s.float(0).outputs[j], s.fg.Shapes[name]) {
			return true
		}
	}
	return false
}

// isLogits reports whether an output is taken for logits over a vocabulary.
func isLogits(values []float64, shape []int) bool {
	n := len(shape)
	return n > 0 && shape[n-1] >= vocabulary && slices.Min(values) < 0
}

// Divergence is the mean over rows of row logits each of the Kullback–Leibler divergence, in nats, of
// got's distribution from want's: Σ w·log(w/g), where w and g are the Softmax of a row of want and of got. Tokens that want excludes,
// with a logit of −∞ or far below the others, have w = 0 and count as 0.
func Divergence(got, want []float64, row int) float64 {
	total := 0.0
	for at := 0; at < len(want); at += row {
		g, w := got[at:at+row], want[at:at+row]
		lg, lw := logSum(g), logSum(w)
		for i := range w {
			if p := elementary.Exp(w[i] - lw); p > 0 {
				total += float64(p * ((w[i] - lw) - (g[i] - lg)))
			}
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

// products is the number of products of two numbers in a run of a model, at least 1.
func products(m *lower.Result) float64 {
	all := 1.0
	for i := range m.Graph.Steps {
		step := &m.Graph.Steps[i]
		for j := range step.Acc.Products {
			all += float64(float64(model.Size(step.Shape)) * float64(m.Graph.Terms(&step.Acc.Products[j], step.Shape)))
		}
	}
	return all
}
