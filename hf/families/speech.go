package families

import (
	"errors"
	"fmt"
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
)

// Audio is the name of the input with the audio that a model of speech listens to: samples of 16 bits, of one channel.
const Audio = "audio"

// Speech says what audio a model of speech takes, how it becomes a spectrogram, and which tokens the model does not write.
type Speech struct {
	Rate    int // samples a second
	Samples int // of each audio; a shorter one is padded with silence. 0: there is no preprocessor_config.json, which says so
	Hop     int // samples from one frame of the spectrogram to the next
	Window  int // samples of a frame, an even number
	// Suppressed are the tokens that are never written, and First those that are not written as the first one. Both are increasing.
	Suppressed, First []int

	build func(tokens int) (*graph.Graph, error) // makes the graph of Model.Listening
}

// validate returns an error unless a spectrogram of so many frames can be made with these numbers.
func (s *Speech) validate(frames int) error {
	switch {
	case s.Samples == 0:
		return errors.New("there is no preprocessor_config.json, which says how audio becomes a spectrogram")
	case s.Rate < 2 || s.Hop < 1 || s.Window < 2 || s.Window%2 > 0 || s.Window > s.Samples:
		return fmt.Errorf("preprocessor_config.json: frames of %d samples, one every %d, of %d samples at %d a second", s.Window, s.Hop, s.Samples, s.Rate)
	case s.Samples/s.Hop != frames:
		return fmt.Errorf("preprocessor_config.json: %d samples are %d frames, one every %d, and the encoder takes %d", s.Samples, s.Samples/s.Hop, s.Hop, frames)
	}
	return nil
}

// Listening builds the graph of a model of speech that takes audio itself. Its inputs are so many tokens of the decoder ([Answer]) and the
// samples ([Audio]), and its logits are at all of these tokens. Its Rebind changes the number of tokens, as the symbol [Tokens].
func (m *Model) Listening(tokens int) (*graph.Graph, error) {
	if m.Speech == nil {
		return nil, errors.New("the model does not listen")
	}
	if tokens < 1 || tokens > m.Context {
		return nil, fmt.Errorf("%d tokens of the decoder: the model takes 1 to %d", tokens, m.Context)
	}
	g, err := m.Speech.build(tokens)
	if err != nil {
		return nil, err
	}
	g.Rebind = func(sizes map[string]int) (*graph.Graph, error) { return m.Listening(sizeOf(sizes, Tokens, tokens)) }
	return g, nil
}

// leastPower is a lower bound to which the power in a band is clipped, so that it has a logarithm.
const leastPower = 1e-10

// spectrogram adds the input of samples, and returns its log-mel features, of shape [1, bands, frames]. A frame is the s.Window samples
// around every s.Hop-th sample, with the audio mirrored at its ends, under Hann's window. The Fourier transform is a product with cosines
// and sines. The power is summed in bands of equal width on Slaney's mel scale. A feature is (x + 4)/4, where x is the decimal logarithm of
// a power, and at least the largest logarithm minus 8.
func (n *net) spectrogram(s *Speech, bands int) graph.Value {
	n.At("", Audio)
	samples := n.Cast(n.Input(Audio, graph.Int16, []int{s.Samples}, ""), graph.Float)
	frames, bins, half := s.Samples/s.Hop, s.Window/2+1, s.Window/2
	mirrored := filled((frames-1)*s.Hop+s.Window, func(i int) int64 {
		at := max(i-half, half-i)
		return int64(min(at, 2*(s.Samples-1)-at))
	})
	x := n.Take(samples, 0, n.Integers([]int{len(mirrored)}, mirrored))
	window := graph.Window{Kernel: []int{s.Window}, Strides: []int{s.Hop}, Dilations: []int{1}, Begin: []int{0}, End: []int{0}}
	x = n.Conv(graph.Conv{Window: window, Group: 1}, n.Reshape(x, []int{1, 1, len(mirrored)}),
		n.table("fourier", []int{2 * bins, 1, s.Window}, fourier(s.Window), true))
	x = n.Transpose(n.Reshape(x, []int{2, bins, frames}), []int{2, 1, 0})
	power := n.Reduce(graph.Sum, n.Mul(x, x), []int{2}, false)
	mel := n.MatMul(power, n.table("mel", []int{bins, bands}, melBands(bins, bands, s.Rate), true))
	y := n.Mul(n.Apply(graph.Log, n.Clip(mel, leastPower, math.Inf(1))), n.Number(1/(4*math.Ln10)))
	y = n.Add(n.Max(y, n.Sub(n.ReduceMax(y, []int{0, 1}, true), n.Number(2))), n.Number(1))
	return n.Reshape(n.Transpose(y, []int{1, 0}), []int{1, bands, frames})
}

// fourier returns a matrix of shape [2·bins, window], whose product with a frame is its discrete Fourier transform under Hann's window: a
// row of cosines for each frequency from 0 on, then a row of negated sines for each. The factor 2^−15 takes samples of 16 bits to [−1, 1].
func fourier(window int) []float32 {
	bins := window/2 + 1
	cos, sin := make([]float64, window), make([]float64, window) // of i/window turns; each number is in many rows
	for i := range window {
		angle := 2 * math.Pi * float64(i) / float64(window)
		cos[i], sin[i] = elementary.Cos(angle), elementary.Sin(angle)
	}
	v := make([]float32, 2*bins*window)
	for i := range window {
		hann := (0.5 - float64(0.5*cos[i])) / (1 << 15)
		for k := range bins {
			v[k*window+i] = float32(hann * cos[k*i%window])
			v[(bins+k)*window+i] = float32(-hann * sin[k*i%window])
		}
	}
	return v
}

// Slaney's mel scale is linear below a frequency, and logarithmic above it.
const (
	linearTo   = 1000.0 // hertz; below it the scale is linear
	linearMels = 15.0   // the mel of that frequency
	melsPerLog = 27.0   // above it, a frequency logRatio times as high is so many mel higher
	logRatio   = 6.4
)

// melBands returns the weights of frequencies in bands, of shape [bins, bands]. The weights of a band are a triangle over the frequencies,
// from the middle of the band below to the middle of the band above. All triangles have the same area.
func melBands(bins, bands, rate int) []float32 {
	top := float64(8000) // hertz, whatever the rate
	toMel := func(hz float64) float64 {
		if hz < linearTo {
			return linearMels * hz / linearTo
		}
		return linearMels + float64(melsPerLog/elementary.Log(logRatio)*elementary.Log(hz/linearTo))
	}
	edges := filled(bands+2, func(i int) float64 {
		mel := toMel(top) * float64(i) / float64(bands+1)
		if mel >= linearMels {
			return linearTo * elementary.Exp(elementary.Log(logRatio)/melsPerLog*(mel-linearMels))
		}
		return linearTo * mel / linearMels
	})
	return filled(bins*bands, func(at int) float32 {
		hz, band := float64(rate/2)*float64(at/bands)/float64(bins-1), at%bands
		low, middle, high := edges[band], edges[band+1], edges[band+2]
		rise, fall := (hz-low)/(middle-low), (high-hz)/(high-middle)
		return float32(math.Max(0, math.Min(rise, fall)) * 2 / (high - low))
	})
}
