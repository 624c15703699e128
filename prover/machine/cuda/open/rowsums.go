package open

import (
	"math"
	"math/bits"

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

// MeanWidth returns how many planes rows have on average, 1 if there are none.
func MeanWidth(planes, rows int) float64 { return float64(max(planes, 1)) / float64(max(rows, 1)) }

// Products computes the dots of the rows that are here. first says that the table is to become that
// of all machines.
func (r *Rows) Products(a *device.Scope, q *whir.Functional, c *Claims, vars int, first bool) *DotTable {
	r.q = q
	t := newDotTable(a, r, c, 1<<vars)
	if first {
		t.weights = beside(t.listWeights)
	}
	if len(q.Parts) > 0 {
		r.groupAhead(t.n)
	}
	r.each(t.n, upTo(t.n), func(from, to int, _ bool) { t.dots(from, to) })
	return t
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

// TableRoom is what tables over K may take beside rows of so many bytes, whatever else a
// device has to hold, within the bound that there is on them.
func TableRoom(m device.Mode, bytes int) int {
	room := bytes/4 + tableBytes
	if m.Tables > 0 {
		room = min(room, int(m.Tables))
	}
	return room
}

const tableBytes = 3 << 30

// Of what is free when an opening's rows are packed its tables may take a part, if nothing bounds them: with
// the fewest variables before them many claims need an eighth of the products.
const FreeShare = 3

// RowTable says how large a table of rows is: of so many rows of 2^rowVars values, which have so
// many planes on average.
type RowTable struct {
	Rows, RowVars int
	Planes        float64
	Cut           int  // log2 of how many were one row: so many variables that number rows are left
	Bytes         int  // of all rows that there are
	Twice         bool // they may be read once more, for three rounds (ThreeRounds)
	Three         int  // nanoseconds that these cost besides
}

// SumVars returns the v with the least work for parts that span these places of a
// table, of which the tables over K after it, or three more rounds, fit into room, in bytes, if so
// many machines share the rows. Of tables that are split each machine has a part. Only speed
// depends on the times.
func SumVars(parts []span, t RowTable, room, machines int, split bool) (v int, three bool) {
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
	most := bits.TrailingZeros(uint(t.Rows)) - t.Cut
	for v := range most + 1 {
		n := t.Rows >> v
		size := func(places int) int { return 2 * device.ElementBytes * places << t.RowVars / share }
		cost := perElement * float64(n) * float64(int(1)<<t.RowVars)
		for _, p := range parts {
			cost += float64(min(n, p.rows)<<v) * p.dotCost(t.Planes) / float64(machines)
		}
		if (v == most || v >= leastVars && size(n) <= room) && cost < least {
			best, least, three = v, cost, false
		}
		if cost += float64(t.Three) + perByte*float64(t.Bytes); t.Twice && v >= leastVars && v+OctetVars <= most && size(placesAtOnce(n)) <= room && cost < least {
			best, least, three = v, cost, true
		}
	}
	return best, three
}
