package cuda

import (
	"github.com/prove-model/prove-model/kernels"
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

// rowSums are the two tables, and what has been bound.
type rowSums struct {
	a     *scope // of the tables
	q     *whir.Functional
	vars  int // of v, those left
	pair  pair
	point []field.QM31
}

// A pair are two tables in the course of rounds: on the device (tables), or small ones in the
// host's memory, where a round takes less time than a launch.
type pair interface {
	round() whir.Sums
	bind(r field.QM31)
}

// hostPair is a pair in the host's memory.
type hostPair struct{ whir.Pair }

func (p *hostPair) round() whir.Sums  { return p.Round() }
func (p *hostPair) bind(r field.QM31) { p.Bind(r) }

// close gives the tables back.
func (s *rowSums) close() { s.a.close() }

func (s *rowSums) bind(r field.QM31) {
	s.pair.bind(r)
	s.point = append(s.point, r)
	s.vars--
}

// meanWidth returns how many planes rows have on average, 1 if there are none.
func meanWidth(planes, rows int) float64 { return float64(max(planes, 1)) / float64(max(rows, 1)) }

// products computes the dots of the rows that are here. first says that the table is to become that
// of all machines.
func (r *rows) products(a *scope, q *whir.Functional, c *claims, vars int, first bool) *dotTable {
	t := newDotTable(a, r, q, c, 1<<vars)
	if first {
		t.listWeights()
	}
	if len(q.Parts) > 0 {
		r.groupAhead(q, t.n)
	}
	r.each(t.n, func(from, to int, _ bool) {
		t.on(from, to)
		t.dots()
		t.joinedDots(c.joined)
	})
	return t
}

// span is how much of the table a part covers: rows, and 2^vars of the columns, one
// behind the other or not.
type span struct {
	rows, vars int
	dense      bool
}

func spanOf(p *whir.Part) span {
	return span{len(p.RowWeights), len(p.Low), p.Stride == 0}
}

// onTensorCores says whether a part's dots are computed there.
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
// device has to hold, within the bound that there is on them.
func tableRoom(m Mode, bytes int) int {
	room := bytes/4 + tableBytes
	if m.Tables > 0 {
		room = min(room, int(m.Tables))
	}
	return room
}

const tableBytes = 3 << 30

// Of what is free when an opening's rows are packed its tables may take a part, if nothing bounds them: with
// the fewest variables before them many claims need an eighth of the products.
const freeShare = 3

// rowTable says how large a table of rows is: of so many rows of 2^rowVars values, which have so
// many planes on average.
type rowTable struct {
	rows, rowVars int
	planes        float64
}

// sumVars returns the v with the least work for parts that span these places of a
// table, of which the tables over K after it
// fit into room, in bytes, if so many machines share the rows. Only speed depends on the
// times.
func sumVars(parts []span, t rowTable, room, machines int) int {
	// Of an element of the tables: f and q are written once, and read and written some three times.
	// What makes them goes by the rows and the parts, whatever v is.
	perElement := 0.06
	if machines > 1 {
		perElement += 0.07 // most of f comes from others, and is added
	}
	best, least := 0, 0.0
	for v := range 64 {
		if 1<<v > t.rows {
			break
		}
		n := t.rows >> v
		if 1<<(v+1) <= t.rows && (v < leastVars || 2*elementBytes*n<<t.rowVars > room) {
			continue
		}
		cost := perElement * float64(n) * float64(int(1)<<t.rowVars)
		for _, p := range parts {
			cost += float64(min(n, p.rows)<<v) * p.dotCost(t.planes) / float64(machines)
		}
		if best == 0 || cost < least {
			best, least = v, cost
		}
	}
	return best
}
