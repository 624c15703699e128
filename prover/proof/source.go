package proof

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/prover/proof/proofpb"
)

// Source says what the graph and the weights of a key were made from, in enough
// detail to make them again. No proof depends on it; it is for whoever has the
// model and asks whether the key is that model's.
type Source struct {
	// Files are the SHA-256 of the model's own file and then of its external
	// data by increasing name.
	Files [][sha256.Size]byte
	// Quantiser is the version of the quantiser.
	Quantiser int
	// W8A8 is the quantiser's mode: eight bits, or the widest that is safe.
	W8A8                           bool
	WeightBits, ActBits, TableBits int // at most, see quantise.Options
	Headroom                       float64
	// Ranges are the calibrated ranges of the model's inputs and then of the
	// values of its nodes, in order, for a batch of two if the batch is free, three
	// codes each (quantise.Range.Codes).
	Ranges []uint32
	// Formats are those of the same values (quantise.Format.Code); none if all are
	// 0.
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

func (s *Source) validate() error {
	switch {
	case len(s.Files) == 0 || len(s.Files) > maxSourceFiles:
		return fmt.Errorf("%d files, want 1 to %d", len(s.Files), maxSourceFiles)
	case s.Quantiser < 1 || s.Quantiser > math.MaxInt32:
		return fmt.Errorf("quantiser version %d", s.Quantiser)
	case s.WeightBits < 1 || s.WeightBits > 64 || s.ActBits < 1 || s.ActBits > 64 || s.TableBits < 1 || s.TableBits > 64:
		return fmt.Errorf("%d, %d and %d bits", s.WeightBits, s.ActBits, s.TableBits)
	case !(s.Headroom >= 1 && s.Headroom <= math.MaxFloat64):
		return fmt.Errorf("headroom %v", s.Headroom)
	case len(s.Ranges)%3 != 0 || len(s.Ranges) > maxSourceRanges:
		return fmt.Errorf("%d numbers in ranges", len(s.Ranges))
	}
	if n := len(s.Formats); n > 0 && (n != len(s.Ranges)/3 || !slices.ContainsFunc(s.Formats, func(c uint32) bool { return c != 0 })) {
		return fmt.Errorf("%d formats for %d ranges", n, len(s.Ranges)/3)
	}
	for _, c := range s.Formats {
		if c >= 1<<FormatCodeBits {
			return errors.New("a number in the formats has more than 16 bits")
		}
	}
	for _, c := range s.Ranges {
		if c >= 1<<RangeCodeBits {
			return errors.New("a number in the ranges has more than 28 bits")
		}
	}
	return nil
}

func encodeSource(s *Source) *proofpb.Source {
	p := &proofpb.Source{
		Quantiser: uint32(s.Quantiser), WeightBits: uint32(s.WeightBits), ActivationBits: uint32(s.ActBits), TableBits: uint32(s.TableBits),
		Headroom: math.Float64bits(s.Headroom), Ranges: s.Ranges, Formats: s.Formats,
	}
	if s.W8A8 {
		p.Mode = proofpb.Mode_W8A8
	}
	for _, f := range s.Files {
		p.Files = append(p.Files, &proofpb.File{Sha256: f[:]})
	}
	return p
}

// decodeSource relies on checkCanonical for the enumeration.
func decodeSource(p *proofpb.Source) (*Source, error) {
	var d decoder
	s := &Source{
		Quantiser: d.small(p.Quantiser), W8A8: p.Mode == proofpb.Mode_W8A8,
		WeightBits: d.small(p.WeightBits), ActBits: d.small(p.ActivationBits), TableBits: d.small(p.TableBits),
		Headroom: math.Float64frombits(p.Headroom), Ranges: p.Ranges, Formats: p.Formats,
	}
	for _, f := range p.Files {
		if len(f.Sha256) != sha256.Size {
			return nil, fmt.Errorf("source: a SHA-256 of %d bytes", len(f.Sha256))
		}
		s.Files = append(s.Files, [sha256.Size]byte(f.Sha256))
	}
	return s, d.err
}
