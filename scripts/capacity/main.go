// Command capacity simulates a cluster of workers that prove the answers of servers (docs/cluster.md). Jobs arrive at random. Workers end
// at random, and their jobs are given to others after half a minute of silence.
//
//	go run ./scripts/capacity [-prove 1.1s] [-bytes 1.5e6] [-load 0.8] [-life 24h] [-hours 4] [-workers 1,3,10,100,1000,5000]
//
// It prints a line for each number of workers: jobs a second, the time from a job's arrival until its proof is begun and until it is done,
// how much work was lost with workers that ended, and the messages and bytes of the NATS servers. The same arguments give the same lines.
package main

import (
	"container/heap"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setting has the parameters of a simulation.
type setting struct {
	workers int
	prove   float64 // mean seconds that a proof takes; a job takes half to one and a half times as long
	rate    float64 // jobs a second
	life    float64 // mean seconds until a worker ends, after which another takes its place; 0: workers do not end
	seconds float64 // the time in which jobs arrive
}

// silence is the seconds after a worker's end until its job is given to another one, and restart the seconds until a new worker is there.
const silence, restart = 30.0, 20.0

// outcome is the result of a simulation.
type outcome struct {
	proved, again  int       // jobs that were proved, and how often a job had to be begun again
	begun, done    []float64 // seconds from a job's arrival until it was begun, each time that it was, and until it was proved
	busy, lostWork float64   // seconds of workers that led to proofs, and that were lost
}

// event is something that happens at a time.
type event struct {
	at   float64
	what func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, k int) bool { return e[i].at < e[k].at }
func (e events) Swap(i, k int)      { e[i], e[k] = e[k], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// job is a proof to be made: when it arrived, and how long it takes, in seconds.
type job struct{ came, takes float64 }

// simulate runs a cluster. Jobs that arrive in the first tenth of the time are not counted, as the queue is empty at first.
func simulate(s setting) *outcome {
	random := rand.New(rand.NewPCG(1, uint64(s.workers)))
	out := &outcome{}
	now, idle := 0.0, s.workers
	var queue []job
	var agenda events
	at := func(t float64, what func()) { heap.Push(&agenda, event{t, what}) }
	exponential := func(mean float64) float64 { return -mean * math.Log1p(-random.Float64()) }
	var assign func()
	assign = func() {
		for idle > 0 && len(queue) > 0 {
			j := queue[0]
			queue = queue[1:]
			idle--
			began := now
			counted := j.came > s.seconds/10
			if counted {
				out.begun = append(out.begun, began-j.came)
			}
			// The life of a worker is exponentially distributed, which has no memory. So the rest of it can be drawn when it begins a job.
			ends := math.Inf(1)
			if s.life > 0 {
				ends = exponential(s.life)
			}
			if ends >= j.takes {
				at(now+j.takes, func() {
					idle++
					out.busy += j.takes
					if counted {
						out.proved++
						out.done = append(out.done, now-j.came)
					}
					assign()
				})
				continue
			}
			out.again++
			out.lostWork += ends
			at(now+ends+restart, func() { idle++; assign() })
			at(now+ends+silence, func() { queue = append([]job{j}, queue...); assign() }) // the job goes to the front of the queue
		}
	}
	var arrive func()
	arrive = func() {
		queue = append(queue, job{now, s.prove * (0.5 + random.Float64())})
		assign()
		if next := now + exponential(1/s.rate); next < s.seconds {
			at(next, arrive)
		}
	}
	at(exponential(1/s.rate), arrive)
	for len(agenda) > 0 {
		e := heap.Pop(&agenda).(event)
		now = e.at
		e.what()
	}
	return out
}

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[min(len(v)-1, int(q*float64(len(v))))]
}

// messages returns how many messages package internal/serve/queue stores for a job, and how many it sends in all. prove is the seconds and
// bytes the size of the proof.
//
//	stored: the job's object (a chunk of up to 512 KiB, and its description); the job's record when it is accepted, queued, proving and
//	proved; the messages with the job and with the result; the proof's object (chunks of 512 KiB, and their description)
//	sent besides: an answer to each of these, the delivery of the two messages with two acknowledgements each, both objects read, records
//	read (six times), a sign of life every ten seconds, progress five times a second
func messages(prove, bytes float64) (stored, sent float64) {
	const chunk = 512 << 10
	proof := math.Ceil(bytes/chunk) + 1
	stored = 2 + 4 + 2 + proof
	sent = stored + 2*3 + 2*(2+proof) + 2*6 + prove/10 + min(5*prove, 20)
	return stored, sent
}

func main() {
	prove := flag.Duration("prove", 1100*time.Millisecond, "time that a proof takes")
	bytes := flag.Float64("bytes", 1.5e6, "bytes of a proof")
	load := flag.Float64("load", 0.8, "share of their time that workers are to be busy")
	life := flag.Duration("life", 24*time.Hour, "time after which a worker ends, in the mean; 0: never")
	hours := flag.Float64("hours", 4, "hours to simulate")
	counts := flag.String("workers", "1,3,10,100,1000,5000", "numbers of workers, with commas")
	flag.Parse()
	fmt.Println("workers   jobs/s   begun p50     p99   done p50     p99   again      lost   stored msgs/s   all msgs/s   GB/day")
	for _, text := range strings.Split(*counts, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "capacity: %q is no number of workers\n", text)
			os.Exit(2)
		}
		s := setting{workers: n, prove: prove.Seconds(), life: life.Seconds(), seconds: *hours * 3600}
		s.rate = *load * float64(n) / s.prove
		if most := 3e6; s.rate*s.seconds > most { // this many jobs are simulated within some seconds
			s.seconds = most / s.rate
		}
		out := simulate(s)
		stored, sent := messages(s.prove, *bytes)
		fmt.Printf("%7d %8.1f %9.2f s %5.2f s %8.2f s %5.2f s %7d %7.3f %% %15.0f %12.0f %8.0f\n", n, s.rate, quantile(out.begun, 0.5), quantile(out.begun, 0.99),
			quantile(out.done, 0.5), quantile(out.done, 0.99), out.again, 100*out.lostWork/(out.busy+out.lostWork), s.rate*stored, s.rate*sent, s.rate*86400**bytes/1e9)
	}
}
