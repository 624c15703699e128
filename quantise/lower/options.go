package lower

import (
	"cmp"
	"fmt"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// A Format says how precise a value of the float graph is to be, in place of the bits
// that all values of the model share. A zero field keeps the shared number.
type Format struct {
	// Bits is the number of bits of the value, sign excluded: 4 to fixed.FormatBits. The calibrated
	// range, head-room included, fills them.
	Bits int
	// Weights is for a value that is a product with constant weights: the number of bits of
	// the largest weight, 2 to FormatWeights. If one accumulator has no room for such weights, the
	// other factor is cut into limbs. More than PartWeights bits take two fixed tensors, and the number
	// then counts for the largest weights of half the channels. For a product of two
	// computed matrices any number but 0 says that the factors keep the bits that they have,
	// and that the second factor is cut into limbs for that.
	Weights int
}

// Formats are the formats of values by name: graph inputs and node outputs.
type Formats map[string]Format

const (
	PartWeights   = 16                            // the most bits of weights that one fixed tensor holds
	FormatWeights = PartWeights + finestParts - 2 // the most bits of weights in two fixed tensors
)

// check returns an error if the numbers of f are out of range.
func (f Format) check() error {
	if f.Bits != 0 && (f.Bits < 4 || f.Bits > fixed.FormatBits) || f.Weights != 0 && (f.Weights < 2 || f.Weights > FormatWeights) {
		return fmt.Errorf("a format of %d bits with weights of %d", f.Bits, f.Weights)
	}
	return nil
}

// Code returns the format as a number below 2^16, 0 for none.
func (f Format) Code() uint32 { return uint32(f.Bits | f.Weights<<8) }

// FormatOf is the inverse of Code. It refuses codes that no format has.
func FormatOf(code uint32) (Format, error) {
	f := Format{int(code & 0xff), int(code >> 8)}
	if code >= 1<<16 {
		return f, fmt.Errorf("no format: %d", code)
	}
	return f, f.check()
}

// ManyWeights is the number of weights from which on a transformer is large: formats are chosen in
// another way then, and scores of texts are rounded in another way.
var ManyWeights = 1 << 28

// HasMany reports whether a model has ManyWeights or more.
func HasMany(fg *graph.Graph) bool {
	weights := 0
	for _, t := range fg.Consts {
		weights += t.Len()
	}
	return weights >= ManyWeights
}

// Options are the choices the caller may make. Zero values mean the default.
type Options struct {
	// Mode is "auto" (the precision that the bounds allow in one accumulator, and
	// more for the values whose Formats say so; the default), "w8a8" (8-bit weights
	// and activations) or "exact" (for which precision.Choose begins with formats that are wide
	// everywhere).
	Mode string
	// WeightBits bounds the signed mantissa of a weight: 2 to 16. Default 16,
	// in w8a8 mode 8.
	WeightBits int
	// ActBits bounds an activation, sign included: 4 to 16. Default 16, in
	// w8a8 mode 8.
	ActBits int
	// Headroom multiplies the calibrated ranges: at least 1. Default 2.
	Headroom float64
	// Target is the error of the outputs, in units of their range, that precision.Choose chooses
	// formats for: above 0, at most 1. Default: the constant Target. Logits over a vocabulary are
	// judged by a divergence, whose limit is in proportion to Target.
	Target float64
	// MaxTableBits bounds the tables: 10 to model.MaxTableBits, the default. It
	// does not bind values with a format of their own.
	MaxTableBits int
	// Formats has the formats of values that are to be more precise than the mode makes
	// them. Names that the graph does not have are ignored.
	Formats Formats
	// Length is the greatest length of texts: if the model leaves the length open
	// (function Length), it is a free dimension of the circuit with this bound. 0: the circuit has
	// the length of the float graph.
	Length int
	// Searched says that a search chose the formats, so that a caller cannot change them:
	// error messages do not advise other formats.
	Searched bool
	// Hide makes a circuit that tells nothing of secret constants but the statistics that
	// weights.Channels has, rounded to a grid of powers of two; ranges are rounded
	// outwards to that grid. Constants of floats are secret unless they are graph.Tensor.Public.
	Hide bool
	// Public names further constants that are not secret.
	Public []string
	// Base, if not nil, is the model that this one is an adapter to: the circuit has the base's weights as its circuit has them.
	Base *Base
}

// The values of Options.Mode.
const (
	ModeAuto  = "auto"
	modeW8A8  = "w8a8"
	ModeExact = "exact"
)

// WithDefaults checks the options and fills in the defaults.
func (o Options) WithDefaults() (Options, error) {
	bits := 16
	switch o.Mode {
	case "", ModeAuto:
		o.Mode = ModeAuto
	case ModeExact:
	case modeW8A8:
		bits = 8
	default:
		return o, fmt.Errorf("unknown quantisation mode %q: use auto, exact or w8a8", o.Mode)
	}
	o.WeightBits, o.ActBits = cmp.Or(o.WeightBits, bits), cmp.Or(o.ActBits, bits)
	o.MaxTableBits = cmp.Or(o.MaxTableBits, model.MaxTableBits)
	o.Headroom, o.Target = cmp.Or(o.Headroom, 2), cmp.Or(o.Target, Target)
	for name, f := range o.Formats {
		if err := f.check(); err != nil {
			return o, fmt.Errorf("value %q: %w", name, err)
		}
	}
	switch {
	case o.WeightBits < 2 || o.WeightBits > 16:
		return o, fmt.Errorf("weight bits %d: want 2 to 16", o.WeightBits)
	case o.ActBits < 4 || o.ActBits > 16:
		return o, fmt.Errorf("activation bits %d: want 4 to 16", o.ActBits)
	case !(o.Headroom >= 1 && o.Headroom <= 1<<20):
		return o, fmt.Errorf("headroom %g: want at least 1", o.Headroom)
	case !(o.Target > 0 && o.Target <= 1):
		return o, fmt.Errorf("target of the error %g: want above 0 and at most 1", o.Target)
	case o.MaxTableBits < 10 || o.MaxTableBits > model.MaxTableBits:
		return o, fmt.Errorf("table bits %d: want 10 to %d", o.MaxTableBits, model.MaxTableBits)
	}
	return o, nil
}

// Target is the error of the outputs, in units of their range, that formats are
// chosen for by default. A search scales errors so that it always aims at this number, whatever Options.Target is.
const Target = 1e-3

// LimbedBits is the most bits of a value for which a product with weights, taken in two limbs
// of the value, leaves the weights their bits.
const LimbedBits = 20

// FirstBits is the number of bits of a format with which a search begins to make a value finer.
const FirstBits = 15
