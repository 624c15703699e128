// Command testfiles proves small models for the tests of the web verifier, which show their keys
// and proofs: large files, names that are hostile to a browser, text and pictures.
//
//	go run ./web/testfiles FOLDER
//
// leaves NAME/key.vk and NAME/run.proof for each model. It also leaves a language model in
// story/model, which the tests prove with the command.
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/story"
)

// hostile is a name with a script, which a page that puts names into HTML unescaped would run.
const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

type testCase struct {
	name  string
	build func(b *graph.Builder)
	input func(i int) float64
	mode  string
	key   *provemodel.CommitOptions
}

var cases = []testCase{
	// Several megabytes, mostly of public values.
	{"large", relu("x", 1, 1500000), func(i int) float64 { return 1 + math.Sin(float64(i)) }, "exact", nil},
	// Mostly an opening.
	{"medium", perceptron(4, 512), func(i int) float64 { return math.Sin(float64(i)) },
		"", &provemodel.CommitOptions{SecurityBits: 110, GrindBits: -1}},
	{"names", relu(hostile, 1, 3), func(i int) float64 { return float64(i) - 1 }, "", nil},
	{"text", relu("characters", 1, len(sentence)), func(i int) float64 { return float64(sentence[i]) }, "", nil},
	{"picture", relu("photo", 2, 3, 24, 32), picture, "", nil},
}

var sentence = []rune("What a proof says is that a computation was done; it says <b>nothing</b> of why. Größe.")

func picture(i int) float64 {
	x, y, c := float64(i%32), float64(i/32%24), i/(32*24)%3
	return []float64{x / 31, y / 23, 0.5 + 0.5*math.Sin((x+y)/4)}[c]
}

func relu(name string, shape ...int) func(b *graph.Builder) {
	return func(b *graph.Builder) { b.Output("y", b.Apply(graph.Relu, b.Input(name, graph.Float, shape))) }
}

func perceptron(layers, width int) func(b *graph.Builder) {
	return func(b *graph.Builder) {
		x := b.Input("x", graph.Float, []int{1, width})
		for layer := range layers {
			w := &graph.Tensor{Shape: []int{width, width}, DType: graph.Float, F32: make([]float32, width*width)}
			for i := range w.F32 {
				w.F32[i] = float32(math.Sin(float64(i*(layer+1)*7)) / math.Sqrt(float64(width)))
			}
			x = b.Apply(graph.Relu, b.MatMul(x, b.Constant(fmt.Sprintf("w%d", layer), w)))
		}
		b.Output("y", x)
	}
}

func main() {
	for _, c := range cases {
		if err := c.write(filepath.Join(os.Args[1], c.name)); err != nil {
			fmt.Fprintf(os.Stderr, "testfiles: %s: %v\n", c.name, err)
			os.Exit(1)
		}
	}
	if err := story.Write(filepath.Join(os.Args[1], "story", "model")); err != nil {
		fmt.Fprintln(os.Stderr, "testfiles: story:", err)
		os.Exit(1)
	}
}

// write quantises the case's model with its input, proves a run, and writes key and proof to a folder.
func (c testCase) write(folder string) (err error) {
	defer must.Catch(&err)
	ctx := context.Background()
	b := graph.NewBuilder(c.name)
	c.build(b)
	g := must.Get(b.Graph())
	m := provemodel.NewModel(g)
	input := make([]float64, graph.Size(g.Inputs[0].Shape))
	for i := range input {
		input[i] = c.input(i)
	}
	circuit := must.Get(provemodel.Quantise(ctx, m, []provemodel.Input{{input}}, &provemodel.QuantiseOptions{Mode: c.mode, Headroom: 1}))
	committed := must.Get(provemodel.Commit(ctx, circuit, c.key))
	proof := must.Get(provemodel.Prove(ctx, committed, provemodel.Input{input}, nil))
	must.OK(os.MkdirAll(folder, 0o755))
	fmt.Printf("testfiles: %s, %d bytes\n", c.name, len(proof.File))
	must.OK(os.WriteFile(filepath.Join(folder, "key.vk"), committed.KeyFile(), 0o644))
	return os.WriteFile(filepath.Join(folder, "run.proof"), proof.File, 0o644)
}
