package conformance

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/logup"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/plan"
	"github.com/prove-model/prove-model/prover/poly"
	"github.com/prove-model/prove-model/prover/transcript"
)

// lookups is a graph of look-up steps of some shapes, in a chunk each, into tables
// of every kind, with a witness that satisfies them.
type lookups struct {
	graph   model.Graph
	witness witness
}

func newLookups(rng random, tableBits int, chunks ...[][]int) *lookups {
	l := &lookups{}
	g, w := &l.graph, &l.witness
	tensor := func(kind model.Kind, shape []int, values []int32) model.TensorID {
		g.Tensors = append(g.Tensors, model.Tensor{Kind: kind, Shape: shape})
		w.tensors = append(w.tensors, values)
		return model.TensorID(len(g.Tensors) - 1)
	}
	rows := 1 << tableBits
	column := tensor(model.Fixed, []int{rows}, rng.integers(rows, 20))
	lowest := int64(-rows / 2)
	g.Tables = []model.Table{
		{Kind: model.TableRange, Bits: tableBits, Values: model.None},
		{Kind: model.TablePiecewise, Bits: tableBits, Min: lowest, Values: model.None,
			Pieces: []model.Piece{{End: int64(rows / 4), Offset: -5}, {End: int64(rows / 2), Slope: -3, Offset: 1}, {End: int64(rows), Slope: 1}}},
		{Kind: model.TableFunc, Bits: tableBits, Min: lowest, Values: column},
	}
	g.Chunks = len(chunks)
	for chunk, shapes := range chunks {
		counts := make([][]int32, len(g.Tables))
		for i := range counts {
			counts[i] = make([]int32, rows)
		}
		for i, shape := range shapes {
			id := model.TableID(i % len(g.Tables))
			table := &g.Tables[id]
			keys, outs := make([]int32, model.Size(shape)), make([]int32, model.Size(shape))
			for j := range keys {
				k := table.Min + rng.Int64N(int64(rows))
				keys[j] = int32(k)
				counts[id][k-table.Min]++
				outs[j] = int32(table.Value(k, w.tensors[column]))
			}
			out := model.TensorID(model.None)
			if table.Kind != model.TableRange {
				out = tensor(model.Witness, shape, outs)
			}
			g.Steps = append(g.Steps, model.Step{Kind: model.StepLookup, Shape: shape, Chunk: chunk, Table: id, Lo: model.None, Out: out, Den: model.None})
			w.keys = append(w.keys, keys)
		}
		for id, c := range counts {
			g.Mults = append(g.Mults, model.Mult{Table: model.TableID(id), Chunk: chunk, Tensor: tensor(model.Witness, []int{rows}, c)})
		}
	}
	return l
}

// leaves are those of a chunk, with random challenges.
func (l *lookups) leaves(rng random, chunk int) backend.Leaves {
	var steps []int
	var mults []*model.Mult
	for i := range l.graph.Steps {
		if l.graph.Steps[i].Chunk == chunk {
			steps = append(steps, i)
		}
	}
	for i := range l.graph.Mults {
		if l.graph.Mults[i].Chunk == chunk {
			mults = append(mults, &l.graph.Mults[i])
		}
	}
	leaves := plan.NewLeaves(&l.graph, steps, mults)
	leaves.Alpha, leaves.Beta = rng.element(), rng.element()
	return leaves
}

// fractions are the leaves by definition.
func (l *lookups) fractions(leaves backend.Leaves) (num []field.M31, den []field.QM31) {
	num, den = make([]field.M31, leaves.Size), make([]field.QM31, leaves.Size)
	for i := range leaves.Blocks {
		blk := &leaves.Blocks[i]
		base := leaves.Alpha.Sub(leaves.Beta.Square().MulM31(backend.Tag(blk.Table)))
		table := &l.graph.Tables[blk.Table]
		for x := range 1 << blk.Bits {
			at := blk.Offset + x
			den[at] = base
			var key, value int64
			if blk.Step < 0 {
				key = table.Min + int64(x)
				if table.Kind != model.TableRange {
					var column []int32
					if table.Kind == model.TableFunc {
						column = l.witness.tensors[table.Values]
					}
					value = table.Value(key, column)
				}
				num[at] = field.FromInt32(-l.witness.tensors[blk.Mult][x])
			} else {
				step := &l.graph.Steps[blk.Step]
				entry, ok := dense(step.Shape, x)
				if !ok {
					continue
				}
				key = int64(l.witness.keys[blk.Step][entry])
				if step.Out != model.None {
					value = int64(l.witness.tensors[step.Out][entry])
				}
				num[at] = 1
			}
			den[at] = den[at].Sub(field.FromM31(field.FromInt64(key))).Sub(leaves.Beta.MulM31(field.FromInt64(value)))
		}
	}
	return num, den
}

// dense turns an index with every axis padded to a power of two into one of the
// dense tensor; ok is false in the padding.
func dense(shape []int, x int) (entry int, ok bool) {
	stride := 1
	for a := len(shape) - 1; a >= 0; a-- {
		v := model.Log2Ceil(shape[a])
		i := x & (1<<v - 1)
		if i >= shape[a] {
			return 0, false
		}
		x >>= v
		entry += i * stride
		stride *= shape[a]
	}
	return entry, true
}

func proveFractions(ctx context.Context, size int, t logup.Tree) ([]byte, error) {
	defer t.Close()
	w := transcript.NewWriter(transcript.New("conformance: fractions"))
	_, err := logup.Prove(ctx, w, logup.NumVars(size), t)
	return w.Bytes(), err
}

// verifyFractions checks a proof and the evaluations that it comes down to.
func verifyFractions(proof []byte, num []field.M31, den []field.QM31) error {
	r := transcript.NewReader(transcript.New("conformance: fractions"), proof)
	end := logup.Verify(r, logup.NumVars(len(num)))
	// What is not stored is 0/1.
	rest := field.One.Sub(poly.MaskEval(end.Point, uint64(len(den))))
	if end.Num != poly.EvalM31(num, end.Point) || end.Den != poly.Eval(den, end.Point).Add(rest) {
		return errors.New("the tree ends in other values than its leaves have")
	}
	return r.Done()
}

// fractions proves look-up trees of several sizes, with look-ups of many shapes.
func fractions(t *testing.T, open Open) {
	rng := newRandom(20)
	for _, bits := range []int{1, 4, 9} {
		l := newLookups(rng, bits,
			[][]int{{}},
			[][]int{{5}, {3, 7}, {16}},
			[][]int{{4, 4, 4}, {3, 5, 7}, {100}, {1, 37, 1}, {2, 129}, {}})
		b := open(&l.graph, &l.witness)
		for chunk := range l.graph.Chunks {
			leaves := l.leaves(rng, chunk)
			num, den := l.fractions(leaves)
			proof := must(proveFractions(background, leaves.Size, must(b.Fractions(background, leaves))(t)))(t)
			if err := verifyFractions(proof, num, den); err != nil {
				t.Errorf("tables of %d bits, chunk %d: %v", bits, chunk, err)
			}
			if !bytes.Equal(proof, must(proveFractions(background, leaves.Size, logup.NewTree(num, den)))(t)) {
				t.Errorf("tables of %d bits, chunk %d: another proof than in memory", bits, chunk)
			}
		}
		b.Close()
	}
}
