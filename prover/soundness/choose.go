package soundness

import (
	"fmt"
	"math/bits"
)

// The cost model weighs the prover's time against the proof's bytes. Times are
// picoseconds of a two-core machine with AVX-512, measured with the benchmarks
// of the packages concerned. They need only be right to a factor of two or so,
// because the optimum is flat. The verifier takes the levels from the proof:
// changing one changes proofs, not the protocol.
const (
	psPerByte       = 4_000_000 // a byte of proof is worth this much time
	psPermutation   = 50_000    // one Poseidon2 permutation
	psButterfly     = 80        // one value of one FFT layer
	psSumcheckValue = 15_000    // one value of K: weights, round, fold
	psConstraint    = 550       // one in-domain constraint on one value of K
	psRowValue      = 12_000    // one committed value: read, row sumcheck, fold, encode again

	digestBytes = 32
	limbBytes   = 4
	fieldBytes  = 16

	// The hasher and the tree of a commitment take 128 bytes a column: rows grow
	// beyond 2^comfortableRow values, 512 MB at rate 1/4, only as far as it takes
	// to have no more than 2^comfortableFold of them.
	comfortableRow  = 20
	comfortableFold = 9

	maxFold       = 6
	maxTailBlowup = 8
	maxFinalVars  = 10
	minFinalVars  = 3
)

// Choose picks the row length for committed polynomials of the given numbers of
// values, each starting at a row that is a multiple of its own number of rows
// rounded up to a power of two, largest first, and derives the parameters of
// their common opening. At least one size must be positive.
func Choose(c Config, sizes []uint64) (*Params, error) {
	rowVars, err := ChooseRowVars(c, sizes)
	if err != nil {
		return nil, err
	}
	return Derive(c, rowVars, layOut(sizes, rowVars).slots)
}

// ChooseRowVars returns log2 of the row length that costs least for polynomials
// placed as [Choose] says.
func ChooseRowVars(c Config, sizes []uint64) (int, error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	var largest, total uint64
	for _, s := range sizes {
		if s > 1<<40 || total > 1<<40 {
			return 0, fmt.Errorf("soundness: committed polynomials of more than 2^40 values")
		}
		largest, total = max(largest, s), total+s
	}
	if largest == 0 {
		return 0, errNoRows
	}
	t := newTailSearch(c)
	longest := max(minFinalVars, min(ceilLog2(largest), max(comfortableRow, ceilLog2(total)-comfortableFold)))
	best, bestCost := -1, uint64(0)
	for v := minFinalVars; v <= longest && v+c.LogBlowup <= MaxLogDomain; v++ {
		cost, ok := t.firstCost(v, layOut(sizes, v))
		if ok && (best < 0 || cost < bestCost) {
			best, bestCost = v, cost
		}
	}
	if best < 0 {
		return 0, fmt.Errorf("soundness: %d bits are out of reach with %d grinding bits", c.TargetBits, c.GrindBits)
	}
	return best, nil
}

// layout is how committed polynomials take up rows.
type layout struct {
	trees uint64 // polynomials that are not empty
	rows  uint64 // of all of them
	slots uint64 // a bound of the places they take up
}

func layOut(sizes []uint64, rowVars int) layout {
	var l layout
	for _, s := range sizes {
		if n := (s + 1<<rowVars - 1) >> rowVars; n > 0 {
			l.trees++
			l.rows += n
			l.slots += 1 << ceilLog2(n)
		}
	}
	return l
}

// Derive returns the parameters of an opening of rows of 2^rowVars values that
// take up rowSlots places (the largest row offset plus row count).
func Derive(c Config, rowVars int, rowSlots uint64) (*Params, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if rowSlots == 0 {
		return nil, errNoRows
	}
	if rowVars < 0 || rowVars+c.LogBlowup > MaxLogDomain {
		return nil, fmt.Errorf("soundness: rows of 2^%d values at rate 2^-%d: the largest domain is 2^%d", rowVars, c.LogBlowup, MaxLogDomain)
	}
	if rowSlots > 1<<MaxFoldVars {
		return nil, fmt.Errorf("soundness: %d rows of 2^%d values, at most 2^%d are supported", rowSlots, rowVars, MaxFoldVars)
	}
	t := newTailSearch(c)
	first := Level{FoldVars: ceilLog2(rowSlots), RowVars: rowVars, LogBlowup: c.LogBlowup}
	if !c.secure(&first) {
		return nil, fmt.Errorf("soundness: %d bits are out of reach with %d grinding bits for rows of 2^%d values", c.TargetBits, c.GrindBits, rowVars)
	}
	p := &Params{Config: c, Levels: []Level{first}}
	for v := rowVars; ; {
		s, ok := t.best(v)
		if !ok {
			return nil, fmt.Errorf("soundness: %d bits are out of reach with %d grinding bits", c.TargetBits, c.GrindBits)
		}
		if s.last {
			return p, nil
		}
		p.Levels = append(p.Levels, s.next)
		v = s.next.RowVars
	}
}

// johnsonMultiplicities are the choices of m near the Johnson bound; 3 is the
// least that 2025/2055 allows.
var johnsonMultiplicities = []int{3, 4, 5, 6, 8, 10, 12, 16}

// tailSearch finds the cheapest levels after a row of a given length, by
// dynamic programming over the length.
type tailSearch struct {
	config Config
	memo   map[int]step
}

// step is what to do with a row: send it in the clear, or commit to it.
type step struct {
	cost uint64
	last bool
	next Level
	ok   bool
}

func newTailSearch(c Config) *tailSearch { return &tailSearch{c, map[int]step{}} }

// best returns the cheapest continuation for a row of 2^v values.
func (t *tailSearch) best(v int) (step, bool) {
	if s, ok := t.memo[v]; ok {
		return s, s.ok
	}
	var s step
	if v <= maxFinalVars {
		s = step{cost: uint64(fieldBytes*psPerByte) << v, last: true, ok: true}
	}
	for fold := 1; fold <= min(maxFold, v-minFinalVars); fold++ {
		for blowup := 1; blowup <= maxTailBlowup && v-fold+blowup <= MaxLogDomain; blowup++ {
			for _, m := range t.multiplicities() {
				l := Level{FoldVars: fold, RowVars: v - fold, LogBlowup: blowup, Multiplicity: m}
				if !t.config.secure(&l) {
					continue
				}
				rest, ok := t.best(l.RowVars)
				if cost := l.cost(fieldBytes<<fold) + rest.cost; ok && (!s.ok || cost < s.cost) {
					s = step{cost: cost, next: l, ok: true}
				}
			}
		}
	}
	t.memo[v] = s
	return s, s.ok
}

func (t *tailSearch) multiplicities() []int {
	if t.config.Mode == Unique {
		return []int{0}
	}
	return johnsonMultiplicities
}

// firstCost returns the cost of opening first trees over rows of 2^v values.
func (t *tailSearch) firstCost(v int, p layout) (uint64, bool) {
	l := Level{FoldVars: ceilLog2(p.slots), RowVars: v, LogBlowup: t.config.LogBlowup}
	if p.slots > 1<<MaxFoldVars || !t.config.secure(&l) {
		return 0, false
	}
	s, ok := t.best(v)
	// The leaves' share of the commitment is the same for every row length.
	time := p.rows<<v*psRowValue + p.trees<<l.LogDomain()*psPermutation
	bytes := l.proofBytes(limbBytes*p.rows) + (p.trees-1)*l.pathBytes()
	return time + l.tailTime() + bytes*psPerByte + s.cost, ok
}

// cost returns the cost of committing to the level and opening it, for leaves
// of the given number of bytes.
func (l Level) cost(leafBytes uint64) uint64 {
	rows := leafBytes / limbBytes // base-field rows
	columns := uint64(1) << l.LogDomain()
	time := rows * columns * uint64(l.LogDomain()) * psButterfly
	time += columns * ((rows+7)/8 + 1) * psPermutation
	time += uint64(1) << (l.FoldVars + l.RowVars) * psSumcheckValue
	return time + l.tailTime() + l.proofBytes(leafBytes)*psPerByte
}

// tailTime returns the prover's time for what the level's queries cause later,
// the constraints on the folded row, and for its grinding.
func (l Level) tailTime() uint64 {
	time := uint64(l.Queries) << l.RowVars * psConstraint
	time += uint64(1) << l.QueryGrind * psPermutation
	return time + uint64(l.FoldVars)<<l.FoldGrind*psPermutation
}

// proofBytes estimates what the level adds to a proof: root, samples, round
// polynomials, nonces, leaves and pruned paths.
func (l Level) proofBytes(leafBytes uint64) uint64 {
	n := uint64(digestBytes + fieldBytes*l.OutOfDomain + (2*fieldBytes+limbBytes)*l.FoldVars)
	return n + uint64(l.Queries)*leafBytes + l.pathBytes()
}

// pathBytes estimates the pruned paths of one tree.
func (l Level) pathBytes() uint64 {
	return digestBytes * prunedDigests(uint64(l.Queries), l.LogDomain())
}

// prunedDigests estimates the siblings in the common path of t random leaves of
// a tree of the given depth. A layer of 2^d nodes holds about
// 2^d·(1−(1−2^(−d))^t) of the paths; the sibling of each is sent unless it is on
// a path too.
func prunedDigests(t uint64, depth int) uint64 {
	// Above the layer of about t nodes nearly all nodes are on a path, below it
	// nearly none have siblings there. Near the layer the two effects leave
	// about one sibling in three: one layer's worth in all.
	top := bits.Len64(t) - 1
	if depth <= top {
		return t / 2
	}
	return t * uint64(depth-top)
}
