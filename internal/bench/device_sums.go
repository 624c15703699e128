package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// sumcheckKernels measures single rounds over two tables of 2^25 elements of K.
func sumcheckKernels(b *deviceBench) {
	const vars = 25
	in := kernels.SumcheckInstance{A: b.elements(1 << vars), B: b.elements(1 << vars), Vars: vars}
	sums := b.alloc(8 * kernels.SumcheckThreeRoundsWords)
	batch := func(eq int) *kernels.SumcheckBatch {
		if eq > 0 {
			in.Eq = b.heaps(eq)
		}
		p := must.Get(kernels.NewSumcheckBatch(b.dev, []kernels.SumcheckInstance{in}))
		b.held = append(b.held, must.Get(p.Memory()))
		return p
	}
	const entries = 2 << vars
	for _, eq := range []int{0, 6, vars} {
		p := batch(eq)
		name := "round"
		if eq > 0 {
			name = fmt.Sprintf("round, %d variables in eq", eq)
		}
		b.kernel("first "+name, "entry", entries, entries*elementBytes, func() error {
			return kernels.SumcheckRound(b.dev, p, 1, vars-1, nil, kernels.Kept(sums))
		})
		b.kernel("fold + "+name, "entry", entries, entries*elementBytes*3/2, func() error {
			return kernels.SumcheckRound(b.dev, p, 1, vars-2, []field.QM31{challenge}, kernels.Kept(sums))
		})
		if eq == 0 {
			b.kernel("two rounds", "entry", entries, entries*elementBytes, func() error {
				return kernels.SumcheckTwoRounds(b.dev, p, 1, vars-2, nil, kernels.Kept(sums))
			})
			b.kernel("two folds + two rounds", "entry", entries, entries*elementBytes*5/4, func() error {
				return kernels.SumcheckTwoRounds(b.dev, p, 1, vars-4, []field.QM31{challenge, challenge}, kernels.Kept(sums))
			})
			b.kernel("three rounds", "entry", entries, entries*elementBytes, func() error {
				return kernels.SumcheckThreeRounds(b.dev, p, 1, vars-3, nil, kernels.Kept(sums))
			})
			b.kernel("three folds + three rounds", "entry", entries, entries*elementBytes*9/8, func() error {
				return kernels.SumcheckThreeRounds(b.dev, p, 1, vars-6, []field.QM31{challenge, challenge, challenge}, kernels.Kept(sums))
			})
		}
	}
	p := batch(0)
	b.kernel("inner product", "entry", entries, entries*elementBytes, func() error {
		return kernels.SumcheckInner(b.dev, p, 1, vars, kernels.Kept(sums))
	})
}

// restrictKernels measures the binding of either axis of a weight matrix of a large transformer.
func restrictKernels(b *deviceBench) {
	const rows, columns = 17408, 5120
	weights, out := b.elements(rows), b.alloc(rows*elementBytes)
	for _, width := range []int{1, 2, 4} {
		in := kernels.Integers{At: b.random(rows * columns * width / 8), Width: width}
		units := []string{""}
		if width == 1 {
			units = []string{", tensor cores", ", multiply-adds"}
		}
		for i, unit := range units {
			for _, s := range []struct {
				what string
				b    kernels.Binding
			}{
				{"columns", kernels.Binding{Outer: rows, N: columns, Inner: 1}},
				{"rows", kernels.Binding{Outer: 1, N: rows, Inner: columns}},
			} {
				s.b.Weights, s.b.NoTensor = weights, i == 1
				b.kernel(fmt.Sprintf("bind the %s of int%d%s", s.what, 8*width, unit), "entry", rows*columns, rows*columns*width,
					func() error { return kernels.RestrictInt(b.dev, out, in, s.b) })
			}
		}
	}
}

// logupKernels measures the passes over a LogUp tree of 2^24 fractions.
func logupKernels(b *deviceBench) {
	const vars = 24
	const leaves = 1 << vars
	nums, dens := b.alloc(4*leaves), b.elements(leaves) // look-ups have numerators 1
	must.OK(kernels.UploadSlice(b.dev, nums, slices.Repeat([]field.M31{1}, leaves)))
	heapNum, heapDen := b.elements(leaves), b.elements(leaves)
	sums := b.alloc(8 * kernels.SumcheckTwoRoundsWords)
	b.kernel("fractions added up, 2^24", "fraction", leaves, leaves*(4+16+2*16+4), func() error {
		return kernels.LogUpTree(b.dev, heapNum, heapDen, nums, dens, leaves, true)
	})
	heaps := b.heaps(vars - 2)
	const n = leaves / 4
	layer := func() *kernels.LogUpRounds {
		return &kernels.LogUpRounds{Vars: vars - 2, Stored: n, Eq: heaps, Lambda: challenge,
			N0: kernels.At[field.QM31](heapNum, 2*n), N1: kernels.At[field.QM31](heapNum, 3*n),
			D0: kernels.At[field.QM31](heapDen, 2*n), D1: kernels.At[field.QM31](heapDen, 3*n)}
	}
	two := func(l *kernels.LogUpRounds, round int) func() error {
		return func() error {
			r := *l // a pass binds the tables, and must do so once only
			return r.TwoRounds(b.dev, round, extensions(round, 2), kernels.Kept(sums))
		}
	}
	b.kernel("first two rounds of a layer of 2^22", "entry", n, n*elementBytes*4, two(layer(), 0))
	b.kernel("two folds + two rounds of a layer of 2^22", "entry", n, n*elementBytes*5, two(layer(), 2))
	leafLayer := &kernels.LogUpRounds{Vars: vars - 1, Stored: leaves / 2, Eq: b.heaps(vars - 1), Lambda: challenge, LeafNum: nums, N0: heapNum, D0: dens}
	b.kernel("first two rounds from 2^24 leaves", "leaf", leaves, leaves*20, two(leafLayer, 0))
	b.kernel("two folds + two rounds from 2^24 leaves", "leaf", leaves, leaves*(20+8), two(leafLayer, 2))
}

// sumcheckSteps measures whole sumchecks, and one whole matrix product, including the transcript.
func sumcheckSteps(b *deviceBench) {
	const k, n = 1 << 14, 1 << 12
	g := &model.Graph{Tensors: []model.Tensor{
		{Name: "activations", Kind: model.Fixed, Shape: []int{1, k}},
		{Name: "weights", Kind: model.Fixed, Shape: []int{k, n}},
	}}
	machine := cuda.NewMachine(b.dev)
	defer machine.Close()
	on := machine.Backend(g, fixedOnly{randomBytes(k), randomBytes(k * n)})
	defer on.Close()
	column := extensions(12, 3)
	nothing := func() {}
	b.step("matrix product proved, k = 2^14, n = 2^12", "weight", k*n, nothing, func() {
		w := transcript.NewWriter(transcript.New(hash.Poseidon2, "bench"))
		tables := must.Get(on.Restrict(b.ctx, []backend.Restriction{
			{Tensor: 0, Bound: [][]field.QM31{{}, nil}, Keep: []int{1}},
			{Tensor: 1, Bound: [][]field.QM31{nil, column}, Keep: []int{0}},
		}))
		in := backend.Instance{A: tables[0], B: tables[1]}
		claim := must.Get(on.Inner(b.ctx, []backend.Instance{{A: in.A, B: in.B}}))[0]
		w.SendQM31(claim)
		proveSums(b.ctx, w, on, []backend.Instance{in}, []sumcheck.Shape{{Claim: transcript.Known(claim), NumVars: 14}})
	})

	for _, s := range []struct{ vars, batch, inRow int }{{25, 1, 1}, {22, 1, 16}, {22, 16, 1}} {
		values := extensions(1<<s.vars, 4)
		var insts []backend.Instance
		shapes := make([]sumcheck.Shape, s.batch)
		for i := range shapes {
			shapes[i].NumVars = s.vars // a wrong claim takes as long as the right one
		}
		name := fmt.Sprintf("sumcheck of 2^%d, %d rounds", s.vars, s.vars)
		switch {
		case s.batch > 1:
			name = fmt.Sprintf("%d sumchecks of 2^%d in a batch", s.batch, s.vars)
		case s.inRow > 1:
			name = fmt.Sprintf("%d sumchecks of 2^%d, one after the other", s.inRow, s.vars)
		}
		b.step(name, "sumcheck", s.inRow*s.batch, func() {
			insts = nil
			for range s.inRow * s.batch {
				insts = append(insts, backend.Instance{A: must.Get(on.Upload(b.ctx, values)), B: must.Get(on.Upload(b.ctx, values))})
			}
		}, func() {
			for rest := insts; len(rest) > 0; rest = rest[s.batch:] {
				proveSums(b.ctx, transcript.NewWriter(transcript.New(hash.Poseidon2, "bench")), on, rest[:s.batch], shapes)
			}
		})
	}
}

// proveSums proves a batch of sums on a backend.
func proveSums(ctx context.Context, w *transcript.Writer, on backend.Backend, insts []backend.Instance, shapes []sumcheck.Shape) {
	t := must.Get(on.Sums(ctx, insts))
	defer t.Close()
	must.Get(sumcheck.Prove(ctx, w, shapes, t))
}
