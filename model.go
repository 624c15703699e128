package provemodel

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/families"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/quantise"
	"github.com/prove-model/prove-model/vocabulary"
)

// Model is a float model. It may be used by several goroutines at once.
type Model struct {
	name  string
	graph *graph.Graph
	files func() [][sha256.Size]byte // digests, computed once; none if made in memory

	mu     sync.Mutex
	users  int // computations that read the graph
	closed bool

	base     *Model                     // what the model is an adapter to; nil for others
	listens  families.Speech            // what audio a model of speech that writes listens to, no samples of others
	language *proof.Text                // what its tokens mean; nil for models of other things
	words    func() []byte              // the file of its vocabulary, made once; nil if it says nothing of strings
	refuse   func(text []float64) error // texts of which the published model computes something else; nil: none
	open     dimension                  // the size of the batch, or the length of texts
	other    struct {
		sync.Mutex
		size, written int
		graph         *graph.Graph // for these, the last that were asked for
	}
}

// dimension is the size that a model, and so its keys, leave open.
type dimension struct {
	symbol string // "" if there is none
	axis   int    // of all inputs
	most   int    // of texts: their greatest length; 0: it is a batch
	// written is the symbol of the number of positions that a text has logits at, the second input, if that is open; "" if not.
	written string
}

// dimensionOf returns what a graph leaves open: the length of texts if there is a bound
// for that, or the size of its batch.
func dimensionOf(g *graph.Graph, most int) dimension {
	if symbol := quantise.Length(g); most > 0 && symbol != "" {
		return dimension{symbol, 1, most, quantise.Written(g)}
	}
	return dimension{symbol: quantise.Batch(g)}
}

// isText says that it is the length of texts.
func (d dimension) isText() bool { return d.most > 0 }

// in returns the size of the dimension if the first input has n entries, given the input's shape
// for any one size.
func (d dimension) in(n int, shape []int) int {
	return max(1, n*shape[d.axis]/max(1, graph.Size(shape)))
}

// Arrays are the numbers of an input file: one array for each input of a model,
// with names and shapes where the file has them. An array may hold several
// samples, end to end.
type Arrays = onnx.Inputs

// ReadArrays reads files of inputs, each a path or name=path, by their extensions: JSON
// (nested lists, an object of them by the inputs' names, or "input_data", a list of them),
// .npy, .npz, an ONNX tensor, .pb, a table, .csv or .tsv, or a picture, .png or .jpg,
// which is resized to the input's shape. The path - is standard input, whose content tells
// what it is. Numbers that are not finite are refused.
func ReadArrays(files ...string) (Arrays, error) { return onnx.ReadInputs(files...) }

// Input is what a model is run on: one dense, row-major tensor for each of its
// inputs, in order.
type Input [][]float64

// Spec is the name and the shape of a tensor.
type Spec struct {
	Name  string
	Shape []int // empty for a scalar
}

// Tensor is a dense, row-major tensor of real numbers.
type Tensor = statement.Tensor

// tensor returns a tensor whose shape JSON writes as a list.
func tensor(name string, shape []int, values []float64) Tensor {
	if shape == nil {
		shape = []int{}
	}
	return Tensor{Name: name, Shape: shape, Values: values}
}

func newModel(name string, g *graph.Graph, most int) *Model {
	return &Model{name: name, graph: g, files: sync.OnceValue(g.Digests), words: sync.OnceValue(func() []byte { return fileOf(g.Vocabulary) }), open: dimensionOf(g, most)}
}

// fileOf is the file of a vocabulary, which can be encoded; nil if there is none.
func fileOf(v *vocabulary.Vocabulary) []byte {
	if v == nil {
		return nil
	}
	file, err := v.Encode()
	if err != nil {
		panic(err) // it was checked where it was made
	}
	return file
}

// VocabularyFile is the file of what the model says of strings, which Committed.VocabularyFile is too; nil if it says nothing of them.
func (m *Model) VocabularyFile() []byte { return m.words() }

// NewModel returns a model that was made in memory. Its graph must not be
// changed any more.
func NewModel(g *graph.Graph) *Model {
	return newModel(g.Name, g, 0)
}

// Close releases the model's files, as soon as what still computes with them is
// done: functions whose context ends return before that.
func (m *Model) Close() error {
	var of error
	if m.base != nil {
		of = m.base.Close()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.users > 0 {
		return of // the last one closes them
	}
	return errors.Join(of, m.graph.Close())
}

// phase is watch.run for work that reads the model.
func (m *Model) phase(ctx context.Context, w *watch, p Phase, f func() error) error {
	w.begin(p)
	err := m.while(ctx, f)
	w.end(err)
	return err
}

// while is await with the model's files open until f ends, even when nobody
// waits for it any more.
func (m *Model) while(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return errors.New("model: closed")
	}
	m.users++
	m.mu.Unlock()
	return awaitStarted(ctx, func() error {
		defer m.release()
		return f()
	})
}

func (m *Model) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users--; m.users == 0 && m.closed {
		m.graph.Close()
	}
}

// Name is the path that the model was read from, or the name of its graph.
func (m *Model) Name() string { return m.name }

// Graph returns the float graph, which must not be changed.
func (m *Model) Graph() *graph.Graph { return m.graph }

// Inputs lists the inputs in order, in the size that the model was opened for.
func (m *Model) Inputs() []Spec { return inputsOf(m.graph) }

func inputsOf(g *graph.Graph) []Spec {
	return seq.Map(g.Inputs, func(v graph.Input) Spec { return Spec{v.Name, v.Shape} })
}

// Outputs lists the outputs in order, in the size that the model was opened for.
func (m *Model) Outputs() []Spec { return outputsOf(m.graph) }

func outputsOf(g *graph.Graph) []Spec {
	return seq.Map(g.Outputs, func(name string) Spec { return Spec{name, g.Shapes[name]} })
}

// MostTokens is the greatest length of the texts that keys of the model are for; 0 for
// models of other things.
func (m *Model) MostTokens() int { return m.open.most }

// sized returns the float graph for a batch of n, or texts of that length, or the only
// one there is. It has logits at so many positions, if their number is open.
func (m *Model) sized(n, written int) (_ *graph.Graph, err error) {
	defer must.Catch(&err)
	if m.open.written == "" {
		written = 0
	}
	if m.open.symbol == "" || n == m.graph.Inputs[0].Shape[m.open.axis] && (written == 0 || written == m.positions()) {
		return m.graph, nil
	}
	m.other.Lock()
	defer m.other.Unlock()
	if m.other.graph == nil || m.other.size != n || m.other.written != written {
		sizes := map[string]int{m.open.symbol: n}
		if written > 0 {
			sizes[m.open.written] = written
		}
		g := must.Get(m.graph.Rebind(sizes))
		m.other.size, m.other.written, m.other.graph = n, written, g
	}
	return m.other.graph, nil
}

// positions is at how many positions the model has logits, by its second input, in the size that it was opened for; 0 without one.
func (m *Model) positions() int {
	if len(m.graph.Inputs) < 2 {
		return 0
	}
	return model.Size(m.graph.Inputs[1].Shape)
}

// writes is how many tokens the model was opened to write, if it writes.
func (m *Model) writes() int {
	if m.listens.Samples > 0 {
		return model.Size(m.graph.Inputs[0].Shape) + 1 - len(m.language.Start)
	}
	return m.positions()
}

// sizedFor returns the float graph for the input's batch, or its length.
func (m *Model) sizedFor(in Input) (*graph.Graph, error) {
	if m.open.symbol == "" || len(in) == 0 {
		return m.graph, nil // RunFloat says what does not fit
	}
	return m.sized(m.open.in(len(in[0]), m.graph.Inputs[0].Shape), in.written())
}

// written is the number of entries of the second input.
func (in Input) written() int {
	if len(in) < 2 {
		return 0
	}
	return len(in[1])
}

// circuitSize returns the float graph that a circuit with a free length is chosen for:
// the same for all inputs.
func (m *Model) circuitSize() (*graph.Graph, error) {
	if m.open.isText() {
		return m.sized(m.open.most, m.open.most)
	}
	return m.graph, nil
}

// Parameters returns the number of elements of the model's float constants: of a model of
// texts, whose positions may be tables as long as the text, for one token.
func (m *Model) Parameters() int {
	g, n := m.graph, 0
	if m.open.isText() {
		if one, err := g.Rebind(map[string]int{m.open.symbol: 1}); err == nil {
			g = one
		}
	}
	for _, t := range g.Consts {
		if t.DType.IsFloat() {
			n += t.Len()
		}
	}
	return n
}

// Random returns an input that depends on the seed alone: uniform in [0, 1),
// which every operator is defined on; where integers are wanted 0 or 1, or one of
// all rows where they are indices of rows, such as tokens; a mask masks nothing.
func (m *Model) Random(seed int64) Input {
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	input := make(Input, len(m.graph.Inputs))
	for i, v := range m.graph.Inputs {
		input[i] = make([]float64, model.Size(v.Shape))
		whole, mask := 2, m.graph.Masks(v.Name)
		if rows := m.graph.Rows(v.Name); rows > 0 {
			whole = rows
		}
		for j := range input[i] {
			input[i][j] = rng.Float64()
			if !v.DType.IsFloat() {
				input[i][j] = float64(rng.IntN(whole))
			}
			if mask {
				input[i][j] = 1
			}
		}
	}
	return input
}

// Run runs the float model and returns its outputs, in float64, with values rounded where
// an ONNX file casts them to floating-point types of 16 bits. If the model leaves the size
// of its batch open, or the length of texts, the input may have any.
func (m *Model) Run(ctx context.Context, in Input) (_ []Tensor, err error) {
	defer must.Catch(&err)
	var out []Tensor
	must.OK(m.while(ctx, func() error {
		g, err := m.sizedFor(in)
		if err != nil {
			return err
		}
		if g.Typed != nil {
			if t, err := g.Typed(); err == nil { // not all operators take what is rounded
				g = t
			}
		}
		out, err = visitFloat(g, in, func(string, []float64) {})
		return err
	}))
	return out, nil
}

// visitFloat runs a float model, shows visit all values, and returns the outputs.
func visitFloat(g *graph.Graph, in Input, visit func(name string, values []float64)) (_ []Tensor, err error) {
	defer must.Catch(&err)
	must.OK(runnable(g))
	named := map[string][]float64{}
	choices := map[string][]func(values []float64){}   // by scores, what is to be told of them
	margins := map[string][]float64{}                  // by output
	edges := map[string][]statement.Edge{}             // likewise
	near, beyond := map[string]int{}, map[string]int{} // likewise
	for _, name := range g.Outputs {
		named[name] = nil
		if scores, axis, ok := g.Choice(name); ok {
			choices[scores] = append(choices[scores], func(values []float64) { margins[name] = graph.Margins(values, g.Shapes[scores], axis) })
		}
		if s, ok := g.Selection(name); ok {
			choices[s.Scores] = append(choices[s.Scores], func(values []float64) { edges[name] = edgesOf(g, s, name, values) })
		}
		for _, x := range g.Wholes(name) {
			choices[x] = append(choices[x], func(values []float64) { near[name] += graph.NearWhole(values) })
		}
		for _, x := range g.Beyond(name) {
			choices[x.Value] = append(choices[x.Value], func(values []float64) { beyond[name] += x.Count(values) })
		}
	}
	must.OK(g.VisitFloat(in, func(name string, values []float64) {
		if _, ok := named[name]; ok {
			named[name] = values
		}
		for _, tell := range choices[name] {
			tell(values)
		}
		visit(name, values)
	}))
	var out []Tensor
	for _, s := range outputsOf(g) {
		t := tensor(s.Name, s.Shape, named[s.Name])
		dt := g.DTypes[s.Name]
		t.Integers, t.Margins, t.Edges, t.NearWhole = dt.Known() && !dt.IsFloat(), margins[s.Name], edges[s.Name], near[s.Name]
		t.Beyond = beyond[s.Name]
		out = append(out, t)
	}
	return out, nil
}

// edgesOf are the edges of a selection for each entry of an output.
func edgesOf(g *graph.Graph, s graph.Selection, output string, scores []float64) []statement.Edge {
	shape := g.Shapes[s.Scores]
	rows := s.Boundaries(scores, shape[len(shape)-1])
	list, each := make([]statement.Edge, graph.Size(g.Shapes[output])), graph.Size(g.Shapes[output][1:])
	for i := range list {
		list[i] = statement.Edge(rows[i/each])
	}
	return list
}

// Input matches arrays with the model's inputs, as one input of the size that the model was
// opened for. Arrays that have names must have those of inputs; the others go by position. A
// shape must be the input's (docs/inputs.md); an array without one goes by its count.
//
// A text may have any length up to the most that there is.
func (m *Model) Input(arrays Arrays) (_ Input, err error) {
	defer must.Catch(&err)
	specs := m.Inputs()
	arrays = must.Get(m.arrays(arrays))
	if n := len(arrays); m.open.isText() && n > 0 {
		g := must.Get(m.text(len(arrays[0].Values), m.listed(arrays)))
		specs = inputsOf(g)
	}
	samples, err := cut(specs, arrays)
	if err == nil && len(samples) != 1 {
		err = fmt.Errorf("it holds %d inputs: the model takes %s", len(samples), signature(specs))
	}
	must.OK(err)
	return samples[0], nil
}

// arrays are those for the inputs of the graph, with strings mapped to numbers.
func (m *Model) arrays(given Arrays) (_ Arrays, err error) {
	defer must.Catch(&err)
	return must.Get(given.Mapped(m.graph.Vocabulary)).For(m.wanted())
}

// Samples matches arrays with inputs as Input does, and cuts each into as many
// samples as it holds: elements of the batch, if the model leaves its size open; texts
// of the last axis' length, if that is what it leaves open, or else of the greatest
// length if there are more tokens than that.
func (m *Model) Samples(arrays Arrays) (_ []Input, err error) {
	defer must.Catch(&err)
	arrays = must.Get(m.arrays(arrays))
	size, written := 1, m.listed(arrays)
	if m.open.isText() && len(arrays) > 0 {
		a := &arrays[0]
		if size = len(a.Values); len(a.Shape) > 1 {
			size = a.Shape[len(a.Shape)-1]
		} else if size > m.open.most {
			size = m.open.most
		}
		written = max(1, written*size/max(1, len(a.Values))) // of each text
		must.Get(m.text(size, written))
	}
	g := must.Get(m.sized(size, written))
	return cut(inputsOf(g), arrays)
}

// TextSamples makes samples of texts, each the tokens of one, for a language model or an
// encoder that leaves their length open. A model that gives logits at some positions alone
// gives them at the last ones; if their number is open, at judgedPositions of them at most. An encoder–decoder reads each and
// writes how it begins.
func (m *Model) TextSamples(texts [][]int) (_ []Input, err error) {
	defer must.Catch(&err)
	if !m.open.isText() || len(m.graph.Inputs) > 2 {
		return nil, errors.New("the model does not take texts of any length as tokens")
	}
	samples := make([]Input, len(texts))
	for i, ids := range texts {
		if start := m.Start(); start != nil {
			samples[i] = must.GetAs(answerSample(ids, start, min(m.open.most, len(start)+judgedPositions)))("text %d", i)
			continue
		}
		g := must.GetAs(m.text(len(ids), min(len(ids), judgedPositions)))("text %d", i)
		samples[i] = Input{reals(ids)}
		if len(g.Inputs) == 2 {
			at := make([]float64, model.Size(g.Inputs[1].Shape))
			for j := range at {
				at[j] = float64(min(max(len(ids)-len(at), 0)+j, len(ids)-1))
			}
			samples[i] = append(samples[i], at)
		}
	}
	return samples, nil
}

// wanted are the inputs for arrays to be matched with: of their axes those that keys of the
// model leave open may have any size, the others have the one that the model was opened for.
func (m *Model) wanted() []graph.Input {
	out := slices.Clone(m.graph.Inputs)
	for i, in := range out {
		out[i].Symbols = make([]string, len(in.Symbols))
		for axis, symbol := range in.Symbols {
			if symbol != "" && (symbol == m.open.symbol || symbol == m.open.written) || m.open.isText() && axis == 0 { // Samples cuts several texts
				out[i].Symbols[axis] = symbol
			}
		}
	}
	return out
}

// judgedPositions is at how many positions of a sample logits are compared with the float model's, where a key does not say.
const judgedPositions = 32

// listed is the number of entries of the second of some arrays, at least one.
func (m *Model) listed(arrays Arrays) int {
	if len(arrays) < 2 {
		return 1
	}
	return max(1, len(arrays[1].Values))
}

// text returns the float graph for a text of n tokens, with logits at so many positions if their number is open.
func (m *Model) text(n, written int) (*graph.Graph, error) {
	if n < 1 || n > m.open.most {
		return nil, fmt.Errorf("%d tokens: the model was opened for 1 to %d (--tokens)", n, m.open.most)
	}
	if m.open.written != "" && written > m.open.most {
		return nil, fmt.Errorf("logits at %d positions: the model was opened for 1 to %d (--tokens)", written, m.open.most)
	}
	return m.sized(n, written)
}

// whole joins samples to batches of the size that the model was opened for; samples are repeated
// to fill the last batch. It returns nil if the samples have that size already.
func (m *Model) whole(samples []Input) []Input {
	if m.open.symbol == "" || m.open.isText() {
		return nil
	}
	size := model.Size(m.graph.Inputs[0].Shape)
	have := len(samples[0][0])
	if have == size || size%have != 0 {
		return nil
	}
	n := size / have
	out := make([]Input, (len(samples)+n-1)/n)
	for k := range out {
		out[k] = make(Input, len(samples[0]))
		for i := range out[k] {
			for j := range n {
				out[k][i] = append(out[k][i], samples[(k*n+j)%len(samples)][i]...)
			}
		}
	}
	return out
}

// cut cuts each array into as many samples of the given shapes as it holds.
func cut(specs []Spec, arrays Arrays) ([]Input, error) {
	if len(arrays) != len(specs) {
		return nil, fmt.Errorf("it holds %d arrays, but the model takes %d: %s", len(arrays), len(specs), signature(specs))
	}
	if len(specs) == 0 { // the model computes the same always
		return []Input{{}}, nil
	}
	n := 0
	for i, s := range specs {
		have, want := len(arrays[i].Values), model.Size(s.Shape)
		if have == 0 && want == 0 { // in any number of samples
			continue
		}
		if have == 0 {
			return nil, fmt.Errorf("array %d is empty: the model takes %s", i, signature(specs))
		}
		if want == 0 || have%want != 0 || n != 0 && have != n*want {
			return nil, fmt.Errorf("array %d has %d elements, which is not %s: the model takes %s",
				i, have, times(n, want), signature(specs))
		}
		n = have / want
	}
	n = max(n, 1) // of inputs without elements there is one sample
	samples := make([]Input, n)
	for k := range samples {
		for i, s := range specs {
			size := model.Size(s.Shape)
			samples[k] = append(samples[k], arrays[i].Values[k*size:(k+1)*size])
		}
	}
	return samples, nil
}

func times(n, size int) string {
	switch {
	case size == 0:
		return "none"
	case n == 0:
		return fmt.Sprintf("a multiple of %d", size)
	}
	return fmt.Sprintf("%d × %d", n, size)
}

// signature lists inputs with their shapes, in characters that print.
func signature(specs []Spec) string {
	s := ""
	for i, x := range specs {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s %v", model.PrintableName(x.Name), x.Shape)
	}
	return s
}
