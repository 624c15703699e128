package fixed

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Clamp says at which rows of its table a look-up step gives an end of a range that
// was calibrated not to be left, or stands in for a function that is not defined.
type Clamp struct {
	Step int
	Rows []model.Rows
}

// Saturates says that the step which is added next clamps at these rows of its table.
func (b *Builder) Saturates(rows []model.Rows) {
	if len(rows) > 0 {
		b.Clamps = append(b.Clamps, Clamp{len(b.Circuit.Steps), rows})
	}
}

// Clamped is Saturates for the rows of a piecewise table with keys, or magnitudes, below lo, if
// low is set, and above hi, if high is.
func (b *Builder) Clamped(id model.TableID, k kind, lo, hi int64, low, high bool) {
	var list []model.Rows
	t := &b.Circuit.Tables[id]
	keys := func(wanted bool, from, to int64) { // from ≤ key < to
		from, to = max(from-t.Min, 0), min(to-t.Min, 1<<t.Bits)
		if wanted && from < to {
			list = append(list, model.Rows{From: from, To: to})
		}
	}
	if k == Absolute {
		keys(high, t.Min, -hi)
		keys(low, 1-lo, lo)
	} else {
		keys(low, t.Min, lo)
	}
	keys(high, hi+1, model.Bound)
	b.Saturates(United(list))
}

// MarkSaturated marks the rows at which steps clamp in their tables, for proofs to
// state how many look-ups hit them. Steps that have nothing to report, because what
// is beyond their range does not matter, may look up in the same tables: a table of
// their own would cost every proof its rows.
func (b *Builder) MarkSaturated() {
	for _, c := range b.Clamps {
		t := &b.Circuit.Tables[b.Circuit.Steps[c.Step].Table]
		t.Saturated = United(append(t.Saturated, c.Rows...))
	}
	for i := range b.Circuit.Tables {
		b.Circuit.Tables[i].Saturated = fewer(b.Circuit.Tables[i].Saturated, model.MaxSaturated)
	}
}

// United returns the union of intervals in order, none touching another.
func United(list []model.Rows) []model.Rows {
	slices.SortFunc(list, func(a, b model.Rows) int { return int(a.From - b.From) })
	var out []model.Rows
	for _, r := range list {
		if n := len(out); n > 0 && r.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// fewer joins those intervals of a union that are nearest to each other, the first of
// them if there are several, until there are few enough.
func fewer(list []model.Rows, most int) []model.Rows {
	for len(list) > most {
		at := 1
		for i := 2; i < len(list); i++ {
			if list[i].From-list[i-1].To < list[at].From-list[at-1].To {
				at = i
			}
		}
		list[at-1].To = list[at].To
		list = slices.Delete(list, at, at+1)
	}
	return list
}
