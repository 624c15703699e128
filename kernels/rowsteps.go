package kernels

import (
	"fmt"
	"math"
)

// A RowLaunch are chains of a row's steps among records that are on a device.
type RowLaunch struct{ at, chains, blocks, threads, shared int }

// Sizes of steps_row: the threads of a block whose chains have sums that warps add up, and of one whose chains have none, the blocks up
// to which such sums are worth twice as many, and the bytes of a block's values in shared memory.
const (
	rowSumThreads = 256
	rowThreads    = 128
	rowFewBlocks  = 64
	rowValues     = 16 << 10
)

// slotOfChain marks the address of an operand that is in shared memory.
const slotOfChain Ptr = 1 << 61

// rowChainWords are the words of a chain's head.
const rowChainWords = 4

// rowSteps are the steps of a chain as steps_row takes them.
type rowSteps struct {
	steps  []*Step
	level  []int
	slots  map[Ptr]int // of results that steps of the chain read, from one on
	levels int
}

// AddRow adds a launch of chains that do not depend on each other, for a row: their look-ups are not counted, and their keys go nowhere.
// Steps are checked only as far as what their tensors are made of.
func (r *Records) AddRow(chains ...Chain) (RowLaunch, error) {
	l := RowLaunch{chains: len(chains), threads: rowThreads}
	var jobs []int64
	for _, c := range chains {
		if len(c) == 0 {
			return l, fmt.Errorf("%w: an empty chain", ErrSize)
		}
		for _, s := range c {
			if s.N != c[0].N {
				return l, fmt.Errorf("%w: a chain of %d and %d entries", ErrSize, c[0].N, s.N)
			}
		}
		if len(r.words)%2 == 1 {
			r.words = append(r.words, 0)
		}
		begin := len(r.words)
		words, each, shared, wide, err := c.row()
		if err != nil {
			return l, err
		}
		r.words = append(r.words, words...)
		l.shared = max(l.shared, shared)
		if wide {
			l.threads = rowSumThreads
		}
		jobs = append(jobs, int64(l.blocks), int64(8*begin), int64(len(words)))
		l.blocks += (c[0].N + each - 1) / each
	}
	if l.threads == rowSumThreads && l.blocks <= rowFewBlocks {
		l.threads *= 2
	}
	l.at = r.Len()
	r.words = append(r.words, jobs...)
	return l, nil
}

// row returns the words of a chain, how many entries a block has, the bytes of shared memory, and whether some terms have many
// summands.
func (c Chain) row() (words []int64, each, shared int, wide bool, err error) {
	x := levelled(c)
	n := c[0].N
	var levels, records []int64
	var offsets []int
	most := 0 // sums of a level
	for k := range x.levels {
		var few, many []*Step
		for i, s := range x.steps {
			switch {
			case x.level[i] != k:
			case s.hasWide():
				many = append(many, s)
			default:
				few = append(few, s)
			}
		}
		from := len(offsets)
		for _, s := range append(many, few...) {
			w, err := s.row(x.slots)
			if err != nil {
				return nil, 0, 0, false, err
			}
			offsets = append(offsets, len(records))
			records = append(records, w...)
		}
		levels = append(levels, pair(from, from+len(many)), pair(len(offsets), 0))
		most = max(most, len(many))
	}
	wide = most > 0
	each = (n + stepBlocks - 1) / stepBlocks
	if !wide || each > wideEntries {
		each = (each + 31) / 32 * 32
	}
	batch := max(1, rowValues/(4*len(x.slots)+8*most+1))
	if batch >= each {
		batch = each
	} else if batch > 32 {
		batch = batch / 32 * 32
	}
	head := rowChainWords + len(levels) + (len(offsets)+1)/2
	head += head % 2
	at := head + len(records)
	sums := most * batch
	if wide { // or a part of one for each warp
		sums += 2 * rowSumThreads / 32
	}
	words = append(words, pair(n, each), pair(batch, x.levels), pair(len(offsets), at), pair(at+sums, 0))
	words = append(words, levels...)
	for i := 0; i < len(offsets); i += 2 {
		second := 0
		if i+1 < len(offsets) {
			second = head + offsets[i+1]
		}
		words = append(words, pair(head+offsets[i], second))
	}
	words = append(words, make([]int64, head-len(words))...)
	words = append(words, records...)
	return words, each, 8*(at+sums) + 4*len(x.slots)*batch, wide, nil
}

// levelled orders the steps of a chain by what they read of each other.
func levelled(c Chain) *rowSteps {
	x := &rowSteps{slots: map[Ptr]int{}}
	made := map[Ptr]int{} // the level of what writes it
	for _, s := range c {
		level := 0
		s.inPlace(func(v *Integers) {
			if k, ok := made[v.At]; ok {
				level = max(level, k+1)
				if x.slots[v.At] == 0 {
					x.slots[v.At] = len(x.slots) + 1
				}
			}
		})
		for _, to := range []*Result{&s.Out, &s.Lo} {
			if to.At != 0 {
				made[to.At] = level
			}
		}
		x.steps, x.level, x.levels = append(x.steps, s), append(x.level, level), max(x.levels, level+1)
	}
	return x
}

// inPlace calls f for all that the step reads where its own entry is.
func (s *Step) inPlace(f func(*Integers)) {
	for i := range s.Terms {
		for j := range s.Terms[i].Operands {
			if o := &s.Terms[i].Operands[j]; o.InPlace() {
				f(&o.Integers)
			}
		}
	}
	if s.Kind == DivideStep {
		f(&s.Den)
	}
}

func (s *Step) hasWide() bool {
	for i := range s.Terms {
		if s.Terms[i].wide(s.N) {
			return true
		}
	}
	return false
}

// pair is two numbers of 32 bits in a word.
func pair(low, high int) int64 { return int64(uint32(low)) | int64(high)<<32 }

// row returns the words of a step for steps_row, where slots has the numbers of what lies in shared memory.
func (s *Step) row(slots map[Ptr]int) ([]int64, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	near := func(v Integers) Integers {
		if k := slots[v.At]; k > 0 {
			v.At = slotOfChain | Ptr(k-1)
		}
		return v
	}
	plain, many, others := s.sorted()
	var least, rows, drop int
	var pieces []uint64
	if t := s.Table; t != nil {
		least, rows, drop = int(t.Min), 1<<t.Bits, t.Drop
		if s.Pieces != 0 {
			pieces = TablePieces(t)
		}
	}
	den := near(s.Den)
	w := []int64{pair(int(s.Kind), len(plain)), pair(len(others), len(many)), pair(s.Shift, drop), pair(rows, len(pieces)/3),
		pair(least, s.Values.Width), 0, s.Const, int64(s.Acc), int64(s.Values.At), int64(den.At)}
	for _, to := range []Result{s.Out, s.Lo} {
		low, high := max(to.Min, math.MinInt32), min(to.Max, math.MaxInt32)
		w = append(w, int64(to.At), pair(to.Width, slots[to.At]), pair(int(low), int(high)))
	}
	for _, v := range pieces {
		w = append(w, int64(v))
	}
	for _, t := range plain {
		v := near(t.Operands[0].Integers)
		w = append(w, t.Coef, int64(v.At), int64(v.Width))
	}
	for _, t := range others {
		local := *t
		local.Operands = nil
		for _, o := range t.Operands {
			if o.InPlace() {
				o.Integers = near(o.Integers)
			}
			local.Operands = append(local.Operands, o)
		}
		w = local.append(w)
	}
	w[5] = pair(den.Width, len(w))
	for _, t := range many { // which read what earlier levels have written where it goes
		w = t.append(w)
	}
	return append(w, make([]int64, len(w)%2)...), nil
}

// RunRow runs chains of the records at b.Code, with int64 at acc for steps whose Acc the launch brings.
func RunRow(d Device, l RowLaunch, b *Bases, acc Ptr) error {
	return launchSteps(d, "steps_row", Launch{GridX: l.blocks, Block: l.threads, Shared: l.shared}, b.Code, l.at, l.chains, b.Small, b.Large, acc)
}
