package kernels

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/internal/must"
)

// Chosen describes the product of a mixture of experts: for each row r and column j the sum over e and c of By(r,
// e)·X(r/Each, c)·W(e, j, c). By has Rows × Experts integers, most of which are 0; X has Rows/Each rows of K integers; W
// has Experts matrices of N × K. A kernel reads only those matrices W(e) and rows of X for which By(r, e) is not 0.
type Chosen struct {
	By, X, W            Integers
	Rows, Experts, N, K int
	Each                int // how many rows of By read the same row of X
}

// check refuses sizes that kernels do not take.
func (c *Chosen) check() error {
	if c.Rows < 1 || c.Rows > math.MaxUint32 || c.Experts < 1 || c.N < 1 || c.K < 1 || c.Each < 1 || c.Rows%c.Each != 0 || c.By.At == 0 || c.X.At == 0 {
		return fmt.Errorf("a product of %d rows with some of %d matrices of %d×%d", c.Rows, c.Experts, c.N, c.K)
	}
	for _, x := range []Integers{c.By, c.X} {
		if _, err := typeName(x.Width); err != nil {
			return err
		}
	}
	return nil
}

// ChosenAdd adds coef times the product to Rows × N int64 at acc.
func ChosenAdd(d Device, acc Ptr, c Chosen, coef int64) (err error) {
	defer must.Catch(&err)
	suffix := must.Get(typeName(c.W.Width))
	must.OK(c.check())
	const warps, columns = 8, 32 // CHOSEN_WARPS, CHOSEN_COLUMNS
	l := Launch{GridX: min(c.Experts*((c.N-1)/columns+1), maxGrid), Block: 32 * warps}
	return launchOf(d, Kernel{"chosen", "chosen_products_" + suffix}, l,
		acc, c.W.At, c.X.At, c.X.Width, c.By.At, c.By.Width, c.Rows, c.Experts, c.N, c.K, c.Each, coef)
}

// ChosenRestrict sets out[e, c] to Σ_r weights(r)·By(r, e)·X(r/Each, c), for Rows weights in K: the product of By and X
// with the rows bound. Both axes of the table at out are padded with zeros to powers of two. W is not read.
func ChosenRestrict(d Device, out, weights Ptr, c Chosen) error {
	if c.N = 1; out == 0 || weights == 0 {
		return fmt.Errorf("a restriction without memory")
	}
	if err := c.check(); err != nil {
		return err
	}
	pitch := PaddedSize([]int{c.K})
	blocks := (pitch-1)/block + 1
	return launchOf(d, Kernel{"chosen", "chosen_restrict"}, Launch{GridX: PaddedSize([]int{c.Experts}) * blocks, Block: block},
		out, weights, c.X.At, c.X.Width, c.By.At, c.By.Width, c.Rows, c.Experts, c.K, c.Each, pitch, blocks)
}
