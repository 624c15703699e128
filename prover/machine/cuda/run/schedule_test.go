package run

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// scheduled is a step as it was given to a schedule.
type scheduled struct {
	reads   []read
	factors []kernels.Ptr
	makes   model.TensorID
}

// tensorAt is the tensor that integersOf gave an address.
func tensorAt(at kernels.Ptr) model.TensorID { return model.TensorID(at/256 - 1) }

// integersOf stands for a tensor.
func integersOf(id model.TensorID) kernels.Integers {
	return kernels.Integers{At: kernels.Ptr(256 * (int(id) + 1)), Width: 4}
}

// stepOf returns a step of n entries that reads tensors and makes one.
func stepOf(n int, reads []read, makes model.TensorID) *kernels.Step {
	x := &kernels.Step{Kind: kernels.ExactStep, N: n, Out: kernels.Result{Integers: integersOf(makes)}}
	for _, r := range reads {
		o := kernels.Operand{Integers: kernels.Integers{At: r.at, Width: 4}}
		if !r.inPlace {
			o.Groups = []kernels.OperandGroup{{Step: 1}}
		}
		x.Terms = append(x.Terms, kernels.Term{Coef: 1, Summands: 1, Operands: []kernels.Operand{o}})
	}
	return x
}

// TestSchedule: whatever steps read, each is in one chain of one turn, what it reads was made in a
// turn before or, where its own entry is, before it in its chain; and accumulators are its own from
// its products to itself.
func TestSchedule(t *testing.T) {
	joined, merged, shared := 0, 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 4))
		const room = 100
		s := &schedule{room: room, made: map[kernels.Ptr]*chain{}}
		steps := map[*kernels.Step]scheduled{}
		maxima := map[model.TensorID][]read{}
		var sizes []int // by tensor
		for id := range model.TensorID(60) {
			n := []int{8, 8, 8, 40, 1 << 14}[rng.IntN(5)]
			var x scheduled
			draw := func(most int, inPlace bool) (list []read) {
				for range rng.IntN(most) {
					if id > 0 {
						of := model.TensorID(rng.IntN(min(int(id), 9)))
						of = id - 1 - of
						list = append(list, read{integersOf(of).At, inPlace && sizes[of] == n && rng.IntN(4) > 0})
					}
				}
				return list
			}
			x.reads = draw(4, true)
			x.makes = id
			sizes = append(sizes, n)
			if rng.IntN(12) == 0 && len(x.reads) > 0 {
				maxima[id] = x.reads[:1]
				s.single(func(*work) error { return nil }, x.reads[0].at, integersOf(id).At)
				continue
			}
			var products []multiplication
			if n <= room && rng.IntN(4) == 0 {
				for _, r := range draw(3, false) {
					x.factors = append(x.factors, r.at)
				}
				products = []multiplication{{by: id, reads: x.factors}}
			}
			step := stepOf(n, x.reads, id)
			steps[step] = x
			s.step(step, products)
		}
		turn, place := map[model.TensorID]int{}, map[model.TensorID]int{}
		chain := map[model.TensorID]*chain{}
		for id := range maxima {
			turn[id] = s.made[integersOf(id).At].turn
		}
		seen := 0
		for k := range s.turns {
			for _, c := range s.turns[k].chains {
				if c.into != nil {
					merged++
					continue
				}
				words := 0
				for i, x := range c.Chain {
					id := steps[x].makes
					turn[id], chain[id], place[id] = k, c, i
					seen++
					size, _ := x.Size()
					words += size
					if x.N != c.Chain[0].N {
						t.Fatalf("seed %d: a chain of several sizes", seed)
					}
				}
				if words != c.words {
					t.Fatalf("seed %d: %d words, not %d", seed, words, c.words)
				}
				joined += len(c.Chain) - 1
			}
		}
		if seen != len(steps) {
			t.Fatalf("seed %d: %d steps of %d", seed, seen, len(steps))
		}
		for x, step := range steps {
			id := step.makes
			for _, r := range step.reads {
				of := tensorAt(r.at)
				inChain := r.inPlace && chain[of] == chain[id] && place[of] < place[id]
				if turn[of] > turn[id] || turn[of] == turn[id] && !inChain {
					t.Fatalf("seed %d: tensor %d of turn %d is read in turn %d", seed, of, turn[of], turn[id])
				}
			}
			if x.Acc == 0 {
				continue
			}
			at := int(x.Acc-kernels.AccOfLaunch) / 8
			i := slices.IndexFunc(s.sums, func(y sumSpan) bool { return y.at == at && y.n == x.N && y.to == turn[id] })
			if i < 0 || s.sums[i].from >= turn[id] {
				t.Fatalf("seed %d: no accumulators for tensor %d", seed, id)
			}
			for _, at := range step.factors {
				if id := tensorAt(at); turn[id] >= s.sums[i].from {
					t.Fatalf("seed %d: tensor %d of turn %d is multiplied in turn %d", seed, id, turn[id], s.sums[i].from)
				}
			}
		}
		for id, reads := range maxima {
			for _, r := range reads {
				if of := tensorAt(r.at); turn[of] >= turn[id] {
					t.Fatalf("seed %d: the maximum of a tensor of turn %d in turn %d", seed, turn[of], turn[id])
				}
			}
		}
		for i, a := range s.sums {
			if a.at+a.n > room || a.at+a.n > s.most {
				t.Fatalf("seed %d: accumulators beyond the room", seed)
			}
			for _, b := range s.sums[:i] {
				if a.from <= b.to && b.from <= a.to {
					shared++
					if a.at < b.at+b.n && b.at < a.at+a.n {
						t.Fatalf("seed %d: two steps have the same accumulators", seed)
					}
				}
			}
		}
	}
	if joined < 1000 || merged < 50 || shared < 100 {
		t.Errorf("%d steps in chains, %d chains that became one, %d accumulators beside others: not what was meant", joined, merged, shared)
	}
}

// TestScheduleNorm: what a norm is made of takes a launch for each time that entries of others are
// wanted, and no more.
func TestScheduleNorm(t *testing.T) {
	s := &schedule{made: map[kernels.Ptr]*chain{}}
	id := model.TensorID(0) // made before
	next := func(n int, inPlace bool, of ...model.TensorID) model.TensorID {
		var reads []read
		for _, r := range of {
			reads = append(reads, read{integersOf(r).At, inPlace})
		}
		id++
		s.step(stepOf(n, reads, id), nil)
		return id
	}
	const tokens, width = 16, 16 * 64
	for range 3 {
		x := id
		y := next(tokens, false, x) // the sum of squares
		for range 20 {
			y = next(tokens, true, y)
		}
		other := next(tokens, false, x) // a mean, beside it
		z := next(width, false, y, other)
		for range 3 { // its limbs
			z = next(width, true, z)
		}
	}
	if len(s.turns) != 6 {
		t.Errorf("%d launches", len(s.turns))
	}
	for i := range s.turns {
		if n := len(s.turns[i].chains); n != 2-i%2 {
			t.Errorf("%d chains in turn %d", n, i)
		}
	}
}
