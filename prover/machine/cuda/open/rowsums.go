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
// an inner product of two tables over h in {0,1}^v and the pairs (p, l) for which the
// part has a row at place l of any long row. Parts of one row may be taken as one, a
// weight on all its columns (claims). Binding h's first variable binds it in both
// tables, since dots are linear in rows. So these tables, small ones in the host's
// memory, are all that v rounds need, and the rows themselves are read once for the
// dots, as bytes, and once when they are folded.

// Rounds are over tables on the device (Tables), small ones in the host's memory, where a round takes less
// time than a launch, or values of several rounds that are there (ThreeRounds).
type Rounds interface {
	// Round returns the sums of the next round.
	Round() whir.Sums
	// Bind binds the first variable.
	Bind(r field.QM31)
}

// Span is how much of the table a part covers: rows, and 2^vars of the columns, one
// behind the other or not.
type span struct {
	rows, vars int
	dense      bool
}

func spanOf(p *whir.Part) span {
	return span{len(p.RowWeights), len(p.Low), p.Stride == 0}
}

// OnTensorCores says whether a part's dots are computed there.
func (s span) onTensorCores() bool { return s.dense && 1<<s.vars == kernels.RowPitch(1<<s.vars) }

// dotCost estimates the time of a part's product with a row of so many planes, in nanoseconds of an
// H200.
func (s span) dotCost(planes float64) float64 {
	const (
		perByteTimesPart = 16 / 2.5e5 // sixteen bytes of weights, on the tensor cores
		perEntry         = 1 / 1e3    // by multiply-adds
		perDot           = 8          // job, result, and its part in the rounds
	)
	each := perEntry
	if s.onTensorCores() {
		each = perByteTimesPart * planes
	}
	return perDot + each*float64(int(1)<<s.vars)
}

// leastVars is v at least, where there are as many row variables: with fewer the tables
// over K are larger than the rows.
const leastVars = 4

// tableRoom is what tables over K may take beside rows of so many bytes, whatever else a
// device has to hold, within the bound that there is on them. If nothing bounds them they may take a part of what is free when
// the rows have been packed: with the fewest variables before them many claims need an eighth of the products.
func tableRoom(m device.Mode, bytes, free int) int {
	const least, share = 3 << 30, 3
	room := bytes/4 + least
	if m.Tables > 0 {
		return min(room, int(m.Tables))
	}
	return max(room, free/share)
}

// Choose returns v for the rows of all machines, whether three more rounds come before the tables, and the claims as they are taken. So
// many bytes of each machine are free. split says that the tables will be divided among the machines.
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

// rowTable says how large a table of rows is: of so many rows of 2^rowVars values, which have so
// many planes on average.
type rowTable struct {
	rows, rowVars int
	planes        float64
	cut           int  // log2 of how many were one row: so many variables that number rows are left
	bytes         int  // of all rows that there are
	twice         bool // they may be read once more, for three rounds (ThreeRounds)
	three         int  // nanoseconds that these cost besides
}

// sumVars returns the v with the least work for parts that span these places of a
// table, of which the tables over K after it, or three more rounds, fit into room, in bytes, if so
// many machines share the rows. Of tables that are split each machine has a part. Only speed
// depends on the times.
func sumVars(parts []span, t rowTable, room, machines int, split bool) (v int, three bool) {
	// Of an element of the tables: f and q are written once, and read and written some three times.
	// What makes them goes by the rows and the parts, whatever v is.
	perElement, share := 0.06, 1
	switch {
	case split:
		share = machines
		perElement /= float64(machines)
	case machines > 1:
		perElement += 0.07 // most of f comes from others, and is added
	}
	const perByte = 1 / 1.5e3 // of the rows, in a pass
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

// Three rounds between the products of rows and the tables over K: with some place l of the first eighth, those l + n/8, l + 2n/8 …
// make all that the sums of the next three rounds have of it. So the tables are made at some of these places at a time, added up, and
// dropped. What is made as a whole, with three more variables bound, is an eighth of them. Rows are read once more.

// OctetVars is how many rounds these are, and octet how many places go together.
const OctetVars, octet = 3, 8

// ThreeRounds returns the sums of the three rounds after those that coefs bind, as a grid of three variables. No values are recomputed for
// each pass (passing).
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
	r.groupAhead(eighth) // for the tables
	return &gridRounds{sum}
}

// gridRounds are rounds of which all values are there.
type gridRounds struct{ grid kernels.Grid }

// Round implements Rounds, as Bind does.
func (g *gridRounds) Round() whir.Sums {
	zero, _, top := g.grid.Values(nil)
	return whir.Sums{Zero: zero, Top: top}
}

// Bind binds the first variable.
func (g *gridRounds) Bind(r field.QM31) { g.grid = g.grid.Bind(r) }

// placesAtOnce is at how many of n places the tables are made at a time: as many as are left of them after three rounds, or one octet.
func placesAtOnce(n int) int { return max(octet, n/octet) }

// passing says whether values of some segments are recomputed for each pass over the rows.
func (r *Rows) passing() bool {
	return slices.ContainsFunc(r.Trees, func(t placed) bool { return slices.ContainsFunc(t.sources, r.passes) })
}
