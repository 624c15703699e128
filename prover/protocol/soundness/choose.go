package soundness

import (
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/prover/math/hash"
)

// The cost model weighs the prover's time against the proof's bytes. Times are
// picoseconds of a two-core machine with AVX-512, measured with the benchmarks
// of the packages concerned. They need only be right to a factor of two or so,
// because the optimum is flat. (The model counts 32 bits for a limb, of which a file has 31,
// and the first elements of the last leaves, which a file has not.) No verifier uses these
// numbers: a key states the row length of its tree, and a proof states that of its own tree
// and the levels.
const (
	psPerByte       = 4_000_000 // time that a byte of proof is worth, up to manyBytes
	manyBytes       = 1 << 20   // beyond this many bytes of leaves and paths, a byte is worth more (worth)
	psPermutation   = 50_000    // one Poseidon2 permutation, which absorbs 8 elements
	psCompression   = 6_500     // one BLAKE3 compression, of 16 elements
	psButterfly     = 80        // one value of one FFT layer
	psSumcheckValue = 15_000    // one value of K: weights, round, fold
	psConstraint    = 550       // one in-domain constraint on one value of K
	psRowValue      = 12_000    // one committed value: read, row sumcheck, fold, encode again
	psLongRow       = 400       // what is added to psRowValue for each doubling of the row beyond cachedRow
	cachedRow       = 16        // log2 of the longest row whose codeword a cache holds

	digestBytes = 32
	limbBytes   = 4
	fieldBytes  = 16

	// The tree of a commitment takes 64 bytes a column, which is 1 GB for rows of 2^comfortableRow
	// values at rate 1/4, and its hasher 32 to 64 while it is made. Longer rows are chosen only if there
	// would be more than 2^comfortableFold rows otherwise, whose leaves are 4 MB of a proof.
	comfortableRow  = 22
	comfortableFold = 13

	// Bounds of the search for levels.
	maxFold       = 6  // of Level.FoldVars, from level 1 on
	maxTailBlowup = 8  // of Level.LogBlowup, from level 1 on
	maxFinalVars  = 10 // of log2 of the number of values that are sent in the clear
	minFinalVars  = 3  // least log2 of the length that a row folds to
	minRowVars    = 1  // least Level.RowVars of first trees
)

// Tree is a tree over stacks of the given numbers of values. Each stack is cut
// into rows of 2^RowVars values, the last filled up with zeros.
type Tree struct {
	RowVars int
	Sizes   []uint64
}

// rows returns the rows of all stacks, cut into rows of 2^rowVars values.
func (t *Tree) rows(rowVars int) uint64 {
	n := uint64(0)
	for _, s := range t.Sizes {
		n += rowsOf(s, rowVars)
	}
	return n
}

// rowsOf returns the number of rows of 2^rowVars values that a stack takes.
func rowsOf(size uint64, rowVars int) uint64 { return (size + 1<<rowVars - 1) >> rowVars }

// hashCost is what hashing costs with a suite: it takes the elements of a column in steps.
type hashCost struct {
	ps   uint64 // picoseconds of a step
	rows uint64 // elements of a column that a step takes
}

// leastRows is the least number of rows of the largest stack of a tree, if it has enough
// values. Fewer rows would not make hashing cheaper: a permutation of Poseidon2 absorbs eight
// elements, and half a block of BLAKE3 costs little.
const leastRows = 8

// hashCost returns the cost of hashing with the config's suite.
func (c Config) hashCost() hashCost {
	ps := uint64(psPermutation)
	if c.Hash == hash.Blake3 {
		ps = psCompression
	}
	return hashCost{ps, uint64(c.Hash.RowsAtOnce())}
}

// ChooseRowVars returns log2 of the row length that costs least for a tree
// over stacks of the given numbers of values, at least one of them positive, which is
// opened together with the trees in beside. The row lengths of these are given.
func ChooseRowVars(c Config, sizes []uint64, beside ...Tree) (int, error) {
	longest, err := c.longestRow(sizes)
	if err != nil {
		return 0, err
	}
	best, _, ok := newTailSearch(c).rowVars(sizes, longest, beside)
	if !ok {
		return 0, c.outOfReach()
	}
	return best, nil
}

// Of the time to hash a key's own columns, what goes beyond psNoticed counts keyWeight times:
// that is when somebody waits. If it counted once, the bytes of proofs, at 4 µs each, would
// outweigh it: rows would get longer to save 2 % of a proof. But rows of twice the length make
// twice as many columns, and if their number is one more than a multiple of eight, each column
// takes a further permutation of Poseidon2, which is 20 % of the commitment.
const (
	keyWeight = 5
	psNoticed = 20_000_000_000
)

// ChooseKeyRowVars returns log2 of the row length for the tree of a key, over one stack of size
// values. It will be opened together with trees that are not known yet. The result is the length
// that costs least beside a second tree of the same size, if the length of that one is chosen
// best. The optimum is flat, and few openings are much cheaper with another length. Among
// lengths that cost about the same, the weight of hashing (keyWeight) prefers the one that is
// hashed fastest.
func ChooseKeyRowVars(c Config, size uint64) (int, error) {
	sizes := []uint64{size}
	longest, err := c.longestRow(sizes)
	if err != nil {
		return 0, err
	}
	t := newTailSearch(c)
	best, _, ok := cheapest(longest, func(v int) (uint64, bool) {
		_, cost, ok := t.rowVars(sizes, longest, []Tree{{v, sizes}})
		return cost + (keyWeight-1)*(max(psNoticed, c.hashing(Tree{v, sizes}))-psNoticed), ok
	})
	if !ok {
		return 0, c.outOfReach()
	}
	return best, nil
}

// cheapest returns the row length that costs least, as log2, from minRowVars to longest, and its cost. costs returns the cost of a
// length and whether that length is possible. ok is false if none is.
func cheapest(longest int, costs func(rowVars int) (uint64, bool)) (best int, least uint64, ok bool) {
	for v := minRowVars; v <= longest; v++ {
		if cost, fits := costs(v); fits && (!ok || cost < least) {
			best, least, ok = v, cost, true
		}
	}
	return best, least, ok
}

func (c Config) outOfReach() error {
	return fmt.Errorf("soundness: %d bits are out of reach with %d grinding bits", c.TargetBits, c.GrindBits)
}

// longestRow returns log2 of the longest row that is considered for stacks of these sizes: the
// largest stack has leastRows rows, and rows are not longer than 2^comfortableRow values unless
// there would be more than about 2^comfortableFold of them.
func (c Config) longestRow(sizes []uint64) (int, error) {
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
	longest := min(bits.Len64(largest/leastRows)-1, max(comfortableRow, ceilLog2(total)-comfortableFold))
	return min(max(minFinalVars, longest), MaxLogDomain-c.LogBlowup), nil
}

// rowVars returns the cheapest row length of a tree over stacks of these sizes that
// is opened with others, and its cost.
func (t *tailSearch) rowVars(sizes []uint64, longest int, beside []Tree) (best int, cost uint64, ok bool) {
	return cheapest(longest, func(v int) (uint64, bool) { return t.firstCost(Tree{v, sizes}, beside) })
}

// Derive returns the cheapest parameters of an opening of a table of rows of 2^rowVars values,
// the first rowSlots of which are taken up.
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
	if !c.secure(&first, 0) {
		return nil, fmt.Errorf("soundness: %d bits are out of reach with %d grinding bits for rows of 2^%d values", c.TargetBits, c.GrindBits, rowVars)
	}
	p := &Params{Config: c, Levels: []Level{first}}
	for v := rowVars; ; {
		s, ok := t.best(v)
		if !ok {
			return nil, c.outOfReach()
		}
		if s.last {
			return p, nil
		}
		p.Levels = append(p.Levels, s.next)
		v = s.next.RowVars
	}
}

// johnsonMultiplicities are the values of m that are tried near the Johnson bound; 3 is the
// least that 2025/2055 allows.
var johnsonMultiplicities = []int{3, 4, 5, 6, 8, 10, 12, 16}

// tailSearch finds the cheapest levels after a row of a given length, by
// dynamic programming over the length. These levels are called the tail of an opening. (It
// has nothing to do with the tails of rows in hiding openings.)
type tailSearch struct {
	config Config
	memo   map[int]step // by log2 of the row's length
}

// step says what happens to a row: it is sent in the clear, or committed to.
type step struct {
	cost uint64 // of this and all that follows
	last bool   // it is sent in the clear
	next Level  // otherwise, the level that it is committed to as
	ok   bool   // false if no parameters reach the target; then the rest means nothing
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
				if !t.config.secure(&l, 0) {
					continue
				}
				rest, ok := t.best(l.RowVars)
				if cost := l.cost(t.config, fieldBytes<<fold) + rest.cost; ok && (!s.ok || cost < s.cost) {
					s = step{cost: cost, next: l, ok: true}
				}
			}
		}
	}
	t.memo[v] = s
	return s, s.ok
}

// multiplicities returns the values of Level.Multiplicity to try from level 1 on.
func (t *tailSearch) multiplicities() []int {
	if t.config.Mode == Unique {
		return []int{0}
	}
	return johnsonMultiplicities
}

// firstCost returns the cost of committing to the tree own and of opening it together with
// the trees in beside. It returns false if that is impossible.
func (t *tailSearch) firstCost(own Tree, beside []Tree) (uint64, bool) {
	trees := append([]Tree{own}, beside...)
	l := Level{LogBlowup: t.config.LogBlowup}
	for i := range trees {
		l.RowVars = max(l.RowVars, trees[i].RowVars)
	}
	slots := uint64(0) // rows of 2^l.RowVars values: every stack begins with one
	for i := range trees {
		slots += trees[i].rows(l.RowVars)
	}
	l.FoldVars = ceilLog2(slots)
	if slots > 1<<MaxFoldVars || !t.config.secure(&l, 0) {
		return 0, false
	}
	s, ok := t.best(l.RowVars)
	cost, bytes := s.cost+l.tailTime(t.config)+l.messageBytes()*psPerByte, uint64(0)
	for i := range trees {
		rows, domain := trees[i].rows(trees[i].RowVars), trees[i].RowVars+l.LogBlowup
		if rows > 1<<MaxFoldVars {
			return 0, false
		}
		cost += rows << trees[i].RowVars * (psRowValue + psLongRow*uint64(max(0, trees[i].RowVars-cachedRow)))
		bytes += l.openedBytes(limbBytes*rows, domain)
	}
	return cost + worth(bytes) + t.config.hashing(own), ok
}

// worth returns the time that so many bytes of first trees' leaves and paths are worth: psPerByte each up to manyBytes. Beyond that
// byte number n is worth psPerByte·n/manyBytes, since many megabytes are more of a burden to whoever sends or keeps a proof.
func worth(bytes uint64) uint64 {
	bytes = min(bytes, 1<<29) // more than any proof has, and no overflow
	more := max(bytes, manyBytes) - manyBytes
	return (bytes + more*more/(2*manyBytes)) * psPerByte
}

// hashing returns the time that it takes to hash the columns of a tree, its Merkle nodes included.
func (c Config) hashing(t Tree) uint64 {
	h := c.hashCost()
	steps := uint64(1) // of a column: one for the Merkle node, then those of each stack, then one a stack if there are several
	for _, size := range t.Sizes {
		steps += (rowsOf(size, t.RowVars) + h.rows - 1) / h.rows
	}
	if n := uint64(len(t.Sizes)); n > 1 {
		steps += n
	}
	return steps << (t.RowVars + c.LogBlowup) * h.ps
}

// cost returns the cost of committing to the level and opening it, for leaves
// of the given number of bytes.
func (l Level) cost(c Config, leafBytes uint64) uint64 {
	h := c.hashCost()
	rows := leafBytes / limbBytes // base-field rows
	columns := uint64(1) << l.LogDomain()
	time := rows * columns * uint64(l.LogDomain()) * psButterfly
	time += columns * ((rows+h.rows-1)/h.rows + 1) * h.ps
	time += uint64(1) << (l.FoldVars + l.RowVars) * psSumcheckValue
	return time + l.tailTime(c) + (l.messageBytes()+l.openedBytes(leafBytes, l.LogDomain()))*psPerByte
}

// tailTime returns the prover's time for the constraints that the level's queries put on the
// row that it folds to, and for the level's grinding.
func (l Level) tailTime(c Config) uint64 {
	h := c.hashCost()
	time := uint64(l.Queries) << l.RowVars * psConstraint
	time += uint64(1) << l.QueryGrind * h.ps
	return time + uint64(l.FoldVars)<<l.FoldGrind*h.ps
}

// messageBytes returns how many bytes the level adds to a proof besides what is opened: root,
// samples, round polynomials, nonces.
func (l Level) messageBytes() uint64 {
	return uint64(digestBytes + fieldBytes*l.OutOfDomain + (2*fieldBytes+limbBytes)*l.FoldVars)
}

// openedBytes estimates the bytes that the level's queries open of a tree of 2^depth leaves:
// leaves and their common path. The sibling of every node on a path is sent unless it is
// on a path too. So of the two children of every node on a path above, those that are not
// on a path themselves are sent. Numbers of nodes are averages, with drawnFrac fractional bits.
func (l Level) openedBytes(leafBytes uint64, depth int) uint64 {
	queries := uint64(l.Queries)
	nodes, siblings := uint64(1)<<drawnFrac, uint64(0)
	for d := 1; d <= depth; d++ {
		below := drawn(queries, d)
		siblings += 2*nodes - below
		nodes = below
	}
	return (nodes*leafBytes + siblings*digestBytes) >> drawnFrac
}

// drawnFrac is the number of fractional bits of drawn.
const drawnFrac = 8

// drawn returns how many of 2^d nodes t random draws meet on average,
// 2^d·(1−(1−2^(−d))^t), with drawnFrac fractional bits, for 1 ≤ d ≤ MaxLogDomain.
func drawn(t uint64, d int) uint64 {
	const one = 1 << 32
	missed := uint64(one) // the probability that none of the draws meets a node, by repeated squaring
	for factor := uint64(one - one>>d); t > 0; t >>= 1 {
		if t&1 == 1 {
			missed = missed * factor >> 32
		}
		factor = factor * factor >> 32
	}
	return (one - missed) << d >> (32 - drawnFrac)
}
