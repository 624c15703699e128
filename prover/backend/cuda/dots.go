package cuda

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/parallel"
	"github.com/prove-model/prove-model/prover/whir"
)

// dots computes the products of rows and some parts' eq tables that rowSums needs. to gives,
// for a part and a place that it has, where that of long row 0 goes; those of the others
// are each `step` elements behind the one before.
func (r *rows) dots(q *whir.Functional, parts []int, longs int, to func(part, place int) []field.QM31, step int) {
	var light, heavy []int
	for _, i := range parts {
		if spanOf(&q.Parts[i]).onTensorCores() {
			heavy = append(heavy, i)
		} else {
			light = append(light, i)
		}
	}
	r.lightDots(q, light, longs, to, step)
	for len(heavy) > 0 {
		n, bytes := 0, 0
		for n < len(heavy) && (n == 0 || bytes < panelBytes) {
			bytes += kernels.PanelBytes(len(q.Parts[heavy[n]].Low))
			n++
		}
		r.heavyDots(q, heavy[:n], longs, to, step)
		heavy = heavy[n:]
	}
}

// class is a range of columns: 2^vars from one on.
type class struct{ column, vars int }

// lightDots does parts by multiply-adds.
func (r *rows) lightDots(q *whir.Functional, parts []int, longs int, to func(part, place int) []field.QM31, step int) {
	n := len(r.at) / longs
	w := r.weightsOf(q)
	var jobs []kernels.DotJob
	var vars []int
	var results []*field.QM31
	for _, i := range parts {
		p := &q.Parts[i]
		for k := range min(n, len(p.RowWeights)) {
			place := (p.FirstRow + k) % n
			at := to(i, place)
			for h := range longs {
				row := r.at[h*n+place]
				if row.width == 0 {
					continue
				}
				jobs = append(jobs, kernels.DotJob{Bytes: row.at.Offset(p.Column, 1), Part: uint64(i), Stride: uint64(p.Stride), Width: uint64(row.width), Pitch: uint64(r.pitch)})
				vars, results = append(vars, w.vars[i]), append(results, &at[h*step])
			}
		}
	}
	if len(jobs) == 0 {
		return
	}
	a := newScope(r.a)
	defer a.close()
	first, l := kernels.WeightLaunch(vars)
	sums := newWords(a, kernels.SumWords*len(jobs))
	check(kernels.Dots(a, sums, newCopy(a, first), l, newCopy(a, jobs), len(jobs), w.parts, w.tables))
	words := fetch[uint64](a, sums, kernels.SumWords*len(jobs))
	for i, v := range results {
		*v = kernels.FromSum(words[kernels.SumWords*i:])
	}
}

// limbs is the number of base-field values of an element of K.
const limbs = 4

// heavyDots does parts on the tensor cores: for each class of them, those together that
// have the same places; all in one launch, as there are thousands of small ones.
func (r *rows) heavyDots(q *whir.Functional, parts []int, longs int, to func(part, place int) []field.QM31, step int) {
	a := newScope(r.a)
	defer a.close()
	n := len(r.at) / longs
	inClass := map[class][]int{}
	var classes []class
	for _, i := range parts {
		p := &q.Parts[i]
		c := class{p.Column, len(p.Low)}
		if inClass[c] == nil {
			classes = append(classes, c)
		}
		inClass[c] = append(inClass[c], i)
	}
	type product struct {
		segment
		class
		of             []int     // parts that segment.parts counts
		list           []byteRow // the targets
		panels         int       // bytes before those of the class
		numbers, words int       // before its own
		from, to       int       // rows
	}
	// Classes of as many columns lie together: their panels are made in one launch.
	slices.SortStableFunc(classes, func(x, y class) int { return x.vars - y.vars })
	var products []product
	var members, numbers []uint64
	var rows []kernels.ByteRow
	panels, words := 0, 0
	for _, c := range classes {
		of := inClass[c]
		for _, p := range of {
			members = append(members, uint64(p))
		}
		for _, s := range segments(q, of, n) {
			p := product{segment: s, class: c, of: of, panels: panels, numbers: len(numbers), words: words, from: len(rows)}
			p.list = make([]byteRow, 0, longs*(s.to-s.from))
			for h := range longs { // as the results lie
				p.list = append(p.list, r.at[h*n+s.from:h*n+s.to]...)
			}
			if rows = appendPlanes(rows, p.list, r.pitch); len(rows) == p.from {
				continue
			}
			p.to = len(rows)
			numbers = append(numbers, s.parts...)
			words += limbs * len(s.parts) * len(p.list)
			products = append(products, p)
		}
		panels += len(of) * kernels.PanelBytes(c.vars)
	}
	if len(products) == 0 {
		return
	}
	w := r.weightsOf(q)
	weights, membersPtr, rowsPtr := newArray[int8](a, panels), newCopy(a, append(members, numbers...)), newCopy(a, rows)
	numbersPtr := kernels.At[uint64](membersPtr, len(members))
	nextPanels, nextMembers := weights, membersPtr
	for i := 0; i < len(classes); {
		vars, count := classes[i].vars, 0
		for ; i < len(classes) && classes[i].vars == vars; i++ {
			count += len(inClass[classes[i]])
		}
		check(kernels.PackParts(a, nextPanels, nextMembers, count, vars, w.parts, w.tables))
		nextPanels, nextMembers = nextPanels.Offset(count, kernels.PanelBytes(vars)), kernels.At[uint64](nextMembers, count)
	}
	sums, out := newWords(a, words), newArray[field.M31](a, words)
	jobs := make([]kernels.ByteProduct, len(products))
	for i, p := range products {
		jobs[i] = kernels.ByteProduct{
			Weights: weights.Offset(p.panels, 1), Numbers: kernels.At[uint64](numbersPtr, p.numbers),
			Rows: kernels.At[kernels.ByteRow](rowsPtr, p.from), Sums: kernels.At[uint64](sums, p.words),
			Panels: uint32(len(p.parts)), Count: uint32(p.to - p.from), Targets: uint32(len(p.list)), Pieces: kernels.Pieces(p.vars), Column: uint32(p.column),
		}
	}
	check(kernels.AddByteProducts(a, jobs...))
	check(kernels.FinishProducts(a, out, sums, 1, words, 0, 0))
	values := fetch[field.M31](a, out, words)
	// The places of a part that are next to each other are so in the tables, until it begins
	// again at place 0.
	for _, p := range products {
		size, places := len(p.list), p.segment.to-p.segment.from
		for i, part := range p.parts {
			v := values[p.words+limbs*i*size:]
			at := to(p.of[part], p.segment.from)
			parallel.For(longs, max(1, 1<<12/places), func(low, high int) {
				for h := low; h < high; h++ {
					row := at[h*step : h*step+places]
					for l := range row {
						k := h*places + l
						// An eq table adds up to 1.
						row[l] = field.NewQM31(v[k].Add(field.M31(p.list[k].bias())), v[size+k], v[2*size+k], v[3*size+k])
					}
				}
			})
		}
	}
}

// joinedDots computes the products of joined rows, sorted by their places, with all rows
// of these, those of long row h behind each other from to[h·step] on.
func (r *rows) joinedDots(q *whir.Functional, joined []joinedRow, longs int, to []field.QM31, step int) {
	if len(joined) == 0 {
		return
	}
	a := newScope(r.a)
	defer a.close()
	n := len(r.at) / longs
	type place struct {
		from, to   int       // joined rows
		list       []byteRow // the targets
		rows, last int       // planes of these
	}
	var places []place
	var rows []kernels.ByteRow
	for i := 0; i < len(joined); {
		p := place{from: i, rows: len(rows)}
		l := joined[i].row % n
		for i < len(joined) && joined[i].row%n == l {
			i++
		}
		for h := range longs {
			p.list = append(p.list, r.at[h*n+l])
		}
		rows = appendPlanes(rows, p.list, r.pitch)
		p.to, p.last = i, len(rows)
		places = append(places, p)
	}
	size := kernels.PanelBytes(r.rowVars)
	atOnce := min(len(joined), max(1, panelBytes/size))
	panels, parts := newArray[int8](a, atOnce*size), r.rowParts(a, q, joined)
	words := limbs * longs * len(joined)
	sums, out := newWords(a, words), newArray[field.M31](a, words)
	if len(rows) > 0 {
		planes := newCopy(a, rows)
		for from := 0; from < len(joined); from += atOnce {
			to := min(from+atOnce, len(joined))
			some := parts
			some.First = kernels.At[uint64](parts.First, from)
			check(kernels.PackRows(a, panels, to-from, r.rowVars, some))
			var jobs []kernels.ByteProduct
			for _, p := range places {
				if first, last := max(from, p.from), min(to, p.to); first < last && p.rows < p.last {
					jobs = append(jobs, kernels.ByteProduct{
						Weights: panels.Offset(first-from, size), Rows: kernels.At[kernels.ByteRow](planes, p.rows), Sums: kernels.At[uint64](sums, limbs*longs*first),
						Panels: uint32(last - first), Count: uint32(p.last - p.rows), Targets: uint32(longs), Pieces: kernels.Pieces(r.rowVars),
					})
				}
			}
			check(kernels.AddByteProducts(a, jobs...))
		}
	}
	check(kernels.FinishProducts(a, out, sums, 1, words, 0, 0))
	values := fetch[field.M31](a, out, words)
	for _, p := range places {
		parallel.For(p.to-p.from, max(1, 1<<10/longs), func(low, high int) {
			for i := p.from + low; i < p.from+high; i++ {
				var all field.QM31 // an eq table adds up to 1
				for _, part := range joined[i].parts {
					all = all.Add(q.Parts[part].RowWeights[0])
				}
				v := values[limbs*longs*i:]
				for h, row := range p.list {
					sum := field.NewQM31(v[h], v[longs+h], v[2*longs+h], v[3*longs+h])
					to[h*step+i] = sum.Add(all.MulM31(field.M31(row.bias())))
				}
			}
		})
	}
}

// segment are places from to to−1, which all have the same parts, by their index in a
// list.
type segment struct {
	from, to int
	parts    []uint64
}

// segments divides the n places in long rows so that every part is in all of a segment or
// in none of it, and leaves out those without parts.
func segments(q *whir.Functional, parts []int, n int) []segment {
	type edge struct {
		place, part int
		begins      bool
	}
	var edges []edge
	add := func(part, from, to int) {
		edges = append(edges, edge{from, part, true}, edge{to, part, false})
	}
	for i, k := range parts {
		p := &q.Parts[k]
		from := p.FirstRow % n
		to := from + min(n, len(p.RowWeights))
		add(i, from, min(n, to))
		if to > n { // the next long row begins
			add(i, 0, to-n)
		}
	}
	// A part may end where it begins again.
	slices.SortFunc(edges, func(x, y edge) int {
		if c := cmp.Compare(x.place, y.place); c != 0 || x.begins == y.begins {
			return c
		} else if x.begins {
			return 1
		}
		return -1
	})
	var all []segment
	in := map[int]bool{}
	for i, e := range edges {
		if e.begins {
			in[e.part] = true
		} else {
			delete(in, e.part)
		}
		if i+1 == len(edges) || edges[i+1].place == e.place || len(in) == 0 {
			continue
		}
		s := segment{from: e.place, to: edges[i+1].place}
		for part := range in {
			s.parts = append(s.parts, uint64(part))
		}
		slices.Sort(s.parts)
		all = append(all, s)
	}
	return all
}
