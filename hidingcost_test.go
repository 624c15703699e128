//go:build linux || darwin

package provemodel

import (
	"bytes"
	stdflag "flag"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prove-model/prove-model/internal/hiding"
	"github.com/prove-model/prove-model/prover/machine/ledger"
)

var costOf = stdflag.String("cost", "", "MODEL,INPUT,PROOFS: measure what a key that hides weights, for so many proofs, costs")

var costRuns = stdflag.Int("cost-runs", 30, "how many proofs of either kind -cost makes")

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestHidingCost proves and verifies in turns under a plain key and under one that hides weights, and prints medians.
func TestHidingCost(t *testing.T) {
	if *costOf == "" {
		t.Skip("for -cost")
	}
	args := strings.Split(*costOf, ",")
	if len(args) != 3 {
		t.Fatal("-cost: want MODEL,INPUT,PROOFS")
	}
	proofs, err := strconv.Atoi(args[2])
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(args[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	arrays, err := ReadArrays(args[1])
	if err != nil {
		t.Fatal(err)
	}
	samples, err := m.Samples(arrays)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	type side struct {
		c             *Committed
		prove, verify []time.Duration
		bytes         int
	}
	plain, hides := &side{c: committedFor(t, m, samples, 0)}, &side{c: committedFor(t, m, samples, proofs)}
	for range *costRuns {
		for _, s := range []*side{plain, hides} {
			from := processorTime(t)
			p, err := Prove(t.Context(), s.c, samples[0], &ProveOptions{NoSelfCheck: true})
			if err != nil {
				t.Fatal(err)
			}
			s.prove, s.bytes = append(s.prove, processorTime(t)-from), len(p.File)
			const runs = 10
			from = processorTime(t)
			for range runs {
				if _, err := Verify(s.c.Key(), bytes.NewReader(p.File), nil); err != nil {
					t.Fatal(err)
				}
			}
			s.verify = append(s.verify, (processorTime(t)-from)/runs)
		}
	}
	median := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
	print := func(what string, a, b time.Duration) {
		t.Logf("%s: %v plain, %v, %.2f times", what, a, b, float64(b)/float64(a))
	}
	print("prove", median(plain.prove), median(hides.prove))
	print("verify", median(plain.verify), median(hides.verify))
	t.Logf("proof: %d bytes plain, %d, %.2f times", plain.bytes, hides.bytes, float64(hides.bytes)/float64(plain.bytes))
}

// committedFor commits to a model, for proofs > 0 with a key that hides weights as one for so many proofs does, but whose ledger
// does not end.
func committedFor(t *testing.T, m *Model, samples []Input, proofs int) *Committed {
	c, err := Quantise(t.Context(), m, samples, &QuantiseOptions{Hide: proofs > 0, KeepRanges: true})
	if err != nil {
		t.Fatal(err)
	}
	o := &CommitOptions{}
	if proofs > 0 {
		o.Hide, o.Proofs, o.SecretFile = hiding.Weights, proofs, filepath.Join(t.TempDir(), "secret")
	}
	k, err := Commit(t.Context(), c, o)
	if err != nil || proofs == 0 {
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	l, err := ledger.Open(o.SecretFile)
	if err != nil {
		t.Fatal(err)
	}
	l.Positions = 1 << 40
	o.SecretFile += ".long"
	if _, err := ledger.Create(o.SecretFile, l.Secret); err != nil {
		t.Fatal(err)
	}
	if k, err = Commit(t.Context(), c, o); err != nil {
		t.Fatal(err)
	}
	return k
}
