package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
)

// folded binds the first variables of a table to a point.
func folded(t, point []field.QM31) []field.QM31 {
	for _, r := range point {
		h := len(t) / 2
		next := make([]field.QM31, h)
		for i := range next {
			next[i] = t[i].Add(r.Mul(t[h+i].Sub(t[i])))
		}
		t = next
	}
	return t
}

// twoRounds are kernels.TwoRounds of two tables by their definition.
func twoRounds(a, b []field.QM31) (s kernels.TwoRounds) {
	q := len(a) / 4
	for x := range q {
		value := func(t []field.QM31, i int) field.QM31 { return t[i*q+x] }
		slope := func(t []field.QM31, i, j int) field.QM31 { return value(t, j).Sub(value(t, i)) }
		add := func(k int, f, g field.QM31) { s[k] = s[k].Add(f.Mul(g)) }
		for k := range 3 {
			add(k, value(a, k), value(b, k))
		}
		for k, of := range [][2]int{{0, 2}, {1, 3}, {0, 1}, {2, 3}} {
			add(3+k, slope(a, of[0], of[1]), slope(b, of[0], of[1]))
		}
		add(7, slope(a, 2, 3).Sub(slope(a, 0, 1)), slope(b, 2, 3).Sub(slope(b, 0, 1)))
	}
	return s
}

// TestTwoRounds compares both kernels for two rounds at once with their definition, for two
// instances of which one may join, whatever has to be bound before, and with several blocks.
func TestTwoRounds(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(21, 22))
	for _, kernel := range []string{"sumcheck_two_rounds", "sumcheck_two_rounds_in_lanes"} {
		for pending := range 3 {
			for _, logQuads := range []int{0, 1, 3, 7, 10} {
				for _, joins := range []bool{false, true} {
					point := vectorQM31(rng, 2, 1)[:pending]
					vars := []int{logQuads + 2 + pending, logQuads + 2 + pending}
					if joins {
						vars[1] = logQuads + 2
					}
					var insts []kernels.SumcheckInstance
					var want []kernels.TwoRounds
					var tables [][]field.QM31
					for i, v := range vars {
						a, b := vectorQM31(rng, 1<<v, 1), vectorQM31(rng, 1<<v, 1)
						insts = append(insts, kernels.SumcheckInstance{A: put(t, d, a), B: put(t, d, b), Vars: v})
						if i == 0 || !joins {
							a, b = folded(a, point), folded(b, point)
						}
						tables = append(tables, a, b)
						want = append(want, twoRounds(a, b))
					}
					batch, err := kernels.NewSumcheckBatch(d, insts)
					must(t, err)
					sums := put(t, d, make([]uint64, 2*kernels.SumcheckTwoRoundsWords))
					must(t, kernels.LaunchTwoRounds(d, kernel, batch, 2, logQuads, point, kernels.Kept(sums)))
					words := get[uint64](t, d, sums, 2*kernels.SumcheckTwoRoundsWords)
					what := fmt.Sprintf("%s of 2^%d terms, %d bound, one joins: %v", kernel, logQuads, pending, joins)
					for i := range want {
						got := kernels.NewTwoRounds(words[i*kernels.SumcheckTwoRoundsWords:])
						same(t, what, got[:], want[i][:])
						same(t, what, get[field.QM31](t, d, insts[i].A, 4<<logQuads), tables[2*i])
						same(t, what, get[field.QM31](t, d, insts[i].B, 4<<logQuads), tables[2*i+1])
					}
				}
			}
		}
	}
}

// grid is a kernels.Grid of two tables by its definition, with the weights of x.
func grid(a, b, weights []field.QM31) kernels.Grid {
	n := len(a) / 8
	g := make(kernels.Grid, 27)
	for x := range n {
		value := func(t []field.QM31, point int) field.QM31 {
			at := []field.QM31{t[x], t[n+x], t[2*n+x], t[3*n+x], t[4*n+x], t[5*n+x], t[6*n+x], t[7*n+x]}
			for div := 9; div > 0; div /= 3 {
				h := len(at) / 2
				for i := range h {
					switch point / div % 3 {
					case 1:
						at[i] = at[h+i]
					case 2:
						at[i] = at[h+i].Sub(at[i])
					}
				}
				at = at[:h]
			}
			return at[0]
		}
		for point := range g {
			g[point] = g[point].Add(weights[x].Mul(value(a, point)).Mul(value(b, point)))
		}
	}
	return g
}

// TestThreeRounds compares the kernel for three rounds at once with their definition, for one or two instances of
// which one may join, with and without eq, whatever has to be bound before, and with blocks that have
// several tiles.
func TestThreeRounds(t *testing.T) {
	d := devicetest.Open(t)
	box, err := d.NewResultBuffer(6 * kernels.SumcheckThreeRoundsWords)
	must(t, err)
	defer func() { must(t, box.Close()) }()
	rng := rand.New(rand.NewPCG(31, 32))
	for pending := range 4 {
		for k, logOctets := range []int{0, 4, 6, 8, 9} {
			for _, joins := range []bool{false, true} {
				point := vectorQM31(rng, 3, 1)[:pending]
				vars := []int{logOctets + 3 + pending}
				if joins {
					vars = append(vars, logOctets+3)
				} else if k%2 == 0 {
					vars = append(vars, vars[0])
				}
				eq := []int{0, logOctets/2 + 1, logOctets}[rng.IntN(3)] // coordinates after the three
				blocks := 1 + 2*rng.IntN(2)
				var insts []kernels.SumcheckInstance
				var want []kernels.Grid
				var tables [][]field.QM31
				for i, v := range vars {
					a, b := vectorQM31(rng, 1<<v, 1), vectorQM31(rng, 1<<v, 1)
					before, after := v-logOctets, min(eq, logOctets)
					if after == 0 {
						before = rng.IntN(before + 1)
					}
					coordinates := vectorQM31(rng, before+after, 1)
					heaps, err := kernels.NewEqHeaps(d, coordinates)
					must(t, err)
					weights := make([]field.QM31, 1<<logOctets)
					for x := range weights {
						weights[x] = poly.EqIndex(coordinates[before:], uint64(x>>(logOctets-after)))
					}
					insts = append(insts, kernels.SumcheckInstance{A: put(t, d, a), B: put(t, d, b), Vars: v, Eq: heaps})
					if i == 0 || !joins {
						a, b = folded(a, point), folded(b, point)
					}
					tables = append(tables, a, b)
					want = append(want, grid(a, b, weights))
				}
				batch, err := kernels.NewSumcheckBatch(d, insts)
				must(t, err)
				each := kernels.SumcheckThreeRoundsWords
				var got []uint64
				if k%2 == 0 { // to the result buffer, each block for itself
					each *= blocks
					got = make([]uint64, each*len(insts))
					must(t, kernels.LaunchThreeRounds(d, blocks, batch, len(insts), logOctets, point, box.Post()))
					must(t, box.Wait(got))
				} else {
					sums := put(t, d, make([]uint64, each*len(insts)))
					must(t, kernels.LaunchThreeRounds(d, blocks, batch, len(insts), logOctets, point, kernels.Kept(sums)))
					got = get[uint64](t, d, sums, each*len(insts))
				}
				what := fmt.Sprintf("%d instances of 2^%d terms, %d bound, one joins: %v, %d in eq, %d blocks",
					len(insts), logOctets, pending, joins, eq, blocks)
				for i := range want {
					same(t, what, kernels.NewGrid(got[i*each:][:each]), want[i])
					same(t, what, get[field.QM31](t, d, insts[i].A, 8<<logOctets), tables[2*i])
					same(t, what, get[field.QM31](t, d, insts[i].B, 8<<logOctets), tables[2*i+1])
				}
			}
		}
	}
}

// TestGramBounds has a block add up as many terms as it may, on a GPU, of the greatest bytes that there are.
func TestGramBounds(t *testing.T) {
	d := devicetest.Open(t)
	logOctets := 8
	if os.Getenv("PROVE_MODEL_TEST_GPU") == "1" {
		logOctets = 15
	}
	p := field.M31(field.P - 1)
	ones := slices.Repeat([]field.QM31{field.NewQM31(p, p, p, p)}, 8<<logOctets)
	batch, err := kernels.NewSumcheckBatch(d, []kernels.SumcheckInstance{{A: put(t, d, ones), B: put(t, d, ones), Vars: logOctets + 3}})
	must(t, err)
	sums := put(t, d, make([]uint64, kernels.SumcheckThreeRoundsWords))
	must(t, kernels.LaunchThreeRounds(d, 1, batch, 1, logOctets, nil, kernels.Kept(sums)))
	want := make(kernels.Grid, 27)
	for i := range want {
		if i%3 < 2 && i/3%3 < 2 && i/9 < 2 { // no differences
			want[i] = ones[0].Mul(ones[0]).MulM31(1 << logOctets)
		}
	}
	same(t, "sums", kernels.NewGrid(get[uint64](t, d, sums, kernels.SumcheckThreeRoundsWords)), want)
}

// TestGrid compares sums of a grid with those of the tables that it is of, round by round.
func TestGrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for vars := range 4 {
		eq := vectorQM31(rng, 3, 1)[:vars]
		if vars == 3 {
			eq[1] = field.Zero
		}
		a, b := vectorQM31(rng, 8, 1), vectorQM31(rng, 8, 1)
		g := grid(a, b, []field.QM31{field.One})
		for round := range 3 {
			half := len(a) / 2
			var zero, one, top field.QM31
			for x := range half {
				rest := eq[min(round+1, len(eq)):]
				w := poly.EqIndex(rest, uint64(x>>(2-round-len(rest))))
				zero = zero.Add(w.Mul(a[x]).Mul(b[x]))
				one = one.Add(w.Mul(a[half+x]).Mul(b[half+x]))
				top = top.Add(w.Mul(a[half+x].Sub(a[x])).Mul(b[half+x].Sub(b[x])))
			}
			z, o, l := g.Values(eq[min(round+1, len(eq)):])
			same(t, fmt.Sprintf("round %d, %d in eq", round, vars), []field.QM31{z, o, l}, []field.QM31{zero, one, top})
			r := vectorQM31(rng, 1, 1)
			a, b = folded(a, r), folded(b, r)
			g = g.Bind(r[0])
		}
		same(t, "what is left", g, []field.QM31{a[0].Mul(b[0])})
	}
}
