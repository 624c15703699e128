package hostile

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prove-model/prove-model/internal/schema"
	"github.com/prove-model/prove-model/prover/certify"
	circuits "github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/verifier"
)

// keys are files that are valid as far as they can be, so that what they cost is not that of
// the first check.
var keys = []entry{
	{"key: nothing", verifies, func() files {
		return files{"a.vk": string(make([]byte, 1<<19)), "a.proof": string(make([]byte, 1<<19))}
	}},
	{"key: empty messages", verifies, func() files {
		return files{"a.vk": keyHead + "\x0a\xe0\xff\x3f" + string(repeated("\x12\x00", 1<<19-16)), "a.proof": ""}
	}},
	{"key: inputs", verifies, key(func(g *circuit) {
		for range 70000 {
			g.input(0)
		}
	})},
	{"key: inputs that wire", verifies, key(func(g *circuit) {
		x := g.input(1, 2)
		for range 40000 {
			ids := g.input(1)
			_ = ids
		}
		for i := range 22000 {
			g.virtual(nil, &schema.Linear{Coefficient: 1, Source: x, View: &schema.View{Groups: []*schema.Group{{In: []uint32{0}, Map: schema.PublicIndexes, Ids: uint32(40000 - i)}}}})
		}
	})},
	{"key: outputs", verifies, key(func(g *circuit) {
		x := g.input(0)
		for range 120000 {
			g.Outputs = append(g.Outputs, x)
		}
	})},
	{"key: terms", verifies, key(func(g *circuit) {
		x := g.input(1)
		var l []*schema.Linear
		for i := range 100000 {
			l = append(l, &schema.Linear{Coefficient: int64(i%60 + 1), Source: x})
		}
		g.exact(l...)
	})},
	{"key: sums of sums", verifies, key(func(g *circuit) {
		x := g.input(1)
		for range 1020 {
			x = g.virtual(nil, &schema.Linear{Coefficient: 1, Source: x}, &schema.Linear{Coefficient: 1, Source: x})
		}
	})},
	{"key: sums of views", verifies, key(func(g *circuit) {
		shape := []uint64{2, 2, 2, 2, 2, 2, 2, 2}
		x := g.input(1, shape...)
		for range 40 {
			x = g.virtual(shape, turned(x, 1), turned(x, 3))
		}
	})},
	{"key: wide views", verifies, key(func(g *circuit) {
		x := g.input(1, 1<<20)
		for i := range 9000 {
			x = g.virtual([]uint64{1 << 20}, &schema.Linear{Coefficient: 1, Source: x, View: &schema.View{Groups: []*schema.Group{
				{Out: []uint32{0}, In: []uint32{0}, Base: int64(i + 1), Strides: []int64{1}, Sums: []*schema.Sum{{Dimension: 15, Stride: 7}}}}}})
			if i%1000 == 999 {
				x = 0
			}
		}
	})},
	{"key: public indexes", verifies, key(func(g *circuit) {
		x, ids := g.input(1, 1<<12), g.input(1<<12-1, 1<<12)
		for range 12000 {
			g.virtual([]uint64{1 << 12}, &schema.Linear{Coefficient: 1, Source: x, View: &schema.View{Groups: []*schema.Group{
				{Out: []uint32{0}, In: []uint32{0}, Map: schema.PublicIndexes, Ids: ids}}}})
		}
		g.Outputs = append(g.Outputs, uint32(len(g.Tensors)-1))
	})},
	{"key: steps", verifies, key(func(g *circuit) {
		x := g.input(1)
		for range 30000 {
			x = g.exact(&schema.Linear{Coefficient: 1, Source: x})
		}
	})},
	{"key: tables", verifies, key(func(g *circuit) {
		x := g.input(1)
		for range 30000 {
			g.Tables = append(g.Tables, &schema.Table{Bits: 20})
			g.look(x, len(g.Tables))
		}
	})},
	{"key: pieces", verifies, key(func(g *circuit) {
		x := g.input(1)
		for range 1000 {
			t := &schema.Table{Kind: schema.Piecewise, Bits: 20}
			for i := range 63 {
				t.Pieces = append(t.Pieces, &schema.Piece{End: int64(i + 1), Slope: 1})
			}
			t.Pieces = append(t.Pieces, &schema.Piece{End: 1 << 20})
			g.Tables = append(g.Tables, t)
			g.look(x, len(g.Tables))
		}
	})},
	{"key: saturated rows", verifies, key(func(g *circuit) {
		x := g.input(1)
		for range 4000 {
			t := &schema.Table{Kind: schema.Piecewise, Bits: 20, Pieces: []*schema.Piece{{End: 1 << 20}}}
			for i := range 64 {
				t.Saturated = append(t.Saturated, uint32(2*i+1), uint32(2*i+2))
			}
			g.Tables = append(g.Tables, t)
			g.look(x, len(g.Tables))
		}
	})},
	{"key: blocks", verifies, key(func(g *circuit) {
		g.input(1)
		for range 40000 {
			g.Tensors = append(g.Tensors, &schema.Tensor{Kind: schema.Fixed, Shape: []uint64{15, 15, 15, 15, 15, 15, 15, 15}})
		}
		g.root()
	})},
	{"key: a large input", verifies, key(func(g *circuit) {
		x := g.input(0, 1<<24)
		for range 1000 {
			g.virtual([]uint64{1 << 24}, &schema.Linear{Coefficient: 1, Source: x})
			g.Outputs = append(g.Outputs, uint32(len(g.Tensors)-1))
		}
		g.Outputs = g.Outputs[:1]
	})},
	{"key: formulas", verifies, key(func(g *circuit) {
		g.input(1)
		for range 30000 {
			g.Tensors = append(g.Tensors, &schema.Tensor{Kind: schema.ByFormula, Shape: []uint64{1 << 17, 1 << 17}, Max: 1, Formula: &schema.Formula{Offset: 1 << 16}})
		}
	})},
	{"key: indexes", verifies, key(func(g *circuit) {
		x := g.input(1, 1<<19)
		index := make([]uint64, 1<<19)
		for i := range index {
			index[i] = uint64(i % 127)
		}
		g.virtual([]uint64{1 << 19}, &schema.Linear{Coefficient: 1, Source: x, View: &schema.View{Groups: []*schema.Group{{Out: []uint32{0}, In: []uint32{0}, Map: schema.Index, Index: index}}}})
	})},
	{"key: names", verifies, key(func(g *circuit) {
		g.input(1)
		for range 4000 {
			g.Tensors = append(g.Tensors, &schema.Tensor{Name: string(repeated("é", 120)), Kind: schema.ByFormula, Shape: []uint64{1, 1}, Max: 1, Formula: &schema.Formula{}})
		}
	})},
	{"key: divisions", verifies, key(func(g *circuit) {
		x, d := g.input(1), g.input(1)
		for range 4000 {
			g.Steps = append(g.Steps, &schema.Step{Kind: schema.Divide, Accumulator: &schema.Accumulator{Linear: []*schema.Linear{{Coefficient: 1, Source: x}}}, Out: g.witness() + 1, Remainder: g.witness() + 1, Divisor: d + 1})
		}
	})},
}

// certificates are of keys that are valid, and begin as theirs would.
var certificates = []entry{
	{"certificate: nothing", certifies, certificate(1<<19, nil, func(g *circuit) { g.input(1) })},
	{"certificate: extras without end", certifies, certificate(0, []byte("\xff\xff\xff\xff\x0f"), func(g *circuit) { g.input(1) })},
	{"certificate: repeated blocks", certifies, certificate(0, blocks(1<<14-1, 0), func(g *circuit) {
		g.input(1)
		for range 500 {
			g.exact(&schema.Linear{Coefficient: 1})
		}
	})},
	{"certificate: blocks of one step each", certifies, certificate(0, blocks(1<<14-1, 1), func(g *circuit) {
		g.input(1)
		for range 20000 {
			g.exact(&schema.Linear{Coefficient: 1})
		}
	})},
	{"certificate: fixed tensors", certifies, certificate(0, []byte{0, 0}, fixed(230000))},
	{"certificate: as many fixed tensors as it may have", certifies, certificate(0, []byte{0, 0}, fixed(1<<16))},
	{"certificate: fixed tensors that are stated", certifies, certificate(0, stated(120000), fixed(120000))},
	{"certificate: as many of these", certifies, certificate(0, stated(1<<16), fixed(1<<16))},
	{"certificate: sums", certifies, certificate(0, []byte{0, 0}, sums(20000, &schema.Tensor{Kind: schema.Fixed, Shape: []uint64{2}}))},
	{"certificate: as many sums as it may have", certifies, certificate(0, []byte{0, 0}, sums(9000, &schema.Tensor{Kind: schema.Fixed, Shape: []uint64{2}, Max: 1}))},
	{"certificate: sums in pieces", certifies, certificate(0, []byte{0, 0}, sums(20, &schema.Tensor{Kind: schema.Fixed, Shape: []uint64{1 << 20}, Min: -1 << 28, Max: 1<<28 - 1}))},
}

func fixed(n int) func(g *circuit) {
	return func(g *circuit) {
		g.input(1)
		for range n {
			g.Tensors = append(g.Tensors, &schema.Tensor{Kind: schema.Fixed})
		}
		g.root()
	}
}

// sums are products of an input with n fixed tensors, each summed over its one axis.
func sums(n int, w *schema.Tensor) func(g *circuit) {
	return func(g *circuit) {
		x, a := g.input(1, w.Shape...), &schema.Accumulator{}
		for range n {
			a.Products = append(a.Products, &schema.Product{Coefficient: 1, A: x, B: g.tensor(w), LabelsA: []uint32{8}, LabelsB: []uint32{8}})
		}
		g.Steps = append(g.Steps, &schema.Step{Kind: schema.Exact, Accumulator: a, Out: g.witness() + 1})
		g.root()
	}
}

// certificate makes a key and the head of a certificate with these extras, and zeros for a proof.
func certificate(zeros int, extras []byte, build func(g *circuit)) func() files {
	return func() files {
		f := key(build)()
		digest := sha256.Sum256([]byte("prove-model key\n" + f["a.vk"]))
		b := binary.LittleEndian.AppendUint32([]byte(certify.Magic), certify.Version)
		b = binary.LittleEndian.AppendUint32(append(b, digest[:]...), uint32(len(extras)))
		return files{"a.vk": f["a.vk"], "a.crt": string(b) + string(extras) + string(make([]byte, zeros))}
	}
}

// blocks are norms, each so many tensors and steps behind the one before.
func blocks(n, apart int) []byte {
	b := binary.AppendUvarint([]byte{0}, uint64(n))
	for i := range n {
		b = append(b, 0)
		for _, x := range []int{1 + i*apart, 0, i * apart, 12, 10, 0} {
			b = binary.AppendUvarint(b, uint64(x))
		}
		b = append(b, 1, 0, 0, 0, 1, 0, 0, 0, 0)
	}
	return b
}

// stated are extras that state so many tensors, from 1 on.
func stated(n int) []byte {
	b := binary.AppendUvarint(nil, uint64(n))
	for i := range n {
		b = binary.AppendUvarint(b, uint64(i+1))
	}
	return append(b, 0)
}

// certifies reads the key a.vk and its certificate a.crt.
func certifies(dir string) error {
	vk, err := os.Open(filepath.Join(dir, "a.vk"))
	if err != nil {
		return err
	}
	defer vk.Close()
	key, err := proof.ReadKey(vk, proof.MaxKeySize)
	if err != nil {
		return err
	}
	file, err := os.Open(filepath.Join(dir, "a.crt"))
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = certify.Verify(key, file, verifier.Policy{})
	return err
}

func repeated(s string, n int) []byte {
	b := make([]byte, 0, len(s)*n)
	for range n {
		b = append(b, s...)
	}
	return b
}

var keyHead = string(binary.LittleEndian.AppendUint32([]byte(proof.KeyMagic), proof.Version))

// circuit is that of a key.
type circuit struct {
	schema.Key
	*schema.Graph
	// What the proof's header says: sizes of free dimensions, 1 each if there are none, what it hides, and what it reveals.
	sizes                       []uint64
	hiddenInputs, hiddenOutputs []int
	reveals                     []*schema.Reveal
	tailLog                     int // of a masked proof
}

// instance is that of the header.
func (c *circuit) instance() (in circuits.Instance) {
	for f := range c.Free {
		size := 1
		if c.sizes != nil {
			size = int(c.sizes[f])
		}
		in.Sizes = append(in.Sizes, size)
	}
	for _, r := range c.reveals {
		in.Reveals = append(in.Reveals, circuits.Reveal{Output: int(r.Output), Top: int(r.Top)})
	}
	in.HiddenInputs, in.HiddenOutputs = c.hiddenInputs, c.hiddenOutputs
	return in
}

// plan is that of the proof, nil if there is none.
func (c *circuit) plan(file string) (*proof.Key, *plan.Plan) {
	key, err := proof.DecodeKey([]byte(file))
	if err != nil {
		return nil, nil
	}
	in, p := c.instance(), (*plan.Plan)(nil)
	if c.tailLog > 0 {
		p, err = key.HidingPlan(in, c.tailLog)
	} else {
		p, err = key.Plan(in)
	}
	if err != nil {
		return nil, nil
	}
	return key, p
}

// key makes the files of a circuit, with a proof that has all but what proves: a header, public
// values of which each entry is the least, and frames of zeros.
func key(build func(g *circuit)) func() files {
	return func() files {
		c := &circuit{Graph: &schema.Graph{}}
		build(c)
		if last := len(c.Tensors) - 1; len(c.Outputs) == 0 {
			c.Outputs = []uint32{uint32(last)}
			if k := c.Tensors[last].Kind; k == schema.Fixed || k == schema.ByFormula {
				c.Outputs[0] = 0
			}
		}
		c.Key.Graph, c.Key.Security = c.Graph, &schema.Security{TargetBits: 100, GrindBits: 16}
		file := string(schema.Append([]byte(keyHead), &c.Key))
		return files{"a.vk": file, "a.proof": c.proof(file)}
	}
}

func (c *circuit) proof(file string) string {
	header := &schema.Header{Version: proof.Version, TailLog: uint32(c.tailLog), Reveals: c.reveals}
	digest := sha256.Sum256([]byte("prove-model key\n" + file))
	header.Key = digest[:]
	in := c.instance()
	for _, n := range in.Sizes {
		header.Sizes = append(header.Sizes, uint64(n))
	}
	for _, i := range in.HiddenInputs {
		header.HiddenInputs = append(header.HiddenInputs, uint32(i))
	}
	for _, i := range in.HiddenOutputs {
		header.HiddenOutputs = append(header.HiddenOutputs, uint32(i))
	}
	// The parameters are those of a prover, if there is one for the key.
	var frames []plan.Frame
	public := &schema.Public{}
	if key, p := c.plan(file); p != nil {
		h := proof.NewHeader(key, p)
		header.RowVars, frames = uint32(h.RowVars), p.Frames
		for _, l := range h.Levels {
			header.Levels = append(header.Levels, &schema.Level{
				FoldVars: uint32(l.FoldVars), RowVars: uint32(l.RowVars), LogBlowup: uint32(l.LogBlowup), Multiplicity: uint32(l.Multiplicity),
				Queries: uint32(l.Queries), OutOfDomain: uint32(l.OutOfDomain), QueryGrind: uint32(l.QueryGrind), FoldGrind: uint32(l.FoldGrind),
			})
		}
		values := func(ids []circuits.TensorID) (list []*schema.Values) {
			for _, id := range ids {
				t := &p.Graph.Tensors[id]
				list = append(list, &schema.Values{Packed: least(t.Max-t.Min, circuits.Size(t.Shape))})
			}
			return list
		}
		public.Inputs, public.Outputs = values(p.Graph.Given()), values(p.Graph.Outputs)
	} else {
		values := func(ids []uint32) (list []*schema.Values) {
			for _, id := range ids {
				t, entries := c.Tensors[id], 1
				for _, d := range t.Shape {
					entries *= int(min(d, 1<<24))
				}
				list = append(list, &schema.Values{Packed: least(t.Max-t.Min, entries)})
			}
			return list
		}
		public.Inputs, public.Outputs = values(c.Inputs), values(c.Outputs)
	}
	b := []byte(proof.ProofMagic)
	frame := func(f *schema.Frame) { b = protowire.AppendBytes(b, schema.Append(nil, f)) }
	frame(&schema.Frame{Header: header})
	frame(&schema.Frame{Public: public})
	for _, f := range frames {
		size := f.Bytes
		if !f.Words {
			size = (size/4*31 + 7) / 8
		}
		zeros := make([]byte, min(size, int64(max(0, mostBytes-1000-len(file)-len(b)))))
		switch f.Kind {
		case plan.Commitments:
			frame(&schema.Frame{Commitments: zeros})
		case plan.Chunk:
			frame(&schema.Frame{Chunk: &schema.Chunk{Index: uint32(f.Index), Body: zeros}})
		case plan.IO:
			frame(&schema.Frame{Io: zeros})
		case plan.Opening:
			frame(&schema.Frame{Opening: zeros})
		}
	}
	return string(b)
}

// least packs a tensor of which every entry is the least that it may be.
func least(span int64, entries int) []byte {
	if entries > 1<<24 {
		return nil
	}
	blocks := (entries + 127) / 128
	return make([]byte, (blocks*(bits.Len64(uint64(span))+10)+7)/8)
}

func (c *circuit) tensor(t *schema.Tensor) uint32 {
	c.Tensors = append(c.Tensors, t)
	return uint32(len(c.Tensors) - 1)
}

func (c *circuit) input(max int64, shape ...uint64) uint32 {
	id := c.tensor(&schema.Tensor{Shape: shape, Max: max})
	c.Inputs = append(c.Inputs, id)
	return id
}

func (c *circuit) witness() uint32 {
	return c.tensor(&schema.Tensor{Kind: schema.Witness, Max: 1})
}

func (c *circuit) virtual(shape []uint64, terms ...*schema.Linear) uint32 {
	return c.tensor(&schema.Tensor{Kind: schema.Virtual, Shape: shape, Max: 1, Definition: terms})
}

func (c *circuit) exact(terms ...*schema.Linear) uint32 {
	out := c.witness()
	c.Steps = append(c.Steps, &schema.Step{Kind: schema.Exact, Accumulator: &schema.Accumulator{Linear: terms}, Out: out + 1})
	return out
}

func (c *circuit) look(of uint32, table int) {
	s := &schema.Step{Accumulator: &schema.Accumulator{Linear: []*schema.Linear{{Coefficient: 1, Source: of}}}, Table: uint32(table)}
	if c.Graph.Tables[table-1].Kind != schema.Range {
		s.Out = c.witness() + 1
	}
	c.Steps = append(c.Steps, s)
}

func (c *circuit) root() { c.Trees = []*schema.Tree{{Root: make([]byte, 32), RowVars: 10}} }

// turned is a view whose axes are turned by so many places.
func turned(of uint32, by int) *schema.Linear {
	v := &schema.View{}
	for a := range 8 {
		v.Groups = append(v.Groups, &schema.Group{Out: []uint32{uint32((a + by) % 8)}, In: []uint32{uint32(a)}, Strides: []int64{1}})
	}
	return &schema.Linear{Coefficient: 1, Source: of, View: v}
}
