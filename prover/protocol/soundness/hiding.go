package soundness

import "fmt"

// Bounds of the fraction of its length that a row's tail may have, 2^(−TailLog).
const (
	MinTailLog = 2
	MaxTailLog = 6
)

// minHidingFold is the least log2 of the number of rows that level 1 of a hiding opening
// makes of the values of the folded row, without its tail.
const minHidingFold = 3

// Masks is how many table rows of random values a hiding opening has, from a table row on
// that is a multiple of it: their weights are multiples of eq of the last three row variables.
// By them the folded row is uniform, but with probability 3·p^(−4) = 2^(−122.4), in which the
// eight weights do not span K over F. (Fewer are worse: with four it is 2^(−31).)
const Masks = 8

// CheckHiding is Check for an opening with tails (Params.TailLog).
func CheckHiding(c Config, tailLog int, levels []Level, rowSlots uint64) (*Params, error) {
	p := &Params{Config: c, Levels: levels, TailLog: tailLog}
	switch {
	case tailLog < MinTailLog || tailLog > MaxTailLog:
		return nil, fmt.Errorf("soundness: tails of a 2^%d-th of a row, want 2^%d to 2^%d", tailLog, MinTailLog, MaxTailLog)
	case len(levels) < 2:
		return nil, fmt.Errorf("soundness: a hiding opening of %d levels, which needs two", len(levels))
	case levels[1].FoldVars <= minHidingFold:
		return nil, fmt.Errorf("soundness: level 1 of a hiding opening folds %d variables, want at least %d", levels[1].FoldVars, minHidingFold+1)
	case !roomForPads(levels[0]):
		return nil, fmt.Errorf("soundness: the pads of %d rounds and as many values again do not fit into a row of 2^%d values",
			levels[0].FoldVars, levels[0].RowVars)
	}
	return check(p, rowSlots)
}

// roomForPads says whether the auxiliary row has room for the pads of a level's rounds, two
// elements of K each, and for as many random values beside them.
func roomForPads(l Level) bool {
	return l.FoldVars >= 0 && l.RowVars >= 0 && l.RowVars <= MaxLogDomain && 2*PadLimbs*l.FoldVars <= 1<<l.RowVars
}

// PadLimbs is the number of elements of F in the pads of a round of level 0.
const PadLimbs = 2 * fieldBytes / limbBytes

// FoldedVars returns log2 of the length of the row that level i folds to. That of level 0 of a
// hiding opening has its tail behind it, as the half with the first variable 1.
func (p *Params) FoldedVars(i int) int {
	if i == 0 && p.TailLog > 0 {
		return p.Levels[0].RowVars + 1
	}
	return p.Levels[i].RowVars
}

// bound returns the code of level i.
func (p *Params) bound(i int) codeBound {
	if i > 0 || p.TailLog == 0 || len(p.Levels) < 2 {
		return p.Levels[i].bound(0)
	}
	return p.Levels[i].bound(codeTail(p.TailLog, p.Levels[1]))
}

// codeTail returns the j of the code that tails of a 2^tailLog-th make rows words of. Level 1
// commits to rows of a 2^h-th of the length, of which the last may be of the tail in part: what
// is behind the tail there may be anything. So φ' = max(φ, 2^(−h)).
func codeTail(tailLog int, next Level) int { return min(tailLog, next.FoldVars-1) }

// LeafRows returns the number of elements of K in a leaf of level i ≥ 1. Rows of level 1 that
// have no value of a hiding opening's tail are in no tree, and zero.
func (p *Params) LeafRows(i int) int {
	if i == 1 && p.TailLog > 0 {
		return hidingLeafRows(p.TailLog, p.Levels[1])
	}
	return 1 << p.Levels[i].FoldVars
}

func hidingLeafRows(tailLog int, l Level) int {
	values := 1 << (l.FoldVars - 1)
	return values + max(1, values>>tailLog)
}

// Budget returns at how many positions in all the rows of a tree may be opened, in all openings
// together, until they say something of the values: as many as a tail has elements.
func Budget(rowVars, tailLog int) uint64 { return 1 << max(0, rowVars-tailLog) }

// DeriveHiding is Derive for an opening with tails of a 2^tailLog-th of the rows.
func DeriveHiding(c Config, tailLog, rowVars int, rowSlots uint64) (*Params, error) {
	if _, err := Derive(c, rowVars, rowSlots); err != nil {
		return nil, err
	}
	first := Level{FoldVars: ceilLog2(rowSlots), RowVars: rowVars, LogBlowup: c.LogBlowup}
	p, _, ok := newTailSearch(c).hiding(tailLog, first, func(l Level) uint64 { return l.openedBytes(limbBytes*rowSlots, l.LogDomain()) })
	if !ok {
		return nil, fmt.Errorf("soundness: no hiding opening of %d rows of 2^%d values reaches %d bits", rowSlots, rowVars, c.TargetBits)
	}
	return p, nil
}

// hiding returns the cheapest parameters of a hiding opening, and what the opening costs besides
// the commitments. opened returns the bytes of leaves and paths of the first trees.
func (t *tailSearch) hiding(tailLog int, first Level, opened func(Level) uint64) (p *Params, cost uint64, ok bool) {
	if tailLog < MinTailLog || tailLog > MaxTailLog || !roomForPads(first) {
		return nil, 0, false
	}
	for h := minHidingFold; h <= min(maxFold, first.RowVars-minFinalVars); h++ {
		for blowup := 1; blowup <= maxTailBlowup && first.RowVars-h+blowup <= MaxLogDomain; blowup++ {
			for _, m := range t.multiplicities() {
				own, next := first, Level{FoldVars: h + 1, RowVars: first.RowVars - h, LogBlowup: blowup, Multiplicity: m}
				if !t.config.secure(&own, codeTail(tailLog, next)) || !t.config.secure(&next, 0) {
					continue
				}
				rest, fits := t.best(next.RowVars)
				x := own.tailTime(t.config) + own.messageBytes()*psPerByte + worth(opened(own))
				x += next.cost(t.config, uint64(fieldBytes*hidingLeafRows(tailLog, next))) + rest.cost
				if fits && (!ok || x < cost) {
					p, cost, ok = &Params{Config: t.config, Levels: []Level{own, next}, TailLog: tailLog}, x, true
				}
			}
		}
	}
	if !ok {
		return nil, 0, false
	}
	for {
		s, fits := t.best(p.FinalVars())
		if !fits {
			return nil, 0, false
		}
		if s.last {
			return p, cost, true
		}
		p.Levels = append(p.Levels, s.next)
	}
}

// hidingCost is firstCost for a hiding opening: own is the witness's tree, which has the mask
// rows and the auxiliary row besides, and whose tails must have an element for each query.
func (t *tailSearch) hidingCost(own Tree, beside []Tree, tailLog int) (uint64, bool) {
	trees := append([]Tree{own}, beside...)
	a := 0
	for i := range trees {
		a = max(a, trees[i].RowVars)
	}
	if a-own.RowVars > maxHidingShift {
		return 0, false
	}
	slots, cost := uint64(0), uint64(0)
	rowsOf := func(i int) uint64 {
		rows := trees[i].rows(trees[i].RowVars)
		if i == 0 {
			rows += (Masks + 1) << (a - own.RowVars)
		}
		return rows
	}
	for i := range trees {
		rows := rowsOf(i)
		if rows > 1<<MaxFoldVars {
			return 0, false
		}
		slots += trees[i].rows(a)
		cost += rows << trees[i].RowVars * (psRowValue + psLongRow*uint64(max(0, trees[i].RowVars-cachedRow)))
	}
	slots = (slots+Masks-1)/Masks*Masks + Masks
	if slots > 1<<MaxFoldVars {
		return 0, false
	}
	opened := func(l Level) (bytes uint64) {
		for i := range trees {
			bytes += l.openedBytes(limbBytes*rowsOf(i)+saltBytes, trees[i].RowVars+l.LogBlowup)
		}
		return bytes
	}
	p, tail, ok := t.hiding(tailLog, Level{FoldVars: ceilLog2(slots), RowVars: a, LogBlowup: t.config.LogBlowup}, opened)
	if !ok || uint64(p.Levels[0].Queries) > Budget(own.RowVars, tailLog) {
		return 0, false
	}
	own.Sizes = append(own.Sizes[:len(own.Sizes):len(own.Sizes)], Masks<<a, 1<<a)
	return cost + tail + t.config.hashing(own), true
}

// maxHidingShift is log2 of the most rows of a tree that make its auxiliary row: they are one group.
const maxHidingShift = 8

// saltBytes are those of the salt of a leaf.
const saltBytes = digestBytes

// ChooseHidingRowVars is ChooseRowVars for the witness of a hiding opening with tails of a
// 2^tailLog-th. Mask rows and the auxiliary row come on top of the sizes.
func ChooseHidingRowVars(c Config, tailLog int, sizes []uint64, beside ...Tree) (int, error) {
	longest, err := c.longestHidingRow(sizes, beside)
	if err != nil {
		return 0, err
	}
	best, _, ok := newTailSearch(c).hidingRowVars(tailLog, longest, sizes, beside)
	if !ok {
		return 0, fmt.Errorf("soundness: no rows of up to 2^%d values hide a witness at tails of a 2^%d-th", longest, tailLog)
	}
	return best, nil
}

// hidingRowVars returns the row length of ChooseHidingRowVars and what it costs.
func (t *tailSearch) hidingRowVars(tailLog, longest int, sizes []uint64, beside []Tree) (best int, least uint64, ok bool) {
	return cheapest(longest, func(v int) (uint64, bool) { return t.hidingCost(Tree{v, sizes}, beside, tailLog) })
}

// ChooseHiding is ChooseHidingRowVars for tails of any length, which it returns too: what costs least of all.
func ChooseHiding(c Config, sizes []uint64, beside ...Tree) (rowVars, tailLog int, err error) {
	longest, err := c.longestHidingRow(sizes, beside)
	if err != nil {
		return 0, 0, err
	}
	t, least := newTailSearch(c), uint64(0)
	for j := MinTailLog; j <= MaxTailLog; j++ {
		if v, cost, ok := t.hidingRowVars(j, longest, sizes, beside); ok && (tailLog == 0 || cost < least) {
			rowVars, tailLog, least = v, j, cost
		}
	}
	if tailLog == 0 {
		return 0, 0, fmt.Errorf("soundness: no rows of up to 2^%d values hide a witness", longest)
	}
	return rowVars, tailLog, nil
}

// longestHidingRow is longestRow where tails have to have room for all queries: rows of a small
// witness are longer than its values.
func (c Config) longestHidingRow(sizes []uint64, beside []Tree) (int, error) {
	longest, err := c.longestRow(sizes)
	for i := range beside {
		longest = max(longest, beside[i].RowVars)
	}
	return min(max(longest, comfortableRow), MaxLogDomain-c.LogBlowup), err
}

// ChooseHidingKey returns the row length and the tails of the tree of a key of size values that
// is good for so many proofs: what costs least beside a witness of the same size in rows of the
// same length, hashing counted as ChooseKeyRowVars does.
func ChooseHidingKey(c Config, size uint64, proofs int) (rowVars, tailLog int, err error) {
	sizes := []uint64{size}
	longest, err := c.longestHidingRow(sizes, nil)
	if err != nil {
		return 0, 0, err
	}
	if proofs < 1 {
		return 0, 0, fmt.Errorf("soundness: a key for %d proofs", proofs)
	}
	t := newTailSearch(c)
	best := uint64(0)
	for v := minRowVars; v <= longest; v++ {
		for j := MinTailLog; j <= MaxTailLog; j++ {
			if c.MostQueries(j) > Budget(v, j)/uint64(proofs) {
				continue
			}
			own := Tree{v, sizes}
			cost, ok := t.hidingCost(own, []Tree{own}, j)
			cost += c.hashing(own) + (keyWeight-1)*(max(psNoticed, c.hashing(own))-psNoticed)
			if ok && (rowVars == 0 || cost < best) {
				rowVars, tailLog, best = v, j, cost
			}
		}
	}
	if rowVars == 0 {
		return 0, 0, fmt.Errorf("soundness: no key of rows of up to 2^%d values is good for %d proofs", longest, proofs)
	}
	return rowVars, tailLog, nil
}

// MostQueries returns at how many positions a hiding opening of rows with tails of a 2^tailLog-th
// looks at most, whatever its other parameters.
func (c Config) MostQueries(tailLog int) uint64 { return c.tailQueries(min(tailLog, minHidingFold)) }

// LeastQueries is MostQueries for the least.
func (c Config) LeastQueries(tailLog int) uint64 { return c.tailQueries(tailLog) }

func (c Config) tailQueries(code int) uint64 {
	l := Level{LogBlowup: c.LogBlowup}
	c.secure(&l, code)
	return uint64(l.Queries)
}
