package bounds

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
)

// half is the largest integer that an element of F stands for: each element stands for one
// integer in [−half, half].
const half = (field.P - 1) / 2

// maxErrors is the largest number of steps that an error names.
const maxErrors = 8

// Check shows that the results of a valid circuit, whose fixed tensors are as certified, are
// those over the integers: any witness that satisfies the constraints modulo p satisfies them
// over the integers. The error names the steps for which that is not shown.
//
// This is an induction over the steps. An entry of a tensor is an element of F, and stands
// for an integer in a known interval:
//
//   - an entry of an input or fixed tensor is the integer that is public or certified;
//   - a look-up forces acc = 2^shift·key + remainder modulo p, with a key of the table and
//     a remainder below 2^shift, which a look-up of its own keeps there. Both sides are
//     in known intervals. If any two numbers in these differ by less than p, the sides are the same
//     integer. The look-up's result is the table's value as an integer, if no value is beyond ±half;
//   - the result of an exact step is its accumulator, if that is not beyond ±half;
//   - a maximum is an entry of its row, if none of these is beyond ±half;
//   - an output is the integer that is stated, if the interval of the tensor and the
//     declared range, which the reader keeps the stated value in, are less than p apart;
//   - a zero step forces an accumulator to be 0, if it lies in (−p, p).
//     Such a step also ties the results of a division to the dividend.
//
// Arguments cover steps for which intervals do not show this, but another reason does.
func Check(g *model.Graph, c *Certified, arguments ...*Argument) error {
	_, err := Intervals(g, c, arguments...)
	return err
}

// Intervals does what Check does, and returns an interval of each tensor. Those of multiplicities are not known.
func Intervals(g *model.Graph, c *Certified, arguments ...*Argument) ([]Interval, error) {
	if err := checkOrder(g, arguments); err != nil {
		return nil, err
	}
	a := newAnalysis(g, c)
	err := a.run(arguments)
	all := make([]Interval, len(g.Tensors))
	for i := range all {
		all[i] = a.tensor(model.TensorID(i))
	}
	return all, err
}

// run checks all steps in order, and then the outputs. Steps that an argument covers are not checked.
func (a *analysis) run(arguments []*Argument) error {
	g := a.g
	var errs []error
	for i := 0; i < len(g.Steps); i++ {
		for len(arguments) > 0 && arguments[0].From == i {
			if err := a.take(arguments[0]); err != nil {
				errs = append(errs, err)
			}
			i, arguments = arguments[0].To, arguments[1:]
		}
		if i == len(g.Steps) {
			break
		}
		err := a.step(&g.Steps[i])
		if a.spent() {
			return fmt.Errorf("step %d (%s): %w", i, g.Steps[i].Name, errWork)
		}
		if err != nil {
			if len(errs) == maxErrors {
				errs = append(errs, errors.New("and more"))
				break
			}
			errs = append(errs, fmt.Errorf("step %d (%s): %w", i, g.Steps[i].Name, err))
		}
	}
	for _, id := range g.Outputs {
		t := &g.Tensors[id]
		if i := a.tensor(id); i.Max-t.Min >= field.P || t.Max-i.Min >= field.P {
			errs = append(errs, fmt.Errorf("output %q: %w", t.Name, wide(i)))
		}
	}
	return errors.Join(errs...)
}

// analysis is what is known of tensors so far.
type analysis struct {
	g     *model.Graph
	c     *Certified
	known []*Interval   // by tensor; nil if its interval has not been found yet
	made  []*model.Step // by tensor: the step whose result it is, or nil
	// alone has, for a tensor that is the whole accumulator of look-ups but for a constant, the interval to which these force it.
	alone  map[model.TensorID]Interval
	keys   map[*model.Step]Interval // by look-up step: the keys that it may have
	oneHot map[model.TensorID]int   // by tensor: an axis along which one entry is 1 and all others are 0
	// rowSums bounds the sum of the magnitudes of the entries in each row along a tensor's last axis. sums are arguments that know
	// the sum of some products.
	rowSums map[model.TensorID]int64
	sums    []*Argument
	left    int // how much of maxWork has not been spent yet
}

// newAnalysis returns an analysis before the first step.
func newAnalysis(g *model.Graph, c *Certified) *analysis {
	a := &analysis{
		g: g, c: c, known: make([]*Interval, len(g.Tensors)), made: make([]*model.Step, len(g.Tensors)),
		alone: map[model.TensorID]Interval{}, keys: map[*model.Step]Interval{}, rowSums: map[model.TensorID]int64{}, oneHot: map[model.TensorID]int{}, left: maxWork,
	}
	for i := range g.Steps {
		s := &g.Steps[i]
		for _, id := range []model.TensorID{s.Out, s.Lo} {
			if id != model.None {
				a.made[id] = s
			}
		}
		if l := s.Acc.Linear; s.Kind == model.StepLookup && len(l) == 1 && len(s.Acc.Products) == 0 && l[0].Coef == 1 && l[0].View == nil {
			in := a.sides(s).Add(point(-s.Acc.Const))
			if old, ok := a.alone[l[0].Src]; ok {
				in = in.and(old)
			}
			if in.within(Interval{-half, half}) {
				a.alone[l[0].Src] = in
			}
		}
	}
	return a
}

// sides returns the interval of 2^shift·key + remainder in a look-up, over all keys of the table and all remainders.
func (a *analysis) sides(s *model.Step) Interval {
	t := &a.g.Tables[s.Table]
	first := times(t.Min, 1<<s.Shift)
	return Interval{first, first + 1<<(t.Bits+s.Shift) - 1}
}

// tensor returns the interval of a tensor. For a result of a step that has not been checked yet it returns everything, which no
// check accepts.
func (a *analysis) tensor(id model.TensorID) Interval {
	if a.known[id] != nil {
		return *a.known[id]
	}
	t := &a.g.Tensors[id]
	all := everything
	switch t.Kind {
	case model.Input, model.ByFormula: // Validate keeps the latter in this range, and the reader of a proof the former
		all = Interval{t.Min, t.Max}
	case model.Empty:
		all = point(0)
	case model.Fixed:
		if r, ok := a.c.Ranges[id]; ok {
			all = r
		}
	case model.Virtual:
		if p := t.Product; p != nil {
			all = a.tensor(p.A).Mul(a.tensor(p.B))
			break
		}
		all = a.form(a.sum(t.Shape, 0, t.Def))
	case model.Witness:
		if !a.g.Kept(id) { // the result of a later step, or multiplicities
			return all
		}
		// Look-ups that the circuit was given with the tensor keep it in this range (model.Graph.Kept).
		all = Interval{t.Min, t.Max}
	}
	a.known[id] = &all
	return all
}

// set records the interval of a result, narrowed by look-ups of the tensor alone. id may be None.
func (a *analysis) set(id model.TensorID, i Interval) {
	if id == model.None {
		return
	}
	if in, ok := a.alone[id]; ok {
		i = i.and(in)
	}
	a.known[id] = &i
}

// step checks one step and records the intervals of its results.
func (a *analysis) step(s *model.Step) error {
	acc := a.accumulator(s)
	switch s.Kind {
	case model.StepLookup:
		return a.lookup(s, acc)
	case model.StepExact:
		a.set(s.Out, acc)
		if !acc.within(Interval{-half, half}) {
			return wide(acc)
		}
	case model.StepZero:
		if !acc.within(Interval{1 - field.P, field.P - 1}) {
			return wide(acc)
		}
		if id, axis, ok := OneHot(a.g, s); ok && a.tensor(id).within(Interval{0, 1}) {
			a.oneHot[id] = axis
			if axis == len(a.g.Tensors[id].Shape)-1 {
				a.rowSums[id] = 1
			}
		}
	case model.StepDivide:
		// Only the look-ups that must follow the step bound the results: set narrows them by these (alone).
		a.set(s.Out, Interval{-half, half})
		a.set(s.Lo, Interval{-half, half})
	case model.StepMax:
		// The steps that must follow force the result to be an entry of its row, as elements of F.
		of := a.tensor(s.Den)
		a.set(s.Out, of)
		if !of.within(Interval{-half, half}) {
			return wide(of)
		}
	}
	return nil
}

// wide returns the error for an interval that is too wide.
func wide(acc Interval) error {
	return fmt.Errorf("an accumulator may be anything in [%d, %d]", acc.Min, acc.Max)
}

// lookup is step for a look-up whose accumulator is in acc.
func (a *analysis) lookup(s *model.Step, acc Interval) error {
	sides := a.sides(s)
	a.set(s.Lo, Interval{0, 1<<s.Shift - 1})
	both := acc.and(sides)
	if both.empty() {
		both = sides // no witness satisfies the step, so any interval of its results is right
	}
	keys := Interval{both.Min >> s.Shift, both.Max >> s.Shift}
	a.keys[s] = keys
	values := a.values(s.Table, keys)
	a.set(s.Out, values)
	if acc.Max-sides.Min >= field.P || sides.Max-acc.Min >= field.P {
		return wide(acc)
	}
	if s.Out != model.None && !values.within(Interval{-half, half}) {
		return fmt.Errorf("a value of table %q may be anything in [%d, %d]", a.g.Tables[s.Table].Name, values.Min, values.Max)
	}
	return nil
}

// values returns an interval of a table's values at keys.
func (a *analysis) values(id model.TableID, keys Interval) Interval {
	t := &a.g.Tables[id]
	switch t.Kind {
	case model.TableFunc:
		return a.tensor(t.Values)
	case model.TablePiecewise:
		keys = Interval{keys.Min >> t.Drop, keys.Max >> t.Drop}
		all := nothing
		for p, here := range pieces(t, keys) {
			all = all.hull(here.Scale(p.Slope).Add(point(p.Offset)))
		}
		return all
	}
	return Interval{}
}
