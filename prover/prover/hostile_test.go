package prover

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// hostile are graphs that are made to cost their verifier something, each in its
// own way, of about the given size.
var hostile = map[string]func(n int) *builder{
	"stride": func(n int) *builder {
		return viewed(n>>14, []int{1 << 17}, []int{1 << 14}, model.Group{Out: []int{0}, In: []int{0}, Base: 1<<17 - 1, Strides: []int{-7}}, 0)
	},
	"windows": func(n int) *builder {
		return viewed(n>>14, []int{1 << 14}, []int{1 << 10, 16}, model.Group{Out: []int{0, 1}, In: []int{0}, Strides: []int{15, 1}, Base: -3}, 0)
	},
	"sum": func(n int) *builder {
		return viewed(n>>14, []int{1 << 14}, []int{2}, model.Group{Out: []int{0}, In: []int{0}, Strides: []int{1}, Sum: []model.SumIndex{{Dim: 1 << 13, Stride: 1}}}, 0)
	},
	"index": func(n int) *builder {
		index := make([]int, 1<<14)
		for i := range index {
			index[i] = i * 12345 % (1 << 14)
		}
		return viewed(n>>14, []int{1 << 14}, []int{1 << 14}, model.Group{Out: []int{0}, In: []int{0}, Map: model.MapIndex, Index: index}, 0)
	},
	"public indexes": func(n int) *builder {
		b := &builder{}
		x, ids := b.input(1<<14), b.ids(1<<14, 1<<14)
		var sum []model.Linear
		for range n >> 14 {
			sum = append(sum, model.Linear{Coef: 1, Src: x, View: &model.View{Groups: []model.Group{gathered(ids, 0, 0)}}})
		}
		y := b.virtual([]int{1 << 14}, sum...)
		b.g.Tensors[y].Min, b.g.Tensors[y].Max = 1-model.Bound, model.Bound-1
		b.g.Outputs = []model.TensorID{y}
		return b
	},
	"reshape": func(n int) *builder {
		return viewed(n>>14, []int{3, 5, 1 << 10}, []int{1 << 10, 5, 3}, model.Group{Out: []int{0, 1, 2}, In: []int{0, 1, 2}, Map: model.MapReshape}, 0)
	},
	"fill": func(n int) *builder {
		return viewed(n>>14, []int{1 << 14}, []int{1 << 14}, model.Group{Out: []int{0}, In: []int{0}, Strides: []int{1}, Base: -3}, 5)
	},
	"one entry": func(n int) *builder {
		return viewed(n>>14, []int{1}, []int{1 << 14}, model.Group{Out: []int{0}, In: []int{0}, Strides: []int{0}}, 0)
	},
	"small views": func(n int) *builder {
		return viewed(n>>8, []int{3}, []int{3}, model.Group{Out: []int{0}, In: []int{0}, Strides: []int{-1}, Base: 2}, 0)
	},
	"public": func(n int) *builder {
		b := &builder{}
		x := b.input(1 << 12)
		src := x
		for range n >> 12 {
			src = b.virtual([]int{1 << 12}, model.Linear{Coef: 1, Src: x}, model.Linear{Coef: 1, Src: src, View: &model.View{Groups: []model.Group{
				{Out: []int{0}, In: []int{0}, Base: 1<<12 - 2, Strides: []int{1}}}}})
		}
		b.g.Outputs = []model.TensorID{src}
		return b
	},
	// Entries that are all the same take hardly any bytes.
	"packed": func(n int) *builder {
		b := &builder{}
		x := b.input(n>>1, 1)
		b.g.Tensors[x].Min, b.g.Tensors[x].Max = 7, 7
		b.g.Outputs = []model.TensorID{x}
		return b
	},
	"names": func(n int) *builder {
		b := &builder{}
		src := b.input(2, 2, 2, 2, 2, 2, 2, 2)
		for range max(1, n>>17) {
			src = b.virtual([]int{2, 2, 2, 2, 2, 2, 2, 2},
				model.Linear{Coef: 1, Src: src, View: permuted(1, 2, 3, 4, 5, 6, 7, 0)},
				model.Linear{Coef: -1, Src: src, View: permuted(1, 0, 2, 3, 4, 5, 6, 7)})
		}
		b.g.Outputs = []model.TensorID{src}
		return b
	},
	"blocks": func(n int) *builder {
		n = max(n, 1<<15)
		b := &builder{}
		x := b.input(15, 15, 15)
		for range max(1, n>>15) {
			y := b.witness("y", 15, 15, 15)
			b.g.Steps = append(b.g.Steps, model.Step{Kind: model.StepExact, Name: "copy", Shape: []int{15, 15, 15}, Lo: model.None, Out: y, Den: model.None, Table: model.None,
				Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: x}}}})
			b.g.Tensors[y].Min, b.g.Tensors[y].Max = -128, 127
			x = y
		}
		b.g.Outputs = []model.TensorID{x}
		return b
	},
	"steps": func(n int) *builder {
		b := &builder{}
		x := b.input(1)
		for range max(1, n>>12) {
			x = b.requantise("step", []int{1}, model.Acc{Linear: []model.Linear{{Coef: 1, Src: x}}}, 0, b.pieces())
		}
		b.g.Outputs = []model.TensorID{x}
		return b
	},
	"products": func(n int) *builder {
		b := &builder{}
		x := b.input(1)
		for range max(1, n>>12) {
			x = b.requantise("step", []int{1}, model.Acc{Products: []model.Product{{Coef: 1, A: x, B: x, LabelsA: []int{0}, LabelsB: []int{0}}}}, 0, b.pieces())
		}
		b.g.Outputs = []model.TensorID{x}
		return b
	},
}

// viewed is an output that is a sum of views of the input.
func viewed(times int, in, out []int, g model.Group, fill int64) *builder {
	b := &builder{}
	x := b.input(in...)
	var sum []model.Linear
	for range times {
		sum = append(sum, model.Linear{Coef: 1, Src: x, View: &model.View{Fill: fill, Groups: []model.Group{g}}})
	}
	y := b.virtual(out, sum...)
	b.g.Tensors[y].Min, b.g.Tensors[y].Max = 1-model.Bound, model.Bound-1
	b.g.Outputs = []model.TensorID{y}
	return b
}

func permuted(order ...int) *model.View {
	v := &model.View{}
	for i, j := range order {
		v.Groups = append(v.Groups, axis(i, j))
	}
	return v
}

// pieces is a clamp of as many pieces as a table may have.
func (b *builder) pieces() model.TableID {
	t := model.Table{Name: "clamp", Kind: model.TablePiecewise, Bits: 15, Min: -1 << 14}
	for i := range int64(64) {
		t.Pieces = append(t.Pieces, model.Piece{End: (i + 1) << 9, Offset: i})
	}
	return b.table(t)
}

var hostileLog = flag.Int("hostile-log", 20, "log2 of the units of work that hostile keys ask for, about")

// TestHostile holds the memory that verifying takes against what the plan says
// beforehand. The bar of two seconds and 300 MB for a key that asks for all it may is
// met if a unit of work takes 30 ns; times are logged, not judged.
func TestHostile(t *testing.T) {
	for name, graph := range hostile {
		t.Run(name, func(t *testing.T) {
			b := graph(1 << *hostileLog)
			b.g.Finish(0)
			p := b.prove(t, rand.New(rand.NewPCG(1, 2)), proof.Security{TargetBits: 60, GrindBits: 8})
			file := p.key.Encoded()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			key, err := proof.DecodeKey(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := verifier.Verify(key, bytes.NewReader(p.proof)); err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			pl, err := key.Plan(b.g.Instance)
			if err != nil {
				t.Fatal(err)
			}
			size := len(file) + len(p.proof)
			memory := int(after.TotalAlloc - before.TotalAlloc)
			t.Logf("%d bytes, %d units of work: %v, %d bytes allocated", size, pl.Work(), took, memory)
			if most := 64<<20<<max(0, *hostileLog-20) + 40*size; memory > most {
				t.Errorf("%d bytes allocated, at most %d were expected", memory, most)
			}
		})
	}
}
