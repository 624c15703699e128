package open

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// TestGroups compares the places of groups, and the segments of these, with their
// definition, for parts that begin anywhere and wrap around the end of long rows.
func TestGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for range 200 {
		n := 1 << rng.IntN(5)
		q := &whir.Functional{}
		for range 1 + rng.IntN(8) {
			q.Parts = append(q.Parts, whir.Part{FirstRow: rng.IntN(64), RowWeights: make([]field.QM31, 1<<rng.IntN(6)), Low: []field.QM31{field.NewQM31(field.M31(rng.IntN(3)), 0, 0, 0)}})
		}
		r := &Rows{q: q, weights: &weights{}}
		for _, p := range q.Parts {
			r.weights.of = append(r.weights.of, int(p.Low[0].Limbs()[0]))
		}
		var parts []int // some, in another order
		for _, i := range rng.Perm(len(q.Parts)) {
			if rng.IntN(4) > 0 {
				parts = append(parts, i)
			}
		}
		groups := r.partGroups(parts, n)
		var runs [][]placeRun
		members := map[int]int{} // groups of weights
		want := make([][]uint64, n)
		for k, g := range groups {
			has := make([]bool, n)
			for _, i := range g.parts {
				if of, ok := members[r.weights.of[i]]; ok && of != k {
					t.Fatalf("parts with one table are in groups %d and %d", of, k)
				}
				members[r.weights.of[i]] = k
				for b := range q.Parts[i].RowWeights {
					has[(q.Parts[i].FirstRow+b)%n] = true
				}
			}
			number := 0
			for l := range n {
				if !has[l] {
					continue
				}
				if c := g.column(l); c != number {
					t.Fatalf("place %d has column %d, want %d", l, c, number)
				}
				want[l] = append(want[l], uint64(k))
				number++
			}
			if c := g.columns(); c != number {
				t.Fatalf("%d columns, want %d", c, number)
			}
			runs = append(runs, g.runs)
		}
		if len(members) != len(groups) {
			t.Fatalf("%d groups for %d tables", len(groups), len(members))
		}
		got := make([][]uint64, n)
		for _, s := range segments(runs) {
			for l := s.from; l < s.to; l++ {
				if got[l] != nil {
					t.Fatalf("place %d is in two segments", l)
				}
				got[l] = s.of
			}
		}
		for l := range n {
			if !slices.Equal(got[l], want[l]) {
				t.Fatalf("place %d of %d has groups %v, want %v", l, n, got[l], want[l])
			}
		}
	}
}

// TestSumVars holds the number of variables against the bound on tables over K.
func TestSumVars(t *testing.T) {
	layer := func(rows, count int) []span {
		var s []span
		for range count {
			s = append(s, span{rows: rows, vars: 18, dense: true})
		}
		return s
	}
	for _, c := range []struct {
		parts          []span
		rows, min, max int
	}{
		{nil, 1, 0, 0},
		{layer(1, 1), 8, 3, 3},
		{layer(4096, 8), 4096, 12, 12}, // no tables at all
		{layer(512, 320), 1 << 16, 7, 16},
	} {
		room := tableRoom(device.Mode{}, c.rows<<18, 0)
		table := rowTable{rows: c.rows, rowVars: 18, planes: 1}
		v, _ := sumVars(c.parts, table, room, 1, false)
		if v < c.min || v > c.max {
			t.Errorf("%d parts, %d rows: %d variables, want %d to %d", len(c.parts), c.rows, v, c.min, c.max)
		}
		if tables := 2 * device.ElementBytes * (c.rows >> v) << 18; 1<<v < c.rows && tables > room {
			t.Errorf("%d parts, %d rows: tables of %d bytes, room for %d", len(c.parts), c.rows, tables, room)
		}
		if shared, _ := sumVars(c.parts, table, room, 4, false); shared < v {
			t.Errorf("%d parts, %d rows: %d variables on four machines, %d on one", len(c.parts), c.rows, shared, v)
		}
		split, _ := sumVars(c.parts, table, room, 4, true)
		if split > v {
			t.Errorf("%d parts, %d rows: %d variables where four machines split the tables, %d on one", len(c.parts), c.rows, split, v)
		}
		if tables := 2 * device.ElementBytes * (c.rows >> split) << 18; 1<<split < c.rows && tables > 4*room {
			t.Errorf("%d parts, %d rows: split tables of %d bytes, room for four of %d", len(c.parts), c.rows, tables, room)
		}
		if more, _ := sumVars(c.parts, table, 8*room, 1, false); more > v {
			t.Errorf("%d parts, %d rows: %d variables with more room, %d before", len(c.parts), c.rows, more, v)
		}
	}
}
