package lower

import (
	"cmp"
	"fmt"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
)

// A Format says how precise a value of the float graph is to be, where that is
// not what all values of the model have in common. Zero fields leave it at that.
type Format struct {
	// Bits of the value, sign excluded, which its calibrated range fills,
	// head-room included: 4 to FormatBits.
	Bits int
	// Weights is the number of bits of the largest of the constant weights that
	// the value is a product with: 2 to FormatWeights. Where one accumulator does
	// not hold them, the other factor is cut into limbs; more than PartWeights are two
	// tensors, and bits of half the channels' largest weights. For a product of two
	// computed matrices anything but 0 says that they keep the bits that they have,
	// and that the second is cut into limbs for that.
	Weights int
}

// Formats are the formats of values by name: graph inputs and node outputs.
type Formats map[string]Format

const (
	PartWeights   = 16
	FormatWeights = PartWeights + finestParts - 2
)

// check refuses what is no format.
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

// ManyWeights is from how many weights on a transformer is large.
var ManyWeights = 1 << 28

// HasMany reports whether a model has many weights.
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
	// and activations) or "exact" (of which Choose makes formats that are wide
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
	// Target is the error of the outputs, in units of their range, that Choose chooses
	// formats for: above 0, at most 1. Default Target. Logits over a vocabulary are
	// judged by a divergence that is in proportion.
	Target float64
	// MaxTableBits bounds the tables: 10 to model.MaxTableBits, the default. It
	// does not bind values with a format of their own.
	MaxTableBits int
	// Formats are those of values that are to be more precise than the mode has
	// them. Names of other graphs are ignored.
	Formats Formats
	// Length is the bound of the length of texts: if the model leaves that open
	// (function Length), it is a free dimension of the circuit. 0: it is fg's own.
	Length int
	// Searched says that the formats are those of a search, which no caller can change:
	// messages do not ask for others.
	Searched bool
	// Hide has the circuit tell nothing of the weights but the statistics of secret
	// constants that weights.Channels has, on a grid of powers of two; ranges are rounded
	// outwards to it. Constants are secret unless they are graph.Tensor.Public.
	Hide bool
	// Public names constants that are not secret all the same.
	Public []string
	// Base, if not nil, is the model that this one is an adapter to: the circuit has its weights as they are there.
	Base *Base
}

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
// chosen for by default. Within a search errors are in units such that this is
// what is aimed at.
const Target = 1e-3

// LimbedBits is the most bits of a value that products with weights take in two limbs without
// taking bits from the weights.
const LimbedBits = 20

// FirstBits is the least size of a value with a format that a search chooses.
const FirstBits = 15
