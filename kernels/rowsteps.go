package kernels

import (
	"fmt"
	"math"
)

// A RowLaunch describes chains of steps on a row, whose records are on a device.
type RowLaunch struct{ at, chains, words, blocks, threads, shared int }

// Sizes of steps_row. rowThreads is the number of threads of a block, rowSumThreads that of a block whose chains have sums that warps
// add up; with at most rowFewBlocks blocks, such blocks have twice as many threads. rowValues is the size in bytes of a block's values
// in shared memory, and rowShared that of all data that may be there.
const (
	rowSumThreads = 256
	rowThreads    = 128
	rowFewBlocks  = 64
	rowValues     = 24 << 10
	rowShared     = 96 << 10
)

// AddRow adds a launch of chains, none of which depends on another, that compute a row. Their look-ups are not counted, and their keys
// are not stored. If a step of a chain reads the result of another step of it, its term must have one summand. AddRow checks numbers
// of entries, summands and operands, and nothing else of the steps.
func (r *Records) AddRow(chains ...Chain) (RowLaunch, error) {
	l := RowLaunch{chains: len(chains), threads: rowThreads}
	var jobs []int64
	for _, c := range chains {
		x := rowChain{loads: map[string]int{}, made: map[Ptr]rowValue{}}
		if err := x.add(c); err != nil {
			return l, err
		}
		words, each, shared := x.words()
		if shared > rowShared {
			return l, fmt.Errorf("%w: a chain that takes %d bytes of shared memory", ErrSize, shared)
		}
		r.words = append(r.words, make([]int64, len(r.words)%2)...)
		jobs = append(jobs, int64(l.blocks), int64(r.Len()), int64(len(words)))
		r.words = append(r.words, words...)
		l.shared = max(l.shared, shared)
		if x.wides > 0 {
			l.threads = rowSumThreads
		}
		l.blocks += (x.n + each - 1) / each
	}
	if l.threads == rowSumThreads && l.blocks <= rowFewBlocks {
		l.threads *= 2
	}
	if len(chains) == 1 {
		l.at, l.words = int(jobs[1]), int(jobs[2])
		return l, nil
	}
	l.at = r.Len()
	r.words = append(r.words, jobs...)
	return l, nil
}

// rowChain is a chain in the form that steps_row takes.
type rowChain struct {
	n        int
	loads    map[string]int // numbers of operands, from 1 on, by the words that describe them
	operands [][]int64
	adds     [][]int64 // sums: first those that warps add up, then those of single threads
	wides    int       // how many of adds warps add up
	steps    []rowStep
	made     map[Ptr]rowValue // results of the chain's steps, by their addresses
	results  []Result         // by number; in shared memory they follow the operands
}

// rowStep is a step of a rowChain, which refers to values and sums by their numbers. Steps of a level do not depend on
// each other, only on lower levels.
type rowStep struct {
	*Step
	level            int
	terms            []rowTerm
	wide, small      []int
	den, out, lo     int
	pieces           []uint64
	least, rows, cut int
}

// rowTerm is coef·a·b.
type rowTerm struct {
	coef int64
	a, b rowValue
}

// rowValue is a value in shared memory: an operand, by its number `load`, or a result, by its number `result`, both
// counted from 1. The zero rowValue stands for the constant 1. level is that of the step that makes a result.
type rowValue struct{ load, result, level int }

// add adds the steps of a chain.
func (x *rowChain) add(c Chain) error {
	if len(c) == 0 {
		return fmt.Errorf("%w: an empty chain", ErrSize)
	}
	x.n = c[0].N
	var small [][]int64
	for _, s := range c {
		if s.N != x.n {
			return fmt.Errorf("%w: a chain of %d and %d entries", ErrSize, x.n, s.N)
		}
		if err := s.check(); err != nil {
			return err
		}
		y := rowStep{Step: s}
		if s.Acc != 0 {
			y.small, small = append(y.small, len(small)), append(small, []int64{int64(s.Acc)})
		}
		for i := range s.Terms {
			t := &s.Terms[i]
			switch words := append([]int64{0}, t.append(nil)...); {
			case t.wide(s.N) || t.Summands > 1 || len(t.Operands) > 2:
				for j := range t.Operands {
					if o := &t.Operands[j]; o.InPlace() && x.made[o.At] != (rowValue{}) {
						return fmt.Errorf("%w: a sum of products of what a step of the chain makes", ErrSize)
					}
				}
				if t.wide(s.N) {
					y.wide, x.adds = append(y.wide, len(x.adds)), append(x.adds, words)
				} else {
					y.small, small = append(y.small, len(small)), append(small, words)
				}
			default:
				z := rowTerm{coef: t.Coef, a: x.value(&t.Operands[0], t.Fill, &y)}
				if len(t.Operands) == 2 {
					z.b = x.value(&t.Operands[1], t.Fill, &y)
				}
				y.terms = append(y.terms, z)
			}
		}
		x.steps = append(x.steps, y)
		x.finish(&x.steps[len(x.steps)-1])
	}
	x.wides = len(x.adds)
	x.adds = append(x.adds, small...)
	return nil
}

// finish adds what a step has in addition to its accumulator: a denominator, a table, results.
func (x *rowChain) finish(y *rowStep) {
	if y.Kind == DivideStep {
		v := x.value(&Operand{Integers: y.Den}, 0, y)
		y.terms = append(y.terms, rowTerm{a: v}) // a term with coefficient 0, which gives the denominator a number
		y.den = len(y.terms)
	}
	if t := y.Table; t != nil {
		y.least, y.rows, y.cut = int(t.Min), 1<<t.Bits, t.Drop
		if y.Pieces != 0 {
			y.pieces = TablePieces(t)
		}
	}
	for _, to := range []struct {
		*Result
		number *int
	}{{&y.Out, &y.out}, {&y.Lo, &y.lo}} {
		if to.At != 0 {
			x.results = append(x.results, *to.Result)
			*to.number = len(x.results)
			x.made[to.At] = rowValue{result: len(x.results), level: y.level}
		}
	}
}

// value returns the value that an operand of a step reads. If a step of the chain makes it, y gets a higher level than
// that step.
func (x *rowChain) value(o *Operand, fill int64, y *rowStep) rowValue {
	if v, ok := x.made[o.At]; ok && o.InPlace() {
		y.level = max(y.level, v.level+1)
		return v
	}
	words := o.append([]int64{fill})
	key := fmt.Sprint(words)
	if x.loads[key] == 0 {
		x.operands = append(x.operands, words)
		x.loads[key] = len(x.operands)
	}
	return rowValue{load: x.loads[key]}
}

// words returns the chain's records, the number of entries of a block, and the bytes of shared memory of a block.
//
// The records begin with a head of 8 words, sizes and offsets. Lists follow: of results (2 words each), of the offsets
// of operands and of sums, of the first and last step of each level, and of the offsets of steps; then the records that
// these offsets name. Behind them, a block has its values and its sums in shared memory.
func (x *rowChain) words() (w []int64, each, shared int) {
	count := 1 + len(x.operands) + len(x.results)
	each = (x.n + stepBlocks - 1) / stepBlocks
	if x.wides == 0 || each > wideEntries {
		each = (each + 31) / 32 * 32
	}
	each = min(each, x.n)
	batch := max(1, rowValues/(4*count+8*len(x.adds)))
	if batch >= each {
		batch = each
	} else if batch > 32 {
		batch = batch / 32 * 32
	}
	levels := 0
	for i := range x.steps {
		levels = max(levels, x.steps[i].level+1)
	}
	const head = 8
	loadsAt := head + 2*len(x.results)
	addsAt := loadsAt + (len(x.operands)+1)/2
	levelsAt := addsAt + (len(x.adds)+1)/2
	stepsAt := levelsAt + levels
	at := stepsAt + (len(x.steps)+1)/2
	at += at % 2
	var records []int64
	list := func(all [][]int64) (offsets []int) {
		for _, v := range all {
			offsets = append(offsets, at+len(records))
			records = append(records, v...)
		}
		return offsets
	}
	loads, adds := list(x.operands), list(x.adds)
	var steps []int
	var spans []int64
	for k := range levels {
		first := len(steps)
		for i := range x.steps {
			if y := &x.steps[i]; y.level == k {
				records = append(records, make([]int64, len(records)%2)...)
				steps = append(steps, at+len(records))
				records = append(records, y.words(x, batch)...)
			}
		}
		spans = append(spans, pair(first, len(steps)))
	}
	records = append(records, make([]int64, len(records)%2)...)
	values := at + len(records)
	sums := values + (count*batch+1)/2
	parts := sums + len(x.adds)*batch
	w = append(w, pair(x.n, each), pair(batch, len(x.operands)), pair(len(x.adds), x.wides), pair(len(x.results), levels),
		pair(loadsAt, addsAt), pair(head, levelsAt), pair(stepsAt, values), pair(sums, parts))
	for i, r := range x.results {
		w = append(w, int64(r.At), pair(r.Width, (1+len(x.operands)+i)*batch))
	}
	w = append(append(append(append(w, pairs(loads)...), pairs(adds)...), spans...), pairs(steps)...)
	w = append(append(w, make([]int64, at-len(w))...), records...)
	shared = 8 * parts
	if x.wides > 0 {
		shared += 8 * 2 * rowSumThreads / 32 // one partial sum for each warp
	}
	return w, each, shared
}

// words returns the record of a step. A value is named by its offset in shared memory: batch entries for each number.
func (y *rowStep) words(x *rowChain, batch int) []int64 {
	number := func(v rowValue) int {
		switch {
		case v.load > 0:
			return v.load * batch
		case v.result > 0:
			return (len(x.operands) + v.result) * batch
		}
		return 0
	}
	result := func(k int) int { return number(rowValue{result: k}) }
	bounds := func(r *Result) int64 { return pair(int(max(r.Min, math.MinInt32)), int(min(r.Max, math.MaxInt32))) }
	den := 0
	if y.den > 0 {
		den = number(y.terms[y.den-1].a)
	}
	sums := append([]int(nil), y.wide...)
	for _, k := range y.small {
		sums = append(sums, x.wides+k)
	}
	for i := range sums {
		sums[i] *= batch
	}
	w := []int64{pair(int(y.Kind), len(y.terms)), pair(len(sums), len(y.pieces)/3), pair(y.Shift, y.cut), pair(y.rows, y.Values.Width),
		pair(y.least, den), pair(result(y.out), result(y.lo)), bounds(&y.Out), bounds(&y.Lo), y.Const, int64(y.Values.At)}
	for _, t := range y.terms {
		w = append(w, t.coef, pair(number(t.a), number(t.b)))
	}
	for _, v := range y.pieces {
		w = append(w, int64(v))
	}
	return append(w, pairs(sums)...)
}

// pair returns two 32-bit numbers in one word.
func pair(low, high int) int64 { return int64(uint32(low)) | int64(high)<<32 }

// pairs returns 32-bit numbers, two in each word.
func pairs[T int | int32](v []T) []int64 {
	w := make([]int64, (len(v)+1)/2)
	for i, x := range v {
		w[i/2] |= int64(uint32(x)) << (32 * (i % 2))
	}
	return w
}

// RunRow runs chains whose records are at b.Code. acc is the address of int64 accumulators, for steps whose Acc is
// AccOfLaunch.
func RunRow(d Device, l RowLaunch, b *Bases, acc Ptr) error {
	shape := Launch{GridX: l.blocks, Block: l.threads, Shared: l.shared, Early: true}
	return launchSteps(d, "steps_row", shape, b.Code, l.at, l.chains, l.words, b.Small, b.Large, acc)
}
