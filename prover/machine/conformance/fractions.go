package conformance

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// lookups is a graph of look-up steps into tables of every kind, with a witness that satisfies
// them.
type lookups struct {
	graph   model.Graph
	witness witness
}

// newLookups returns look-ups into tables of 2^tableBits rows. Chunk i has a step for each shape in chunks[i], and steps take the
// tables in turn.
func newLookups(rng random, tableBits int, chunks ...[][]int) *lookups {
	l := &lookups{}
	g, w := &l.graph, &l.witness
	tensor := func(kind model.Kind, shape []int, values []int32) model.TensorID {
		g.Tensors = append(g.Tensors, model.Tensor{Kind: kind, Shape: shape})
		w.add(kind, values)
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
		highBits(tableBits),
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
				outs[j] = int32(table.Value(k, w.values(column)))
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

// highBits returns a table of two pieces whose values depend only on the upper half of a key's bits.
func highBits(bits int) model.Table {
	rows := int64(1) << (bits - bits/2)
	return model.Table{Kind: model.TablePiecewise, Bits: bits, Drop: bits / 2, Values: model.None,
		Pieces: []model.Piece{{End: rows / 2, Slope: 1}, {End: rows, Slope: -2, Offset: 7}}}
}

// leaves returns the leaves of a chunk, with random challenges.
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

// fractions returns the numerators and denominators of leaves by their definition.
func (l *lookups) fractions(leaves backend.Leaves) (num []field.M31, den []field.QM31) {
	num, den = make([]field.M31, leaves.Size), make([]field.QM31, leaves.Size)
	set := func(at int, n field.M31, table model.TableID, key, value int64) {
		num[at] = n
		den[at] = leaves.Alpha.Sub(leaves.Beta.Square().MulM31(backend.Tag(table))).
			Sub(field.FromM31(field.FromInt64(key))).Sub(leaves.Beta.MulM31(field.FromInt64(value)))
	}
	for i := range leaves.Steps {
		s := &leaves.Steps[i]
		step := &l.graph.Steps[s.Step]
		for _, b := range s.Blocks {
			for x := range 1 << b.Bits {
				entry, value := dense(step.Shape, b.Parts, x), int64(0)
				if step.Out != model.None {
					value = int64(l.witness.values(step.Out)[entry])
				}
				set(b.Offset+x, 1, s.Table, int64(l.witness.keys[s.Step][entry]), value)
			}
		}
	}
	for i := range leaves.Tables {
		b := &leaves.Tables[i]
		table := &l.graph.Tables[b.Table]
		for x := range 1 << b.Block.Bits {
			key, value := table.Min+int64(x), int64(0)
			switch table.Kind {
			case model.TablePiecewise:
				value = table.Value(key, nil)
			case model.TableFunc:
				value = table.Value(key, l.witness.values(table.Values))
			}
			set(b.Block.Offset+x, field.FromInt32(-l.witness.values(b.Mult)[x]), b.Table, key, value)
		}
	}
	return num, den
}

// dense returns the dense index of entry x of a block.
func dense(shape []int, parts []model.Part, x int) int {
	entry, stride := 0, 1
	for a := len(shape) - 1; a >= 0; a-- {
		entry += (parts[a].Start + x&(1<<parts[a].Bits-1)) * stride
		x >>= parts[a].Bits
		stride *= shape[a]
	}
	return entry
}

// proveFractions returns the proof of a tree over that many leaves.
func proveFractions(ctx context.Context, size int, t logup.Tree) ([]byte, error) {
	defer t.Close()
	w := transcript.NewWriter(transcript.New(hash.Poseidon2, "conformance: fractions"))
	_, err := logup.Prove(ctx, w, logup.NumVars(size), t)
	return w.Bytes(), err
}

// verifyFractions verifies a proof, and checks the evaluations of the leaves to which it reduces the tree.
func verifyFractions(proof []byte, num []field.M31, den []field.QM31) error {
	r := transcript.NewReader(transcript.New(hash.Poseidon2, "conformance: fractions"), proof)
	end := logup.Verify(r, logup.NumVars(len(num)))
	// Leaves that are not stored are 0/1: their denominators add the sum of their eq weights.
	rest := field.One.Sub(poly.MaskEval(end.Point, uint64(len(den))))
	if end.Num.Plain() != poly.EvalM31(num, end.Point) || end.Den.Plain() != poly.Eval(den, end.Point).Add(rest) {
		return errors.New("the tree ends in other values than its leaves have")
	}
	return r.Done()
}

// fractions tests the proofs of look-up trees of several sizes, with look-ups of many shapes.
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
			l.columns(t, b, rng, chunk)
		}
		b.Close()
	}
}

// columns compares RowSums and ColumnSums of a chunk's steps with their definition, with
// a random division into rows and columns, and of columns into parts.
func (l *lookups) columns(t *testing.T, b backend.Backend, rng random, chunk int) {
	t.Helper()
	var rows []backend.RowSum
	var columns []backend.ColumnSum
	for i := range l.graph.Steps {
		step := &l.graph.Steps[i]
		if step.Chunk != chunk {
			continue
		}
		c := backend.Column{Step: i, Rows: model.Size(step.Shape[:rng.IntN(len(step.Shape)+1)]), Beta: rng.element()}
		n := model.Size(step.Shape) / c.Rows
		parts := 1 + rng.IntN(min(n, 5))
		job := backend.RowSum{Column: c, Order: rng.Perm(n), Weights: rng.elements(n)}
		if i%2 == 0 {
			slices.Sort(job.Order)
		}
		for p := range parts {
			job.Ends = append(job.Ends, n*(p+1)/parts)
		}
		rows = append(rows, job)
		columns = append(columns, backend.ColumnSum{Column: c, Weights: rng.elements(c.Rows)})
	}
	gotRows, gotColumns := must(b.RowSums(background, rows))(t), must(b.ColumnSums(background, columns))(t)
	for i := range rows {
		wantRows, wantColumns := l.sums(&rows[i], &columns[i])
		if !slices.Equal(gotRows[i], wantRows) || !slices.Equal(gotColumns[i], wantColumns) {
			t.Errorf("step %d of shape %v as %d rows: other sums over its column", rows[i].Step, l.graph.Steps[rows[i].Step].Shape, rows[i].Rows)
		}
	}
}

// sums returns the results of both jobs by their definition.
func (l *lookups) sums(r *backend.RowSum, c *backend.ColumnSum) (rows, columns []field.QM31) {
	step, n := &l.graph.Steps[r.Step], len(r.Order)
	rows, columns = make([]field.QM31, len(c.Weights)*len(r.Ends)), make([]field.QM31, n)
	for x, w := range c.Weights {
		part := 0
		for k, y := range r.Order {
			for k == r.Ends[part] {
				part++
			}
			v := field.FromM31(field.FromInt32(l.witness.keys[r.Step][x*n+y]))
			if step.Out != model.None {
				v = v.Add(r.Beta.MulM31(field.FromInt32(l.witness.values(step.Out)[x*n+y])))
			}
			at := x*len(r.Ends) + part
			rows[at] = rows[at].Add(r.Weights[k].Mul(v))
			columns[y] = columns[y].Add(w.Mul(v))
		}
	}
	return rows, columns
}
