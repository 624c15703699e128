package main

import (
	"math"
	"testing"
)

// One worker that never ends is a queue of which theory knows the mean wait (Pollaczek and Khinchine): ρ·E[S²] / (2·E[S]·(1−ρ)).
func TestOneWorker(t *testing.T) {
	const load, prove = 0.7, 2.0
	out := simulate(setting{workers: 1, prove: prove, rate: load / prove, seconds: 2e6})
	mean := 0.0
	for _, w := range out.begun {
		mean += w / float64(len(out.begun))
	}
	square := prove * prove * (1 + 1.0/12) // of a time that is uniform on half to one and a half
	want := load * square / (2 * prove * (1 - load))
	if math.Abs(mean-want) > 0.05*want {
		t.Errorf("a job waits %.3f s, and theory says %.3f", mean, want)
	}
	if out.proved != len(out.done) || out.again != 0 || out.lostWork != 0 {
		t.Errorf("%d proved, %d begun again, %v lost", out.proved, out.again, out.lostWork)
	}
}

// Workers that end lose no job; it is begun again after the silence.
func TestWorkersThatEnd(t *testing.T) {
	out := simulate(setting{workers: 20, prove: 5, rate: 1, life: 100, seconds: 20000})
	if out.again == 0 || out.proved < 17000 || len(out.begun) < out.proved {
		t.Errorf("%d proved, %d begun again", out.proved, out.again)
	}
	if share := float64(out.again) / float64(len(out.begun)); math.Abs(share-0.05) > 0.015 { // 1 − e^(−5/100), or a little less
		t.Errorf("%.3f of the jobs were begun again", share)
	}
}
