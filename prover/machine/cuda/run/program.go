package run

import (
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// A program is a circuit as a list of launches, with what each step reads and writes, and where that
// lies in the memory of a run. It is compiled once for a circuit and its weights.
type program struct {
	g        *model.Graph
	weights  model.Weights
	Contexts []*device.Context // by chunk
	host     int               // tensors with fewer entries are also downloaded (Forward.Host)
	parts    []*part           // one for each machine
	ops      []op              // in order
	// completed[n] lists the chunks that are complete once the first n operations are enqueued.
	completed map[int][]int

	segments *segments  // nil if all values are kept
	again    [][]launch // by segment: the launches that recompute its values; none if it keeps them
}

// part is the part of a program on one machine, and its layout of the memory of a run there.
type part struct {
	m       *device.Context
	age     int // m.Generation() when the part was compiled
	mode    device.Mode
	records kernels.Records
	code    kernels.Ptr // the records on the device

	// Sizes in bytes of the memory of a run: the small memory, which the host downloads at the
	// end, and the large one. The small memory begins with the word that says whether a number
	// left its range. The first smallZeros and largeZeros bytes are zero when a run begins.
	small, large           int
	smallZeros, largeZeros int
	again                  int // bytes of the memory of a segment: the most that any takes
	sums                   int // accumulators of products, 8 bytes each
	tensors                map[model.TensorID]slot
	keys                   map[int]slot                  // of look-ups, by step
	answers                map[forward.KeyRange]int      // offset in small of the answer, for keys that are not kept
	pieces                 map[model.TableID]kernels.Ptr // of piecewise-linear tables, in the records
	puts                   []put
}

// op is an operation of a program: it enqueues work on the machine of a part.
type op struct {
	on *part
	do func(r *Run) error
}

// A launch enqueues a part of the work of one or more steps. A run calls it, and it may be called again later, to
// recompute values of a segment or the keys of a step.
type launch func(w *work) error

// work is what a launch works with: a queue, the memory of the run, and accumulators.
type work struct {
	dev   kernels.Device
	bases kernels.Bases
	acc   kernels.Ptr
	keys  kernels.Ptr // for launches that compute keys alone: where they go; 0 in a run
	again bool        // values are recomputed, so look-ups are not counted once more
}

// at returns integers of a record with their address on the device.
func (w *work) at(v kernels.Integers) kernels.Integers {
	return kernels.Integers{At: w.bases.Resolve(v.At), Width: v.Width}
}

// put is a tensor that is uploaded when a run begins: constant values, or if these are nil the input with number input. Imported tensors
// are numbered behind the inputs.
type put struct {
	slot
	input  int
	values ints.Ints
}

// slotAlignment is the alignment in bytes of slots, the same as of kernels.Device.Alloc.
const slotAlignment = 256

// errNot is the error of a circuit that the kernels cannot run. The host runs it then.
var errNot = errors.New("cuda: a circuit that is too large for the kernels")

// MostByTerms and FewTerms bound the products that the kernel of steps computes itself, entry by entry. A product with more
// than MostByTerms multiplications in all, and more than FewTerms for each entry, is a launch of its own (byLaunch).
var MostByTerms, FewTerms = 1 << 20, 16

// compiler makes a program, step by step in the order of the circuit.
type compiler struct {
	*program
	given    []model.TensorID // inputs, and imported tensors behind them
	schedule *schedule        // of the steps that are not in ops yet; nil if there are none
	open     []int            // the chunks of these steps
	last     []int            // by chunk: the number of operations after which it is complete
	sums     int              // the most accumulators that one step takes
	segment  int              // of the current step
	used     int              // bytes of the memory of that segment so far
	asked    []question       // about keys in that memory
	row      *mantissas       // of a row circuit (Rows): copies of its matrices; else nil
}

// compile makes the program of a circuit. homes[i] is the machine of chunk i.
func compile(g *model.Graph, weights model.Weights, homes []*device.Context, host int) (*program, error) {
	c := newCompiler(g, weights, homes, host)
	return c.make(func() {
		if p := c.parts[0]; p.mode.Values && len(c.parts) == 1 && InOrder(g) {
			c.segments = NewSegments(g, p.mode.Kept)
			c.again = make([][]launch, c.segments.N)
		}
		for _, m := range g.Mults { // counts come first: they begin as zeros (smallZeros, largeZeros)
			p := c.part(homes[m.Chunk])
			p.tensors[m.Tensor] = c.room(p, 1<<g.Tables[m.Table].Bits, 4, false)
			p.smallZeros, p.largeZeros = p.small, p.large
		}
		for i := range g.Steps {
			if k := g.Steps[i].Chunk; c.segments != nil && c.segments.Of[k] != c.segment {
				c.flush() // no launch may mix steps of two segments: the next one takes the memory of this one
				c.segment, c.used = c.segments.Of[k], 0
			}
			c.step(i)
		}
	})
}

// newCompiler returns a compiler with a part for each machine in homes, and no steps.
func newCompiler(g *model.Graph, weights model.Weights, homes []*device.Context, host int) *compiler {
	c := &compiler{
		program: &program{g: g, weights: weights, Contexts: homes, host: host},
		given:   slices.Concat(g.Inputs, g.Unmade()), last: make([]int, g.Chunks),
	}
	for _, m := range homes {
		if c.part(m) == nil {
			c.parts = append(c.parts, &part{
				m: m, age: m.Generation(), mode: m.Mode(), small: slotAlignment, smallZeros: slotAlignment, tensors: map[model.TensorID]slot{},
				keys: map[int]slot{}, answers: map[forward.KeyRange]int{}, pieces: map[model.TableID]kernels.Ptr{},
			})
		}
	}
	return c
}

// make returns the program of the steps that f adds. Virtual outputs are computed on the machine of the last chunk.
func (c *compiler) make(f func()) (_ *program, err error) {
	defer func() {
		if err != nil {
			c.free()
		}
	}()
	defer device.Catch(&err)
	for i := range c.g.Steps {
		if s := &c.g.Steps[i]; slices.ContainsFunc(s.Acc.Products, func(q model.Product) bool { return c.byLaunch(&q, s.Shape) }) {
			c.sums = max(c.sums, model.Size(s.Shape))
		}
	}
	f()
	for _, id := range c.g.Outputs {
		if c.g.Tensors[id].Kind == model.Virtual {
			last := c.part(c.Contexts[len(c.Contexts)-1])
			c.on(last)
			c.source(last, id)
		}
	}
	c.flush()
	c.completed = map[int][]int{}
	for chunk, n := range c.last {
		c.completed[n] = append(c.completed[n], chunk)
	}
	for _, p := range c.parts {
		p.code, err = kernels.NewSlice(p.m.Dev, p.records.Words())
		p.check(err)
	}
	return c.program, nil
}

// free frees the records on the devices.
func (p *program) free() {
	for _, part := range p.parts {
		part.m.Dev.Free(part.code)
	}
}

// part returns the part of a machine, nil if it has none.
func (p *program) part(m *device.Context) *part {
	for _, x := range p.parts {
		if x.m == m {
			return x
		}
	}
	return nil
}

// room returns a slot for n entries: in the small memory if the host wants them (n < host), in the memory of the current segment if
// inner is set and there are segments, else in the large memory. inner says that no other segment reads them.
func (c *compiler) room(p *part, n, width int, inner bool) slot {
	size, base := &p.large, kernels.Ptr(kernels.InLarge)
	switch {
	case n < c.host:
		size, base = &p.small, kernels.InSmall
	case inner && c.segments != nil:
		size, base = &c.used, kernels.InAgain
	}
	s := slot{Integers: kernels.Integers{At: base | kernels.Ptr(*size), Width: width}, n: n, segment: c.segment}
	*size += slotSize(n, width)
	p.again = max(p.again, c.used)
	return s
}

// slotSize returns the bytes of a slot with n entries of that width.
func slotSize(n, width int) int { return (n*width + slotAlignment - 1) &^ (slotAlignment - 1) }

// result gives a tensor that a step computes its slot, and returns the slot with the range that the step checks.
func (c *compiler) result(p *part, id model.TensorID) kernels.Result {
	if id == model.None {
		return kernels.Result{Min: math.MinInt64, Max: math.MaxInt64}
	}
	t := &c.g.Tensors[id]
	r := kernels.Result{Min: math.MinInt32, Max: math.MaxInt32}
	if t.Min != 0 || t.Max != 0 {
		r.Min, r.Max = max(r.Min, t.Min), min(r.Max, t.Max)
	}
	s := c.room(p, model.Size(t.Shape), device.WidthOfRange(t.Min, t.Max), c.segments != nil && c.segments.inner[id] >= 0)
	p.tensors[id] = s
	r.Integers = s.Integers
	return r
}

// then adds an operation on a part to the program.
func (c *compiler) then(p *part, do func(r *Run) error) { c.ops = append(c.ops, op{p, do}) }

// on returns a schedule for steps on a part: the current one, or a new one after a flush if that is of another part.
func (c *compiler) on(p *part) *schedule {
	if c.schedule == nil || c.schedule.on != p {
		c.flush()
		c.schedule = &schedule{on: p, row: c.row != nil, room: c.sums, made: map[kernels.Ptr]*chain{}}
	}
	return c.schedule
}

// flush adds the launches of the schedule to the operations, and to those that recompute the current segment if its values are dropped.
func (c *compiler) flush() {
	if c.schedule == nil {
		return
	}
	p := c.schedule.on
	p.sums = max(p.sums, c.schedule.most)
	for _, l := range c.schedule.launches() {
		c.then(p, func(r *Run) error { return l(&r.memory[p].work) })
		if c.segments != nil && c.segment >= c.segments.kept {
			c.again[c.segment] = append(c.again[c.segment], l)
		}
	}
	c.answer(p)
	for _, chunk := range c.open {
		c.last[chunk] = len(c.ops)
	}
	c.schedule, c.open = nil, nil
}

// step adds step i of the circuit to the schedule of its part. A StepZero computes nothing.
func (c *compiler) step(i int) {
	s := &c.g.Steps[i]
	if s.Kind == model.StepZero {
		return
	}
	p, n := c.part(c.Contexts[s.Chunk]), model.Size(s.Shape)
	c.on(p)
	c.open = append(c.open, s.Chunk)
	x := kernels.Step{N: n, Const: s.Acc.Const, Shift: s.Shift}
	switch s.Kind {
	case model.StepMax:
		c.maximum(p, s)
		return
	case model.StepLookup:
		x.Kind, x.Table = kernels.LookUpStep, &c.g.Tables[s.Table]
		c.lookUp(p, i, &x)
	case model.StepExact:
		x.Kind = kernels.ExactStep
	case model.StepDivide:
		x.Kind, x.Den = kernels.DivideStep, c.source(p, s.Den)
	}
	c.terms(p, &x, s.Acc.Linear, s.Shape)
	products := c.products(p, &x, s)
	x.Out, x.Lo = c.result(p, s.Out), c.result(p, s.Lo)
	if s.Kind != model.StepLookup || c.row != nil || c.looksUp(p, i, &x, products) {
		c.schedule.step(&x, products)
	}
}

// lookUp fills in the fields of a look-up step that depend on its table: counts, keys, and the table's values.
func (c *compiler) lookUp(p *part, i int, x *kernels.Step) {
	s, t := &c.g.Steps[i], x.Table
	if id, ok := countsOf(c.g, s); ok {
		x.Counts = p.tensors[id].At
	}
	x.Keys = kernels.Result{Integers: kernels.Integers{Width: widthOfKeys(t)}, Min: t.Min, Max: t.Min + 1<<t.Bits - 1}
	if _, _, ok := keyTensor(c.g, i); !ok && c.row == nil && (x.N < c.host || c.segments != nil || !p.mode.Keys) {
		x.Keys.Integers = c.room(p, x.N, x.Keys.Width, true).Integers
	}
	switch {
	case s.Out == model.None:
	case t.Kind == model.TablePiecewise:
		if p.pieces[s.Table] == 0 {
			p.pieces[s.Table] = p.records.Pieces(t)
		}
		x.Pieces = p.pieces[s.Table]
	case t.Kind == model.TableFunc:
		x.Values = c.source(p, t.Values)
	}
}

// maximum adds the launch of a StepMax.
func (c *compiler) maximum(p *part, s *model.Step) {
	x, n := c.source(p, s.Den), model.Size(s.Shape)
	row := model.Size(c.g.Tensors[s.Den].Shape) / n
	out := c.result(p, s.Out)
	c.schedule.single(func(w *work) error {
		to := out
		to.Integers = w.at(out.Integers)
		return kernels.RowMaxima(w.dev, w.bases.Small, to, w.at(x), n, row)
	}, x.At, out.At)
}

// terms adds a sum of linear terms (views of tensors times coefficients) to a step with results of that shape.
func (c *compiler) terms(p *part, x *kernels.Step, linear []model.Linear, shape []int) {
	for i := range linear {
		l := &linear[i]
		ids := func(id model.TensorID) kernels.Integers { return c.source(p, id) }
		w := viewWiring(l.View, c.g.Tensors[l.Src].Shape, shape, p.records.Ints32, ids)
		t := kernels.Term{Coef: l.Coef, Summands: w.summands, Operands: []kernels.Operand{{Integers: c.source(p, l.Src), Groups: w.groups}}}
		if l.View != nil {
			t.Fill = l.View.Fill
		}
		x.Terms = append(x.Terms, t)
	}
}

// multiplication is a product that is a launch of its own. It adds to accumulators of the work from
// number at on. Multiplications with the same matrix share b, what the kernels have made of the matrix.
type multiplication struct {
	by    model.TensorID // the matrix
	reads []kernels.Ptr  // the operands
	do    func(w *work, at int, b *kernels.Planes) error
	set   func(w *work, at int) kernels.MatMul // for rows: the product for kernels.MultiplyRows, which sets accumulators; nil if it cannot
	at    int                                  // the first accumulator, set when it is scheduled
}

// products adds the small products of a step to its terms. It returns the others, launches that must
// come before the step and add to its accumulators.
func (c *compiler) products(p *part, x *kernels.Step, s *model.Step) (launches []multiplication) {
	for i := range s.Acc.Products {
		q := &s.Acc.Products[i]
		switch {
		case isChosen(c.g, q):
			launches = append(launches, c.chosen(p, q, s.Shape))
		case c.byLaunch(q, s.Shape):
			launches = append(launches, c.multiply(p, q, s.Shape))
		default:
			shapeA, shapeB := c.g.Tensors[q.A].Shape, c.g.Tensors[q.B].Shape
			l := model.NewContraction(q, shapeA, shapeB, s.Shape)
			a, b := labelWiring(shapeA, q.LabelsA, s.Shape, l.Sum), labelWiring(shapeB, q.LabelsB, s.Shape, l.Sum)
			n := dims(l.Sum)
			both := []kernels.Operand{{Integers: c.source(p, q.A), Groups: a.groups}, {Integers: c.source(p, q.B), Groups: b.groups}}
			x.Terms = append(x.Terms, kernels.Term{Coef: q.Coef, Summands: n, Operands: both})
		}
	}
	return launches
}

// byLaunch says whether a product, in a step with results of shape out, is a launch of its own.
func (c *compiler) byLaunch(q *model.Product, out []int) bool {
	if isChosen(c.g, q) {
		return true
	}
	l := model.NewContraction(q, c.g.Tensors[q.A].Shape, c.g.Tensors[q.B].Shape, out)
	n, k, free := model.Size(out), dims(l.Sum), dims(l.FreeA)*dims(l.FreeB)
	if c.row == nil {
		return k > FewTerms && n*k > MostByTerms && free > 1
	}
	// In a row circuit: a product of a vector with a fixed matrix that the kernel can read as it lies (MatMul.Vector).
	if free < 2 || k <= FewTerms || free*k < rowTerms {
		return false
	}
	mm, _, b := operands(c.g, q, out, func([]int32) kernels.Ptr { return 1 })
	return c.g.Tensors[b].Kind == model.Fixed && mm.Vector()
}

// dims returns the product of the dimensions of labels.
func dims(labels []model.Label) int {
	n := 1
	for _, l := range labels {
		n *= l.Dim
	}
	return n
}

// multiply returns the launch of a product of matrices. A fixed matrix b for which the device has no room goes through in pieces
// (multiplyPieces).
func (c *compiler) multiply(p *part, q *model.Product, out []int) multiplication {
	mm, a, b := operands(c.g, q, out, p.records.Ints32)
	strided := mm.Tables == kernels.Tables{}
	if most := max(model.Size(c.g.Tensors[a].Shape), model.Size(c.g.Tensors[b].Shape)); !strided && most >= math.MaxInt32 {
		device.Check(errNot)
	}
	x := c.source(p, a)
	var y kernels.Integers
	var pieces ints.Ints
	if t := &c.g.Tensors[b]; t.Kind == model.Fixed && strided && mm.Batches == 1 && c.resident(p, b) == nil {
		if c.row != nil {
			device.Check(errRoom)
		}
		pieces = c.weights[b]
	} else {
		y = c.source(p, b)
	}
	mm.XBits, mm.A.Width, mm.B.Width = magnitude(&c.g.Tensors[a], x.Width), x.Width, y.Width
	located := func(w *work, at int) kernels.MatMul {
		mm := mm
		mm.Acc, mm.A.Ptr, mm.B.Ptr = kernels.At[int64](w.acc, at), w.bases.Resolve(x.At), w.bases.Resolve(y.At)
		mm.Tables.Resolve(&w.bases)
		return mm
	}
	m := multiplication{by: b, reads: []kernels.Ptr{x.At, y.At}, do: func(w *work, at int, kept *kernels.Planes) error {
		mm := located(w, at)
		if pieces != nil {
			return multiplyPieces(device.NewScope(w.dev), mm, pieces, p.m.Piece)
		}
		return kernels.MultiplyAddWith(w.dev, mm, kept)
	}}
	if c.row != nil && mm.Sets() && mm.N == model.Size(out) {
		copied := c.row.want(b, &mm, y.At)
		m.set = func(w *work, at int) kernels.MatMul {
			mm := located(w, at)
			if copied != nil && copied.copied != 0 {
				mm.B.Ptr, mm.B.Width, mm.Shifts = copied.copied, 1, copied.shifts
			}
			return mm
		}
	}
	return m
}

// magnitude returns an n with |v| < 2^n for the entries v of a tensor of that width, by its
// range if a device computes or checks the tensor; 31 if nothing is known.
func magnitude(t *model.Tensor, width int) int {
	if width < 4 {
		return 8 * width
	}
	if t.Kind == model.Fixed || t.Min == 0 && t.Max == 0 {
		return 31
	}
	return min(31, bits.Len64(uint64(max(t.Max, -t.Min))))
}

// source returns where a tensor lies on a part when the current step runs, and adds the operation that
// brings it there if it is not there yet: an upload, a step for a virtual tensor, or a copy from another machine, for which the part's
// queue waits for the other's (kernels.After).
func (c *compiler) source(p *part, id model.TensorID) kernels.Integers {
	if s, ok := p.tensors[id]; ok {
		return s.Integers
	}
	t := &c.g.Tensors[id]
	n := model.Size(t.Shape)
	switch t.Kind {
	case model.Fixed, model.ByFormula:
		if t.Kind == model.Fixed {
			if x := c.resident(p, id); x != nil {
				return x.Integers()
			}
		}
		return c.put(p, id, put{values: c.weights[id]})
	case model.Input, model.Witness:
		if i := slices.Index(c.given, id); i >= 0 {
			return c.put(p, id, put{input: i})
		}
	case model.Virtual:
		x := kernels.Step{Kind: kernels.SumStep, N: n}
		c.terms(p, &x, t.Def, t.Shape)
		x.Out, x.Lo = c.result(p, id), c.result(p, model.None)
		c.schedule.step(&x, nil)
		return p.tensors[id].Integers
	}
	// A value that another machine has computed.
	at := slices.IndexFunc(c.parts, func(other *part) bool { _, ok := other.tensors[id]; return ok })
	if at < 0 {
		device.Check(errNot) // the graph is not valid
	}
	from := c.parts[at]
	there := from.tensors[id]
	here := c.room(p, n, there.Width, false)
	p.tensors[id] = here
	c.then(p, func(r *Run) error {
		err := kernels.After(p.m.Dev, from.m.Dev)
		if err == nil {
			err = kernels.CopyFrom(p.m.Dev, here.tensor(r.bases(p)).Ptr, from.m.Dev, there.tensor(r.bases(from)).Ptr, n*there.Width)
		}
		if errors.As(err, new(*kernels.SourceError)) {
			return &device.Error{On: from.m, Err: err}
		}
		return err
	})
	return here.Integers
}

// resident returns a fixed tensor that stays on the machine of a part, nil if there is no room for it.
func (c *compiler) resident(p *part, id model.TensorID) *device.Tensor {
	t, err := p.m.Resident(p.m.Dev, c.weights[id], c.Contexts)
	if err != nil && !errors.Is(err, kernels.ErrMemory) {
		p.check(err)
	}
	return t
}

// put adds a tensor that is uploaded when a run begins, and returns where it lies.
func (c *compiler) put(p *part, id model.TensorID, x put) kernels.Integers {
	t := &c.g.Tensors[id]
	width := device.WidthOfRange(t.Min, t.Max)
	if x.values != nil {
		width = x.values.Width()
	}
	x.slot = c.room(p, model.Size(t.Shape), width, false)
	p.tensors[id] = x.slot
	p.puts = append(p.puts, x)
	return x.Integers
}

// multiplyPieces makes a product with an operand B in the host's memory, for which the
// device has no room as a whole. Ranges of B's outer axis are uploaded one after the other and
// multiplied: ranges of output columns, or of the terms of sums. It closes dev.
func multiplyPieces(dev *device.Scope, p kernels.MatMul, b ints.Ints, piece int) error {
	defer dev.Close()
	outer, row := p.N, p.B.Row
	columns := p.B.Column > p.B.Row
	if columns {
		outer, row = p.K, p.B.Column
	}
	rows := device.PieceRows(b.Width()*row, piece)
	for from := 0; from < outer; from += rows {
		n := min(rows, outer-from)
		t, err := device.NewTensor(dev, b.Slice(from*row, min((from+n)*row, b.Len())))
		if err != nil {
			return err
		}
		q := p
		q.B.Ptr, q.B.Width = t.Ptr, t.Width
		if columns {
			q.K = n
			q.A.Ptr += kernels.Ptr(from * p.A.Column * p.A.Width)
		} else {
			q.N = n
			q.Acc = kernels.At[int64](p.Acc, from*p.OutColumn)
		}
		if err := kernels.MultiplyAdd(dev, q); err != nil {
			return err
		}
		t.Free(dev)
	}
	return nil
}
