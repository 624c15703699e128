package proof

import (
	"bytes"
	"slices"
	"testing"
)

// Every field of a source counts, for Equal and for the key's digest.
func TestSourceEqual(t *testing.T) {
	a, b := sampleSource(), sampleSource()
	if !a.Equal(b) || !(*Source)(nil).Equal(nil) || a.Equal(nil) || (*Source)(nil).Equal(a) {
		t.Fatal("equal sources differ, or a source equals none")
	}
	k := sampleKey()
	k.Source = a
	plain := bytes.Clone(encode(t, k))
	digest := k.Digest
	for name, change := range map[string]func(*Source){
		"a file":     func(s *Source) { s.Files[1][0] ^= 1 },
		"files":      func(s *Source) { s.Files = s.Files[:1] },
		"order":      func(s *Source) { slices.Reverse(s.Files) },
		"quantiser":  func(s *Source) { s.Quantiser++ },
		"mode":       func(s *Source) { s.W8A8 = false },
		"weights":    func(s *Source) { s.WeightBits++ },
		"values":     func(s *Source) { s.ActBits++ },
		"tables":     func(s *Source) { s.TableBits++ },
		"headroom":   func(s *Source) { s.Headroom++ },
		"a range":    func(s *Source) { s.Ranges[0]++ },
		"the ranges": func(s *Source) { s.Ranges, s.Formats = s.Ranges[:3], nil },
		"a format":   func(s *Source) { s.Formats[0]++ },
		"no formats": func(s *Source) { s.Formats = nil },
	} {
		b := sampleSource()
		change(b)
		if a.Equal(b) {
			t.Errorf("%s: equal", name)
		}
		if err := k.SetSource(b); err != nil || k.Digest == digest {
			t.Errorf("%s: the same digest, or %v", name, err)
		}
	}
	if err := k.SetSource(a); err != nil || k.Digest != digest || !bytes.Equal(k.Encoded(), plain) {
		t.Errorf("the first source again gives another key, or %v", err)
	}
	for _, formats := range [][]uint32{{1}, make([]uint32, len(a.Ranges)/3), slices.Repeat([]uint32{1 << FormatCodeBits}, len(a.Ranges)/3)} {
		b := sampleSource()
		b.Formats = formats
		if err := k.SetSource(b); err == nil {
			t.Errorf("formats %v: accepted", formats)
		}
	}
	if err := k.SetSource(&Source{}); err == nil {
		t.Error("an empty source: accepted")
	}
}
