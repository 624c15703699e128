package provemodel

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/quantise"
)

// Model is a float model. It may be used by several goroutines at once.
type Model struct {
	name  string
	graph *graph.Graph
	files func() [][sha256.Size]byte // digests, computed once; none if made in memory

	mu     sync.Mutex
	users  int // computations that read the graph
	closed bool

	language *proof.Text // what its tokens mean; nil for models of other things
	open     dimension   // the size of the batch, or the length of texts
	other    struct {
		sync.Mutex
		size  int
		graph *graph.Graph // for this size, the last that was asked for
	}
}

// dimension is one that a model leaves open, so that keys do.
type dimension struct {
	symbol string // "" if there is none
	axis   int    // of all inputs
	most   int    // of texts: their greatest length; 0: it is a batch
}

// dimensionOf returns what a graph leaves open: the length of texts if there is a bound
// for that, or the size of its batch.
func dimensionOf(g *graph.Graph, most int) dimension {
	if symbol := quantise.Length(g); most > 0 && symbol != "" {
		return dimension{symbol, 1, most}
	}
	return dimension{symbol: quantise.Batch(g)}
}

// isText says that it is the length of texts.
func (d dimension) isText() bool { return d.most > 0 }

// in returns the size that the dimension has if the first input, of that shape with some
// size, has n entries.
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

// Pictures says how the pixels of a picture become numbers (Arrays.WithPictures).
type Pictures = onnx.Pictures

// ParsePictures reads what --image says: a range such as "0..1", "imagenet", or
// mean/deviation; "bgr"; "crop"; with commas between them.
func ParsePictures(s string) (Pictures, error) { return onnx.ParsePictures(s) }

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
	return &Model{name: name, graph: g, files: sync.OnceValue(g.Digests), open: dimensionOf(g, most)}
}

// NewModel returns a model that was made in memory. Its graph must not be
// changed any more.
func NewModel(g *graph.Graph) *Model {
	return newModel(g.Name, g, 0)
}

// Close releases the model's files, as soon as what still computes with them is
// done: functions whose context ends return before that.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.users > 0 {
		return nil // the last one closes them
	}
	return m.graph.Close()
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
	specs := make([]Spec, len(g.Inputs))
	for i, v := range g.Inputs {
		specs[i] = Spec{v.Name, v.Shape}
	}
	return specs
}

// Outputs lists the outputs in order, in the size that the model was opened for.
func (m *Model) Outputs() []Spec { return outputsOf(m.graph) }

func outputsOf(g *graph.Graph) []Spec {
	specs := make([]Spec, len(g.Outputs))
	for i, name := range g.Outputs {
		specs[i] = Spec{name, g.Shapes[name]}
	}
	return specs
}

// MostTokens is the greatest length of the texts that keys of the model are for; 0 for
// models of other things.
func (m *Model) MostTokens() int { return m.open.most }

// sized returns the float graph for a batch of n, or texts of that length, or the only
// one there is.
func (m *Model) sized(n int) (*graph.Graph, error) {
	if m.open.symbol == "" || n == m.graph.Inputs[0].Shape[m.open.axis] {
		return m.graph, nil
	}
	m.other.Lock()
	defer m.other.Unlock()
	if m.other.graph == nil || m.other.size != n {
		g, err := m.graph.Rebind(map[string]int{m.open.symbol: n})
		if err != nil {
			return nil, err
		}
		m.other.size, m.other.graph = n, g
	}
	return m.other.graph, nil
}

// sizedFor returns the float graph for the input's batch, or its length.
func (m *Model) sizedFor(in Input) (*graph.Graph, error) {
	if m.open.symbol == "" || len(in) == 0 {
		return m.graph, nil // RunFloat says what does not fit
	}
	return m.sized(m.open.in(len(in[0]), m.graph.Inputs[0].Shape))
}

// circuitSize returns the float graph that a circuit with a free length is chosen for:
// the same for all inputs.
func (m *Model) circuitSize() (*graph.Graph, error) {
	if m.open.isText() {
		return m.sized(m.open.most)
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

// Run runs the float model and returns its outputs. If the model leaves the size
// of its batch open, or the length of texts, the input may have any.
func (m *Model) Run(ctx context.Context, in Input) ([]Tensor, error) {
	var out []Tensor
	err := m.while(ctx, func() error {
		g, err := m.sizedFor(in)
		if err != nil {
			return err
		}
		out, err = visitFloat(g, in, func(string, []float64) {})
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// visitFloat runs a float model, shows visit all values, and returns the outputs.
func visitFloat(g *graph.Graph, in Input, visit func(name string, values []float64)) ([]Tensor, error) {
	if err := runnable(g); err != nil {
		return nil, err
	}
	named := map[string][]float64{}
	for _, name := range g.Outputs {
		named[name] = nil
	}
	err := g.VisitFloat(in, func(name string, values []float64) {
		if _, ok := named[name]; ok {
			named[name] = values
		}
		visit(name, values)
	})
	if err != nil {
		return nil, err
	}
	var out []Tensor
	for _, s := range outputsOf(g) {
		out = append(out, tensor(s.Name, s.Shape, named[s.Name]))
	}
	return out, nil
}
