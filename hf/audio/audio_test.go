package audio

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/internal/refuse"
)

// file is a WAV file of samples as they are stored, with a chunk that nobody knows before them.
func file(kind, channels, rate, bits int, samples []byte) []byte {
	b := []byte("RIFF\x00\x00\x00\x00WAVEjunk\x03\x00\x00\x00abc\x00fmt ")
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = binary.LittleEndian.AppendUint16(b, uint16(kind))
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate*channels*bits/8))
	b = binary.LittleEndian.AppendUint16(b, uint16(channels*bits/8))
	b = binary.LittleEndian.AppendUint16(b, uint16(bits))
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(samples)))
	return append(b, samples...)
}

func decoded(data []byte) (*Sound, error) {
	return refuse.Result(func() *Sound { return decode(data) })
}

// Samples of every kind are the same numbers, and channels are mixed.
func TestKinds(t *testing.T) {
	float := binary.LittleEndian.AppendUint32(nil, math.Float32bits(-0.5))
	double := binary.LittleEndian.AppendUint64(nil, math.Float64bits(-0.5))
	for name, data := range map[string][]byte{
		"8 bits": file(1, 1, Rate, 8, []byte{64}), "16 bits": file(1, 1, Rate, 16, []byte{0, 0xc0}), "24 bits": file(1, 1, Rate, 24, []byte{0, 0, 0xc0}),
		"32 bits": file(1, 1, Rate, 32, []byte{0, 0, 0, 0xc0}), "floats": file(3, 1, Rate, 32, float), "doubles": file(3, 1, Rate, 64, double),
		"stereo": file(1, 2, Rate, 16, []byte{0, 0x80, 0, 0}),
	} {
		s, err := decoded(data)
		if err != nil || s.Rate != Rate || len(s.Samples) != 1 || s.Samples[0] != -0.5 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	s, err := decoded(file(3, 1, Rate, 32, append(binary.LittleEndian.AppendUint32(nil, math.Float32bits(1.5)), float...)))
	if err != nil || s.At(Rate)[0] != math.MaxInt16 || s.At(Rate)[1] != -1<<14 {
		t.Errorf("%+v, %v", s, err)
	}
}

// What is not read is refused by name.
func TestRefused(t *testing.T) {
	nan := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	for want, data := range map[string]string{
		"FLAC": "fLaC\x00", "Ogg": "OggS", "MP3": "ID3\x03", "MP4": "\x00\x00\x00\x20ftypM4A ", "AIFF": "FORM\x00\x00\x00\x00AIFF", "no audio file": "hello",
		"µ-law": string(file(7, 1, 8000, 8, nil)), "IMA ADPCM": string(file(0x11, 1, 8000, 4, nil)), "12 bits": string(file(1, 1, Rate, 12, nil)),
		"0 channels": string(file(1, 0, Rate, 16, nil)), "no samples": "RIFF\x00\x00\x00\x00WAVE", "not finite": string(file(3, 1, Rate, 32, nan)),
		"before their format": "RIFF\x00\x00\x00\x00WAVEdata\x00\x00\x00\x00",
	} {
		if _, err := decoded([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.wav")); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// A tone has at another rate the samples that it has there, and one that is too high for that rate is not in it.
func TestResample(t *testing.T) {
	for _, from := range []int{8000, 11025, 22050, 24000, 32000, 44100, 48000, 96000, 192000, 15999} {
		for _, hertz := range []float64{50, 1000, 3500, 7000, 9500, 20000} {
			if hertz > 0.45*float64(from) {
				continue
			}
			s := &Sound{from, make([]float64, from/4)}
			for i := range s.Samples {
				s.Samples[i] = 0.5 * math.Sin(2*math.Pi*hertz*float64(i)/float64(from))
			}
			out, size := s.At(Rate), 0.5
			if hertz > Rate/2 {
				size = 0
			}
			if want := (len(s.Samples)*Rate + from - 1) / from; len(out) != want {
				t.Fatalf("%d hertz: %d samples, not %d", from, len(out), want)
			}
			worst := 0.0
			for i := 300; i < len(out)-300; i++ { // its ends are edges
				worst = max(worst, math.Abs(float64(out[i])/(1<<15)-size*math.Sin(2*math.Pi*hertz*float64(i)/Rate)))
			}
			if worst > 1e-3 {
				t.Errorf("%d hertz, a tone of %v: off by %.2g", from, hertz, worst)
			}
		}
	}
}

// Nothing in a file makes the reader fail otherwise than with an error.
func FuzzDecode(f *testing.F) {
	f.Add(file(1, 2, Rate, 16, make([]byte, 10)))
	f.Add(file(3, 1, 8000, 64, make([]byte, 17)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := decoded(data); err == nil && (s.Rate < 1 || len(s.Samples) > len(data)) {
			t.Errorf("%d samples of %d bytes", len(s.Samples), len(data))
		}
	})
}
