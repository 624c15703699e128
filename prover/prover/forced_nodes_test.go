package prover

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/quantise"
)

var (
	nodeTests   = flag.String("node-tests", "", "folder of the onnx package's tests, as scripts/node-tests.sh writes it: changes of the witness are tried in those of testdata/node-tests.txt")
	nodeTestsIn = flag.Duration("node-tests-time", 10*time.Minute, "after this long begin no further one of them")
)

// mostForcedEntries bounds the witness of a test that is worth many proofs.
const mostForcedEntries = 1 << 20

// TestWitnessOfNodeTestsIsForced tries to change what provers commit to in the onnx package's
// own tests of operators, in random order for as long as there is time.
func TestWitnessOfNodeTestsIsForced(t *testing.T) {
	if *nodeTests == "" {
		t.Skip("takes the onnx package's tests, which make nodetests fetches: -node-tests FOLDER")
	}
	list, err := os.ReadFile("../../testdata/node-tests.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(list))
	rand.New(rand.NewPCG(31, 0)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	end := time.Now().Add(*nodeTestsIn)
	tried := 0
	for i, name := range names {
		if time.Now().After(end) {
			break
		}
		t.Run(name, func(t *testing.T) {
			g, in := openNodeTest(t, filepath.Join(*nodeTests, name))
			defer g.Close()
			opts := quantise.Options{MaxTableBits: 12} // small tables are quick
			values, err := g.RunFloat(in)
			if err != nil && strings.Contains(err.Error(), "--fix makes part of the model") {
				t.Skip("all of it is fixed: ", err)
			}
			if err == nil {
				if _, err := quantise.Quantise(g, quantise.RangesOf(g, values), opts); err != nil { // and may be too small
					opts.MaxTableBits = 0
				}
			}
			f := newForger(t, g, in, opts, 1<<10)
			entries := 0
			for _, v := range f.honest.Values {
				entries += len(v)
			}
			if entries > mostForcedEntries {
				t.Skipf("%d entries of a witness", entries)
			}
			tried++
			f.run(t, rand.New(rand.NewPCG(32, uint64(i))), forcedIn(1))
		})
	}
	t.Logf("changes tried in %d of %d tests", tried, len(names))
	if tried == 0 {
		t.Error("none was tried")
	}
}

// dependsOnInput finds the names of inputs in a reason, as scripts/nodetests does.
var (
	dependsOnInput = regexp.MustCompile(`"[^"]*" depends on the model's inputs?( "[^"]*",?)*`)
	inputName      = regexp.MustCompile(`"([^"]*)"`)
)

// openNodeTest reads a test's model and inputs; those that an operator wants to be constant
// are part of the model.
func openNodeTest(t *testing.T, dir string) (*graph.Graph, [][]float64) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(dir, "input_*.pb"))
	all := make(onnx.Inputs, len(paths))
	for i := range paths {
		in, err := onnx.ReadInputs(filepath.Join(dir, "input_"+strconv.Itoa(i)+".pb"))
		if err != nil {
			t.Fatal(err)
		}
		all[i] = in[0]
	}
	var fixed []string
	for {
		var given, constant onnx.Inputs
		for _, v := range all {
			if slices.Contains(fixed, v.Name) {
				constant = append(constant, v)
			} else {
				given = append(given, v)
			}
		}
		opts := given.Options(nil)
		opts.Fixed = constant
		g, err := onnx.Load(filepath.Join(dir, "model.onnx"), opts)
		if err == nil {
			if given, err = given.Mapped(g.Vocabulary); err != nil { // pictures are their pixels
				t.Fatal(err)
			}
			return g, given.Data()
		}
		before := len(fixed)
		for _, name := range inputName.FindAllStringSubmatch(strings.Join(dependsOnInput.FindAllString(err.Error(), -1), " "), -1) {
			if !slices.Contains(fixed, name[1]) && slices.ContainsFunc(given, func(v onnx.Input) bool { return v.Name == name[1] }) {
				fixed = append(fixed, name[1])
			}
		}
		if len(fixed) == before {
			t.Fatal(err)
		}
	}
}
