package inspect

import (
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/ledger"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// Key is a verification key: the quantised graph, what is committed, and the
// security of every round of its proofs.
type Key struct {
	Name       string  `json:"name"`
	Commitment string  `json:"model_commitment"`
	TargetBits int     `json:"target_bits"`
	GrindBits  int     `json:"grind_bits"`
	Soundness  string  `json:"soundness"`
	Hash       string  `json:"hash"`
	Inputs     []Int   `json:"inputs"`
	Outputs    []Int   `json:"outputs"`
	Kinds      []Kind  `json:"tensors"`
	Tables     []Table `json:"tables"`
	Steps      []Steps `json:"steps"`
	Free       []Free  `json:"free_dimensions,omitempty"`
	Chunks     int     `json:"chunks"`
	Trees      []Tree  `json:"trees"`
	Rounds     []Round `json:"rounds"`
	Source     *Source `json:"source,omitempty"`
	MinBits    float64 `json:"min_bits"`
	Hidden     *Hidden `json:"hidden,omitempty"`
}

// Hidden describes a key that hides weights.
type Hidden struct {
	Proofs    int    `json:"proofs"`               // number of proofs that the key is good for
	Positions uint64 `json:"positions"`            // at how many positions all proofs together may open rows of the weights
	Each      int    `json:"positions_of_a_proof"` // at how many positions one proof opens rows at most
	// Budget is what is left, if the secret was given.
	Budget *ledger.Budget `json:"budget,omitempty"`
}

// hiddenOf describes a key that hides weights; nil for other keys.
func hiddenOf(k *proof.Key) *Hidden {
	if !k.Hides() {
		return nil
	}
	t := k.FixedTree()
	return &Hidden{Proofs: k.Proofs(), Positions: soundness.Budget(t.RowVars, t.TailLog), Each: k.MostPositions()}
}

// print writes the description as text; nothing if h is nil.
func (h *Hidden) print(w io.Writer) {
	if h == nil {
		return
	}
	ui.Line(w, "hidden", "weights, in up to %d proofs: they may open rows at %d positions, a proof takes %d at most", h.Proofs, h.Positions, h.Each)
	ui.Line(w, "public", "all that is listed here; names, shapes, scales and ranges of all tensors; tables; index lists")
	if b := h.Budget; b != nil {
		ui.Line(w, "budget", "%d positions left: %d proofs%s", b.Left, b.Proofs(), b.OfShare())
	}
}

// Source says what a key was made from.
type Source struct {
	Files     []string `json:"files_sha256"` // SHA-256 of the model's files, the main one first
	Quantiser int      `json:"quantiser"`    // version
	Mode      string   `json:"mode"`
	Headroom  float64  `json:"headroom"`
	Ranges    int      `json:"ranges"`  // number of values with a recorded range
	Formats   int      `json:"formats"` // number of values with a recorded format; 0 if all have the usual one
}

// sourceOf describes the source of a key; nil if the key does not have it.
func sourceOf(s *proof.Source) *Source {
	if s == nil {
		return nil
	}
	d := &Source{Quantiser: s.Quantiser, Mode: config.ModeAuto, Headroom: s.Headroom, Ranges: len(s.Ranges) / 3, Formats: len(s.Formats)}
	if s.W8A8 {
		d.Mode = config.ModeW8A8
	}
	for _, f := range s.Files {
		d.Files = append(d.Files, hex.EncodeToString(f[:]))
	}
	return d
}

// Int is a public tensor of integers, in units of 2^(−Frac).
type Int struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	Frac  int    `json:"frac"`
	Fracs []int  `json:"fracs,omitempty"` // in place of Frac: one for each index of the last axis
	Min   int64  `json:"min"`
	Max   int64  `json:"max"`
}

// Free is a free dimension of the circuit.
type Free struct {
	Name  string `json:"name"`
	Bound int    `json:"bound"`
	Size  int    `json:"size"` // for which the rest of the description holds
}

// Kind sums up the tensors of one kind.
type Kind struct {
	Kind    string `json:"kind"`
	Tensors int    `json:"tensors"`
	Entries int    `json:"entries"`
}

// Table is a look-up table and its use.
type Table struct {
	Name    string `json:"name"`
	Bits    int    `json:"bits"`
	Lookups int    `json:"lookups"` // number of entries that are looked up in it
	// Saturated is the number of the table's rows of which proofs state how often they were used.
	Saturated int `json:"saturated_rows,omitempty"`
}

// Steps sums up the constraints of one kind.
type Steps struct {
	Kind    string `json:"kind"`
	Steps   int    `json:"steps"`
	Entries int    `json:"entries"`
}

// Tree is a committed tree of the opening.
type Tree struct {
	What    string `json:"what"`
	Entries uint64 `json:"entries"`
	Rows    int    `json:"rows"`
	RowVars int    `json:"row_vars"`
	Root    string `json:"root,omitempty"` // if it is in the key
}

// Round is a challenge of the protocol with its security.
type Round struct {
	Name  string  `json:"name"`
	Times int     `json:"times"`
	Grind int     `json:"grind_bits"`
	Bits  float64 `json:"bits"`
}

// OfKey describes k, with free dimensions of size 1 and with the parameters of the
// opening that a prover would choose.
func OfKey(k *proof.Key) (_ *Key, err error) {
	defer must.Catch(&err)
	p := must.Get(k.Plan(k.Circuit.Unit()))
	return describe(k, p), nil
}

// describe describes k with the sizes and the opening of a plan.
func describe(k *proof.Key, p *plan.Plan) *Key {
	g := p.Graph
	d := &Key{
		Name: g.Name, Commitment: hex.EncodeToString(k.Digest[:]),
		TargetBits: k.Security.TargetBits, GrindBits: k.Security.GrindBits, Soundness: k.Security.Mode.String(), Hash: k.Security.Hash.String(),
		Inputs: public(g, g.Inputs), Outputs: public(g, g.Outputs), Kinds: kinds(g), Tables: tables(g), Steps: steps(g),
		Chunks: g.Chunks, Source: sourceOf(k.Source), Hidden: hiddenOf(k),
	}
	for i, f := range k.Circuit.Free {
		d.Free = append(d.Free, Free{f.Name, f.Bound, g.Instance.Sizes[i]})
	}
	roots := k.Roots()
	for i := range p.Trees {
		t := &p.Trees[i]
		what, root := "witness", ""
		if t.Fixed {
			what, root = "model", hex.EncodeToString(roots[i][:])
		}
		if t.Fixed && len(k.Trees) == 2 {
			what = []string{"base", "adapter"}[i]
		}
		d.Trees = append(d.Trees, Tree{what, t.Values(), t.Rows(), t.RowVars, root})
	}
	d.Rounds = seq.Map(p.Rounds, func(r soundness.Round) Round { return Round{r.Name, r.Times, r.Grind, r.Bits.Float()} })
	d.MinBits = p.Strength().Total.Float()
	return d
}

// public describes public tensors.
func public(g *model.Graph, ids []model.TensorID) []Int {
	var out []Int
	for _, id := range ids {
		t := &g.Tensors[id]
		out = append(out, Int{t.Name, t.Shape, t.Frac, t.Fracs, t.Min, t.Max})
	}
	return out
}

// kinds counts the tensors of each kind.
func kinds(g *model.Graph) []Kind {
	out := []Kind{
		model.Input: {Kind: "input"}, model.Fixed: {Kind: "fixed"}, model.Witness: {Kind: "witness"}, model.Virtual: {Kind: "virtual"}, model.ByFormula: {Kind: "formula"},
		model.Empty: {Kind: "empty"},
	}
	for i := range g.Tensors {
		k := &out[g.Tensors[i].Kind]
		k.Tensors++
		k.Entries += model.Size(g.Tensors[i].Shape)
	}
	return out
}

// tables describes the tables.
func tables(g *model.Graph) []Table {
	out, lookUps := make([]Table, len(g.Tables)), g.LookedUp()
	for i := range g.Tables {
		t := &g.Tables[i]
		out[i] = Table{Name: t.Name, Bits: t.Bits, Lookups: lookUps[i], Saturated: t.SaturatedRows()}
	}
	return out
}

// steps counts the steps of each kind.
func steps(g *model.Graph) []Steps {
	out := []Steps{
		model.StepLookup: {Kind: "look-up"}, model.StepExact: {Kind: "exact"}, model.StepZero: {Kind: "zero"}, model.StepDivide: {Kind: "divide"},
		model.StepMax: {Kind: "maximum"},
	}
	for i := range g.Steps {
		s := &out[g.Steps[i].Kind]
		s.Steps++
		s.Entries += model.Size(g.Steps[i].Shape)
	}
	return out
}

// Print writes the description as text.
func (k *Key) Print(w io.Writer) {
	ui.Line(w, "key", "%s, commitment %s", k.Name, k.Commitment)
	ui.Line(w, "security", "%d bits wanted, %s decoding, at most %d bits of grinding, hashed with %s", k.TargetBits, k.Soundness, k.GrindBits, k.Hash)
	k.Hidden.print(w)
	for _, x := range k.Free {
		ui.Line(w, "free", "%s, 1 to %d; what follows is for %d", x.Name, x.Bound, x.Size)
	}
	for _, x := range k.Inputs {
		unit := fmt.Sprintf("2^%d", -x.Frac)
		if n := len(x.Fracs); n > 0 {
			unit = fmt.Sprintf("2^%d to 2^%d", -slices.Max(x.Fracs), -slices.Min(x.Fracs))
		}
		ui.Line(w, "input", "%s %v, units of %s, in [%d, %d]", x.Name, x.Shape, unit, x.Min, x.Max)
	}
	for _, x := range k.Outputs {
		ui.Line(w, "output", "%s %v, units of 2^%d, in [%d, %d]", x.Name, x.Shape, -x.Frac, x.Min, x.Max)
	}
	if s := k.Source; s != nil {
		for _, f := range s.Files {
			ui.Line(w, "made from", "a file with the SHA-256 %s", f)
		}
		ui.Line(w, "quantised", "by version %d, mode %s, headroom %v, ranges of %d values", s.Quantiser, s.Mode, s.Headroom, s.Ranges)
	}
	for _, section := range []struct {
		header []string
		rows   [][]string
	}{
		{[]string{"tensors", "number", "entries"}, seq.Map(k.Kinds, func(x Kind) []string { return ui.Cells("%s\t%d\t%d", x.Kind, x.Tensors, x.Entries) })},
		{[]string{fmt.Sprintf("steps (%d chunks)", k.Chunks), "number", "entries"},
			seq.Map(k.Steps, func(x Steps) []string { return ui.Cells("%s\t%d\t%d", x.Kind, x.Steps, x.Entries) })},
		{[]string{"table", "bits", "look-ups", "saturated rows"},
			seq.Map(k.Tables, func(x Table) []string { return ui.Cells("%s\t%d\t%d\t%d", x.Name, x.Bits, x.Lookups, x.Saturated) })},
		{[]string{"commitment", "entries", "rows", "root"},
			seq.Map(k.Trees, func(x Tree) []string {
				return ui.Cells("%s\t%d\t%d × 2^%d\t%s", x.What, x.Entries, x.Rows, x.RowVars, x.Root)
			})},
	} {
		fmt.Fprintln(w)
		ui.Table(w, section.header, section.rows)
	}
	k.printRounds(w)
}

// Tenths writes bits of security, rounded down to one decimal.
func Tenths(bits float64) string { return fmt.Sprintf("%.1f", math.Floor(10*bits)/10) }

// printRounds writes the bits of security of every round, and the minimum.
func (k *Key) printRounds(w io.Writer) {
	rows := seq.Map(k.Rounds, func(r Round) []string { return ui.Cells("%s\t%d\t%d\t%s", r.Name, r.Times, r.Grind, Tenths(r.Bits)) })
	fmt.Fprintln(w)
	ui.Table(w, []string{"round", "times", "grinding", "bits"}, append(rows, []string{"minimum", "", "", Tenths(k.MinBits)}))
}
