package fixed

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Sizes in a norm.
const (
	normStep = 3       // bits of a limb of a factor; the bits of a limb of x are a multiple of these
	normTop  = 15      // a row without its lowest limbs counts as one number if its norm has at most so many bits
	MaxNorm  = 1 << 17 // the most elements of a row
)

// Normalised divides every row x of a tensor by √(mean of x² + ε), or by √(Σx² + ε) if sum is set. The
// tensor is times the values that epsilon is meant for, as Centred returns a multiple, so
// ε = epsilon·times².
//
// The divisor comes from a wide integer N = 4^up·(Σx² + ε'), with the tensor's integers x and
// ε' = ε·2^(2·Frac), times the row's count for a mean. A table gives the inverse root of N's leading
// bits, and with mean = count (or 1 for sum) the quotient √mean·2^up·x/√N is a sum over the limbs of
// x, each times a factor of its row.
func (b *Builder) Normalised(r Rows, id model.TensorID, sum bool, epsilon float64, times int) *Int {
	t := b.Circuit.Tensors[id]
	mean := r.Count
	if sum {
		mean = 1
	}
	// up is 0, or 6 if a small epsilon needs more bits. Then 4^up is one digit, and the row is 0 where
	// the first digit of N that is not 0 is below digit up/6.
	up := 0
	eps := float64(epsilon * float64(mean) * float64(times) * float64(times) * Pow2(2*t.Frac))
	if eps < 1<<10 {
		up = DigitBits / 2
	}
	p := b.powerOf("sum of squares", r, id, 2*up, eps*Pow2(2*up))
	limbs, bits := p.limbs, p.bits

	// frac is the scale of the result, as fine as there is room for. 2^exp is that of the table, as fine
	// as its values have at most 17 bits, and with exp ≡ frac + 1 modulo normStep, so that the shifts
	// below are by whole limbs of the factor.
	frac := 0
	// normOf bounds the norm of a result of which the operand has that norm: of a single entry in a row whose other entries
	// are 0, or of a whole row.
	normOf := func(norm float64) float64 {
		return math.Sqrt(float64(mean)) * norm / math.Sqrt(float64(norm*norm)+eps) * (1 + Pow2(-9))
	}
	largest := float64(b.Magnitude(id))
	root := normOf(largest)
	for b.Room(float64(root*Pow2(frac+1)) + 1<<17) {
		frac++
	}
	exp := (frac + 1) % normStep
	for math.Sqrt(float64(mean))*Pow2(exp+normStep) <= 1<<(17+leadBits/2) {
		exp += normStep
	}
	c := b.Tabulated(fmt.Sprint("inverse roots ", mean, exp), 1<<leadBits, 0, func(i int) float64 { return inverseRoot(mean, 2*exp, i) })
	first, scale, inverse := b.leadingBits(r.Shape, p.digits, "inverse root", c)
	factor := b.Exact("factor", b.rowProduct(r.Shape, scale, inverse, c.Greatest<<(DigitBits/2-1)))

	// With key + ½ for the leading bits and d for the first digit, 1/√N = scale/√(2·key + 1)·2^(1 − 6·d)
	// (leadingBits). So in units of 2^−frac the result is x·factor/2^t, t = 6·d + exp − 1 − up − frac, and
	// limb i of x counts 2^(bits·i) times. The norm of x is below 2^(6·(d+1) − up): without the limbs below
	// the one that the second function returns, that is at most normTop bits.
	e := b.sumOfLimbs(r, id, limbs, bits, first, b.limbs(factor, normStep, normStep), func(i, digit int) int {
		return DigitBits/2*digit - bits*i + exp - 1 - up - frac
	}, func(digit int) int {
		if digit < up/(DigitBits/2) {
			return -1
		}
		return min(len(limbs)-1, max(0, (DigitBits/2*(digit+1)-up-normTop+bits-1)/bits))
	})
	e.Frac = frac
	e.Max = int64(root*Pow2(frac)) + 1<<17
	e.Min = -e.Max
	// The norm of a row is greatest if all its entries are the largest. root is 2^−9 more than its largest entry, and the factors are off
	// by less than 2^−11: where root covers the row as well, it is the bound.
	norm := root
	if row := normOf(math.Sqrt(float64(r.Count)) * largest); row > root*(1+Pow2(-10)) {
		norm = row
	}
	// The rounding of factors adds 2^17 at most to each entry.
	e.Norm = float64(norm*Pow2(frac)) + float64(math.Sqrt(float64(r.Count))*(1<<17))
	return e
}

// power is a sum of squares of rows, in digits, and the limbs of the entries that are squared.
type power struct {
	limbs       []model.TensorID
	bits        int // of the limbs
	digits      []model.TensorID
	least, most *big.Int // bounds of the sum
}

// powerOf is 2^exp·Σx² + max(1, number rounded) for every row x of a tensor.
func (b *Builder) powerOf(name string, r Rows, id model.TensorID, exp int, number float64) power {
	least := wholeOf(number)
	if least.Sign() == 0 {
		least.SetInt64(1)
	}
	most := big.NewInt(b.Magnitude(id))
	most.Mul(most, most).Mul(most, big.NewInt(int64(r.Count))).Lsh(most, uint(exp)).Add(most, least)
	// The last limb is within ±2^top, so that its squares in a row add up to at most 2^29. No limb is larger.
	top := (29 - model.Log2Ceil(r.Count)) / 2
	bits := limbBits(model.Log2Ceil(int(b.Magnitude(id))), top)
	limbs := b.limbs(id, bits, top)
	return power{limbs, bits, b.digits(name, b.squares(r, limbs, bits, exp, least), most), least, most}
}

// wholeOf is a number of units of squares, rounded. It refuses one that is beyond float64: the operand's unit is so small
// (below 2^−400 or so) that its square is none.
func wholeOf(number float64) *big.Int {
	refuse.If(math.IsNaN(number) || math.IsInf(number, 0), "the values of its operand are too small: their squares are below 10^-300")
	whole, _ := new(big.Float).SetFloat64(math.Round(number)).Int(nil)
	return whole
}

// RowNorm records a bound of the Euclidean norm of the rows of a tensor to which e was rounded, if
// that of e's rows is known: the latter, plus half a unit for each entry. Clamping does not make a
// row longer.
func (b *Builder) RowNorm(id model.TensorID, e *Int) {
	if t := &b.Circuit.Tensors[id]; e.Norm > 0 && len(t.Shape) > 0 {
		b.RowNorms[id] = float64(e.Norm*Pow2(t.Frac-e.Frac)) + float64(math.Sqrt(float64(t.Shape[len(t.Shape)-1]))/2)
	}
}

// limbBits returns the size of limbs, in bits, for numbers of the given width whose last limb
// has up to top bits: the least multiple of normStep with which there are as few limbs as possible.
func limbBits(width, top int) int {
	most := min(3, (top+1)/normStep) * normStep
	bits := normStep
	for bits < most && (width-top+bits-1)/bits > (width-top+most-1)/most {
		bits += normStep
	}
	return bits
}

// sumOfLimbs is Σ C_i·limb i for every entry. C_i is one number for each row, the factor divided by
// 2^shift(i, d), d being the row's first digit that is not 0 (first). In a row, the limbs from
// number from(d) on count as one number, with the C of that limb: the C of higher limbs would
// be too large in rows where these limbs are 0. Where from(d) is negative, the row is 0.
func (b *Builder) sumOfLimbs(
	r Rows, id model.TensorID, limbs []model.TensorID, bits int, first, factor []model.TensorID,
	shift func(i, digit int) int, from func(digit int) int,
) *Int {
	all := model.Axes(len(r.of))
	sum := &Int{Shape: r.of}
	add := func(x model.TensorID, i int, holds func(from int) bool) {
		e := &Int{Shape: r.Shape}
		for digit, is := range first {
			// With a larger shift the shifted factor is 0. With one below −29 the digit is never the first: C_i is below 2^30.
			if t := shift(i, digit); holds(from(digit)) && t < normStep*len(factor) && t > -30 {
				p := b.rowProduct(r.Shape, b.suffix("factor", factor, max(0, t/normStep), normStep), is, 0)
				e = e.Plus(p.Times(1 << max(0, -t)))
			}
		}
		if !e.Linear() {
			c := b.Exact(fmt.Sprintf("factor of limb %d", i), e.Within(0, model.Bound-1))
			sum = sum.Plus(b.Product(r.of, x, all, c, r.labels, 1))
		}
	}
	for i := range limbs {
		x := id
		if i > 0 {
			x = b.suffix("high limbs", limbs, i, bits)
		}
		add(x, i, func(from int) bool { return from == i })
		if i+1 < len(limbs) {
			add(limbs[i], i, func(from int) bool { return from > i })
		}
	}
	return sum
}

// suffix is the number that limbs make from limb i on.
func (b *Builder) suffix(name string, limbs []model.TensorID, i, bits int) model.TensorID {
	if i == len(limbs)-1 {
		return limbs[i]
	}
	e := &Int{Shape: b.Circuit.Tensors[limbs[0]].Shape}
	for k, limb := range limbs[i:] {
		e = e.Plus(b.Of(limb).Times(1 << (bits * k)))
	}
	return b.VirtualOf(name, e)
}

// inverseRoot is √(mean·2^exp/(2·key + 1)), rounded. Keys below 2^(leadBits−2), which leading bits
// never are, have the value of that one. mean·2^exp is at most 2^46.
func inverseRoot(mean, exp, key int) float64 {
	num := int64(mean) << (exp + 2) // four times as much, so that the root is twice as large and can be rounded
	// The root of a whole number below 2^50 is whole, or at least 2^−26 away from any whole
	// number, more than the error of a float64. So cutting off its fraction gives the exact ⌊√…⌋.
	root := int64(math.Sqrt(float64(num / int64(2*max(key, 1<<(leadBits-2))+1))))
	return float64((root + 1) / 2)
}

// squares is 2^exp·Σx² + least for every row x of a tensor that is given by its limbs.
func (b *Builder) squares(r Rows, limbs []model.TensorID, bits, exp int, least *big.Int) wide {
	w := wide{shape: r.Shape, constant: least}
	for i := range limbs {
		for j := range i + 1 {
			e := b.Product(r.Shape, limbs[i], r.contracted, limbs[j], r.contracted, r.Count)
			at := exp + bits*(i+j)
			if i == j {
				e.Min = 0
			} else {
				at++ // limbs i·j and j·i
			}
			w.terms = append(w.terms, WideTerm{e, at})
		}
	}
	return w
}

// Rows says how a tensor is cut into rows along some of its axes: there is one row for each index of
// the other axes.
type Rows struct {
	of, Shape  []int       // the shape of the tensor, and what is left of it without the axes of a row
	labels     []int       // by axis of Shape, its axis in the tensor
	contracted []int       // by axis of the tensor, its label in a product that sums over rows
	sum        *model.View // the sum of every row, of shape Shape
	Count      int         // entries of a row
}

// RowsOf returns the rows, along some axes, of a tensor whose shape is of.
func RowsOf(of, axes []int) Rows {
	r := Rows{of: of, Shape: []int{}}
	r.sum, r.Count = SumView(of, axes, false)
	for i, d := range of {
		if slices.Contains(axes, i) {
			r.contracted = append(r.contracted, len(of)+i)
			continue
		}
		r.contracted = append(r.contracted, len(r.Shape))
		r.labels = append(r.labels, i)
		r.Shape = append(r.Shape, d)
	}
	return r
}

// repeated views a tensor of one number for each row in the shape of the tensor of all entries.
func (r Rows) repeated() *model.View { return LabelView(r.labels, r.of) }

// Centred returns times·(x − mean), with the mean of x's row of count entries. In short rows that is
// count·x − Σx, which is exact, with times = count. In others times is 1, and the mean is rounded on
// a finer scale than x's.
func (b *Builder) Centred(r Rows, id model.TensorID, count int) (of model.TensorID, times int) {
	m := b.Magnitude(id)
	if count <= 64 && 2*int64(count)*m < 1<<28 {
		sum := b.Viewed("sum", id, r.sum, r.Shape)
		most := 2 * int64(count) * m
		return b.VirtualOf("from the mean", b.Of(id).Times(int64(count)).Minus(b.View(sum, r.repeated(), r.of)).Within(-most, most)), count
	}
	// The mean has up to four guard bits, as many as keep the result within ±2^28. offset is at least |x|.
	guard := min(4, max(0, 27-model.Log2Ceil(int(m))))
	offset := int64(1) << model.Log2Ceil(int(m))
	mean := b.mean(r, id, offset, guard)
	e := b.Of(id).Plus(b.View(b.Scalar("offset", offset), LabelView(nil, r.of), r.of)).Finer(guard)
	for _, part := range mean {
		e = e.Minus(b.View(part.Src, r.repeated(), r.of).Times(part.Coef))
	}
	most := 2*m<<guard + 1
	return b.VirtualOf("from the mean", e.Within(-most, most)), 1
}

const meanLimb = 10 // bits of the limbs of long sums

// mean is 2^guard·(mean + offset) for every row, rounded, as a sum of parts. offset is at
// least as large as any entry, so that mean + offset is not negative.
//
// The sum of a row is divided by its count in long division: the digits of the sum, from the highest
// on, each with the remainder from the one before; the last remainder gives the guard bits.
func (b *Builder) mean(r Rows, id model.TensorID, offset int64, guard int) []model.Linear {
	limbs, count := []model.TensorID{id}, int64(r.Count)
	if count*b.Magnitude(id) >= 1<<29 {
		limbs = b.limbs(id, meanLimb, min(28-model.Log2Ceil(r.Count), DigitBits))
	}
	w := wide{shape: r.Shape, constant: big.NewInt(count * offset)}
	for i, limb := range limbs {
		e := b.View(limb, r.sum, r.Shape)
		e.Min, e.Max = e.Min*count, e.Max*count
		w.terms = append(w.terms, WideTerm{e, meanLimb * i})
	}
	digits := b.digits("sum", w, big.NewInt(2*count*offset))
	den := b.Repeated(b.Scalar("entries of a row", count), r.Shape)
	var parts []model.Linear
	divide := func(e *Int, bits int) *Int {
		q := b.Witness("mean, digit", r.Shape, 0, 0, 1<<bits-1)
		rest := b.Division(e.Acc, den, q, count-1)
		b.InRange(b.View(q, nil, r.Shape), bits)
		parts = append(parts, model.Linear{Src: q})
		return rest
	}
	rest := &Int{Shape: r.Shape}
	for i := len(digits) - 1; i >= 0; i-- {
		b.InRange(b.View(digits[i], nil, r.Shape), DigitBits)
		rest = divide(rest.Times(1<<DigitBits).Plus(b.View(digits[i], nil, r.Shape)), DigitBits)
		parts[len(parts)-1].Coef = 1 << (DigitBits*i + guard)
	}
	divide(rest.Times(1<<guard).PlusConst(count/2), guard+1)
	parts[len(parts)-1].Coef = 1
	// The mean is below 2·offset, so that higher digits are 0.
	return slices.DeleteFunc(parts, func(p model.Linear) bool { return p.Coef>>guard > 2*offset })
}
