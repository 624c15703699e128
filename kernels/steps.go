package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/model"
)

// Addresses of a Step may count from four pieces of memory that its launch names: from
// the records themselves, and from three others. A device's own addresses are below 2^61.
const (
	inCode Ptr = 1 << 62
	// InSmall, InLarge and InAgain, or'ed to an offset, are addresses in the memory of these
	// names.
	InSmall = 2 << 62
	InLarge = 3 << 62
	InAgain = InLarge | 1<<61
)

// Bases are what the addresses of records count from. The first word of Small, of
// uint32, becomes 1 where a number of a step leaves its range.
type Bases struct{ Code, Small, Large, Again Ptr }

// Resolve returns an address of a record as one of the device.
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

// A StepKind is what a Step does with its accumulators.
type StepKind int

// The kinds of a step, as in package model, and Sum, which is Exact for numbers that are
// not bounded by 2^30: those of virtual tensors.
const (
	LookUpStep StepKind = iota
	ExactStep
	DivideStep
	SumStep
)

// A Step is a step of the forward pass but model.StepMax, or the definition of a virtual
// tensor, on N accumulators, N below 2^31: Const, what is in Acc, and the terms.
type Step struct {
	Kind  StepKind
	N     int
	Const int64
	Acc   Ptr // N int64; 0 for none
	Terms []Term
	// Of a look-up. Pieces is an address of TablePieces, Values the column of a TableFunc
	// table by row, Counts of int32 by row is added to.
	Shift  int
	Table  *model.Table
	Pieces Ptr
	Values Integers
	Counts Ptr
	Keys   Result
	// Out, and what is left: the remainder of a look-up or of a division. At 0 for none.
	Out, Lo Result
	Den     Integers // of a division: dense
}

// Resolve makes the tables' addresses the device's.
func (t *Tables) Resolve(b *Bases) {
	for _, p := range []*Ptr{&t.ABatch, &t.ARow, &t.AColumn, &t.BBatch, &t.BRow, &t.BColumn, &t.OutBatch, &t.OutRow, &t.OutColumn} {
		*p = b.Resolve(*p)
	}
}

// A Result is where numbers go, and the range that they must be in.
type Result struct {
	Integers
	Min, Max int64
}

// A Term is Coef·Σ_t Π operands, over Summands summands.
type Term struct {
	Coef     int64
	Summands int
	Operands []Operand
	// Fill is the value of entries that the operand has no place for.
	Fill int64
}

// An Operand is a tensor and where its entry for entry x of the output and summand t
// lies: at x if there are no groups, else at the sum over them.
type Operand struct {
	Integers
	Groups []OperandGroup
}

// An OperandGroup adds Step·s to the place, where s is Base + Σ of the axes, or what
// Table has there. If s is not within [0, Limit), Limit > 0, there is no entry.
type OperandGroup struct {
	Base, Limit, Step int64
	Table             Integers // at 0 for none
	Axes              []OperandAxis
}

// An OperandAxis is Stride·i, where i = x/Div mod Dim, for t in place of x if Sum. A Dim
// of 0 stands for no remainder.
type OperandAxis struct {
	Sum              bool
	Div, Dim, Stride int
}

// Records are steps and lists that they read, to be uploaded once.
type Records struct{ words []int64 }

// Len returns the bytes so far.
func (r *Records) Len() int { return 8 * len(r.words) }

// Words returns the records; there is at least one word.
func (r *Records) Words() []int64 { return append(r.words[:len(r.words):len(r.words)], 0) }

// Ints32 adds a list of integers and returns its address.
func (r *Records) Ints32(v []int32) Ptr {
	at := inCode | Ptr(r.Len())
	for i := 0; i < len(v); i += 2 {
		w := int64(uint32(v[i]))
		if i+1 < len(v) {
			w |= int64(v[i+1]) << 32
		}
		r.words = append(r.words, w)
	}
	return at
}

// Pieces adds the pieces of a TablePiecewise table.
func (r *Records) Pieces(t *model.Table) Ptr {
	at := inCode | Ptr(r.Len())
	for _, w := range TablePieces(t) {
		r.words = append(r.words, int64(w))
	}
	return at
}

// A StepLaunch is a step among records that are on a device.
type StepLaunch struct {
	at, n, rows int
	wide        bool
}

// maxLocalCounts is the shared memory that a block may take for counts: two
// blocks fit a processor.
const maxLocalCounts = 96 << 10

// wideSummands is how many summands of an entry are worth a warp.
const wideSummands = 32

// Add adds a step, which is checked only as far as what its tensors are made of.
func (r *Records) Add(s *Step) (StepLaunch, error) {
	l := StepLaunch{at: r.Len(), n: s.N}
	if s.N < 1 || s.N >= 1<<31 || s.Shift < 0 || s.Shift > model.MaxShift {
		return l, fmt.Errorf("%w: a step of %d entries, shifted by %d", ErrSize, s.N, s.Shift)
	}
	w := []int64{int64(s.Kind), int64(s.N), s.Const, int64(s.Acc), int64(len(s.Terms)), int64(s.Shift)}
	if t := s.Table; t != nil {
		l.rows = 1 << t.Bits
		pieces := 0
		if s.Pieces != 0 {
			pieces = len(t.Pieces)
		}
		w = append(w, t.Min, int64(l.rows), int64(s.Pieces), int64(pieces), int64(t.Drop))
	} else {
		w = append(w, 0, 0, 0, 0, 0)
	}
	w = append(w, int64(s.Values.At), int64(s.Values.Width))
	for _, x := range []Result{s.Keys, s.Out, s.Lo} {
		w = append(w, int64(x.At), int64(x.Width), x.Min, x.Max)
	}
	w = append(w, int64(s.Den.At), int64(s.Den.Width), int64(s.Counts))
	most := 1
	for i := range s.Terms {
		t := &s.Terms[i]
		if t.Summands < 1 || t.Summands >= 1<<31 {
			return l, fmt.Errorf("%w: %d summands", ErrSize, t.Summands)
		}
		most = max(most, t.Summands)
		begin := len(w)
		w = append(w, 0, t.Coef, int64(t.Summands), int64(len(t.Operands)), t.Fill)
		for j := range t.Operands {
			w = t.Operands[j].append(w)
		}
		w[begin] = int64(len(w) - begin)
	}
	// With many entries every lane has enough to do by itself.
	l.wide = most >= wideSummands && s.N < 1<<16
	r.words = append(r.words, w...)
	return l, nil
}

func (o *Operand) append(w []int64) []int64 {
	w = append(w, int64(o.At), int64(o.Width), int64(len(o.Groups)))
	for i := range o.Groups {
		g := &o.Groups[i]
		w = append(w, g.Base, g.Limit, g.Step, int64(g.Table.At), int64(g.Table.Width), int64(len(g.Axes)))
		for _, a := range g.Axes {
			from := int64(0)
			if a.Sum {
				from = 1
			}
			w = append(w, from, int64(a.Div), int64(a.Dim), int64(a.Stride))
		}
	}
	return w
}

// AccOfLaunch, as a Step's Acc, says that RunStepOn brings it.
const AccOfLaunch Ptr = 1

// RunStep runs a step of the records at b.Code.
func RunStep(d Device, l StepLaunch, b *Bases) error { return RunStepOn(d, l, b, 0) }

// RunStepOn is RunStep with N int64 at acc as the step's Acc.
func RunStepOn(d Device, l StepLaunch, b *Bases, acc Ptr) error {
	shape, local := l.shape(), 0
	// A block that counts for itself must have more to count than to clear and to
	// add up, which is quicker by far.
	blocks := 2 * d.Multiprocessors()
	if l.rows > 0 && 4*l.rows <= maxLocalCounts && l.n/blocks >= l.rows/8 {
		shape, local = Launch{GridX: blocks, Block: 512, Shared: 4 * l.rows}, 1
	}
	return l.run(d, shape, b, acc, local, 0, 0)
}

// RunStepAgain is RunStepOn for a step that has been run before: it does not count again.
func RunStepAgain(d Device, l StepLaunch, b *Bases, acc Ptr) error {
	return l.run(d, l.shape(), b, acc, 0, 0, 1)
}

// MakeKeys writes the keys of a look-up, in the width of its Keys, to dst, and nothing
// else: not its other results, and no counts. What the step reads must be there, as when
// it was run.
func MakeKeys(d Device, dst Ptr, l StepLaunch, b *Bases, acc Ptr) error {
	if l.rows == 0 || dst == 0 {
		return fmt.Errorf("%w: keys of a step without a table", ErrSize)
	}
	return l.run(d, l.shape(), b, acc, 0, dst, 0)
}

// shape covers the entries of a step.
func (l StepLaunch) shape() Launch {
	if l.wide {
		return Cover(32 * l.n)
	}
	return Cover(l.n)
}

func (l StepLaunch) run(d Device, shape Launch, b *Bases, acc Ptr, local int, only Ptr, uncounted int) error {
	wide := 0
	if l.wide {
		wide = 1
	}
	return launchSteps(d, "steps_run", shape, b.Code, l.at, b.Small, b.Large, acc, wide, local, only, b.Again, uncounted)
}

// RowMaxima sets out to the greatest entries of n rows of x. bad is set as by a Step.
func RowMaxima(d Device, bad Ptr, out Result, x Integers, n, row int) error {
	if n < 1 || row < 1 {
		return fmt.Errorf("%w: %d rows of %d", ErrSize, n, row)
	}
	return launchSteps(d, "steps_max", Cover(32*n), bad, out.At, out.Width, x.At, x.Width, n, row, out.Min, out.Max)
}

// Widen sets dst to n integers, in 32 bits.
func Widen(d Device, dst Ptr, src Integers, n int) error {
	return launchSteps(d, "steps_widen", Cover(n), dst, src.At, src.Width, n)
}

// KeyCount asks how many of N keys are in [Min, Max].
type KeyCount struct {
	Keys     Ptr
	Width, N uint64
	Min, Max int64
}

// CountKeys adds the answers to questions, at least one, which are on the device, to
// counts, of uint64. most is the largest N.
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
