// Command hiding computes what the proofs of a key that hides its weights reveal about them. That is nothing as long as there are at most
// as many proofs as the key is good for. With enough proofs it is all weights.
//
//	go run ./scripts/recover/hiding KEY PROOF PROOF...
//
// It prints a line for each proof. The last proof is not used to recover weights, but to check them: they must give each of its opened
// columns. Exit code 0: all weights were recovered. 1: they were not. 2: there was another error.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/prove-model/prove-model/internal/hiding/attack"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/verifier"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "hiding KEY PROOF PROOF...")
		os.Exit(2)
	}
	err := run(os.Args[1], os.Args[2:])
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	if errors.Is(err, attack.ErrUnknown) {
		os.Exit(1)
	}
	os.Exit(2)
}

// run recovers the weights of the key in the file vk from all proofs but the last, and checks them with the last.
func run(vk string, proofs []string) (err error) {
	defer must.Catch(&err)
	file := must.Get(os.ReadFile(vk))
	key := must.Get(proof.DecodeKey(file))
	t := key.FixedTree()
	if t == nil || t.TailLog == 0 {
		return fmt.Errorf("%s does not hide weights", vk)
	}
	rows := attack.Rows{Vars: t.RowVars, Tail: int(soundness.Budget(t.RowVars, t.TailLog))}
	fmt.Printf("rows of %d values with tails of %d elements; %d positions\n", 1<<rows.Vars, rows.Tail, 4<<rows.Vars)
	known := map[uint64][]field.M31{}
	var positions []uint64
	for i, path := range proofs[:len(proofs)-1] {
		if err := opened(key, path, func(at uint64, column []field.M31) {
			if known[at] == nil {
				positions = append(positions, at)
			}
			known[at] = column
		}); err != nil {
			return err
		}
		fmt.Printf("%3d proofs: %d positions, which tell %d relations of the values of every row\n", i+1, len(positions), rows.Leak(positions))
	}
	found := must.Get(rows.Solve(known))
	wrong, aside := 0, 0
	err = opened(key, proofs[len(proofs)-1], func(at uint64, column []field.M31) {
		if aside++; !rows.Holds(found, at, column) {
			wrong++
		}
	})
	must.OK(err)
	fmt.Printf("recovered: all values of %d rows and their tails; the proof kept aside opens %d columns, %d of which are not as recovered\n", len(found), aside, wrong)
	if wrong > 0 {
		return attack.ErrUnknown
	}
	return nil
}

// opened calls f with each position of the weights' tree that a proof opens, and the column there.
func opened(key *proof.Key, path string, f func(at uint64, column []field.M31)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return verifier.Opened(key, file, func(positions []uint64, columns [][]field.M31) {
		for i, at := range positions {
			f(at, columns[i])
		}
	})
}
