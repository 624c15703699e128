package model

import (
	"errors"
	"fmt"
	"math/bits"
)

// Validate checks every structural property that the prover, the executor and
// the verifier rely on: identifiers in range, shapes and sizes bounded,
// definitions that only look back, views and products that fit their tensors.
// It does not check that the integers stay within Bound: that depends on the
// weights and is the business of whoever issues the key.
func (g *Graph) Validate() error {
	if g.Chunks < 1 || g.Chunks > 1<<16 {
		return fmt.Errorf("number of chunks %d out of range", g.Chunks)
	}
	for i := range g.Tensors {
		if err := g.validateTensor(TensorID(i)); err != nil {
			return fmt.Errorf("tensor %d: %w", i, err)
		}
	}
	for i := range g.Tables {
		if err := g.validateTable(&g.Tables[i]); err != nil {
			return fmt.Errorf("table %d: %w", i, err)
		}
	}
	for i := range g.Steps {
		if err := g.validateStep(&g.Steps[i]); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	if len(g.Inputs) == 0 || len(g.Outputs) == 0 {
		return errors.New("a graph needs an input and an output")
	}
	if err := g.validateInputs(); err != nil {
		return err
	}
	for _, id := range g.Outputs {
		if !g.has(id) {
			return fmt.Errorf("output %d does not exist", id)
		}
	}
	if err := g.validateMults(); err != nil {
		return err
	}
	return g.validateResults()
}

// validateInputs checks that the inputs are all input tensors, each once: of
// one that came twice, only one list of public values would be bound, and one
// that did not come would have none.
func (g *Graph) validateInputs() error {
	listed := map[TensorID]bool{}
	for _, id := range g.Inputs {
		if !g.has(id) || g.Tensors[id].Kind != Input || listed[id] {
			return fmt.Errorf("input %d is not an input tensor, or comes twice", id)
		}
		listed[id] = true
	}
	for i := range g.Tensors {
		if g.Tensors[i].Kind == Input && !listed[TensorID(i)] {
			return fmt.Errorf("tensor %d is an input that the graph does not list", i)
		}
	}
	return nil
}

func (g *Graph) has(id TensorID) bool { return id >= 0 && int(id) < len(g.Tensors) }

func validateShape(shape []int) error {
	if len(shape) > MaxRank {
		return fmt.Errorf("rank %d is over %d", len(shape), MaxRank)
	}
	vars := 0
	for _, d := range shape {
		if d < 1 || d > 1<<MaxVars {
			return fmt.Errorf("dimension %d out of range", d)
		}
		vars += Log2Ceil(d)
	}
	if vars > MaxVars {
		return fmt.Errorf("shape %v is too large", shape)
	}
	return nil
}

func (g *Graph) validateTensor(id TensorID) error {
	t := &g.Tensors[id]
	if err := validateShape(t.Shape); err != nil {
		return err
	}
	if t.Kind > Virtual {
		return fmt.Errorf("unknown kind %d", t.Kind)
	}
	if t.Min > t.Max || t.Min <= -Bound || t.Max >= Bound {
		return fmt.Errorf("range [%d, %d] is not within ±2^30", t.Min, t.Max)
	}
	if t.Chunk < 0 || t.Chunk >= g.Chunks {
		return fmt.Errorf("chunk %d does not exist", t.Chunk)
	}
	if (t.Kind == Virtual) != (len(t.Def) > 0) {
		return errors.New("exactly the virtual tensors have a definition")
	}
	for _, l := range t.Def {
		if l.Src >= id {
			return errors.New("definition looks ahead")
		}
		if err := g.validateLinear(&l, t.Shape); err != nil {
			return err
		}
	}
	return nil
}

func (g *Graph) validateLinear(l *Linear, out []int) error {
	if !g.has(l.Src) {
		return fmt.Errorf("source %d does not exist", l.Src)
	}
	if l.Coef <= -Bound || l.Coef >= Bound {
		return fmt.Errorf("coefficient %d out of range", l.Coef)
	}
	in := g.Tensors[l.Src].Shape
	if l.View == nil {
		return sameShape(out, in)
	}
	return l.View.validate(out, in)
}

func sameShape(a, b []int) error {
	if len(a) != len(b) {
		return fmt.Errorf("shapes %v and %v differ", a, b)
	}
	for i := range a {
		if a[i] != b[i] {
			return fmt.Errorf("shapes %v and %v differ", a, b)
		}
	}
	return nil
}

// maxWiring bounds the wired pairs of one group that does more than rename
// variables: the verifier walks them.
const maxWiring = 1 << 24

func (v *View) validate(out, in []int) error {
	if v.Fill <= -Bound || v.Fill >= Bound {
		return fmt.Errorf("fill %d out of range", v.Fill)
	}
	var seenOut, seenIn uint
	for i := range v.Groups {
		g := &v.Groups[i]
		for _, a := range g.Out {
			if a < 0 || a >= len(out) || seenOut>>a&1 == 1 {
				return fmt.Errorf("view: output axis %d missing or used twice", a)
			}
			seenOut |= 1 << a
		}
		for j, a := range g.In {
			if a < 0 || a >= len(in) || seenIn>>a&1 == 1 {
				return fmt.Errorf("view: source axis %d missing or used twice", a)
			}
			if j > 0 && a != g.In[j-1]+1 {
				return errors.New("view: source axes of a group must be adjacent")
			}
			seenIn |= 1 << a
		}
		if err := g.validate(out, in, v.Fill != 0); err != nil {
			return err
		}
	}
	if bits.OnesCount(seenOut) != len(out) || bits.OnesCount(seenIn) != len(in) {
		return errors.New("view: an axis belongs to no group")
	}
	return nil
}

func (g *Group) validate(out, in []int, filled bool) error {
	if g.Map == MapAffine && (len(g.In) > 1 || len(g.Strides) != len(g.Out)) {
		return errors.New("view: malformed affine group")
	}
	if g.Map == MapReshape && sizeOf(out, g.Out) != sizeOf(in, g.In) {
		return errors.New("view: reshape changes the size")
	}
	if g.Map <= MapReshape && g.Trivial(out, in) {
		return nil
	}
	if sizeOf(in, g.In) > maxWiring {
		return errors.New("view: wiring too large")
	}
	work := 1
	for _, a := range g.Out {
		work *= out[a]
		if work > maxWiring {
			return errors.New("view: wiring too large")
		}
	}
	switch g.Map {
	case MapAffine:
		for _, s := range g.Sum {
			if s.Dim < 1 || s.Dim > maxWiring || s.Stride < -maxWiring || s.Stride > maxWiring {
				return errors.New("view: malformed sum")
			}
			if work *= s.Dim; work > maxWiring {
				return errors.New("view: wiring too large")
			}
		}
		for _, s := range g.Strides {
			if s < -maxWiring || s > maxWiring {
				return errors.New("view: stride out of range")
			}
		}
		if g.Base < -maxWiring || g.Base > maxWiring {
			return errors.New("view: base out of range")
		}
		if filled && len(g.Sum) > 0 {
			return errors.New("view: a fill value and a sum")
		}
	case MapIndex:
		if len(g.Out) != 1 || len(g.In) != 1 || len(g.Index) != out[g.Out[0]] {
			return errors.New("view: malformed index group")
		}
		for _, i := range g.Index {
			if i < -1 || i >= in[g.In[0]] {
				return fmt.Errorf("view: index %d out of range", i)
			}
		}
	case MapReshape:
	default:
		return fmt.Errorf("view: unknown map %d", g.Map)
	}
	return nil
}

// sizeOf returns the number of entries of the given axes of a valid shape.
func sizeOf(shape, axes []int) int {
	n := 1
	for _, a := range axes {
		n *= shape[a]
	}
	return n
}

func (g *Graph) validateTable(t *Table) error {
	if t.Bits < 0 || t.Bits > MaxTableBits {
		return fmt.Errorf("%d bits out of range", t.Bits)
	}
	if t.Min <= -Bound || t.Min >= Bound {
		return fmt.Errorf("first key %d out of range", t.Min)
	}
	switch t.Kind {
	case TableRange:
	case TablePiecewise:
		at := int64(0)
		if len(t.Pieces) > 64 {
			return errors.New("too many pieces")
		}
		for _, p := range t.Pieces {
			if p.End <= at || p.Slope <= -Bound || p.Slope >= Bound || p.Offset <= -Bound || p.Offset >= Bound {
				return errors.New("malformed piece")
			}
			at = p.End
		}
		if at != 1<<t.Bits {
			return errors.New("pieces do not cover the table")
		}
	case TableFunc:
		if !g.has(t.Values) || g.Tensors[t.Values].Kind != Fixed {
			return errors.New("the value column is not a fixed tensor")
		}
		return sameShape(g.Tensors[t.Values].Shape, []int{1 << t.Bits})
	default:
		return fmt.Errorf("unknown kind %d", t.Kind)
	}
	return nil
}

func (g *Graph) validateStep(s *Step) error {
	if err := validateShape(s.Shape); err != nil {
		return err
	}
	if s.Chunk < 0 || s.Chunk >= g.Chunks {
		return fmt.Errorf("chunk %d does not exist", s.Chunk)
	}
	if err := g.validateAcc(&s.Acc, s.Shape); err != nil {
		return err
	}
	switch s.Kind {
	case StepLookup:
		if s.Table < 0 || int(s.Table) >= len(g.Tables) {
			return fmt.Errorf("table %d does not exist", s.Table)
		}
		if s.Shift < 0 || s.Shift > MaxShift || (s.Lo == None) != (s.Shift == 0) {
			return fmt.Errorf("shift %d does not go with the remainder", s.Shift)
		}
		// acc = 2^Shift·key + lo must have one solution modulo p.
		if s.Shift > 0 && s.Shift+g.Tables[s.Table].Bits > 30 {
			return fmt.Errorf("shift %d and table of %d bits together exceed 30 bits", s.Shift, g.Tables[s.Table].Bits)
		}
		if (s.Out == None) != (g.Tables[s.Table].Kind == TableRange) {
			return errors.New("the table's values do not go with the output")
		}
	case StepExact:
		if s.Out == None {
			return errors.New("no output")
		}
	case StepZero:
		return nil
	case StepDivide:
		if s.Out == None || s.Lo == None || !g.has(s.Den) {
			return errors.New("a division needs a quotient, a remainder and a divisor")
		}
		if err := sameShape(g.Tensors[s.Den].Shape, s.Shape); err != nil {
			return err
		}
	default:
		return fmt.Errorf("unknown kind %d", s.Kind)
	}
	for _, id := range []TensorID{s.Lo, s.Out} {
		if id == None {
			continue
		}
		if !g.has(id) || g.Tensors[id].Kind != Witness || g.Tensors[id].Chunk != s.Chunk {
			return fmt.Errorf("result %d is not a witness tensor of the step's chunk", id)
		}
		if err := sameShape(g.Tensors[id].Shape, s.Shape); err != nil {
			return err
		}
	}
	return nil
}

func (g *Graph) validateAcc(a *Acc, shape []int) error {
	if a.Const <= -Bound || a.Const >= Bound {
		return fmt.Errorf("constant %d out of range", a.Const)
	}
	for i := range a.Linear {
		if err := g.validateLinear(&a.Linear[i], shape); err != nil {
			return err
		}
	}
	for i := range a.Products {
		if err := g.validateProduct(&a.Products[i], shape); err != nil {
			return fmt.Errorf("product: %w", err)
		}
	}
	return nil
}

func (g *Graph) validateProduct(p *Product, shape []int) error {
	if p.Coef <= -Bound || p.Coef >= Bound {
		return fmt.Errorf("coefficient %d out of range", p.Coef)
	}
	if !g.has(p.A) || !g.has(p.B) {
		return errors.New("operand does not exist")
	}
	dims := map[int]int{}
	for l, d := range shape {
		dims[l] = d
	}
	uses := map[int]int{}
	for _, op := range []struct {
		shape, labels []int
	}{{g.Tensors[p.A].Shape, p.LabelsA}, {g.Tensors[p.B].Shape, p.LabelsB}} {
		if len(op.shape) != len(op.labels) {
			return errors.New("one label an axis")
		}
		seen := map[int]bool{}
		for i, l := range op.labels {
			if l < 0 || l >= MaxRank*3 || seen[l] {
				return fmt.Errorf("label %d out of range or repeated", l)
			}
			seen[l] = true
			if d, ok := dims[l]; ok && d != op.shape[i] {
				return fmt.Errorf("label %d has dimensions %d and %d", l, d, op.shape[i])
			}
			dims[l] = op.shape[i]
			uses[l]++
		}
	}
	for l, n := range uses {
		if l >= len(shape) && n != 2 {
			return fmt.Errorf("contracted label %d is in one operand only", l)
		}
	}
	return nil
}

// validateMults checks that every chunk has exactly one multiplicity tensor
// for each table that its lookups use.
func (g *Graph) validateMults() error {
	type key struct {
		chunk int
		table TableID
	}
	used := map[key]bool{}
	for i := range g.Steps {
		if s := &g.Steps[i]; s.Kind == StepLookup {
			used[key{s.Chunk, s.Table}] = true
		}
	}
	last := key{-1, 0}
	for _, m := range g.Mults {
		k := key{m.Chunk, m.Table}
		if !used[k] || k.chunk < last.chunk || k.chunk == last.chunk && k.table <= last.table {
			return errors.New("multiplicities do not match the lookups")
		}
		last = k
		delete(used, k)
		if !g.has(m.Tensor) {
			return fmt.Errorf("multiplicity tensor %d does not exist", m.Tensor)
		}
		t := &g.Tensors[m.Tensor]
		if t.Kind != Witness || t.Chunk != m.Chunk {
			return errors.New("a multiplicity is not a witness tensor of its chunk")
		}
		if err := sameShape(t.Shape, []int{1 << g.Tables[m.Table].Bits}); err != nil {
			return err
		}
	}
	if len(used) != 0 {
		return errors.New("a table has no multiplicities")
	}
	return nil
}

// validateResults checks that every witness tensor is the result of one step,
// or the multiplicities of one table, and that every remainder of a lookup has
// a lookup in a range table of its own: a witness that nothing constrains is
// what a prover likes. (That the results of a division are constrained, which
// takes several steps together, is the business of whoever issues the key.)
func (g *Graph) validateResults() error {
	made := map[TensorID]bool{}
	result := func(id TensorID) error {
		if id != None && made[id] {
			return fmt.Errorf("tensor %d is the result of two steps", id)
		}
		made[id] = true
		return nil
	}
	ranged := map[TensorID]int{} // bits of a range that a tensor is looked up in
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Kind == StepZero {
			continue
		}
		if err := errors.Join(result(s.Lo), result(s.Out)); err != nil {
			return err
		}
		a := &s.Acc
		if s.Kind != StepLookup || a.Const != 0 || len(a.Products) != 0 || len(a.Linear) != 1 {
			continue
		}
		// In a range of two limbs the lower one is a remainder again, of a
		// smaller shift: the argument ends.
		l, t := &a.Linear[0], &g.Tables[s.Table]
		if l.Coef == 1 && l.View == nil && t.Kind == TableRange && t.Min == 0 && (s.Shift == 0 || t.Bits > 0) {
			if bits, ok := ranged[l.Src]; !ok || s.Shift+t.Bits < bits {
				ranged[l.Src] = s.Shift + t.Bits
			}
		}
	}
	for _, m := range g.Mults {
		if err := result(m.Tensor); err != nil {
			return err
		}
	}
	for i := range g.Tensors {
		if g.Tensors[i].Kind == Witness && !made[TensorID(i)] {
			return fmt.Errorf("witness tensor %d is the result of no step", i)
		}
	}
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Kind != StepLookup || s.Lo == None {
			continue
		}
		if bits, ok := ranged[s.Lo]; !ok || bits > s.Shift {
			return fmt.Errorf("step %d: nothing keeps the remainder within %d bits", i, s.Shift)
		}
	}
	return nil
}
