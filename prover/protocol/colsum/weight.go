package colsum

import (
	"encoding/binary"
	"math/bits"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Places returns, for every block of every step, eq(z_high, position): the factor of eq at the
// point z, where the tree ends, that belongs to the block's position among the blocks of its
// size. z_high are the coordinates of z but the last Bits of the block.
func Places(steps []backend.LeafStep, z *poly.Prefixes) [][]field.QM31 {
	n := len(z.Point())
	var counts [bits.UintSize]int // counts[b] is the number of blocks of 2^b leaves
	for i := range steps {
		for k := range steps[i].Blocks {
			counts[steps[i].Blocks[k].Bits]++
		}
	}
	var runs [bits.UintSize]run
	blocks := 0
	for b, count := range counts {
		runs[b].values = make([]field.QM31, count)
		blocks += count
	}
	places, room := make([][]field.QM31, len(steps)), make([]field.QM31, blocks)
	for i := range steps {
		own := steps[i].Blocks
		places[i], room = room[:len(own):len(own)], room[len(own):]
		for k := range own {
			b := own[k].Bits
			places[i][k] = runs[b].next(z, n-b, uint64(own[k].Offset>>b))
		}
	}
	return places
}

// run has the values of eq at neighbouring places, as the blocks of one size are neighbours in a tree. All are computed at once.
type run struct {
	first  uint64       // the place that values[0] is of; not set while used is 0
	used   int          // how many values have been asked for
	values []field.QM31 // one for each block
}

// next returns z.At(n, place), from values if the blocks are asked for in the order of their places.
func (r *run) next(z *poly.Prefixes, n int, place uint64) field.QM31 {
	if r.used == 0 {
		r.first = place
		z.Run(r.values[:min(uint64(len(r.values)), 1<<n-place)], n, place)
	}
	if r.used++; place-r.first != uint64(r.used-1) {
		return z.At(n, place) // the blocks of one size lie in another order
	}
	return r.values[r.used-1]
}

// Weights evaluates E~ (package comment) for the steps of a tree that ends at z, at the
// point r where the sum over these steps ends. E~ is the sum, over the step's blocks, of the block's
// place (Places) times a factor. Steps of one shape have the same factors, and the same Late.
type Weights struct {
	z, r    []field.QM31
	key     []byte                  // room for a key of factors
	factors map[string][]field.QM31 // by shape, and by block: the factor times Late
}

// NewWeights returns the weights at z and r.
func NewWeights(z, r []field.QM31) *Weights {
	return &Weights{z: z, r: r, factors: map[string][]field.QM31{}}
}

// Of returns Late times E~ at the last coordinates of r, for a step of the given shape. places
// has the values of Places for its blocks. E(x) = eq(z, leaf of x) for the step's entries x, and
// 0 in the padding of its axes.
func (w *Weights) Of(s *backend.LeafStep, shape []int, places []field.QM31) field.QM31 {
	w.key = w.key[:0]
	for _, d := range shape {
		w.key = binary.LittleEndian.AppendUint64(w.key, uint64(d))
	}
	f, ok := w.factors[string(w.key)]
	if !ok {
		f = w.blocks(s, shape)
		late := Late(w.r, model.Vars(shape))
		for i := range f {
			f[i] = f[i].Mul(late)
		}
		w.factors[string(w.key)] = f
	}
	return field.Dot(places, f)
}

// blocks returns the factors of the blocks of a shape: for each axis, eq of the axis's coordinates of r
// and the block's prefix, times eq of the rest of these and the coordinates of z that number the
// leaves within the block.
func (w *Weights) blocks(s *backend.LeafStep, shape []int) []field.QM31 {
	axes := poly.SplitAxes(shape, w.r[len(w.r)-model.Vars(shape):])
	factors := make([]field.QM31, len(s.Blocks))
	for i := range s.Blocks {
		b, f := &s.Blocks[i], field.One
		low := w.z[len(w.z)-b.Bits:]
		for a, p := range b.Parts {
			high := len(axes[a]) - p.Bits
			f = f.Mul(poly.EqIndex(axes[a][:high], uint64(p.Start>>p.Bits)))
			f = f.Mul(poly.Eq(axes[a][high:], low[:p.Bits]))
			low = low[p.Bits:]
		}
		factors[i] = f
	}
	return factors
}

// Late returns Π_{j < N−n} (1 − r_j), the factor of a step of n variables in the value
// at the end r of the sum.
func Late(r []field.QM31, n int) field.QM31 {
	v := field.One
	for _, c := range r[:len(r)-n] {
		v = v.Mul(field.One.Sub(c))
	}
	return v
}

// Vars returns the number of rounds of the sum over the steps that are cut into several
// blocks: that of the variables of the longest one, or 0 if no step is cut.
func Vars(g *model.Graph, l *backend.Leaves) int {
	n := 0
	for i := range l.Steps {
		if s := &l.Steps[i]; s.IsCut() {
			n = max(n, model.Vars(g.Steps[s.Step].Shape))
		}
	}
	return n
}

// Elements returns the number of elements of K that a sum of vars rounds sends.
func Elements(vars int) int { return 2 * vars }
