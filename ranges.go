package provemodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/prove-model/prove-model/quantise"
)

// Ranges are the calibrated ranges of a model's values, as integers: with them,
// and the same options, a model is quantised the same on every machine, and has
// the same key. The values are the inputs and then what the nodes of the graph
// compute, in order.
type Ranges []ValueRange

// ValueRange is the range and the format of one value: its bounds, and the least magnitude that
// calibration met in between. A number is given by a code: the first 28 bits of
// the IEEE 754 double, sign, exponent and 16 digits, into which it was rounded
// outwards.
type ValueRange struct {
	Name  string `json:"name"`
	Min   uint32 `json:"min"`
	Max   uint32 `json:"max"`
	Least uint32 `json:"least"`
	// Format is that of a value which was made more precise than others
	// (quantise.Format.Code), 0 for none.
	Format uint32 `json:"format,omitempty"`
}

// rangesFormat is the first member of a file of ranges.
const rangesFormat = "prove-model ranges 1"

// rangesFile is a file of ranges.
type rangesFile struct {
	Format string `json:"format"`
	Ranges Ranges `json:"ranges"`
}

// maxRangesFile is the most that ReadRanges reads, far above what models have.
const maxRangesFile = 256 << 20

// ReadRanges reads what Ranges.File wrote. White space is free; anything else
// that File would not have written is refused.
func ReadRanges(r io.Reader) (Ranges, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxRangesFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxRangesFile {
		return nil, fmt.Errorf("a file of ranges has at most %d bytes", maxRangesFile)
	}
	var f rangesFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("not a file of ranges: %w", err)
	}
	if f.Format != rangesFormat {
		return nil, fmt.Errorf("not a file of ranges: its format is %q, not %q", f.Format, rangesFormat)
	}
	var got, want bytes.Buffer
	if err := errors.Join(json.Compact(&got, data), json.Compact(&want, f.Ranges.File())); err != nil {
		return nil, err
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		return nil, errors.New("not a file of ranges: members are missing, unknown, repeated or in another order")
	}
	for _, v := range f.Ranges {
		if _, err := v.decode(); err != nil {
			return nil, err
		}
	}
	return f.Ranges, nil
}

// File returns the ranges as a JSON file, one value a line.
func (r Ranges) File() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"format\": %q, \"ranges\": [", rangesFormat)
	for i, v := range r {
		line, err := json.Marshal(v)
		if err != nil {
			panic(err) // a string and three integers
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(line)
	}
	b.WriteString("\n]}\n")
	return b.Bytes()
}

func (v ValueRange) decode() (quantise.Range, error) {
	r, err := quantise.RangeOf([3]uint32{v.Min, v.Max, v.Least})
	if err != nil {
		return r, fmt.Errorf("the range of %q: %w", v.Name, err)
	}
	if _, err := quantise.FormatOf(v.Format); err != nil {
		return r, fmt.Errorf("%q: %w", v.Name, err)
	}
	return r, nil
}

// named puts codes beside the names of their values, in order.
func named(names []string, codes, formats []uint32) Ranges {
	var r Ranges
	for i, name := range names {
		r = append(r, ValueRange{name, codes[3*i], codes[3*i+1], codes[3*i+2], formats[i]})
	}
	return r
}

// formats are those of the values that have one.
func (r Ranges) formats() quantise.Formats {
	f := quantise.Formats{}
	for _, v := range r {
		if v.Format != 0 {
			f[v.Name], _ = quantise.FormatOf(v.Format) // it has been decoded
		}
	}
	return f
}

// match returns the ranges by name, which must be those of the model's values: of a
// circuit with a free batch, or of one without.
func (m *Model) match(given Ranges) (ranges, error) {
	free, err := m.values(true)
	if err == nil && given.names(free) {
		return given.decode()
	}
	names, err := m.values(false)
	if err != nil {
		return nil, err
	}
	if given.names(names) {
		return given.decode()
	}
	if len(given) != len(names) {
		return nil, fmt.Errorf("the ranges are those of another model: they are of %d values, and %s has %d", len(given), m.name, len(names))
	}
	i := 0
	for given[i].Name == names[i] {
		i++
	}
	return nil, fmt.Errorf("the ranges are those of another model: value %d is %q, and %q in %s", i, given[i].Name, names[i], m.name)
}

// names says whether the ranges are of values with these names.
func (r Ranges) names(names []string) bool {
	return slices.EqualFunc(r, names, func(v ValueRange, name string) bool { return v.Name == name })
}

func (r Ranges) decode() (ranges, error) {
	met := ranges{}
	for _, v := range r {
		var err error
		if met[v.Name], err = v.decode(); err != nil {
			return nil, err
		}
	}
	return met, nil
}
