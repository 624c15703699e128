package quantise

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

func init() { register(lowerNorm, always[graph.Norm](traits{means: true, norm: true})) }

// Sizes in a norm.
const (
	normStep = 3       // bits of the limbs of factors: limbs of x have a multiple
	normTop  = 15      // bits, at most, of the norm of what has the first factor
	maxNorm  = 1 << 17 // elements of a row
)

// lowerNorm lowers a norm so that a row's size does not matter, from a unit to all
// that its tensor may hold.
//
// The sum of squares N of a row is exact, a wide integer (digits), and at least 1.
// Its leading bits are looked up in a table of inverse roots, which makes a factor Q;
// where they are says how to shift it: the result is Σ C_i·limb i of x, C_i being
// √count·2^frac·2^(bits·i)/√N, rounded. So the limbs of small rows have large factors
// and the low limbs of large ones small factors, down to 0; and the sum, to be
// rounded once, is on one scale for all rows, and bounded by the root of the number
// of elements, or less where the epsilon is large, whatever x is.
func lowerNorm(l *lowering, n *graph.Node, op graph.Norm, v *value) {
	x := l.values[n.Inputs[0]]
	count := op.Count(v.shape)
	if count > maxNorm {
		refuse("rows of %d elements are over %d", count, maxNorm)
	}
	r := rowsOf(v.shape, op.Axes)
	id, times := l.narrowEnough(x, op.Centred), 1
	if op.Centred {
		l.begin(Block{Kind: centredBlock, Of: id, Mask: model.None, Axes: op.Axes})
		id, times = l.centred(r, id, count)
	}
	l.begin(Block{Kind: normBlock, Of: id, Mask: model.None, Axes: op.Axes, Sum: op.Sum, Epsilon: op.Epsilon, Times: times})
	v.pending = l.normalised(r, id, op.Sum, op.Epsilon, times)
	if !slices.Equal(op.Axes, []int{len(v.shape) - 1}) {
		v.pending.norm = 0 // rows are not along the last axis
	}
}

// narrowEnough returns the value's tensor for a norm. It cuts its operand into limbs,
// which look-ups can do of values below 2^29; less its mean, one may be twice as large.
func (l *lowering) narrowEnough(x *value, centred bool) model.TensorID {
	id, most := l.tensor(x), 28
	if centred {
		most--
	}
	if over := model.Log2Ceil(int(l.magnitude(id))) - most; over > 0 {
		e := l.tensorExpr(id, nil, x.shape)
		id = l.roundTo(x.name, e, e.frac-over)
	}
	return id
}

// normalised is the norm of the rows of a tensor, which is that many times what the
// epsilon goes with. sum: the sum of the squares is meant, not their mean.
func (l *builder) normalised(r rows, id model.TensorID, sum bool, epsilon float64, times int) *expr {
	t := l.g.Tensors[id]
	mean := r.count
	if sum {
		mean = 1
	}
	// N is taken times 4^up, if that is needed for the epsilon. Below its digit
	// number up/6 all of a row is 0.
	up := 0
	eps := float64(epsilon * float64(mean) * float64(times) * float64(times) * pow2(2*t.Frac))
	if eps < 1<<10 {
		up = digitBits / 2
	}
	least, _ := new(big.Float).SetFloat64(math.Round(eps * pow2(2*up))).Int(nil)
	if least.Sign() == 0 {
		least.SetInt64(1)
	}
	most := big.NewInt(l.magnitude(id))
	most.Mul(most, most).Mul(most, big.NewInt(int64(r.count))).Lsh(most, uint(2*up)).Add(most, least)

	// The last limb's squares, and any limb's, make sums of at most 2^29.
	top := (29 - model.Log2Ceil(r.count)) / 2
	bits := limbBits(model.Log2Ceil(int(l.magnitude(id))), top)
	limbs := l.limbs(id, bits, top, 1)
	digits := l.digits("sum of squares", l.squares(r, limbs, bits, 2*up, least), most)
	first, lead, next := l.leading(r.shape, digits)

	// The scale of the result, as fine as there is room for, and that of the table:
	// such that factors are shifted by whole limbs.
	frac := 0
	largest := float64(l.magnitude(id))
	root := math.Sqrt(float64(mean)) * largest / math.Sqrt(float64(largest*largest)+eps) * (1 + pow2(-9))
	for l.room(float64(root*pow2(frac+1)) + 1<<17) {
		frac++
	}
	exp := (frac + 1) % normStep
	for math.Sqrt(float64(mean))*pow2(exp+normStep) <= 1<<(17+leadBits/2) {
		exp += normStep
	}
	values := l.column(fmt.Sprint("inverse roots ", mean, exp), func() []int32 { return inverseRoots(mean, 2*exp) })
	scale, inverse := l.leadingBits(r.shape, lead, next, "inverse root", values)
	factor := l.exact("factor", l.rowProduct(r.shape, scale, inverse, int64(slices.Max(values))<<(digitBits/2-1)))

	e := l.sumOfLimbs(r, id, limbs, bits, first, l.limbs(factor, normStep, normStep, 1), func(i, digit int) int {
		return digitBits/2*digit - bits*i + exp - 1 - up - frac
	}, func(digit int) int {
		if digit < up/(digitBits/2) {
			return -1
		}
		return min(len(limbs)-1, max(0, (digitBits/2*(digit+1)-up-normTop+bits-1)/bits))
	})
	e.frac = frac
	e.max = int64(root*pow2(frac)) + 1<<17
	e.min = -e.max
	// Together the entries of a row have the norm that an entry alone can have, but
	// for what rounding adds to each.
	e.norm = float64(root*pow2(frac)) + float64(math.Sqrt(float64(r.count))*(1<<17))
	return e
}

// rowNorm bounds the Euclidean norm of the rows of a tensor to which an accumulator
// was rounded, of which the rows' norm is known; clamping makes them no longer.
func (l *builder) rowNorm(id model.TensorID, e *expr) {
	if t := &l.g.Tensors[id]; e.norm > 0 && len(t.Shape) > 0 {
		l.rowNorms[id] = float64(e.norm*pow2(t.Frac-e.frac)) + float64(math.Sqrt(float64(t.Shape[len(t.Shape)-1]))/2)
	}
}

// limbBits returns the size of limbs for numbers of the given width of which the
// last limb has top bits: the least that makes as few as possible.
func limbBits(width, top int) int {
	most := min(3, (top+1)/normStep) * normStep
	bits := normStep
	for bits < most && (width-top+bits-1)/bits > (width-top+most-1)/most {
		bits += normStep
	}
	return bits
}

// sumOfLimbs is Σ C_i·limb i, C_i being the factor over 2^shift(i, first digit). In a
// row whose first digit has the number of a limb for its from, all limbs from that
// one on count together, with its factor: their own would be too large where they
// are 0. Where it has a negative number the row is 0.
func (l *builder) sumOfLimbs(r rows, id model.TensorID, limbs []model.TensorID, bits int, first, factor []model.TensorID, shift func(i, digit int) int, from func(digit int) int) *expr {
	all := allLabels(r.of)
	sum := &expr{shape: r.of}
	add := func(x model.TensorID, i int, holds func(from int) bool) {
		e := &expr{shape: r.shape, max: model.Bound - 1}
		for digit, is := range first {
			if t := shift(i, digit); holds(from(digit)) && t < normStep*len(factor) {
				p := l.rowProduct(r.shape, l.suffix("factor", factor, max(0, t/normStep), normStep), is, 0)
				e.acc.Products = append(e.acc.Products, p.times(1<<max(0, -t)).acc.Products...)
			}
		}
		if len(e.acc.Products) > 0 {
			c := l.exact(fmt.Sprintf("factor of limb %d", i), e)
			sum.acc.Products = append(sum.acc.Products, model.Product{Coef: 1, A: x, B: c, LabelsA: all, LabelsB: r.labels})
		}
	}
	for i := range limbs {
		x := id
		if i > 0 {
			x = l.suffix("high limbs", limbs, i, bits)
		}
		add(x, i, func(from int) bool { return from == i })
		if i+1 < len(limbs) {
			add(limbs[i], i, func(from int) bool { return from > i })
		}
	}
	return sum
}

// suffix is the number that limbs make from limb i on.
func (l *builder) suffix(name string, limbs []model.TensorID, i, bits int) model.TensorID {
	if i == len(limbs)-1 {
		return limbs[i]
	}
	t := model.Tensor{Name: name, Shape: l.g.Tensors[limbs[0]].Shape, Kind: model.Virtual}
	for k, limb := range limbs[i:] {
		c := int64(1) << (bits * k)
		t.Def = append(t.Def, model.Linear{Coef: c, Src: limb})
		t.Min, t.Max = t.Min+c*l.g.Tensors[limb].Min, t.Max+c*l.g.Tensors[limb].Max
	}
	return l.add(t)
}

// inverseRoots is the table of √(mean·2^exp/(2·key + 1)), rounded; keys that
// leading bits never are have the greatest value of the others. mean·2^exp is at most
// 2^46.
func inverseRoots(mean, exp int) []int32 {
	values := make([]int32, 1<<leadBits)
	num := int64(mean) << (exp + 2) // four times, to round its root
	for i := range values {
		key := int64(max(i, 1<<(leadBits-2)))
		// Of whole numbers below 2^50 the root is at least 2^−26 away from a whole
		// number that it is not, more than a float64 is off: cut off it is exact.
		root := int64(math.Sqrt(float64(num / (2*key + 1))))
		values[i] = int32((root + 1) / 2)
	}
	return values
}

// squares is 2^exp·Σx² + least of every row of a tensor given by its limbs.
func (l *builder) squares(r rows, limbs []model.TensorID, bits, exp int, least *big.Int) wide {
	w := wide{shape: r.shape, constant: least}
	for i := range limbs {
		for j := range i + 1 {
			e := l.product(r.shape, limbs[i], r.contracted, limbs[j], r.contracted, r.count)
			at := exp + bits*(i+j)
			if i == j {
				e.min = 0
			} else {
				at++ // it is there twice
			}
			w.terms = append(w.terms, wideTerm{e, at})
		}
	}
	return w
}
