// Package audio reads recordings as samples of 16 bits of one channel at a wanted rate. The result is the same on every machine.
package audio

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/internal/regular"
)

// Rate is the number of samples a second that models of speech take.
const Rate = 16000

// Limits of files.
const (
	maxFile     = 1 << 28 // bytes
	maxChannels = 64
	maxRate     = 384000
)

// Sound is a recording of one channel.
type Sound struct {
	Rate    int       // samples a second
	Samples []float64 // from −1 to 1; files of floats may have larger ones
}

// Read reads an audio file: a WAV file with integer samples of 8, 16, 24 or 32 bits, or floats of 32 or 64 bits. Several channels are mixed
// to their mean. Nothing in the file is trusted. The error for other kinds of audio files names the kind.
func Read(path string) (s *Sound, err error) {
	defer must.Catch(&err)
	data := must.Get(regular.Read(path, maxFile))
	refuse.Within(path, func() { s = decode(data) })
	return s, nil
}

// kinds are kinds of files that are recognised but not read: a file of the kind has the bytes begin at offset at.
var kinds = []struct {
	at    int
	begin string
	name  string
}{
	{0, "fLaC", "FLAC"}, {0, "OggS", "Ogg"}, {0, "ID3", "MP3"}, {0, "\xff\xfb", "MP3"}, {0, "\xff\xf3", "MP3"}, {0, "\xff\xf2", "MP3"}, {4, "ftyp", "MP4"},
	{0, "\xff\xf1", "AAC"}, {0, "\xff\xf9", "AAC"}, {0, "FORM", "AIFF"}, {0, "caff", "CAF"}, {0, "#!AMR", "AMR"}, {0, "\x1aE\xdf\xa3", "WebM"}, {0, "RIFX", "big-endian WAV"},
	{0, "RF64", "RF64"}, {0, "wvpk", "WavPack"}, {0, ".snd", "AU"},
}

// decode reads the contents of a file, and refuses what is no WAV file.
func decode(data []byte) *Sound {
	if len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WAVE" {
		return wav(data[12:])
	}
	for _, k := range kinds {
		if len(data) >= k.at && bytes.HasPrefix(data[k.at:], []byte(k.begin)) {
			refuse.With("%s files are not read: convert it to WAV, for example with ffmpeg -i IN -ac 1 -ar 16000 OUT.wav", k.name)
		}
	}
	refuse.With("it is no audio file that is known: give a WAV file")
	return nil
}

// Kinds of samples of a WAV file (its format tag).
const (
	integers   = 1
	floats     = 3
	extensible = 0xfffe // the kind is in a later field
)

// format is how the samples of a WAV file are stored.
type format struct {
	kind, channels, rate, bits int
}

// encodings are names of kinds of samples that are not read, by their format tag.
var encodings = map[int]string{2: "Microsoft ADPCM", 6: "A-law", 7: "µ-law", 0x11: "IMA ADPCM", 0x31: "GSM", 0x50: "MPEG", 0x55: "MP3", 0xff: "AAC"}

// wav reads the chunks of a WAV file, which follow its first 12 bytes.
func wav(data []byte) *Sound {
	var f *format
	for len(data) >= 8 {
		name, n := string(data[:4]), int64(binary.LittleEndian.Uint32(data[4:]))
		data = data[8:]
		body := data[:min(n, int64(len(data)))] // the last chunk may be cut, or its length may not have been known when it was written
		switch name {
		case "fmt ":
			f = formatOf(body)
		case "data":
			if f == nil {
				refuse.With("samples before their format")
			}
			return f.samples(body)
		}
		data = data[min(n+n%2, int64(len(data))):]
	}
	refuse.With("there are no samples")
	return nil
}

// formatOf reads the chunk "fmt ", and refuses kinds of samples that are not read.
func formatOf(b []byte) *format {
	if len(b) < 16 {
		refuse.With("a format of less than 16 bytes")
	}
	f := &format{int(binary.LittleEndian.Uint16(b)), int(binary.LittleEndian.Uint16(b[2:])), int(binary.LittleEndian.Uint32(b[4:])), int(binary.LittleEndian.Uint16(b[14:]))}
	if f.kind == extensible && len(b) >= 26 {
		f.kind = int(binary.LittleEndian.Uint16(b[24:]))
	}
	switch {
	case f.channels < 1 || f.channels > maxChannels || f.rate < 1 || f.rate > maxRate:
		refuse.With("%d channels of %d samples a second", f.channels, f.rate)
	case f.kind == integers && (f.bits == 8 || f.bits == 16 || f.bits == 24 || f.bits == 32), f.kind == floats && (f.bits == 32 || f.bits == 64):
		return f
	}
	name := cmp.Or(encodings[f.kind], fmt.Sprintf("kind %d", f.kind))
	if f.kind == integers || f.kind == floats {
		name = fmt.Sprintf("%d bits", f.bits)
	}
	refuse.With("samples of %s are not read: convert them to 16 bits, for example with ffmpeg -i IN -c:a pcm_s16le OUT.wav", name)
	return nil
}

// samples reads the chunk "data". A sample of the sound is the mean of its channels.
func (f *format) samples(b []byte) *Sound {
	size := f.bits / 8
	n := len(b) / (size * f.channels)
	s := &Sound{f.rate, make([]float64, n)}
	for i := range s.Samples {
		sum := 0.0
		for range f.channels {
			sum += f.sample(b)
			b = b[size:]
		}
		if s.Samples[i] = sum / float64(f.channels); math.IsNaN(sum) || math.IsInf(sum, 0) {
			refuse.With("sample %d is not finite", i)
		}
	}
	return s
}

// sample is the sample that b begins with; integers are scaled to [−1, 1).
func (f *format) sample(b []byte) float64 {
	switch {
	case f.kind == floats && f.bits == 32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case f.kind == floats:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case f.bits == 8:
		return (float64(b[0]) - 128) / (1 << 7)
	case f.bits == 16:
		return float64(int16(binary.LittleEndian.Uint16(b))) / (1 << 15)
	case f.bits == 24:
		return float64(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)) / (1 << 31)
	}
	return float64(int32(binary.LittleEndian.Uint32(b))) / (1 << 31)
}

// At returns the samples at a rate, in samples a second, rounded and clamped to 16 bits. The samples of a 16-bit file with this rate and
// one channel do not change.
func (s *Sound) At(rate int) []int {
	x := s.Samples
	if rate != s.Rate {
		x = resample(x, s.Rate, rate)
	}
	out := make([]int, len(x))
	for i, v := range x {
		out[i] = int(math.RoundToEven(min(max(v*(1<<15), math.MinInt16), math.MaxInt16)))
	}
	return out
}

// Seconds is the length of the sound.
func (s *Sound) Seconds() float64 { return float64(len(s.Samples)) / float64(s.Rate) }
