package onnx

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// FuzzParse reads hostile models. What is accepted must be in normal form and,
// if small, must run.
func FuzzParse(f *testing.F) {
	paths, _ := filepath.Glob("testdata/operators/*.onnx")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return // speed: the testdata is far smaller
		}
		parseAndRun(t, data)
	})
}

// parseAndRun checks what becomes of data if it is accepted.
func parseAndRun(t *testing.T, data []byte) {
	g, err := Parse(data, Options{})
	if err != nil {
		return
	}
	checkNormal(t, g)
	elements := 0
	for _, s := range g.Shapes {
		elements += graph.Size(s)
	}
	if elements > 1<<12 {
		return
	}
	inputs := make([][]float64, len(g.Inputs))
	for i, v := range g.Inputs {
		inputs[i] = make([]float64, graph.Size(v.Shape))
		for j := range inputs[i] {
			inputs[i][j] = float64(j%7) - 3
			if rows := g.Rows(v.Name); rows > 0 {
				inputs[i][j] = float64(j % rows)
			}
		}
	}
	values, err := g.RunFloat(inputs)
	if err != nil {
		for _, n := range g.Nodes {
			_, take := n.Op.(graph.Take)
			_, soft := n.Op.(graph.Softmax)
			_, bits := n.Op.(graph.Bits)
			if strings.Contains(err.Error(), "integers are exact") || strings.Contains(err.Error(), "no integer") || take || bits || n.Within || soft && len(n.Inputs) > 1 {
				return // indices may be beyond the axis, numbers not of the type, and masks leave nothing
			}
		}
		t.Fatal(err)
	}
	for _, n := range g.Nodes {
		if got, want := len(values[n.Output]), graph.Size(g.Shapes[n.Output]); got != want {
			t.Errorf("%s %s has %d elements, want %d", graph.Kind(n.Op), n.Name, got, want)
		}
	}
}

// FuzzMutations changes well-formed models where it hurts: numbers, types,
// operators and names. Bytes alone seldom get past the parser.
func FuzzMutations(f *testing.F) {
	paths, _ := filepath.Glob("testdata/operators/*.onnx")
	var models []*onnxpb.ModelProto
	var ops []string
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		m := new(onnxpb.ModelProto)
		if err := proto.Unmarshal(data, m); err != nil {
			f.Fatal(err)
		}
		models = append(models, m)
		for _, n := range m.Graph.Node {
			ops = append(ops, n.OpType)
		}
	}
	for seed := range uint64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		for range 50 {
			m := proto.Clone(models[rng.IntN(len(models))]).(*onnxpb.ModelProto)
			for range 1 + rng.IntN(3) {
				mutate(rng, m, ops)
			}
			parseAndRun(t, marshal(t, m))
		}
	})
}

// mutate changes one thing.
func mutate(rng *rand.Rand, m *onnxpb.ModelProto, ops []string) {
	pick := func(n int) int { return rng.IntN(max(n, 1)) }
	number := func() int64 {
		special := []int64{-1, 0, 1, 2, 3, 4, 5, 7, -2, -3, 100, 1 << 20, 1<<31 - 1, 1 << 31, 1 << 40, math.MaxInt64, math.MinInt64, -(1 << 31)}
		return special[pick(len(special))]
	}
	list := func(v []int64) []int64 {
		switch rng.IntN(4) {
		case 0:
			return append(slices.Clone(v), number())
		case 1:
			return v[:len(v)/2]
		}
		if len(v) == 0 {
			return v
		}
		v = slices.Clone(v)
		v[pick(len(v))] = number()
		return v
	}
	tensor := func(t *onnxpb.TensorProto) {
		switch rng.IntN(4) {
		case 0:
			t.Dims = list(t.Dims)
		case 1:
			t.DataType = int32(1 + rng.IntN(16))
		case 2:
			if graph.DType(t.DataType) == graph.Int64 && len(t.RawData) >= 8 {
				at := 8 * pick(len(t.RawData)/8)
				t.RawData = slices.Clone(t.RawData)
				binary.LittleEndian.PutUint64(t.RawData[at:], uint64(number()))
			}
		case 3: // another shape of as many elements
			n := int64(1)
			for _, d := range t.Dims {
				n *= d
			}
			t.Dims = [][]int64{{n}, {1, n}, {n, 1}, {1, 1, n}, {n, 1, 1, 1}}[rng.IntN(5)]
		}
	}
	g := m.Graph
	n := g.Node[pick(len(g.Node))]
	names := []string{""}
	for _, v := range g.Input {
		names = append(names, v.Name)
	}
	for _, v := range g.Initializer {
		names = append(names, v.Name)
	}
	for _, v := range g.Node {
		names = append(names, v.Output...)
	}
	switch rng.IntN(9) {
	case 0:
		n.OpType = ops[pick(len(ops))]
	case 1, 2:
		if len(n.Attribute) > 0 {
			a := n.Attribute[pick(len(n.Attribute))]
			a.I, a.Ints = number(), list(a.Ints)
			if a.T != nil {
				tensor(a.T)
			}
		}
	case 3, 4:
		if len(g.Initializer) > 0 {
			tensor(g.Initializer[pick(len(g.Initializer))])
		}
	case 5:
		m.OpsetImport[0].Version = int64(minOpset + rng.IntN(maxOpset-minOpset))
	case 6:
		if len(n.Input) > 0 {
			n.Input[pick(len(n.Input))] = names[pick(len(names))]
		}
	case 7:
		s := g.Input[pick(len(g.Input))].Type.GetTensorType()
		if len(s.Shape.Dim) > 0 && rng.IntN(4) > 0 {
			s.Shape.Dim[pick(len(s.Shape.Dim))].Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: number()}
		} else {
			s.ElemType = int32(1 + rng.IntN(16))
		}
	case 8:
		g.Node = append(g.Node, &onnxpb.NodeProto{
			OpType: ops[pick(len(ops))], Input: []string{names[pick(len(names))], names[pick(len(names))]}, Output: []string{"more"},
		})
		g.Output = append(g.Output, &onnxpb.ValueInfoProto{Name: "more"})
	}
}
