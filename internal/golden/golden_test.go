package golden

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// folder is where the cases are.
const folder = "../../testdata/golden"

var (
	update = flag.Bool("update", false, "make the keys and proofs of testdata/golden anew from its circuits")
	full   = flag.Bool("full", false, "prove every case on one processor and on two, not on either; without assembly as well, and with AVX2 where there is more; make full does")
)

func cases(t *testing.T) []*Case {
	t.Helper()
	cases, err := ReadAll(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 12 {
		t.Fatalf("only %d cases in %s", len(cases), folder)
	}
	return cases
}

// TestGolden makes every key and proof on one processor or on two, with -full on both, with memory that
// holds nothing useful before it is written and after it is freed.
func TestGolden(t *testing.T) {
	defer arena.Poison()()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for i, c := range cases(t) {
		if *update {
			if err := Write(context.Background(), filepath.Join(folder, c.Name), &c.Circuit); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, procs := range []int{1, 2} {
			if !*full && i%2 != procs-1 {
				continue
			}
			runtime.GOMAXPROCS(procs)
			t.Run(fmt.Sprintf("%s/%d", c.Name, procs), func(t *testing.T) {
				if err := c.Compare(context.Background(), Machine{}); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestGoldenWithoutAssembly runs TestGolden in a process that takes plain Go,
// which is chosen when a process starts, for every second case on one processor; with -full for all on
// two as well, and in a process that takes AVX2.
func TestGoldenWithoutAssembly(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	levels, args := []string{"off"}, []string{"-test.v", "-test.run=^TestGolden$/./^1$"}
	if *full {
		levels, args = append(levels, "avx2"), []string{"-test.v", "-full", "-test.run=^TestGolden$"}
	}
	for _, level := range levels {
		cmd := exec.Command(self, args...)
		cmd.Env = append(os.Environ(), "PROVE_MODEL_ASM="+level)
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestGolden/")) {
			t.Errorf("PROVE_MODEL_ASM=%s: %v\n%s", level, err, out)
		}
	}
}

// TestVariety keeps the cases what they are for: several chunks, the Johnson
// bound, every kind of step and of table, and a circuit without a commitment.
func TestVariety(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases(t) {
		g := c.Template.Graph
		seen["chunks"] = seen["chunks"] || c.Instance.ChunkEntries > 0
		seen[c.Security.Hash.String()] = true
		for _, r := range c.Instance.Reveals {
			seen[fmt.Sprint("reveal ", r.Top > 0)] = true
		}
		seen["johnson"] = seen["johnson"] || c.Security.Mode == proof.Johnson
		seen["nothing committed"] = seen["nothing committed"] || len(g.Steps) == 0 && len(g.FixedIDs()) == 0
		for i := range g.Steps {
			seen[fmt.Sprint("step ", g.Steps[i].Kind)] = true
		}
		for i := range g.Tables {
			seen[fmt.Sprint("table ", g.Tables[i].Kind)] = true
			seen["stretched"] = seen["stretched"] || g.Tables[i].Drop > 0
			seen["saturated rows"] = seen["saturated rows"] || len(g.Tables[i].Saturated) > 0
		}
		for i := range g.Tensors {
			if f := g.Tensors[i].Formula; f != nil {
				seen[fmt.Sprint("formula ", f.Kind)] = true
			}
			for _, l := range g.Tensors[i].Def {
				for j := 0; l.View != nil && j < len(l.View.Groups); j++ {
					seen[fmt.Sprint("map ", l.View.Groups[j].Map)] = true
				}
			}
		}
	}
	for _, what := range []string{"chunks", "johnson", "blake3", "poseidon2", "reveal false", "reveal true", "nothing committed", "step 0", "step 1", "step 2", "step 3",
		"table 0", "table 1", "table 2", "map 0", "map 1", "map 2", "map 3",
		"stretched", "saturated rows", "formula 1", "formula 2", "formula 3"} {
		if !seen[what] {
			t.Errorf("no case has %s", what)
		}
	}
}

// TestCompareTellsDifferences alters each of the things that are compared.
func TestCompareTellsDifferences(t *testing.T) {
	c, err := Read(filepath.Join(folder, "softmax"))
	if err != nil {
		t.Fatal(err)
	}
	for what, alter := range map[string]func(c *Case){
		"an input":          func(c *Case) { c.Inputs = [][]int32{append([]int32{c.Inputs[0][0] ^ 1}, c.Inputs[0][1:]...)} },
		"a byte of the key": func(c *Case) { c.Want.Key = append([]byte{0}, c.Want.Key...) },
		"the proof's end":   func(c *Case) { c.Want.Proof = c.Want.Proof[:len(c.Want.Proof)-1] },
		"the security":      func(c *Case) { c.Security.TargetBits-- },
	} {
		d := *c
		alter(&d)
		if err := d.Compare(context.Background(), Machine{}); err == nil {
			t.Errorf("%s is altered, and nothing said", what)
		}
	}
}

// Compare makes the case's files on a machine. It returns an error if they differ
// from those of the folder, or do not verify.
func (c *Case) Compare(ctx context.Context, m Machine) (err error) {
	defer must.Catch(&err)
	got := must.Get(c.Make(ctx, m))
	must.OK(equal("key", got.Key, c.Want.Key))
	must.OK(equal("proof", got.Proof, c.Want.Proof))
	return got.Verify()
}

// Verify checks the proof against the key.
func (f *Files) Verify() error {
	key, err := proof.DecodeKey(f.Key)
	if err != nil {
		return err
	}
	_, err = verifier.Verify(key, bytes.NewReader(f.Proof))
	return err
}

func equal(what string, got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	return fmt.Errorf("the %s of %d bytes differs from byte %d on from the golden one of %d", what, len(got), at, len(want))
}
