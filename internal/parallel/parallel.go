// Package parallel runs loops on all cores.
//
// Results must not depend on scheduling: callers pass work whose result is the same
// however the range is split, so that a proof's bytes never depend on the number of
// threads.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// chunksPerWorker is the number of pieces of a loop that each goroutine gets on average:
// enough that one slow piece does not leave the other goroutines waiting.
const chunksPerWorker = 4

// chunksBetween is chunksPerWorker while a function is called between pieces (see
// Between).
const chunksBetween = 64

// between is the function that Between has set; nil if there is none.
var between atomic.Pointer[func()]

// Between has f called before every piece of a loop, from any number of goroutines at
// once, and has loops cut into more pieces, until restore is called. So code that watches
// the process runs in time even if all cores are busy.
func Between(f func()) (restore func()) {
	old := between.Swap(&f)
	return func() { between.Store(old) }
}

// For splits [0, n) into contiguous ranges of at least grain elements (one range when
// n is smaller) and calls f once for each, on up to GOMAXPROCS goroutines. It returns
// when all calls have. A grain below 1 means 1. A panic of f becomes a panic of For.
//
// f is called concurrently and must give results that do not depend on where
// the ranges begin.
func For(n, grain int, f func(lo, hi int)) {
	if n <= 0 {
		return
	}
	chunks := n / max(grain, 1)
	if chunks <= 1 { // decided before the call of GOMAXPROCS, which takes a global lock
		f(0, n)
		return
	}
	procs := runtime.GOMAXPROCS(0)
	most, alone := procs*chunksPerWorker, procs == 1
	if between.Load() != nil {
		most, alone = procs*chunksBetween, false
	}
	chunks = min(chunks, most)
	if alone || chunks <= 1 {
		f(0, n)
		return
	}
	run(chunks, procs, func(i int) {
		// Spreads the remainder of n/chunks evenly; in 64 bits on every
		// platform we build for, n·chunks stays far below 2^63.
		lo := int(uint64(n) * uint64(i) / uint64(chunks))
		hi := int(uint64(n) * uint64(i+1) / uint64(chunks))
		f(lo, hi)
	})
}

// Collect is For for an f that returns a function add, which adds the result of the range to a common
// result. Collect calls each add once, and no two at the same time.
func Collect(n, grain int, f func(lo, hi int) (add func())) {
	var mu sync.Mutex
	For(n, grain, func(lo, hi int) {
		add := f(lo, hi)
		mu.Lock()
		defer mu.Unlock()
		add()
	})
}

// Do calls every function, on up to GOMAXPROCS goroutines, and returns when
// all have.
func Do(fs ...func()) {
	procs := runtime.GOMAXPROCS(0)
	if procs == 1 || len(fs) <= 1 {
		for _, f := range fs {
			f()
		}
		return
	}
	run(len(fs), procs, func(i int) { fs[i]() })
}

// run calls task(0) … task(tasks−1) on min(procs, tasks) goroutines, one of
// them the caller's. If tasks panic, it panics with the value of one of them on
// the caller's goroutine, where it can be recovered, when all have ended.
func run(tasks, procs int, task func(i int)) {
	var next atomic.Int64
	var failure atomic.Pointer[any]
	worker := func() {
		defer func() {
			if p := recover(); p != nil {
				failure.Store(&p)
			}
		}()
		for {
			i := int(next.Add(1)) - 1
			if i >= tasks {
				return
			}
			if f := between.Load(); f != nil {
				(*f)()
			}
			task(i)
		}
	}
	var wg sync.WaitGroup
	for range min(procs, tasks) - 1 {
		wg.Go(worker)
	}
	worker()
	wg.Wait()
	if p := failure.Load(); p != nil {
		panic(*p)
	}
}
