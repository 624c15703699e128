package soundness

import "fmt"

// Bounds of Params.TailLog: a row's tail is at most a 2^TailLog-th of its length.
const (
	MinTailLog = 2
	MaxTailLog = 6
)

// minHidingFold is the least log2 of the number of rows into which level 1 of a hiding opening
// cuts the values of the folded row, its tail not counted.
const minHidingFold = 3

// Masks is how many table rows of random values a hiding opening has (docs/protocol.md, "Hiding
// openings"). They begin at a table row whose number is a multiple of Masks, so that their weights
// in the folded row are one constant times the eight values of eq in the last three row variables.
// They make the folded row uniform unless these eight weights do not span K over F, which has
// probability 3·p^(−4) = 2^(−122.4). (With four rows it would be 2^(−31).)
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

// FoldedVars returns log2 of the length of the row that level i folds to. In a hiding opening the
// row that level 0 folds to is twice as long as a table row: its tail, followed by zeros, is the
// half where the first variable is 1.
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

// codeTail returns the j (codeBound.tailLog) of the code of level 0 for rows with tails of a
// 2^tailLog-th. Level 1 cuts the folded row into rows of a 2^h-th of its length, h = next.FoldVars − 1.
// The last one that is committed to may have the tail in its beginning only, and a prover may put
// anything behind the tail there. So tails count as at least as long as such a row: a fraction of
// max(2^(−tailLog), 2^(−h)).
func codeTail(tailLog int, next Level) int { return min(tailLog, next.FoldVars-1) }

// LeafRows returns the number of elements of K in a leaf of level i ≥ 1. In a hiding opening those
// rows of level 1 that lie behind the tail are zero and not committed to.
func (p *Params) LeafRows(i int) int {
	if i == 1 && p.TailLog > 0 {
		return hidingLeafRows(p.TailLog, p.Levels[1])
	}
	return 1 << p.Levels[i].FoldVars
}

// hidingLeafRows is LeafRows for level 1 of a hiding opening: the rows that have values of the folded
// row, and those that have values of its tail, at least one.
func hidingLeafRows(tailLog int, l Level) int {
	values := 1 << (l.FoldVars - 1)
	return values + max(1, values>>tailLog)
}

// Budget returns at how many positions the rows of a tree may be opened, in all openings of it
// together, without revealing anything about the values: as many as a tail has elements.
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

// hiding returns the cheapest parameters of a hiding opening, and the cost of the opening without
// that of the commitments to the first trees. opened returns the bytes of leaves and paths of the
// first trees for a level 0 with its queries set. ok is false if no parameters reach the target.
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

// hidingCost is firstCost for a hiding opening. own is the witness's tree. The mask rows and the
// auxiliary row, which that tree has as well, come on top of own.Sizes. Its tails must have an
// element for each query.
func (t *tailSearch) hidingCost(own Tree, beside []Tree, tailLog int) (uint64, bool) {
	trees := append([]Tree{own}, beside...)
	a := 0 // log2 of the length of a table row
	for i := range trees {
		a = max(a, trees[i].RowVars)
	}
	if a-own.RowVars > maxHidingShift {
		return 0, false
	}
	slots, cost := uint64(0), uint64(0)
	rowsOf := func(i int) uint64 { // of tree i
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
	slots = (slots+Masks-1)/Masks*Masks + Masks // the mask rows, which begin at a multiple of Masks
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

// maxHidingShift is log2 of the largest number of rows of a tree that may make up its auxiliary row. These rows are one group.
const maxHidingShift = 8

// saltBytes is the size of the salt of a leaf.
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

// ChooseHiding returns the row length and the length of tails (Params.TailLog) that together cost least, for the same as
// ChooseHidingRowVars.
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

// longestHidingRow is longestRow for a hiding opening. Tails must have an element for each query,
// so that a row may have to be longer than all values of a small witness.
func (c Config) longestHidingRow(sizes []uint64, beside []Tree) (int, error) {
	longest, err := c.longestRow(sizes)
	for i := range beside {
		longest = max(longest, beside[i].RowVars)
	}
	return min(max(longest, comfortableRow), MaxLogDomain-c.LogBlowup), err
}

// ChooseHidingKey returns the row length and the length of tails (Params.TailLog) for the tree of a
// key of size values. Its budget is enough for the given number of proofs. They are what costs least
// beside a witness of the same size in rows of the same length. Hashing counts as in
// ChooseKeyRowVars.
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

// MostQueries returns an upper bound of the number of positions at which a hiding opening opens
// rows with tails of a 2^tailLog-th, whatever its other parameters are. The number depends on how
// level 1 cuts the folded row (codeTail), and is greatest for the fewest rows, 2^minHidingFold.
func (c Config) MostQueries(tailLog int) uint64 { return c.tailQueries(min(tailLog, minHidingFold)) }

// LeastQueries returns a lower bound of the same number.
func (c Config) LeastQueries(tailLog int) uint64 { return c.tailQueries(tailLog) }

// tailQueries returns the number of queries of level 0 for a code with this tailLog (codeBound).
func (c Config) tailQueries(code int) uint64 {
	l := Level{LogBlowup: c.LogBlowup}
	c.secure(&l, code)
	return uint64(l.Queries)
}
