package quantise

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
)

// TestBitwise compares operators on bits with the machine's own, on integers of several
// types.
func TestBitwise(t *testing.T) {
	for _, c := range []struct {
		dtype graph.DType
		bits  int // that are drawn
	}{{graph.Uint4, 4}, {graph.Int8, 7}, {graph.Uint8, 8}, {graph.Int16, 15}, {graph.Uint16, 16}, {graph.Int32, 22}, {graph.Uint32, 23}, {graph.Int64, 18}} {
		t.Run(fmt.Sprint(c.dtype), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(8, uint64(c.dtype)))
			const n = 60
			lo, hi := c.dtype.Bounds()
			x, y, mask, amounts := make([]float64, n), make([]float64, n), make([]int64, n), make([]int64, n)
			draw := func() int64 {
				v := rng.Int64N(1 << c.bits)
				if rng.IntN(8) == 0 {
					v = 1<<c.bits - 1
				}
				if lo < 0 && rng.IntN(2) == 0 {
					return -v
				}
				return v
			}
			for i := range x {
				x[i], y[i], mask[i] = float64(draw()), float64(draw()), draw()
				amounts[i] = rng.Int64N(int64(c.dtype.Bits()) + 2)
			}
			up := amounts
			if c.dtype.Bits() > 16 { // the results have no more than 23 bits
				up = make([]int64, n)
				for i := range up {
					if c.bits < 20 {
						up[i] = rng.Int64N(5)
					}
					if rng.IntN(9) == 0 {
						up[i] = 64
					}
				}
			}
			b := graph.NewBuilder("bits")
			vx, vy := b.Input("x", c.dtype, []int{n}), b.Input("y", c.dtype, []int{n})
			vm := b.Constant("mask", &graph.Tensor{Shape: []int{n}, DType: c.dtype, I64: mask})
			by := func(v []int64) *graph.Tensor { return &graph.Tensor{Shape: []int{n}, DType: c.dtype, I64: v} }
			b.Output("and", b.Bitwise(graph.And, vx, vy))
			b.Output("or", b.Bitwise(graph.Or, vx, vy))
			b.Output("xor", b.Bitwise(graph.Xor, vx, vy))
			b.Output("masked", b.Bitwise(graph.And, vm, vx))
			b.Output("set", b.Bitwise(graph.Or, vx, vm))
			b.Output("turned", b.Bitwise(graph.Xor, vx, vm))
			b.Output("down", b.Shift(vx, by(amounts), false))
			b.Output("up", b.Shift(vx, by(up), true))
			of := []func(a, b, m int64, i int) int64{
				func(a, b, m int64, i int) int64 { return a & b },
				func(a, b, m int64, i int) int64 { return a | b },
				func(a, b, m int64, i int) int64 { return a ^ b },
				func(a, b, m int64, i int) int64 { return a & m },
				func(a, b, m int64, i int) int64 { return a | m },
				func(a, b, m int64, i int) int64 { return a ^ m },
				func(a, b, m int64, i int) int64 {
					if amounts[i] >= int64(c.dtype.Bits()) {
						return a >> 63
					}
					return a >> amounts[i]
				},
				func(a, b, m int64, i int) int64 {
					if up[i] >= int64(c.dtype.Bits()) {
						return 0
					}
					v := a << up[i]
					if c.dtype.Bits() > 16 {
						return v
					}
					if v &= 1<<c.dtype.Bits() - 1; v > hi {
						v += 2 * lo
					}
					return v
				},
			}
			if c.dtype.Bits() <= 16 || lo < 0 {
				b.Output("not", b.BitwiseNot(vx))
				of = append(of, func(a, b, m int64, i int) int64 {
					if lo < 0 {
						return ^a
					}
					return hi - a
				})
			}
			g, err := b.Graph()
			if err != nil {
				t.Fatal(err)
			}
			_, _, got, _ := run(t, g, [][]float64{x, y}, Options{})
			for i := range x {
				for k, f := range of {
					if want := f(int64(x[i]), int64(y[i]), mask[i], i); got[k][i] != float64(want) {
						t.Fatalf("%s of %g, %g, mask %d, by %d or %d: %g instead of %d", g.Outputs[k], x[i], y[i], mask[i], amounts[i], up[i], got[k][i], want)
					}
				}
			}
		})
	}
}
