package kernels

import (
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// The addresses in a Step may be relative to one of four pieces of memory that its launch
// names: the records themselves, and three others. The two or three upper bits of an
// address say which. Addresses of a device itself are below 2^61.
const (
	inCode Ptr = 1 << 62
	// InSmall, InLarge and InAgain, combined with an offset by |, are addresses in the
	// memory of the same name in Bases.
	InSmall = 2 << 62
	InLarge = 3 << 62
	InAgain = InLarge | 1<<61
)

// Bases are the addresses that the addresses in records are relative to. The first word
// of Small, a uint32, becomes 1 if a number that a step computes is out of its range.
type Bases struct{ Code, Small, Large, Again Ptr }

// Resolve converts an address of a record to one of the device.
func (b *Bases) Resolve(p Ptr) Ptr {
	at := p &^ (3 << 62)
	switch p &^ (inCode - 1) {
	case inCode:
		return b.Code + at
	case InSmall:
		return b.Small + at
	case InLarge:
		if p&InAgain == InAgain {
			return b.Again + p&^InAgain
		}
		return b.Large + at
	}
	return p
}

// A StepKind says what a Step does with its accumulators.
type StepKind int

// The kinds of a step, as in package model. SumStep is like ExactStep, for the numbers
// of virtual tensors, which may exceed 2^30.
const (
	LookUpStep StepKind = iota
	ExactStep
	DivideStep
	SumStep
)

// A Step is a step of the forward pass other than model.StepMax, or the definition of a
// virtual tensor. It has N accumulators, N below 2^31; each is the sum of Const, an
// entry of Acc, and the terms.
type Step struct {
	Kind  StepKind
	N     int
	Const int64
	Acc   Ptr // N int64, or AccOfLaunch; 0 for none
	Terms []Term
	// These are for look-ups. Pieces is the address of TablePieces, Values the column of a
	// TableFunc table by row. Counts are int32 by row, to which the look-ups are added.
	Shift  int
	Table  *model.Table
	Pieces Ptr
	Values Integers
	Counts Ptr
	Keys   Result
	// Out is the result, and Lo the remainder of a look-up or of a division. At is 0 if there is none.
	Out, Lo Result
	Den     Integers // denominators of a division, a dense array
}

// Resolve converts all addresses to those of the device.
func (t *Tables) Resolve(b *Bases) {
	for _, p := range []*Ptr{&t.ABatch, &t.ARow, &t.AColumn, &t.BBatch, &t.BRow, &t.BColumn, &t.OutBatch, &t.OutRow, &t.OutColumn} {
		*p = b.Resolve(*p)
	}
}

// A Result says where a step writes numbers, and which range they must be in.
type Result struct {
	Integers
	Min, Max int64
}

// A Term is Coef·Σ_t Π operands, a sum over t < Summands.
type Term struct {
	Coef     int64
	Summands int
	Operands []Operand
	// Fill is the value of an operand where it has no entry (OperandGroup.Limit).
	Fill int64
}

// An Operand is a tensor, and says which of its entries belongs to entry x of the
// output and summand t: entry x if there are no groups, else the one at the sum over
// the groups.
type Operand struct {
	Integers
	Groups []OperandGroup
}

// An OperandGroup adds Step·s to the index of the entry, where s is Base + Σ of the
// axes, or the entry of Table with that index. If Limit > 0 and s is not within [0,
// Limit), the operand has no entry.
type OperandGroup struct {
	Base, Limit, Step int64
	Table             Integers // at 0 for none
	Axes              []OperandAxis
}

// An OperandAxis is Stride·i, where i = x/Div mod Dim, or i = t/Div mod Dim if Sum is
// set. Dim = 0 means that no remainder is taken.
type OperandAxis struct {
	Sum              bool
	Div, Dim, Stride int
}

// Records are steps, and lists that they read, in the form that is uploaded to the device.
type Records struct{ words []int64 }

// Len returns the number of bytes so far.
func (r *Records) Len() int { return 8 * len(r.words) }

// Words returns the records. There is always at least one word.
func (r *Records) Words() []int64 { return append(r.words[:len(r.words):len(r.words)], 0) }

// Ints32 adds a list of integers and returns its address in the records.
func (r *Records) Ints32(v []int32) Ptr {
	at := inCode | Ptr(r.Len())
	r.words = append(r.words, pairs(v)...)
	return at
}

// Pieces adds the pieces of a TablePiecewise table and returns their address in the records.
func (r *Records) Pieces(t *model.Table) Ptr {
	at := inCode | Ptr(r.Len())
	for _, w := range TablePieces(t) {
		r.words = append(r.words, int64(w))
	}
	return at
}

// A Chain is a list of steps with the same number of entries. A step may read the results of
// the steps before it, but of these no entry other than the one that it computes.
type Chain []*Step

// A StepLaunch describes chains whose records are on a device.
type StepLaunch struct {
	at, chains, blocks, shared int
	keys                       bool // the launch is a single look-up
}

// Sizes of steps_run. A block has stepThreads threads, which take stepEntries entries at a time. It
// counts look-ups in `counters` counters in shared memory if it has at least countEntries entries.
// A warp adds up the summands of an entry if there are at least wideSummands; a block with such
// sums has at most wideEntries entries.
const (
	stepThreads  = 256
	stepEntries  = 4 * stepThreads
	counters     = 8192
	countEntries = 2048
	wideSummands = 32
	wideEntries  = 1024
)

// stepBlocks is the greatest number of blocks of a chain, four for each processor of an H100.
// Chains in which warps add up the summands of an entry may have more.
var stepBlocks = 528

// MostWords is the greatest number of words of records that a block copies to its shared
// memory. A chain with more is slow.
const MostWords = 2560

// Size returns the number of words of the record of a step, and whether it has sums that warps add up.
func (s *Step) Size() (words int, wide bool) {
	w, wide, _ := s.record() // an error is that of Add
	return len(w), wide
}

// Add adds a launch of chains, none of which depends on another. It checks numbers of entries,
// summands and operands, and nothing else of the steps.
func (r *Records) Add(chains ...Chain) (StepLaunch, error) {
	l := StepLaunch{chains: len(chains), keys: len(chains) == 1 && len(chains[0]) == 1 && chains[0][0].Table != nil}
	var jobs []int64
	for _, c := range chains {
		begin := len(r.words)
		if len(c) == 0 {
			return l, fmt.Errorf("%w: an empty chain", ErrSize)
		}
		wide, counted := false, false
		for _, s := range c {
			if s.N != c[0].N {
				return l, fmt.Errorf("%w: a chain of %d and %d entries", ErrSize, c[0].N, s.N)
			}
			w, sums, err := s.record()
			if err != nil {
				return l, err
			}
			wide, counted = wide || sums, counted || s.Counts != 0
			r.words = append(r.words, w...)
		}
		n, words := c[0].N, len(r.words)-begin
		each := entriesOfBlock(n, wide)
		staged := words <= MostWords
		counted = counted && each >= countEntries
		shared := 0
		if staged {
			shared += 8 * words
		}
		if wide {
			shared += 8 * each
		}
		if counted {
			shared += 4 * counters
		}
		l.shared = max(l.shared, shared)
		jobs = append(jobs, int64(l.blocks), int64(each), int64(n), int64(8*begin), int64(words), int64(len(c)), flag(staged), flag(wide), flag(counted))
		l.blocks += (n + each - 1) / each
	}
	l.at = r.Len()
	r.words = append(r.words, jobs...)
	return l, nil
}

// entriesOfBlock returns how many of n entries a block takes. With sums that warps add up (wide) it
// is one, two, or a multiple of four; else it is a multiple of stepThreads, so that each of a few
// entries has a thread.
func entriesOfBlock(n int, wide bool) int {
	each := (n + stepBlocks - 1) / stepBlocks
	switch {
	case !wide && each <= stepThreads:
		return stepThreads
	case !wide:
		return (each + stepEntries - 1) / stepEntries * stepEntries
	}
	if each > 2 {
		each = (each + 3) &^ 3
	}
	return min(each, wideEntries)
}

// flag encodes a boolean in a word.
func flag(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// check refuses sizes that kernels do not take.
func (s *Step) check() error {
	if s.N < 1 || s.N >= 1<<31 || s.Shift < 0 || s.Shift > model.MaxShift {
		return fmt.Errorf("%w: a step of %d entries, shifted by %d", ErrSize, s.N, s.Shift)
	}
	for i := range s.Terms {
		if t := &s.Terms[i]; t.Summands < 1 || t.Summands >= 1<<31 || len(t.Operands) == 0 {
			return fmt.Errorf("%w: %d summands of %d operands", ErrSize, t.Summands, len(t.Operands))
		}
	}
	return nil
}

// sorted returns the terms in three groups: those that are a single operand in place, those with many summands, and the
// others.
func (s *Step) sorted() (plain, many, others []*Term) {
	for i := range s.Terms {
		t := &s.Terms[i]
		switch {
		case t.wide(s.N):
			many = append(many, t)
		case t.Summands == 1 && len(t.Operands) == 1 && t.Operands[0].InPlace():
			plain = append(plain, t)
		default:
			others = append(others, t)
		}
	}
	return plain, many, others
}

// append adds the words of a term that is not a single operand in place.
func (t *Term) append(w []int64) []int64 {
	begin := len(w)
	w = append(w, 0, t.Coef, int64(t.Summands), int64(len(t.Operands)), t.Fill)
	for j := range t.Operands {
		w = t.Operands[j].append(w)
	}
	w[begin] = int64(len(w) - begin)
	return w
}

// record returns the words of a step, and whether it has terms with many summands.
func (s *Step) record() (w []int64, wide bool, err error) {
	if err := s.check(); err != nil {
		return nil, false, err
	}
	plain, many, others := s.sorted()
	w = []int64{0, int64(s.Kind), s.Const, int64(s.Acc), int64(len(plain)), int64(len(many)), int64(len(others)), int64(s.Shift)}
	if t := s.Table; t != nil {
		pieces := 0
		if s.Pieces != 0 {
			pieces = len(t.Pieces)
		}
		w = append(w, t.Min, 1<<t.Bits, int64(s.Pieces), int64(pieces), int64(t.Drop))
	} else {
		w = append(w, 0, 0, 0, 0, 0)
	}
	w = append(w, int64(s.Values.At), int64(s.Values.Width))
	for _, x := range []Result{s.Keys, s.Out, s.Lo} {
		w = append(w, int64(x.At), int64(x.Width), x.Min, x.Max)
	}
	w = append(w, int64(s.Den.At), int64(s.Den.Width), int64(s.Counts))
	for _, t := range plain {
		w = append(w, t.Coef, int64(t.Operands[0].At), int64(t.Operands[0].Width))
	}
	for _, t := range append(many, others...) {
		w = t.append(w)
	}
	w[0] = int64(len(w))
	return w, len(many) > 0, nil
}

// wide says whether warps add up the summands of each of n entries. If there are many entries, a
// thread for each is enough, unless the summands are consecutive in memory, which a warp reads
// faster.
func (t *Term) wide(n int) bool {
	if t.Summands < wideSummands {
		return false
	}
	behind := true
	for i := range t.Operands {
		o := &t.Operands[i]
		layout, by := o.layout()
		behind = behind && layout != listed && by <= 1
	}
	return n < 1<<16 || behind
}

// inPlace, strided and listed say how the entries of an operand are arranged: as in the output; at a sum of strides
// times indexes; or by groups with limits or tables. anywhere, behind and same say how four consecutive entries are
// arranged, the first of which has an index divisible by four: anywhere, consecutively, or all in the same place
// (O_LAYOUT and O_RUN of steps.cu).
const (
	inPlace = iota
	strided
	listed

	anywhere = 0
	behind   = 1
	same     = 2
)

// layout returns how the entries are arranged, and the distance between the entries of
// consecutive summands, if that is always the same.
func (o *Operand) layout() (layout, by int) {
	if o.InPlace() {
		return inPlace, 0
	}
	if len(o.Groups) > 1 || o.Groups[0].Table.At != 0 || o.Groups[0].Limit != 0 {
		return listed, 0
	}
	sums := 0
	for _, a := range o.Groups[0].Axes {
		if a.Sum {
			if sums++; sums > 1 || a.Div != 1 || a.Dim != 0 {
				return listed, 0
			}
			by = a.Stride * int(o.Groups[0].Step)
		}
	}
	return strided, by
}

// InPlace says whether the entry for entry x of the output is x.
func (o *Operand) InPlace() bool { return len(o.Groups) == 0 }

// append adds the words of an operand: address, width, layout, run (how four consecutive entries are arranged) and the
// number of words. For a strided operand follow its base, the distance of two summands, and the axes, with multipliers
// and shifts in place of the divisions (divisor). For a listed one follow its groups with their axes. The run of a
// strided operand is `same` if Div of all axes is a multiple of four, and `behind` if that holds for all but one,
// which steps by 1 with each entry.
func (o *Operand) append(w []int64) []int64 {
	layout, by := o.layout()
	begin := len(w)
	w = append(w, int64(o.At), int64(o.Width), int64(layout), behind, 0)
	switch layout {
	case strided:
		g := &o.Groups[0]
		w = append(w, g.Base*g.Step, int64(by), 0)
		axes := len(w) - 1
		run := same
		for _, a := range g.Axes {
			if a.Sum {
				continue
			}
			w[axes]++
			w = append(w, divisor(a.Div), divisor(max(a.Dim, 1)), int64(a.Dim), int64(a.Stride)*g.Step)
			switch {
			case a.Div%4 == 0:
			case run == same && a.Div == 1 && a.Dim%4 == 0 && int64(a.Stride)*g.Step == 1:
				run = behind
			default:
				run = anywhere
			}
		}
		w[begin+3] = int64(run)
	case listed:
		w[begin+3] = anywhere
		w = append(w, int64(len(o.Groups)))
		for i := range o.Groups {
			g := &o.Groups[i]
			w = append(w, g.Base, g.Limit, g.Step, int64(g.Table.At), int64(g.Table.Width), int64(len(g.Axes)))
			for _, a := range g.Axes {
				w = append(w, flag(a.Sum), int64(a.Div), int64(a.Dim), int64(a.Stride))
			}
		}
	}
	w[begin+4] = int64(len(w) - begin)
	return w
}

// divisor returns a multiplier m (lower 32 bits) and a shift s (upper bits) for the division
// of an index i below 2^31 by d: i/d = i·m >> s. With the least l for which 2^l ≥ d, s is 31
// + l, and m the least integer that is at least 2^s/d.
func divisor(d int) int64 {
	l := bits.Len(uint(d - 1))
	m := (uint64(1)<<(31+l) + uint64(d) - 1) / uint64(d)
	return int64(m | uint64(31+l)<<32)
}

// AccOfLaunch, as Acc of a Step, says that the launch names the accumulators. AccOfLaunch + 8·i says that the step's
// accumulators begin with entry i of these.
const AccOfLaunch Ptr = 1

// RunSteps runs chains whose records are at b.Code. acc is the address of int64 accumulators, for
// steps whose Acc is AccOfLaunch.
func RunSteps(d Device, l StepLaunch, b *Bases, acc Ptr) error { return l.run(d, b, acc, 0, 0) }

// RunStepsAgain runs steps that have been run before. It does not count their look-ups again.
func RunStepsAgain(d Device, l StepLaunch, b *Bases, acc Ptr) error { return l.run(d, b, acc, 0, 1) }

// MakeKeys writes only the keys of a look-up, in the width of its Keys, to dst: neither
// its other results nor counts. The tensors that the step reads must be there, as when
// it was run.
func MakeKeys(d Device, dst Ptr, l StepLaunch, b *Bases, acc Ptr) error {
	if !l.keys || dst == 0 {
		return fmt.Errorf("%w: keys of what is not a look-up", ErrSize)
	}
	return l.run(d, b, acc, dst, 0)
}

func (l StepLaunch) run(d Device, b *Bases, acc, only Ptr, uncounted int) error {
	return launchSteps(d, "steps_run", Launch{GridX: l.blocks, Block: stepThreads, Shared: l.shared},
		b.Code, l.at, l.chains, b.Small, b.Large, acc, only, b.Again, uncounted)
}

// A Tally counts the look-ups of one table, whose keys are stored at Keys. Counts, int32 by row, is
// increased by the numbers of look-ups.
type Tally struct {
	Table  *model.Table
	Counts Ptr
	Keys   []TallyKeys
}

// TallyKeys are N keys. Each is stored as the key less Plus.
type TallyKeys struct {
	Integers
	N    int
	Plus int64
}

// A TallyLaunch describes tallies whose records are on a device.
type TallyLaunch struct{ at, tallies, blocks, shared int }

// Sizes of steps_tally. A block has tallyWarps warps, and counts up to tallyRows rows in shared
// memory. For tables with more rows, keys are read up to tallyReads times to be counted there.
// Keys are divided into about tallyPieces pieces, of at least leastPiece keys.
const (
	tallyWarps  = 16
	tallyRows   = 1 << 14
	tallyReads  = 4
	tallyPieces = 1 << 14
	leastPiece  = 1 << 12
)

// AddTallies adds a launch of tallies, each of which has keys.
func (r *Records) AddTallies(list []Tally) (TallyLaunch, error) {
	all := 0
	for i := range list {
		for _, k := range list[i].Keys {
			all += k.N
		}
	}
	most := max(leastPiece, all/tallyPieces)
	most = (most + leastPiece - 1) / leastPiece * leastPiece
	var jobs []int64
	l := TallyLaunch{}
	for i := range list {
		t := &list[i]
		at, pieces := r.Len(), 0
		for _, k := range t.Keys {
			if k.N < 1 || k.N >= 1<<31 {
				return l, fmt.Errorf("%w: %d keys", ErrSize, k.N)
			}
			for from := 0; from < k.N; from += most {
				r.words = append(r.words, int64(k.At)+int64(from*k.Width), int64(k.Width), int64(min(most, k.N-from)), k.Plus)
				pieces++
			}
		}
		if pieces == 0 {
			return l, fmt.Errorf("%w: a tally of nothing", ErrSize)
		}
		rows := 1 << t.Table.Bits
		own := min(rows, tallyRows)
		if rows > tallyReads*tallyRows {
			own = 0
		}
		blocks := (pieces + tallyWarps - 1) / tallyWarps
		for from := 0; from < rows; from += own {
			jobs = append(jobs, int64(l.blocks), int64(blocks), int64(t.Counts), t.Table.Min, int64(rows), int64(from), int64(own), int64(at), int64(pieces))
			l.blocks += blocks
			l.tallies++
			if own == 0 {
				break
			}
		}
		l.shared = max(l.shared, 4*own)
	}
	l.at = r.Len()
	r.words = append(r.words, jobs...)
	return l, nil
}

// RunTallies runs tallies whose records are at b.Code.
func RunTallies(d Device, l TallyLaunch, b *Bases) error {
	if l.blocks == 0 {
		return nil
	}
	return launchSteps(d, "steps_tally", Launch{GridX: l.blocks, Block: 32 * tallyWarps, Shared: l.shared}, b.Code, l.at, l.tallies, b.Small, b.Large, b.Again)
}

// RowMaxima sets out to the greatest entry of each of n rows of x. The word at bad is set as Bases says of Small.
func RowMaxima(d Device, bad Ptr, out Result, x Integers, n, row int) error {
	if n < 1 || row < 1 {
		return fmt.Errorf("%w: %d rows of %d", ErrSize, n, row)
	}
	l := Cover(32 * n)
	l.Early = true
	return launchSteps(d, "steps_max", l, bad, out.At, out.Width, x.At, x.Width, n, row, out.Min, out.Max)
}

// PutRow copies row into whole, a tensor of before × rows × after entries: whole[b][at][a] = row[b][a]. The index `at` is a number
// on the device. If the tensor has no such row, nothing is copied.
func PutRow(d Device, whole, row, at Integers, before, rows, after int) error {
	if before < 1 || rows < 1 || after < 1 {
		return fmt.Errorf("%w: a row of %d × %d × %d entries", ErrSize, before, rows, after)
	}
	l := Cover(before * after)
	l.Early = true
	return launchSteps(d, "steps_put", l, whole.At, whole.Width, row.At, row.Width, at.At, at.Width, before, rows, after)
}

// A KeyCount asks how many of N keys are in [Min, Max].
type KeyCount struct {
	Keys     Ptr
	Width, N uint64
	Min, Max int64
}

// CountKeys answers n questions, at least one, each a KeyCount on the device. It adds
// the answers to counts, of uint64. most is the largest N of all questions.
func CountKeys(d Device, counts, questions Ptr, n, most int) error {
	if n < 1 || n > maxGridY || most < 1 {
		return fmt.Errorf("%w: %d questions about %d keys", ErrSize, n, most)
	}
	shape := Cover(most)
	shape.GridX, shape.GridY = min(shape.GridX, 2*d.Multiprocessors()), n
	return launchSteps(d, "steps_count", shape, questions, counts)
}

func launchSteps(d Device, name string, l Launch, args ...any) error {
	return launchOf(d, Kernel{"steps", name}, l, args...)
}
