package model

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
)

// Validate checks every structural property that the prover, the executor and the
// verifier rely on, for a graph that may come from a hostile key:
//
//   - identifiers exist, and shapes, sizes and coefficients are bounded;
//   - definitions and steps read only what comes before them;
//   - views and products fit their tensors;
//   - the constraints leave a prover no choice of what it commits to (validateForced);
//   - no field is set that the kind of the tensor, table or step does not use;
//   - names may be printed.
//
// It does not check that all integers stay within Bound: that depends on the weights,
// and the issuer of the key has to check it (docs/protocol.md, "Statement").
func (g *Graph) Validate() error {
	if err := validateName(g.Name); err != nil {
		return err
	}
	if g.Chunks < 1 || g.Chunks > 1<<16 {
		return fmt.Errorf("number of chunks %d out of range", g.Chunks)
	}
	for _, check := range []func(TensorID) error{g.validateTensor, g.validateDefinition} {
		if i, err := first(len(g.Tensors), func(i int) error { return check(TensorID(i)) }); err != nil {
			return fmt.Errorf("tensor %d: %w", i, err)
		}
	}
	if err := g.validateNesting(); err != nil {
		return err
	}
	if err := g.validateBase(); err != nil {
		return err
	}
	for i := range g.Tables {
		if err := g.validateTable(&g.Tables[i]); err != nil {
			return fmt.Errorf("table %d: %w", i, err)
		}
	}
	if i, err := first(len(g.Steps), func(i int) error { return g.validateStep(&g.Steps[i]) }); err != nil {
		return fmt.Errorf("step %d: %w", i, err)
	}
	if err := g.validatePublic(); err != nil {
		return err
	}
	if err := g.validateMults(); err != nil {
		return err
	}
	if err := g.validateUses(); err != nil {
		return err
	}
	return g.validateForced()
}

// validated is the number of tensors or steps that one goroutine checks.
const validated = 1 << 10

// first returns the least i below n for which check(i) fails, and its error.
func first(n int, check func(i int) error) (int, error) {
	at, failure := n, error(nil)
	parallel.Collect(n, validated, func(lo, hi int) func() {
		i, err := lo, error(nil)
		for ; i < hi && err == nil; i++ {
			err = check(i)
		}
		return func() {
			if err != nil && i <= at {
				at, failure = i-1, err
			}
		}
	})
	return at, failure
}

// validatePublic checks that Inputs lists each input tensor once, and nothing else. If it listed a tensor
// twice, a statement would have two lists of values for it, and the proof would be about one of them. An input
// tensor that is not listed would have no values. Tensors without entries, and those with codes for numbers that
// are not finite, must be inputs or outputs, and no output may be a product.
func (g *Graph) validatePublic() error {
	if len(g.Outputs) == 0 {
		return errors.New("a graph needs an output")
	}
	listed := map[TensorID]bool{}
	for _, id := range g.Inputs {
		if !g.has(id) || g.Tensors[id].Kind != Input && g.Tensors[id].Kind != Empty || listed[id] {
			return fmt.Errorf("input %d is not an input tensor, or comes twice", id)
		}
		listed[id] = true
	}
	given := map[TensorID]bool{} // the outputs
	for _, id := range g.Outputs {
		if !g.has(id) {
			return fmt.Errorf("output %d does not exist", id)
		}
		if g.IsProduct(id) {
			return fmt.Errorf("output %d is a product: %w", id, errProduct)
		}
		given[id] = true
	}
	for i := range g.Tensors {
		t, id := &g.Tensors[i], TensorID(i)
		switch {
		case t.Kind == Input && !listed[id]:
			return fmt.Errorf("tensor %d is an input that the graph does not list", i)
		case t.Kind == Empty && !listed[id] && !given[id]:
			return fmt.Errorf("tensor %d has no entries, and is neither an input nor an output", i)
		case t.Numbers != FiniteNumbers && t.Kind != Input && !given[id]:
			return fmt.Errorf("tensor %d has codes, and is neither an input nor an output", i)
		}
	}
	return nil
}

// has reports whether there is a tensor with this identifier.
func (g *Graph) has(id TensorID) bool { return id >= 0 && int(id) < len(g.Tensors) }

// validateShape checks that a shape has at most MaxRank axes, each of at least one index, and at most MaxVars variables. So the number of
// its entries is at most 2^MaxVars.
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

// validateTensor checks a tensor by itself, without its definition.
func (g *Graph) validateTensor(id TensorID) error {
	t := &g.Tensors[id]
	if err := validateName(t.Name); err != nil {
		return err
	}
	if t.Kind == Empty {
		return t.validateEmpty()
	}
	if err := validateShape(t.Shape); err != nil {
		return err
	}
	if err := t.validateRange(); err != nil {
		return err
	}
	if n := len(t.Fracs); n > 0 && (t.Kind != Input && !slices.Contains(g.Hidden, id) || t.Frac != 0 || len(t.Shape) == 0 || n != t.Shape[len(t.Shape)-1]) {
		return fmt.Errorf("%d scales of %v entries", n, t.Shape)
	}
	if t.Kind > Empty {
		return fmt.Errorf("unknown kind %d", t.Kind)
	}
	if t.Chunk < 0 || t.Chunk >= g.Chunks {
		return fmt.Errorf("chunk %d does not exist", t.Chunk)
	}
	if t.Kind != Witness && t.Chunk != 0 {
		return fmt.Errorf("chunk %d of a tensor that is in none", t.Chunk)
	}
	if (t.Kind == Virtual) != (len(t.Def) > 0 || t.Product != nil) || len(t.Def) > 0 && t.Product != nil {
		return errors.New("exactly the virtual tensors have a definition, a sum or a product")
	}
	return t.validateFormula()
}

// validateRange checks that the range of the entries is within ±Bound, and that it has finite numbers besides the codes.
func (t *Tensor) validateRange() error {
	if t.Min > t.Max || t.Min <= -Bound || t.Max >= Bound {
		return fmt.Errorf("range [%d, %d] is not within ±2^30", t.Min, t.Max)
	}
	if t.Numbers > MaskingNumbers {
		return fmt.Errorf("unknown numbers %d", t.Numbers)
	}
	if lo, hi := t.Finite(); lo > hi {
		return fmt.Errorf("codes in the range [%d, %d]", t.Min, t.Max)
	}
	return nil
}

// validateDefinition checks the definition of a virtual tensor. The shapes of all tensors have been checked
// before. A definition may name only tensors before it, so definitions have no cycles.
func (g *Graph) validateDefinition(id TensorID) error {
	t := &g.Tensors[id]
	if t.Product != nil {
		return g.validateProductTensor(id)
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

// validateNesting checks that the depth of definitions, which have no cycles, is at most MaxNesting. Without this bound a
// hostile key could make the verifier recurse as deep as the key has tensors.
func (g *Graph) validateNesting() error {
	depth := make([]int32, len(g.Tensors))
	for i := range g.Tensors {
		for id := range g.Tensors[i].Sources {
			depth[i] = max(depth[i], depth[id]+1)
		}
		if depth[i] > MaxNesting {
			return fmt.Errorf("tensor %d: more than %d virtual tensors upon each other", i, MaxNesting)
		}
	}
	return nil
}

// validateLinear checks a summand of a tensor or step of shape out.
func (g *Graph) validateLinear(l *Linear, out []int) error {
	if !g.has(l.Src) {
		return fmt.Errorf("source %d does not exist", l.Src)
	}
	if l.Coef <= -Bound || l.Coef >= Bound {
		return fmt.Errorf("coefficient %d out of range", l.Coef)
	}
	if g.Tensors[l.Src].Kind == Empty {
		return fmt.Errorf("source %d has no entries", l.Src)
	}
	if g.IsProduct(l.Src) {
		return fmt.Errorf("source %d is a product: %w", l.Src, errProduct)
	}
	in := g.Tensors[l.Src].Shape
	if l.View == nil {
		return sameShape(out, in)
	}
	return l.View.validate(g.Tensors, out, in)
}

func sameShape(a, b []int) error {
	if !slices.Equal(a, b) {
		return fmt.Errorf("shapes %v and %v differ", a, b)
	}
	return nil
}

// validateTable checks a table. Its keys are 2^Bits consecutive integers, so they are distinct modulo p.
func (g *Graph) validateTable(t *Table) error {
	if err := validateName(t.Name); err != nil {
		return err
	}
	if t.Bits < 0 || t.Bits > MaxTableBits {
		return fmt.Errorf("%d bits out of range", t.Bits)
	}
	if t.Min <= -Bound || t.Min >= Bound {
		return fmt.Errorf("first key %d out of range", t.Min)
	}
	if t.Kind != TablePiecewise && len(t.Pieces) != 0 || t.Kind != TableFunc && t.Values != None {
		return errors.New("values of another kind of table")
	}
	if t.Drop != 0 && (t.Kind != TablePiecewise || t.Min != 0 || t.Drop < 0 || t.Drop >= t.Bits) {
		return fmt.Errorf("%d of %d bits of keys from %d without a meaning", t.Drop, t.Bits, t.Min)
	}
	if err := t.validateSaturated(); err != nil {
		return err
	}
	return g.validateValues(t)
}

// validateValues checks the values that a table of its kind has.
func (g *Graph) validateValues(t *Table) error {
	switch t.Kind {
	case TableRange:
		return nil
	case TablePiecewise:
		return t.validatePieces()
	case TableFunc:
		if !g.has(t.Values) || g.Tensors[t.Values].Kind != Fixed {
			return errors.New("the value column is not a fixed tensor")
		}
		return sameShape(g.Tensors[t.Values].Shape, []int{1 << t.Bits})
	}
	return fmt.Errorf("unknown kind %d", t.Kind)
}

// validatePieces checks that the pieces are at most 64, in order, not empty, and cover the rows exactly. Every key then has one value.
func (t *Table) validatePieces() error {
	if len(t.Pieces) > 64 {
		return errors.New("too many pieces")
	}
	at := int64(0)
	for _, p := range t.Pieces {
		if p.End <= at || p.Slope <= -Bound || p.Slope >= Bound || p.Offset <= -Bound || p.Offset >= Bound {
			return errors.New("malformed piece")
		}
		at = p.End
	}
	if at != 1<<(t.Bits-t.Drop) {
		return errors.New("pieces do not cover the table")
	}
	return nil
}

// validateMults checks that every chunk has exactly one multiplicity tensor
// for each table that its lookups use, and no other, ordered by chunk and then table.
// Without one the look-up argument would have no rows of that table.
func (g *Graph) validateMults() error {
	type key struct {
		chunk int
		table TableID
	}
	used := map[key]bool{}
	latest := make([]int, len(g.Tables)) // by table: 1 + the chunk of the latest step that uses it; saves most accesses to used
	for i := range g.Steps {
		if s := &g.Steps[i]; s.Kind == StepLookup && latest[s.Table] != 1+s.Chunk {
			latest[s.Table] = 1 + s.Chunk
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

// validateUses checks that every table is used by a look-up, as an unused table would be
// part of the key without any effect.
func (g *Graph) validateUses() error {
	looked := make([]bool, len(g.Tables))
	for i := range g.Steps {
		if g.Steps[i].Kind == StepLookup {
			looked[g.Steps[i].Table] = true
		}
	}
	for i := range looked {
		if !looked[i] {
			return fmt.Errorf("table %d is looked up in by no step", i)
		}
	}
	return nil
}
