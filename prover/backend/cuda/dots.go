package cuda

import (
	"cmp"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/whir"
)

// dots computes the products of rows and parts' eq tables that rowSums needs. to gives,
// for a part and a place that it has, where that of long row 0 goes; those of the others
// are each `step` elements behind the one before.
func (r *rows) dots(q *whir.Functional, longs int, to func(part, place int) []field.QM31, step int) {
	var light []int
	var classes []class
	inClass := map[class][]int{}
	for i := range q.Parts {
		p := &q.Parts[i]
		if !spanOf(p).onTensorCores() {
			light = append(light, i)
			continue
		}
		c := class{p.Column, len(p.Low)}
		if inClass[c] == nil {
			classes = append(classes, c)
		}
		inClass[c] = append(inClass[c], i)
	}
	r.lightDots(q, light, longs, to, step)
	for _, c := range classes {
		atOnce := max(1, panelBytes/kernels.PanelBytes(c.vars))
		for some := range slices.Chunk(inClass[c], atOnce) {
			r.heavyDots(q, c, some, longs, to, step)
		}
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

// heavyDots does parts of a class on the tensor cores, those together that have the
// same places.
func (r *rows) heavyDots(q *whir.Functional, c class, parts []int, longs int, to func(part, place int) []field.QM31, step int) {
	a := newScope(r.a)
	defer a.close()
	n := len(r.at) / longs
	w := r.weightsOf(q)
	numbers := make([]uint64, len(parts))
	for i, p := range parts {
		numbers[i] = uint64(p)
	}
	panels := newArray[int8](a, len(parts)*kernels.PanelBytes(c.vars))
	check(kernels.PackParts(a, panels, newCopy(a, numbers), len(parts), c.vars, w.parts, w.tables))
	type result struct {
		segment
		out  kernels.Ptr
		rows int
	}
	var results []result
	for _, s := range segments(q, parts, n) {
		var list []byteRow
		for l := s.from; l < s.to; l++ {
			for h := range longs {
				list = append(list, r.at[h*n+l])
			}
		}
		rows := planes(list, r.pitch)
		if len(rows) == 0 {
			continue
		}
		vectors := limbs * len(s.parts)
		ones := make([]uint32, vectors) // an eq table adds up to 1
		for i := 0; i < vectors; i += limbs {
			ones[i] = 1
		}
		sums, out := newWords(a, vectors*len(list)), newArray[field.M31](a, vectors*len(list))
		check(kernels.AddByteProducts(a, sums, kernels.ByteProducts{
			Weights: panels, Numbers: newCopy(a, s.parts), Panels: len(s.parts), Vars: c.vars,
			Rows: newCopy(a, rows), Count: len(rows), Column: c.column, Targets: len(list),
		}))
		check(kernels.FinishProducts(a, out, sums, vectors, len(list), newCopy(a, ones), newCopy(a, biases(list))))
		a.Free(sums)
		results = append(results, result{s, out, len(list)})
	}
	for _, s := range results {
		values := fetch[field.M31](a, s.out, limbs*len(s.parts)*s.rows)
		for i, part := range s.parts {
			v := values[limbs*i*s.rows:]
			for l := s.from; l < s.to; l++ {
				at := to(parts[part], l)
				for h := range longs {
					k := (l-s.from)*longs + h
					at[h*step] = field.NewQM31(v[k], v[s.rows+k], v[2*s.rows+k], v[3*s.rows+k])
				}
			}
		}
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
