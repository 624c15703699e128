package run

import (
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// blocks is a circuit of blocks of three chunks: what the first two compute only the block reads,
// and so it does a virtual tensor; the last one's result is the next block's, and that of the
// first block, and a virtual tensor on it, all later ones'.
func blocks(n, size int) (g *model.Graph, w model.Weights, inputs [][]int32) {
	g = &model.Graph{Chunks: 3 * n, Inputs: []model.TensorID{0}}
	add := func(t model.Tensor) model.TensorID {
		t.Shape = []int{size}
		g.Tensors, w = append(g.Tensors, t), append(w, nil)
		return model.TensorID(len(g.Tensors) - 1)
	}
	x := add(model.Tensor{Kind: model.Input, Min: -100, Max: 100})
	chunk := 0
	step := func(plus int64, of ...model.TensorID) model.TensorID {
		out := add(model.Tensor{Kind: model.Witness, Chunk: chunk})
		acc := model.Acc{Const: plus}
		for i, id := range of {
			acc.Linear = append(acc.Linear, model.Linear{Coef: int64(1 - 2*(i%2)), Src: id})
		}
		g.Steps = append(g.Steps, model.Step{Kind: model.StepExact, Shape: []int{size}, Chunk: chunk, Out: out, Lo: model.None, Den: model.None, Table: model.None, Acc: acc})
		chunk++
		return out
	}
	virtual := func(of model.TensorID) model.TensorID {
		return add(model.Tensor{Kind: model.Virtual, Def: []model.Linear{{Coef: 3, Src: of}}})
	}
	first, shared := x, x
	for i := range n {
		a := step(int64(i%5), x, first)
		b := step(7, virtual(a), shared, x)
		x = step(0, first, a, b, b) // x and 2·first − x in turn
		if i == 0 {
			first, shared = x, virtual(x)
		}
	}
	g.Outputs = []model.TensorID{x}
	v := make([]int32, size)
	for i := range v {
		v[i] = int32(i%200 - 100)
	}
	return g, w, [][]int32{v}
}

// TestSegments: segments end where little is read beyond, what is read in another one is kept,
// and what is not is made again whenever it is wanted, in memory of one segment.
func TestSegments(t *testing.T) {
	const n, size = 80, 1000
	g, w, inputs := blocks(n, size)
	s := NewSegments(g, 0)
	kept := 0
	for c := 1; c < g.Chunks; c++ {
		if s.Of[c] < s.Of[c-1] || s.Of[c] > s.Of[c-1]+1 {
			t.Fatalf("chunk %d is in segment %d after %d", c, s.Of[c], s.Of[c-1])
		}
		if s.Of[c] > s.Of[c-1] && c%3 != 0 {
			t.Errorf("segment %d begins within a block, at chunk %d", s.Of[c], c)
		}
	}
	if s.N < leastSegments/2 || s.N > 2*leastSegments {
		t.Errorf("%d segments", s.N)
	}
	for i := range g.Tensors {
		if s.inner[i] < 0 {
			kept++
		}
	}
	// The input, what one segment leaves to the next, what the first block leaves, and the output.
	if kept > 1+s.N+2 {
		t.Errorf("%d tensors are kept of %d, in %d segments", kept, len(g.Tensors), s.N)
	}
	want, err := forward.Run(t.Context(), g, w, inputs)
	if err != nil {
		t.Fatal(err)
	}
	d := devicetest.NewStreams(devicetest.Open(t), 1<<30, nil)
	m := device.New(d)
	m.Streams = 3
	m.SetMode(device.Mode{Values: true})
	wit, err := forward.RunOn(t.Context(), &Forward{Contexts: []*device.Context{m}}, g, w, inputs)
	if err != nil {
		t.Fatal(err)
	}
	run := wit.Kept().(*Run)
	if all := int64(len(g.Tensors) * slotSize(size, 4)); m.Traffic().Live > all/3 || m.Traffic().Peak > all/2 {
		t.Errorf("a run takes %+v bytes, and its values %d", m.Traffic(), all)
	}
	before := m.Traffic().Live
	for _, id := range []int{len(g.Tensors) - 3, 3, 5, len(g.Tensors) / 2, 4} {
		if got := wit.Tensor(model.TensorID(id)); !slices.Equal(got, want.Tensor(model.TensorID(id))) {
			t.Errorf("tensor %d: %v", id, got[:10])
		}
		if more := m.Traffic().Live - before; more > int64(run.parts[0].again) {
			t.Errorf("%d bytes are there for tensor %d", more, id)
		}
	}
	// Two streams in two segments at once.
	on := NewStream(m, g, wit)
	var streams []*Stream
	for k := range 2 {
		l, err := on.Stream(k + 1)
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, l)
	}
	for _, id := range []model.TensorID{3, model.TensorID(len(g.Tensors) - 4), 2, model.TensorID(len(g.Tensors) - 3)} {
		for _, b := range streams {
			x := b.Tensor(id)
			data := make([]byte, x.Len*x.Width)
			device.Check(b.Dev.Download(data, x.Ptr))
			if got := ints.All(ints.FromBytes(data, x.Width)); !slices.Equal(got, want.Tensor(id)) {
				t.Errorf("tensor %d on a stream: %v", id, got[:10])
			}
		}
	}
	if len(run.made) != 2 {
		t.Errorf("values of %d segments are there", len(run.made))
	}
	for _, b := range streams {
		b.Close()
	}
	if _, err := run.Tensor(model.TensorID(slices.Index(s.inner, s.N/2))); err != nil {
		t.Error(err)
	}
	if len(run.made) != 1 {
		t.Errorf("values of %d segments are there, and one is wanted", len(run.made))
	}
	on.Close()
	wit.Close()
	m.Close()
	for stream := range 3 {
		device.Check(m.Drain(stream))
	}
	if d.Live() != 0 || m.Traffic().Live != 0 {
		t.Errorf("%d bytes are left", d.Live())
	}
}

// Tensors that have a tree of their own, such as the keys and values of all layers of a segment of a text, are kept: the commitment to
// them makes no segment's values again.
func TestSegmentsApart(t *testing.T) {
	g, w, inputs := blocks(80, 500)
	s := NewSegments(g, 0)
	own := model.Apart{}
	for k := range s.N {
		own.Tensors = append(own.Tensors, model.TensorID(slices.Index(s.inner, k)))
	}
	g.Apart = []model.Apart{own}
	m := device.New(devicetest.Open(t))
	m.SetMode(device.Mode{Values: true})
	wit, err := forward.RunOn(t.Context(), &Forward{Contexts: []*device.Context{m}}, g, w, inputs)
	if err != nil {
		t.Fatal(err)
	}
	on := NewStream(m, g, wit)
	before := m.Traffic().Live
	for _, id := range own.Tensors {
		on.Tensor(id)
	}
	if live := m.Traffic().Live; live > before {
		t.Errorf("%d bytes more are there for %d tensors", live-before, len(own.Tensors))
	}
	on.Close()
	wit.Close()
	m.Close()
}
