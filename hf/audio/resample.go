package audio

import (
	"math"

	"github.com/prove-model/prove-model/internal/elementary"
)

// The low-pass filter of resampling: a sinc under Hann's window of so many zeros on either side, which passes this part of what the
// slower rate can have.
const (
	zeros  = 48
	passed = 0.96
)

// mostPhases bounds the filters that are kept: 160 for 44,100 samples a second to 16,000. Of rates with more the rest are computed anew
// for each sample.
const mostPhases = 1 << 11

// resample returns a sound at another rate: sample i is the filtered sound at i·from/to.
func resample(x []float64, from, to int) []float64 {
	if len(x) == 0 {
		return nil
	}
	d := divisor(from, to)
	from, to = from/d, to/d
	cutoff := passed * math.Min(1, float64(to)/float64(from)) // of the given rate's half
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

// filter are the weights of the samples from reach before to reach behind the one that a place is a part of a sample behind. They add up
// to 1.
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

func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
