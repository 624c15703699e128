package onnx

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/runtime/protoiface"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/mapped"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// Options determines what a model file may leave open.
type Options struct {
	// Dims gives values to symbolic dimensions by name. A dimension without a
	// name is called INPUT[AXIS], as in "x[0]".
	Dims map[string]int
	// InputShapes are the shapes of the inputs that the model will be run on,
	// in order, as far as they are known; nil entries are unknown.
	InputShapes [][]int
	// InputLens are the element counts of these inputs; 0 is unknown.
	InputLens []int
	// InputNumbers says for each of these inputs which numbers it has: finite ones only, or
	// also NaN or infinities.
	InputNumbers []graph.Numbers
	// Fixed are inputs, by name, that become part of the model: the graph has their values
	// as constants, and does not have these inputs. The other options are about the
	// remaining inputs.
	Fixed Inputs
	// Outputs are the names of the graph's outputs, in order: any values that the file
	// computes. Nil means the file's own outputs. Inputs that these outputs do not need
	// are left out.
	Outputs []string

	// Memory bounds the bytes that folded constants and tables of expanded operators may
	// take, besides the file's own constants. 0 means the default limit.
	Memory int64

	// Samples are calibration samples. If they have NaN or infinities, the inputs may
	// have them too.
	Samples Inputs

	typed    bool   // makes the graph of graph.Graph.Typed
	again    bool   // this is a rebinding of another graph of the same file
	given    Inputs // the given inputs; their order and shapes follow once the model's inputs are known
	pictures []int  // for each input, the number of pictures given
}

// Range of operator sets whose meaning Load knows.
const (
	minOpset = 1
	maxOpset = 28
)

// maxDepth bounds the nesting of protobuf messages. The deepest that a model without
// subgraphs needs is a type in a value in a graph in the model.
const maxDepth = 32

// Load reads the ONNX model at path, with external data from files of the
// same folder, and returns it in normal form. An error that concerns nodes is
// a [graph.NodesError] and names all of them. Nothing in the file is trusted: memory
// and time stay in proportion to its size and to the declared tensors, which
// are bounded.
func Load(path string, opts Options) (*graph.Graph, error) {
	data, err := mapped.Open(path)
	if err != nil {
		return nil, err
	}
	src := &source{dir: filepath.Dir(path), files: map[string]*mapped.File{"": data}}
	g, err := parse(data.Bytes(), src, opts)
	if err != nil {
		src.close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(src.files)) { // the model file has the empty name, so it comes first
		g.Files = append(g.Files, src.files[name])
	}
	if len(opts.Fixed) > 0 {
		g.Files = append(g.Files, opts.Fixed.file())
	}
	if opts.Outputs != nil {
		g.Files = append(g.Files, memory(fmt.Sprintf("outputs %q", opts.Outputs)))
	}
	if names := extended(g); len(names) > 0 {
		g.Files = append(g.Files, memory(fmt.Sprintf("extended inputs %q", names)))
	}
	return g, nil
}

// extended lists the inputs that may have NaN or infinities, each with its kind of
// numbers.
func extended(g *graph.Graph) []string {
	var names []string
	for _, in := range g.Inputs {
		if in.Numbers != graph.FiniteNumbers {
			names = append(names, fmt.Sprint(in.Name, " ", in.Numbers))
		}
	}
	return names
}

// Parse is Load for a model in memory, which cannot have external data. The
// graph may point into data.
func Parse(data []byte, opts Options) (*graph.Graph, error) {
	return parse(data, &source{}, opts)
}

func parse(data []byte, src *source, opts Options) (*graph.Graph, error) {
	return refuse.Result(func() *graph.Graph {
		m := unmarshal(data)
		opset := operatorSet(m)
		f := newFileGraph(m, src, opts.Outputs)
		f.fix(opts.Fixed)
		f.markFiles()
		return must.Get(lower(f, opset, opts))
	})
}

// rebound returns options in which symbols have the given sizes, and all other
// dimensions are those of inputs.
func rebound(inputs []graph.Input, sizes map[string]int, memory int64) Options {
	opts := Options{Dims: map[string]int{}, Memory: memory, again: true}
	maps.Copy(opts.Dims, sizes)
	for _, in := range inputs {
		shape := slices.Clone(in.Shape)
		for axis, symbol := range in.Symbols {
			if n, ok := sizes[symbol]; ok {
				shape[axis] = n
			} else if symbol != "" {
				opts.Dims[symbol] = shape[axis]
			}
		}
		opts.InputShapes = append(opts.InputShapes, shape)
		opts.InputNumbers = append(opts.InputNumbers, in.Numbers)
	}
	return opts
}

const notModel = "not an ONNX model, or damaged"

// unmarshal parses the protocol buffer without copying its tensors.
func unmarshal(data []byte) *onnxpb.ModelProto {
	refuse.If(bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")),
		"a pointer of Git LFS, not the model that it stands for: fetch that with git lfs pull")
	m := new(onnxpb.ModelProto)
	r := m.ProtoReflect()
	var err error
	if methods := r.ProtoMethods(); methods != nil && methods.Unmarshal != nil {
		_, err = methods.Unmarshal(protoiface.UnmarshalInput{
			Message: r,
			Buf:     data,
			Flags:   protoiface.UnmarshalDiscardUnknown | protoiface.UnmarshalAliasBuffer,
			Depth:   maxDepth,
		})
	} else {
		err = proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxDepth}.Unmarshal(data, m)
	}
	if err != nil { // protobuf randomly puts a no-break space into its error texts
		refuse.With("%s: %s", notModel, strings.ReplaceAll(err.Error(), "\u00a0", " "))
	}
	refuse.If(m.Graph == nil, "%s: it has no graph", notModel)
	return m
}

// operatorSet returns the version of the standard operator set that m uses.
func operatorSet(m *onnxpb.ModelProto) int {
	version, named := int64(0), false
	for _, o := range m.OpsetImport {
		if standardDomain(o.GetDomain()) {
			version, named = max(version, o.GetVersion()), true
		}
	}
	if !named && len(m.OpsetImport) > 0 {
		return maxOpset // the model uses operators of other domains only
	}
	if !named && m.GetIrVersion() > 0 && m.GetIrVersion() < 3 { // such files do not name operator sets; they use the first one
		return minOpset
	}
	refuse.If(version == 0, "the model does not say which ONNX operator set it uses")
	refuse.If(version < minOpset || version > maxOpset,
		"the model uses ONNX operator set %d; %d to %d are understood", version, minOpset, maxOpset)
	return int(version)
}

// standardDomain reports whether this is the domain of ONNX's own operators.
func standardDomain(d string) bool { return d == "" || d == "ai.onnx" }
