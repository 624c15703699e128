package model

import (
	"errors"
	"fmt"
)

// The places in the order of steps at which knownFrom says that tensors are known, where that is not the index of a step.
const (
	unknown = 1 << 30 // known after all steps: multiplicities, which no step may read
	public  = -1      // known before the first step: inputs, hidden ones too, imported and fixed tensors, formulas
	byNone  = -2      // no step computes the tensor, and it is no table's multiplicities
)

// validateForced checks that a proof leaves its prover no choice. Whatever the
// key's issuer intended, every entry that is committed to with a proof or stated
// as an output must have at most one value that satisfies the constraints, given the
// inputs and the fixed tensors. In a circuit for which it finds no error this holds by
// induction over the steps in their order:
//
//   - a step reads inputs, fixed tensors and results of steps before it, directly
//     or through virtual tensors, and never multiplicities ("counts"). What it reads is forced.
//   - the result of an exact step is its accumulator.
//   - a look-up's keys are distinct modulo p, so that its output is a function
//     of the key; and with a remainder below 2^Shift the key is a function of
//     the accumulator, since Shift and the table's bits are 30 at most together.
//     A look-up of its own keeps the remainder there.
//   - the quotient and the remainder of a division are forced by the steps that must
//     follow it (Division), and so is the maximum of a row (Maximum).
//   - counts are read by nothing but the look-up argument, which has one
//     solution in them: the rows of all tables are distinct.
//   - an output is one of these, or a virtual tensor that is made of these.
//
// Two kinds of witness tensors are results of no step, and are given like inputs. Hidden inputs (Graph.Hidden) may have any values within
// their ranges: the statement says only that there are such values. Imported tensors (Graph.Apart) are under roots that the header names.
// Any other witness tensor that no step computes is refused, since the prover could choose it freely. So is a tensor that is the result
// of two steps. A zero step has no result and only adds a constraint.
//
// A step that reads entries of its own result at smaller indexes, a recurrence, would be
// forced as well. But no step can execute a recurrence, so it is refused like every
// step that reads its own result.
func (g *Graph) validateForced() error {
	known, err := g.knownFrom()
	if err != nil {
		return err
	}
	for i := range g.Steps {
		for id := range g.Steps[i].Sources {
			if known[id] >= i {
				return fmt.Errorf("step %d: it reads tensor %d, which is made by no step before it", i, id)
			}
		}
	}
	for _, id := range g.Outputs {
		if known[id] == unknown {
			return fmt.Errorf("output %d is made by no step", id)
		}
	}
	r := g.tableRanges()
	for i := range g.Steps {
		var err error
		switch g.Steps[i].Kind {
		case StepDivide:
			err = g.validateDivision(i, r)
		case StepMax:
			err = g.validateMaximum(i)
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return g.validateRemainders(r)
}

// knownFrom returns for every tensor the index of the step after which it is known: the step whose result it is or, for a virtual
// tensor, the last such step among its sources; or public, or unknown. It checks that every witness tensor is the result of one
// step, has the multiplicities of one table, or is hidden or imported.
func (g *Graph) knownFrom() ([]int, error) {
	made := make([]int32, len(g.Tensors)) // by tensor: the step whose result it is, unknown for multiplicities, or byNone
	for i := range made {
		made[i] = byNone
	}
	result := func(id TensorID, step int) error {
		if id == None {
			return nil
		}
		if made[id] != byNone {
			return fmt.Errorf("tensor %d is the result of two steps", id)
		}
		made[id] = int32(step)
		return nil
	}
	for i := range g.Steps {
		if err := errors.Join(result(g.Steps[i].Lo, i), result(g.Steps[i].Out, i)); err != nil {
			return nil, err
		}
	}
	for _, m := range g.Mults {
		if err := result(m.Tensor, unknown); err != nil {
			return nil, err
		}
	}
	unmade := make([]bool, len(g.Tensors))
	for _, id := range g.Unmade() {
		unmade[id] = true
	}
	known := make([]int, len(g.Tensors))
	for i := range g.Tensors {
		known[i] = public
		switch g.Tensors[i].Kind {
		case Witness:
			if unmade[i] {
				if made[i] != byNone {
					return nil, fmt.Errorf("hidden or imported tensor %d is the result of a step", i)
				}
				continue
			}
			if made[i] == byNone {
				return nil, fmt.Errorf("witness tensor %d is the result of no step", i)
			}
			known[i] = int(made[i])
		case Virtual: // its sources come before it, so known has them already
			for id := range g.Tensors[i].Sources {
				known[i] = max(known[i], known[id])
			}
		}
	}
	return known, nil
}

// ranges has the ranges in which look-ups force tensors to be. It knows those of tensors that are the whole accumulator
// of a look-up; the number of bits is that of the smallest such range.
type ranges struct {
	from0  tensorBits // the entries lie in [0, 2^n)
	within tensorBits // the entries lie in an interval of 2^n integers
}

// tensorBits has, by tensor, 1 + a number of bits, or 0 for a tensor that has none.
type tensorBits []uint8

// of returns the number of bits of a tensor, if it has one.
func (b tensorBits) of(id TensorID) (int, bool) {
	if id < 0 || int(id) >= len(b) || b[id] == 0 {
		return 0, false
	}
	return int(b[id]) - 1, true
}

// least sets a tensor's number of bits to bits, unless it has a smaller number already.
func (b tensorBits) least(id TensorID, bits int) {
	if n, ok := b.of(id); !ok || bits < n {
		b[id] = uint8(bits + 1)
	}
}

// tableRanges collects the ranges from all look-ups. A look-up with a shift counts as a range of Shift + Bits bits. That is
// true only if its remainder is in a range too, which validateRemainders checks for all look-ups.
func (g *Graph) tableRanges() *ranges {
	r := &ranges{make(tensorBits, len(g.Tensors)), make(tensorBits, len(g.Tensors))}
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Kind != StepLookup || len(s.Acc.Products) != 0 || len(s.Acc.Linear) != 1 {
			continue
		}
		l := &s.Acc.Linear[0]
		if l.Coef != 1 || l.View != nil {
			continue
		}
		if bits := s.rangeBits(g); bits >= 0 && s.Acc.Const == 0 {
			r.from0.least(l.Src, bits)
			r.within.least(l.Src, bits)
		}
		if s.Shift == 0 {
			r.within.least(l.Src, g.Tables[s.Table].Bits)
		}
	}
	return r
}

// validateRemainders checks that every look-up with a shift has a second look-up that keeps its remainder in [0, 2^Shift).
// Without it the prover could choose the key, and solve acc = 2^Shift·key + lo for lo.
func (g *Graph) validateRemainders(r *ranges) error {
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Kind != StepLookup || s.Lo == None {
			continue
		}
		if bits, ok := r.from0.of(s.Lo); !ok || bits > s.Shift {
			return fmt.Errorf("step %d: nothing keeps the remainder within %d bits", i, s.Shift)
		}
	}
	return nil
}
