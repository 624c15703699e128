package colsum

import (
	"encoding/binary"
	"math/bits"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Places returns eq(z_high, position) for every block of every step, position being the
// block's place in the tree that ends at z.
func Places(steps []backend.LeafStep, z *poly.Prefixes) [][]field.QM31 {
	n := len(z.Point())
	var counts [bits.UintSize]int // of blocks, by their bits
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

// run has the values of eq at places that follow each other, as those of the blocks of one size do in a tree.
type run struct {
	first  uint64       // place of values[0], when used is not 0
	used   int          // how many have been asked for
	values []field.QM31 // as many as there are blocks
}

// next returns z.At(n, place).
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

// Weights evaluates E~ for the steps of a tree that ends at z, at the end r of the sum
// over them. E~ is a sum over the step's blocks: of eq at the block's place times a
// factor that all steps of one shape share, and so do they share Late.
type Weights struct {
	z, r    []field.QM31
	key     []byte
	factors map[string][]field.QM31 // by shape
}

// NewWeights returns the weights at z and r.
func NewWeights(z, r []field.QM31) *Weights {
	return &Weights{z: z, r: r, factors: map[string][]field.QM31{}}
}

// Of returns Late times E~ at the last coordinates of r, for a step of the given shape whose
// blocks have these places: E(x) = eq(z, leaf of x) for its entries x, and 0 in the padding of
// its axes.
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

// blocks returns the factors of the blocks of a shape.
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

// Vars returns the number of rounds of the sum over the steps that are cut, 0 if
// none is.
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
