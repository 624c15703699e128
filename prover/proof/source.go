package proof

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/prover/proof/wire"
)

// Source says what the graph and the weights of a key were made from, in enough
// detail to make them again. No proof depends on it. Somebody who has the model uses it
// to check that the key is that model's: by quantising again and comparing the keys.
type Source struct {
	// Files are the SHA-256 of the model's own file and then of its external
	// data by increasing name.
	Files [][sha256.Size]byte
	// Quantiser is the version of the quantiser.
	Quantiser int
	// W8A8 is the quantiser's mode: with it eight bits, otherwise the widest that is safe.
	W8A8 bool
	// WeightBits, ActBits and TableBits are the most bits of weights, activations and tables, and Headroom the factor on calibrated
	// ranges (quantise.Options).
	WeightBits, ActBits, TableBits int
	Headroom                       float64
	// Ranges are the calibrated ranges, three codes each (quantise.Range.Codes): of the model's
	// inputs, then of the values of its nodes, in order. If the batch is free they are those of the model
	// with a batch of two.
	Ranges []uint32
	// Formats has one code for each value that has a range (quantise.Format.Code), or none if all
	// codes are 0.
	Formats []uint32
}

// Equal says whether two sources are the same; either may be nil.
func (s *Source) Equal(o *Source) bool {
	if s == nil || o == nil {
		return s == o
	}
	return slices.Equal(s.Files, o.Files) && s.Quantiser == o.Quantiser && s.W8A8 == o.W8A8 &&
		s.WeightBits == o.WeightBits && s.ActBits == o.ActBits && s.TableBits == o.TableBits &&
		s.Headroom == o.Headroom && slices.Equal(s.Ranges, o.Ranges) && slices.Equal(s.Formats, o.Formats)
}

// Bounds on a source, far above what models have.
const (
	maxSourceFiles  = 1 << 16
	maxSourceRanges = 3 << 20
	// RangeCodeBits is the size of a code in Source.Ranges.
	RangeCodeBits = 28
	// FormatCodeBits is the size of a code in Source.Formats.
	FormatCodeBits = 16
)

// validate checks that the numbers are within the format's limits. Nothing of what they say about the model is checked.
func (s *Source) validate() error {
	switch {
	case len(s.Files) == 0 || len(s.Files) > maxSourceFiles:
		return fmt.Errorf("%d files, want 1 to %d", len(s.Files), maxSourceFiles)
	case s.Quantiser < 1 || s.Quantiser > math.MaxInt32:
		return fmt.Errorf("quantiser version %d", s.Quantiser)
	case min(s.WeightBits, s.ActBits, s.TableBits) < 1 || max(s.WeightBits, s.ActBits, s.TableBits) > 64:
		return fmt.Errorf("%d, %d and %d bits", s.WeightBits, s.ActBits, s.TableBits)
	case !(s.Headroom >= 1 && s.Headroom <= math.MaxFloat64):
		return fmt.Errorf("headroom %v", s.Headroom)
	case len(s.Ranges)%3 != 0 || len(s.Ranges) > maxSourceRanges:
		return fmt.Errorf("%d numbers in ranges", len(s.Ranges))
	}
	if n := len(s.Formats); n > 0 && (n != len(s.Ranges)/3 || greatest(s.Formats) == 0) {
		return fmt.Errorf("%d formats for %d ranges", n, len(s.Ranges)/3)
	}
	if most := greatest(s.Formats); most >= 1<<FormatCodeBits {
		return errors.New("a number in the formats has more than 16 bits")
	}
	if most := greatest(s.Ranges); most >= 1<<RangeCodeBits {
		return errors.New("a number in the ranges has more than 28 bits")
	}
	return nil
}

// greatest is the greatest number of a list, 0 if there is none.
func greatest(list []uint32) uint32 {
	if len(list) == 0 {
		return 0
	}
	return slices.Max(list)
}

var sourceMessage = wire.New("Source", nil,
	wire.List(1, "files", fileMessage, func(s *Source) *[][sha256.Size]byte { return &s.Files }),
	wire.Num(2, "quantiser", count, func(s *Source) *int { return &s.Quantiser }),
	wire.Flag(3, "mode", func(s *Source) *bool { return &s.W8A8 }),
	wire.Num(4, "weight_bits", count, func(s *Source) *int { return &s.WeightBits }),
	wire.Num(5, "activation_bits", count, func(s *Source) *int { return &s.ActBits }),
	wire.Num(6, "table_bits", count, func(s *Source) *int { return &s.TableBits }),
	wire.Bits64(7, "headroom", func(s *Source) uint64 { return math.Float64bits(s.Headroom) },
		func(s *Source, v uint64) { s.Headroom = math.Float64frombits(v) }),
	wire.Nums(8, "ranges", code, func(s *Source) *[]uint32 { return &s.Ranges }),
	wire.Nums(9, "formats", code, func(s *Source) *[]uint32 { return &s.Formats }),
	wire.Reserved[Source](10, "salted"),
)

// code is an element of Source.Ranges or Source.Formats. Source.validate bounds its bits.
var code = wire.Number{Kind: wire.Uint32}

var fileMessage = wire.New("File", nil,
	sha256Field(1, "sha256", func(d *[sha256.Size]byte) *[sha256.Size]byte { return d }),
)
