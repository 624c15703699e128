package audio

import (
	"math"

	"github.com/prove-model/prove-model/internal/elementary"
)

// The low-pass filter of resampling is a sinc under Hann's window.
const (
	zeros  = 48   // zeros of the sinc on either side, where the window ends
	passed = 0.96 // the cutoff, as a fraction of half the slower rate
)

// mostPhases is the most filters that are kept. There is one for each place of a sample between two samples of the given sound: 160 for
// resampling from 44,100 to 16,000 samples a second. Beyond this number, filters are computed anew for each sample.
const mostPhases = 1 << 11

// resample returns the samples x at another rate: sample i is the filtered sound at place i·from/to of x.
func resample(x []float64, from, to int) []float64 {
	if len(x) == 0 {
		return nil
	}
	d := divisor(from, to)
	from, to = from/d, to/d
	cutoff := passed * math.Min(1, float64(to)/float64(from)) // as a fraction of half the rate of x
	reach := int(math.Ceil(zeros / cutoff))
	filters := make([][]float64, min(to, mostPhases))
	out := make([]float64, (len(x)*to+from-1)/from)
	for i := range out {
		at, phase := i*from/to, i*from%to
		var taps []float64
		if phase < len(filters) {
			taps = filters[phase]
		}
		if taps == nil {
			if taps = filter(float64(phase)/float64(to), cutoff, reach); phase < len(filters) {
				filters[phase] = taps
			}
		}
		sum := 0.0
		for k, w := range taps {
			if j := at + k - reach; j >= 0 && j < len(x) {
				sum += float64(w * x[j])
			}
		}
		out[i] = sum
	}
	return out
}

// filter returns the weights for the filtered sound at place i + part, where i is the index of a sample and part is in [0, 1). They belong
// to samples i − reach to i + reach, and add up to 1.
func filter(part, cutoff float64, reach int) []float64 {
	taps := make([]float64, 2*reach+1)
	sum := 0.0
	for k := range taps {
		at := (float64(k-reach) - part) * cutoff
		if math.Abs(at) >= zeros {
			continue
		}
		taps[k] = 0.5 + float64(0.5*elementary.Cos(math.Pi*at/zeros))
		if at != 0 {
			taps[k] *= elementary.Sin(math.Pi*at) / (math.Pi * at)
		}
		sum += taps[k]
	}
	for k := range taps {
		taps[k] /= sum
	}
	return taps
}

// divisor is the greatest common divisor.
func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
