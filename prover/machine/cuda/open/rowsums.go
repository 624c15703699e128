package open

import (
	"math"
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// The sumcheck over the first row variables, before anything is folded.
//
// View the table as 2^v long rows of n rows each. The functional is a sum of parts, each
// the product of weights on rows and an eq table on columns. With dot(p, r) for the
// product of row r and part p's eq table, the sum over all columns is
//
//	Σ_p Σ_l Σ_h weight(p, h·n + l)·dot(p, h·n + l),
//
// an inner product of two tables over h in {0,1}^v and the pairs (p, l) for which part p
// has a row at place l of any long row. Parts on one row alone may be joined into one
// weight on all its columns (Claims). Binding h's first variable binds it in both
// tables, since dots are linear in rows. So these tables are all that v rounds need. The
// rows themselves are read once for the dots, as bytes, and once when they are folded.

// Rounds makes some rounds of the sumcheck: over tables on the device (Tables), over small tables in the host's memory
// (whir.Pair), where a round takes less time than a launch, or from sums that were computed ahead (ThreeRounds).
type Rounds interface {
	// Round returns the sums of the next round.
	Round() whir.Sums
	// Bind binds the first variable.
	Bind(r field.QM31)
}

// span is the size of a part in the table: the number of its rows, and 2^vars columns, which are adjacent
// if dense is set.
type span struct {
	rows, vars int
	dense      bool
}

// spanOf returns the span of a part.
func spanOf(p *whir.Part) span {
	return span{len(p.RowWeights), len(p.Low), p.Stride == 0}
}

// onTensorCores says whether a part's dots are computed on the tensor cores: its columns must be adjacent, and enough.
func (s span) onTensorCores() bool { return s.dense && 1<<s.vars == kernels.RowPitch(1<<s.vars) }

// dotCost estimates the time of a part's product with a row of so many planes, in nanoseconds of an
// H200.
func (s span) dotCost(planes float64) float64 {
	const (
		perByteTimesPart = 16 / 2.5e5 // on the tensor cores: a byte of a row times the 16 bytes of its weight
		perEntry         = 1 / 1e3    // by multiply-adds
		perDot           = 8          // for each dot: its job, its result, and its entry of the tables in the rounds
	)
	each := perEntry
	if s.onTensorCores() {
		each = perByteTimesPart * planes
	}
	return perDot + each*float64(int(1)<<s.vars)
}

// leastVars is the least v, if there are as many row variables. With a smaller v the tables over K, of 2·16 bytes an
// element, would be larger than the rows.
const leastVars = 4

// tableRoom returns how many bytes the tables over K may take beside rows of so many bytes: a quarter of these and 3 GB,
// within Mode.Tables if that is set. If it is not set, they may take a third of what is free once the rows are packed, if that
// is more. With larger tables v is smaller, and claims on many rows need fewer products.
func tableRoom(m device.Mode, bytes, free int) int {
	const least, share = 3 << 30, 3
	room := bytes/4 + least
	if m.Tables > 0 {
		return min(room, int(m.Tables))
	}
	return max(room, free/share)
}

// Choose returns how the first rounds are made for the rows of all machines: v (vars), whether three more rounds come before the tables
// (ThreeRounds), and how claims are joined. free is the fewest bytes that any machine has free. split says that the tables will be divided
// among the machines.
func Choose(all []*Rows, q *whir.Functional, free int, split bool) (vars int, three bool, _ *Claims) {
	planes, count, r := 0, 0, all[0]
	for _, x := range all {
		for _, row := range x.At {
			if planes += row.Width; row.Width > 0 {
				count++
			}
		}
	}
	c := joinRows(q, len(r.At))
	vars, three = sumVars(c.spans, rowTable{
		rows: len(r.At), rowVars: r.RowVars, planes: float64(max(planes, 1)) / float64(max(count, 1)), cut: r.Cut,
		bytes: planes * r.Pitch, twice: len(all) == 1 && !r.passing(), three: r.Stream.Context.ThreeRounds,
	}, tableRoom(r.Stream.Context.Mode(), planes*r.Pitch, free), len(all), split)
	return vars, three, c
}

// rowTable says how large a table of rows is: it has so many rows of 2^rowVars values, with so
// many planes on average.
type rowTable struct {
	rows, rowVars int
	planes        float64
	cut           int  // log2 of the parts of each cut row (Shorten): so many of the variables that number rows are not among the v
	bytes         int  // of all planes
	twice         bool // the rows may be read once more, for ThreeRounds
	three         int  // device.Context.ThreeRounds: nanoseconds that these rounds cost beside reading the rows
}

// sumVars returns the v with the least estimated time, for parts with these spans, and whether three
// more rounds come after the v. The tables over K that follow must fit into room, in bytes. So many
// machines share the rows; if the tables are split, each machine has only its part of them. Only speed
// depends on the estimates.
func sumVars(parts []span, t rowTable, room, machines int, split bool) (v int, three bool) {
	// Nanoseconds for an element of the tables f and q: each is written once, and read and written about three times.
	// The time to make them depends on rows and parts alone, and is the same for every v, so it is left out.
	perElement, share := 0.06, 1
	switch {
	case split:
		share = machines
		perElement /= float64(machines)
	case machines > 1:
		perElement += 0.07 // most of f comes from other machines and is added up
	}
	const perByte = 1 / 1.5e3 // nanoseconds to read a byte of the rows
	best, least := 0, math.Inf(1)
	most := bits.TrailingZeros(uint(t.rows)) - t.cut
	for v := range most + 1 {
		n := t.rows >> v
		size := func(places int) int { return 2 * device.ElementBytes * places << t.rowVars / share }
		cost := perElement * float64(n) * float64(int(1)<<t.rowVars)
		for _, p := range parts {
			cost += float64(min(n, p.rows)<<v) * p.dotCost(t.planes) / float64(machines)
		}
		if (v == most || v >= leastVars && size(n) <= room) && cost < least {
			best, least, three = v, cost, false
		}
		may := t.twice && v >= leastVars && v+OctetVars <= most && size(placesAtOnce(n)) <= room
		if cost += float64(t.three) + perByte*float64(t.bytes); may && cost < least {
			best, least, three = v, cost, true
		}
	}
	return best, three
}

// Three rounds between the products of rows and the tables over K. The sums of the next three rounds are sums over octets of places: l in
// the first eighth of the n places, l + n/8, l + 2n/8, …, l + 7n/8. So the tables are made for some octets at a time, their share of the
// sums is added up, and they are dropped. After the three rounds the tables that are made as a whole have an eighth of the places. In
// return, rows are read once more.

// OctetVars is the number of these rounds, and octet = 2^OctetVars the number of places that belong together.
const OctetVars, octet = 3, 8

// ThreeRounds returns the three rounds after those whose challenges have given coefs. All their sums are computed now, as a grid of three
// variables. No values may be recomputed for each pass (passing).
func (r *Rows) ThreeRounds(coefs []field.QM31) Rounds {
	a := device.NewScope(r.Mem)
	defer a.Close()
	n := len(r.At) / len(coefs)
	eighth := n / octet
	some := placesAtOnce(n) / octet
	size := octet * some << r.RowVars
	f, w := device.NewArray[field.QM31](a, size), device.NewArray[field.QM31](a, size)
	octets := bits.TrailingZeros(uint(size)) - OctetVars
	batch, err := kernels.NewSumcheckBatch(a, []kernels.SumcheckInstance{{A: f, B: w, Vars: octets + OctetVars}})
	device.Check(err)
	words := kernels.SumcheckThreeRoundsWords * kernels.SumcheckThreeRoundsParts(1, octets)
	sum := make(kernels.Grid, kernels.SumcheckThreeRoundsWords/kernels.SumWords)
	places := make([]int, octet*some)
	for from := 0; from < eighth; from += some {
		for i := range places {
			places[i] = i/some*eighth + from + i%some
		}
		r.FoldRows(f, coefs, places)
		r.FoldFunctional(w, coefs, places)
		g := kernels.NewGrid(r.Stream.Results().Read(words, func(p kernels.Post) error {
			return kernels.SumcheckThreeRounds(a, batch, 1, octets, nil, p)
		}))
		for i, x := range g {
			sum[i] = sum[i].Add(x)
		}
	}
	r.groupAhead(eighth) // for the tables that follow the three rounds
	return &gridRounds{sum}
}

// gridRounds are rounds whose sums have all been computed.
type gridRounds struct{ grid kernels.Grid }

// Round implements Rounds, as Bind does.
func (g *gridRounds) Round() whir.Sums {
	zero, _, top := g.grid.Values(nil)
	return whir.Sums{Zero: zero, Top: top}
}

// Bind binds the first variable.
func (g *gridRounds) Bind(r field.QM31) { g.grid = g.grid.Bind(r) }

// placesAtOnce returns for how many of n places ThreeRounds makes the tables at a time: n/8, as many as the tables have afterwards, and at
// least one octet.
func placesAtOnce(n int) int { return max(octet, n/octet) }

// passing says whether the values of any segment are recomputed for each pass over the rows (passes).
func (r *Rows) passing() bool {
	return slices.ContainsFunc(r.Trees, func(t placed) bool { return slices.ContainsFunc(t.sources, r.passes) })
}
