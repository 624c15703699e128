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
	files func() [][sha256.Size]byte // SHA-256 of each of the model's files, computed once; none if the model was made in memory

	mu     sync.Mutex
	users  int // number of running computations that read the graph
	closed bool

	base     *Model                     // the model that this one is an adapter to; nil if it is no adapter
	listens  families.Speech            // how a speech model that writes takes audio; its field Samples is 0 for other models
	language *proof.Text                // what the tokens of a language model mean; nil for other models
	words    func() []byte              // returns the encoded vocabulary, computed once; nil if the model has no strings
	refuse   func(text []float64) error // returns an error for a text that the published model treats differently; nil if there is none
	open     dimension                  // the dimension that is left open: the size of the batch, or the length of texts
	other    struct {
		sync.Mutex
		size, written int
		graph         *graph.Graph // the float graph for the size and written above: the last ones that were asked for
	}
}

// dimension is the dimension that a model leaves open, and with it every key of the model.
type dimension struct {
	symbol string // its name in the graph; "" if the model leaves none open
	axis   int    // its axis, the same in all inputs
	most   int    // the greatest length of a text; 0 if the dimension is a batch
	// written is the symbol of a second open dimension: at how many positions of a text there are logits, which the second
	// input lists. "" if that number is not open.
	written string
}

// dimensionOf returns the dimension that a graph leaves open: the length of texts, of
// at most `most` tokens, if most is positive and the graph leaves a length open; else
// the size of its batch.
func dimensionOf(g *graph.Graph, most int) dimension {
	if symbol := quantise.Length(g); most > 0 && symbol != "" {
		return dimension{symbol, 1, most, quantise.Written(g)}
	}
	return dimension{symbol: quantise.Batch(g)}
}

// isText says whether the dimension is the length of texts.
func (d dimension) isText() bool { return d.most > 0 }

// in returns the size of the dimension for a first input of n entries. shape is the input's
// shape for some size of the dimension: n/Size(shape) is the ratio of the two sizes.
func (d dimension) in(n int, shape []int) int {
	return max(1, n*shape[d.axis]/max(1, graph.Size(shape)))
}

// Arrays are the numbers of an input file: one array for each input of a model,
// with names and shapes where the file has them. An array may hold several
// samples, end to end.
type Arrays = onnx.Inputs

// ReadArrays reads files of inputs. Each argument is a path or name=path. The extension of
// the file says what it is: JSON (nested lists, an object of such lists by the inputs'
// names, or "input_data", a list of them), .npy, .npz, an ONNX tensor (.pb), a table (.csv
// or .tsv), or a picture (.png or .jpg), which is resized to the input's shape. The path -
// is standard input, whose format is told from its content. Numbers that are not finite
// are refused.
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

// tensor returns a tensor. A nil shape becomes an empty one, which JSON writes as [] rather than null.
func tensor(name string, shape []int, values []float64) Tensor {
	if shape == nil {
		shape = []int{}
	}
	return Tensor{Name: name, Shape: shape, Values: values}
}

func newModel(name string, g *graph.Graph, most int) *Model {
	return &Model{name: name, graph: g, files: sync.OnceValue(g.Digests), words: sync.OnceValue(func() []byte { return fileOf(g.Vocabulary) }), open: dimensionOf(g, most)}
}

// fileOf returns the encoding of a vocabulary; nil if there is none.
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

// VocabularyFile returns the encoded vocabulary, which maps the strings that the model takes or gives to numbers; nil
// if the model has no strings. Committed.VocabularyFile returns the same file.
func (m *Model) VocabularyFile() []byte { return m.words() }

// NewModel returns a model that was made in memory. Its graph must not be
// changed any more.
func NewModel(g *graph.Graph) *Model {
	return newModel(g.Name, g, 0)
}

// Close releases the model's files. If a computation still reads them, as one whose
// context has ended may, they are released when that computation is done.
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

// phase is watch.run for work that reads the model's files: they stay open until f has returned.
func (m *Model) phase(ctx context.Context, w *watch, p Phase, f func() error) error {
	w.begin(p)
	err := m.while(ctx, f)
	w.end(err)
	return err
}

// while is await for work that reads the model's files. They stay open until f has
// returned, also if the context ends before that and the caller is gone.
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

// sized returns the float graph for a batch of n elements, or for texts of n tokens; a
// model without an open dimension has one graph only. The graph has logits at `written`
// positions, if the model leaves their number open; 0 keeps the number that the model
// was opened with.
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

// positions returns at how many positions the model has logits, which is the size of its second input, in the size that
// the model was opened for; 0 if there is no second input.
func (m *Model) positions() int {
	if len(m.graph.Inputs) < 2 {
		return 0
	}
	return model.Size(m.graph.Inputs[1].Shape)
}

// writes returns how many tokens the model was opened to write, if it writes. A speech model's decoder reads its start
// tokens and all written tokens but the last, so it writes one more than its input has behind the start.
func (m *Model) writes() int {
	if m.listens.Samples > 0 {
		return model.Size(m.graph.Inputs[0].Shape) + 1 - len(m.language.Start)
	}
	return m.positions()
}

// sizedFor returns the float graph for the size of an input: of its batch, or the length of its text.
func (m *Model) sizedFor(in Input) (*graph.Graph, error) {
	if m.open.symbol == "" || len(in) == 0 {
		return m.graph, nil // RunFloat reports what does not fit
	}
	return m.sized(m.open.in(len(in[0]), m.graph.Inputs[0].Shape), in.written())
}

// written returns the number of entries of the second input, 0 if there is none.
func (in Input) written() int {
	if len(in) < 2 {
		return 0
	}
	return len(in[1])
}

// circuitSize returns the float graph from which a circuit with a free length is made:
// the one for the longest text, whatever the input.
func (m *Model) circuitSize() (*graph.Graph, error) {
	if m.open.isText() {
		return m.sized(m.open.most, m.open.most)
	}
	return m.graph, nil
}

// Parameters returns the number of elements of the model's float constants. A text model
// may have tables of positions that are as long as the text: these are counted for a text
// of one token.
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

// Random returns an input that depends on the seed alone. Float entries are uniform in
// [0, 1), on which every operator is defined. Integer entries are 0 or 1; where they
// are indices of rows, such as tokens, they are uniform over all rows. A mask is 1
// everywhere, so it masks nothing.
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

// Run runs the float model and returns its outputs. It computes in float64, and rounds
// values where an ONNX file casts them to a floating-point type of 16 bits. If the model
// leaves the size of its batch or the length of texts open, the input may have any size.
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

// visitFloat runs a float model, calls visit with every value, and returns the outputs. An output also gets what
// Compare needs to tell a tie from an error: the margins of an ArgMax, the edges of a selection such as TopK, the
// number of values that are almost whole before they are cast, and the number that float32 cannot hold.
func visitFloat(g *graph.Graph, in Input, visit func(name string, values []float64)) (_ []Tensor, err error) {
	defer must.Catch(&err)
	must.OK(runnable(g))
	named := map[string][]float64{}
	choices := map[string][]func(values []float64){}   // by the name of a value: what to do with it when it is computed
	margins := map[string][]float64{}                  // by output
	edges := map[string][]statement.Edge{}             // by output
	near, beyond := map[string]int{}, map[string]int{} // by output
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

// edgesOf returns, for each entry of an output, the edge of the selection that its row depends on: the score that is
// selected last and the one that just missed.
func edgesOf(g *graph.Graph, s graph.Selection, output string, scores []float64) []statement.Edge {
	shape := g.Shapes[s.Scores]
	rows := s.Boundaries(scores, shape[len(shape)-1])
	list, each := make([]statement.Edge, graph.Size(g.Shapes[output])), graph.Size(g.Shapes[output][1:])
	for i := range list {
		list[i] = statement.Edge(rows[i/each])
	}
	return list
}

// Input matches arrays with the model's inputs, and returns one input of the size that the
// model was opened for. An array with a name goes to the input of that name; arrays without
// names go by their position. An array's shape must be the input's (docs/inputs.md); an
// array without a shape must have as many entries as the input.
//
// A text may have any length up to MostTokens.
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

// arrays returns one array for each input of the graph, in order, with strings mapped to numbers.
func (m *Model) arrays(given Arrays) (_ Arrays, err error) {
	defer must.Catch(&err)
	return must.Get(given.Mapped(m.graph.Vocabulary)).For(m.wanted())
}

// Samples matches arrays with inputs as Input does, and cuts each array into as many
// samples as it holds. If the model leaves the size of its batch open, a sample is one
// element of the batch. If it leaves the length of texts open, a sample is a text as
// long as the array's last axis; an array of one axis is one text, or is cut into texts
// of MostTokens tokens if it is longer than that.
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

// TextSamples makes one sample of each text, a list of tokens, for a language model or an encoder that leaves the length of
// texts open. If the model gives logits at some positions only, the samples ask for the last positions of the text; if their
// number is open, for at most 32 of them. An encoder–decoder reads each text and writes the beginning of the same text.
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

// wanted returns the inputs that arrays are matched with. An axis that keys of the model
// leave open may have any size; every other axis has the size that the model was opened for.
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

// judgedPositions is at how many positions of a sample, at most, logits are compared with the float model's, if the key
// does not fix their number.
const judgedPositions = 32

// listed returns the number of entries of the second array, at least 1; 1 if there is no second array.
func (m *Model) listed(arrays Arrays) int {
	if len(arrays) < 2 {
		return 1
	}
	return max(1, len(arrays[1].Values))
}

// text returns the float graph for a text of n tokens. It has logits at `written` positions, if their number is open.
func (m *Model) text(n, written int) (*graph.Graph, error) {
	if n < 1 || n > m.open.most {
		return nil, fmt.Errorf("%d tokens: the model was opened for 1 to %d (--tokens)", n, m.open.most)
	}
	if m.open.written != "" && written > m.open.most {
		return nil, fmt.Errorf("logits at %d positions: the model was opened for 1 to %d (--tokens)", written, m.open.most)
	}
	return m.sized(n, written)
}

// whole joins samples to batches of the size that the model was opened for. To fill the last
// batch it repeats samples from the first one on. It returns nil if there is nothing to join:
// the samples have that size already, do not divide it, or are texts.
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
	if len(specs) == 0 { // a model without inputs has one sample, an empty one
		return []Input{{}}, nil
	}
	n := 0
	for i, s := range specs {
		have, want := len(arrays[i].Values), model.Size(s.Shape)
		if have == 0 && want == 0 { // an input without entries fits any number of samples
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
	n = max(n, 1) // if no input has entries there is one sample
	samples := make([]Input, n)
	for k := range samples {
		for i, s := range specs {
			size := model.Size(s.Shape)
			samples[k] = append(samples[k], arrays[i].Values[k*size:(k+1)*size])
		}
	}
	return samples, nil
}

// times says in words how many elements an array must have: n samples of size elements, where n = 0 stands for any
// number.
func times(n, size int) string {
	switch {
	case size == 0:
		return "none"
	case n == 0:
		return fmt.Sprintf("a multiple of %d", size)
	}
	return fmt.Sprintf("%d × %d", n, size)
}

// signature lists inputs with their shapes, for messages; names are made printable.
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
