package fixed

import (
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Clamp says for a look-up step which rows of its table count as saturated: those whose value is
// clamped to an end of a calibrated range, or stands in for a function that is not defined there.
type Clamp struct {
	Step int
	Rows []model.Rows
}

// Saturates records that these rows of its table count as saturated for the step that is added next.
func (b *Builder) Saturates(rows []model.Rows) {
	if len(rows) > 0 {
		b.Clamps = append(b.Clamps, Clamp{len(b.Circuit.Steps), rows})
	}
}

// Clamped is Saturates for rows of a piecewise table: those with keys below lo, if low is set, and
// above hi, if high is set. For the kind Absolute it goes by the magnitudes of keys.
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

// MarkSaturated marks the rows at which steps clamp in their tables, so that proofs
// state how many look-ups hit them. Steps for which clamping does not matter may share
// these tables, and their look-ups then count as well: a second table for them would
// cost every proof its rows.
func (b *Builder) MarkSaturated() {
	for _, c := range b.Clamps {
		t := &b.Circuit.Tables[b.Circuit.Steps[c.Step].Table]
		t.Saturated = United(append(t.Saturated, c.Rows...))
	}
	for i := range b.Circuit.Tables {
		b.Circuit.Tables[i].Saturated = fewer(b.Circuit.Tables[i].Saturated, model.MaxSaturated)
	}
}

// United returns the union of intervals as a list in order, of which no two overlap or touch.
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

// fewer joins the two neighbouring intervals with the smallest gap between them, the first two
// of several such, until no more than most intervals are left.
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
