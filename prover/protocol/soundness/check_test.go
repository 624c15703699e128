package soundness

import (
	"slices"
	"testing"
)

// TestCheck accepts what Derive gives and refuses every weakening of it.
func TestCheck(t *testing.T) {
	for _, mode := range []Mode{Unique, Johnson} {
		c := DefaultConfig
		c.Mode = mode
		for _, rows := range []uint64{1, 3, 64, 100} {
			p, err := Derive(c, 16, rows)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Check(c, p.Levels, rows); err != nil {
				t.Fatalf("%s, %d rows: %v", mode, rows, err)
			}
			if len(p.Levels) < 2 {
				t.Fatal("want several levels")
			}
			changes := map[string]func(l []Level){
				"a query less":            func(l []Level) { l[0].Queries-- },
				"a query less at the end": func(l []Level) { l[len(l)-1].Queries-- },
				"no queries":              func(l []Level) { l[1].Queries = 0 },
				"less grinding":           func(l []Level) { l[1].QueryGrind-- },
				"more grinding":           func(l []Level) { l[1].QueryGrind = c.GrindBits + 1 },
				"a row variable more":     func(l []Level) { l[0].FoldVars++ },
				"longer rows":             func(l []Level) { l[1].RowVars++ },
				"another rate":            func(l []Level) { l[0].LogBlowup++ },
				"a higher rate":           func(l []Level) { l[1].LogBlowup-- },
				"negative folding":        func(l []Level) { l[1].FoldVars, l[1].RowVars = -1, l[0].RowVars+1 },
				"no folding":              func(l []Level) { l[1].FoldVars, l[1].RowVars = 0, l[0].RowVars },
				"another radius":          func(l []Level) { l[1].Multiplicity = 2 },
				"samples":                 func(l []Level) { l[1].OutOfDomain += 20 },
				"a list without samples":  func(l []Level) { l[1].Multiplicity, l[1].OutOfDomain = 5, 0 },
				"a domain too large":      func(l []Level) { l[1].LogBlowup = 40 },
			}
			for name, change := range changes {
				l := slices.Clone(p.Levels)
				change(l)
				if _, err := Check(c, l, rows); err == nil {
					t.Errorf("%s, %d rows: %s: accepted", mode, rows, name)
				}
			}
			if _, err := Check(c, p.Levels[:1], rows); err == nil {
				t.Errorf("%s: 2^16 values in the clear: accepted", mode)
			}
			if _, err := Check(c, nil, rows); err == nil {
				t.Errorf("%s: no levels: accepted", mode)
			}
		}
	}
}
