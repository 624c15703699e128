package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// limits are those of a proof of the given number of chunks, with streams of up to
// a megabyte.
func limits(chunks int) Limits {
	l := Limits{Public: 1 << 20, Tensors: 16}
	for _, f := range due(chunks) {
		f.Bytes = 1 << 20
		l.Frames = append(l.Frames, f)
	}
	return l
}

func due(chunks int) []plan.Frame {
	list := []plan.Frame{{Kind: plan.Commitments}}
	for i := range chunks {
		list = append(list, plan.Frame{Kind: plan.Chunk, Index: i})
	}
	return append(list, plan.Frame{Kind: plan.IO}, plan.Frame{Kind: plan.Opening})
}

// contents are everything that a proof file holds.
type contents struct {
	Header  Header
	In, Out [][]int32
	Frames  []frameBytes
}

func write(w io.Writer, c contents) error { return writeFor(w, graphOf(c), c) }

func writeFor(w io.Writer, g *model.Graph, c contents) error {
	var frames []plan.Frame
	for _, f := range c.Frames {
		f.frame.Bytes = int64(len(f.body))
		frames = append(frames, f.frame)
	}
	p, err := NewWriter(w, &c.Header, frames)
	if err != nil {
		return err
	}
	if err := p.WritePublic(g, c.In, c.Out); err != nil {
		return err
	}
	for _, f := range c.Frames {
		if err := p.Write(f.body); err != nil {
			return err
		}
	}
	return p.Close()
}

// read reads a proof of the frames of the limits.
func read(r io.Reader, limits Limits, g *model.Graph) (c contents, err error) {
	p, err := NewReader(r)
	if err != nil {
		return c, err
	}
	p.Limit(limits)
	c.Header = *p.Header()
	if c.In, c.Out, err = p.Public(g); err != nil {
		return c, err
	}
	for _, f := range limits.Frames {
		body, err := p.Next()
		if err != nil {
			return c, err
		}
		f.Bytes = 0
		c.Frames = append(c.Frames, frameBytes{f, body})
	}
	return c, p.End()
}

func sample() contents {
	return contents{
		Header: sampleHeader(),
		In:     [][]int32{{1, -2, model.Bound - 1, 1 - model.Bound}, {5, 9, 5, 7}},
		Out:    [][]int32{{0}},
		Frames: sampleFrames(),
	}
}

// graphOf has tensors for public values such as those of c, of any range.
func graphOf(c contents) *model.Graph {
	g := &model.Graph{}
	for _, list := range []struct {
		values [][]int32
		ids    *[]model.TensorID
	}{{c.In, &g.Inputs}, {c.Out, &g.Outputs}} {
		for _, v := range list.values {
			*list.ids = append(*list.ids, model.TensorID(len(g.Tensors)))
			g.Tensors = append(g.Tensors, model.Tensor{Shape: []int{len(v)}, Min: 1 - model.Bound, Max: model.Bound - 1})
		}
	}
	return g
}

func sampleFile(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, sample()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// same compares contents; nil and empty lists are the same.
func same(a, b contents) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func TestStreamRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SliceOfN(rapid.Int32Range(1-model.Bound, model.Bound-1), 1, 300), 0, 4)
		body := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 400), limbs)
		c := contents{In: values.Draw(t, "in"), Out: values.Draw(t, "out")}
		c.Header = genHeader().Draw(t, "header")
		chunks := rapid.IntRange(1, 300).Draw(t, "chunks")
		for _, f := range due(chunks) {
			c.Frames = append(c.Frames, frameBytes{f, body.Draw(t, f.String())})
		}
		var b bytes.Buffer
		if err := write(&b, c); err != nil {
			t.Fatal(err)
		}
		got, err := read(iotest.OneByteReader(&b), limits(chunks), graphOf(c))
		if err != nil {
			t.Fatal(err)
		}
		if !same(c, got) {
			t.Fatalf("wrote %v, read %v", c, got)
		}
	})
}

func TestStreamEveryByteMatters(t *testing.T) {
	b := sampleFile(t)
	check := func(what string, i int, c []byte) {
		t.Helper()
		if _, err := read(bytes.NewReader(c), limits(2), graphOf(sample())); !errors.Is(err, ErrMalformed) {
			t.Fatalf("%s %d: %v", what, i, err)
		}
	}
	for i := range b {
		for x := 1; x < 256; x *= 16 {
			c := bytes.Clone(b)
			c[i] ^= byte(x)
			check("byte", i, c)
		}
		check("cut to", i, b[:i])
		check("without byte", i, append(bytes.Clone(b[:i]), b[i+1:]...))
	}
	check("one byte more", 0, append(bytes.Clone(b), 0))
	check("twice", 0, append(bytes.Clone(b), b...))
}

// reseal cuts the end frame off a file, lets change edit the rest, and adds an
// end frame whose checksum is right, as an attacker would.
func reseal(b []byte, change func([]byte) []byte) []byte {
	b = change(bytes.Clone(b[:len(b)-35]))
	sum := sha256.Sum256(b)
	return append(append(b, 34, 7<<3|2, 32), sum[:]...)
}

// With the checksum made right, a flipped byte must be refused by the encoding
// or show in what the verifier reads.
func TestStreamMalleability(t *testing.T) {
	b := sampleFile(t)
	if got := reseal(b, func(b []byte) []byte { return b }); !bytes.Equal(got, b) {
		t.Fatal("reseal does not know the format")
	}
	want := sample()
	for i := range len(b) - 35 {
		for _, x := range []byte{1, 4, 0x80} {
			c := reseal(b, func(b []byte) []byte { b[i] ^= x; return b })
			got, err := read(bytes.NewReader(c), limits(2), graphOf(sample()))
			if err == nil && same(want, got) {
				t.Fatalf("byte %d: another encoding of the same proof", i)
			}
		}
	}
}

func TestStreamRefuses(t *testing.T) {
	b := sampleFile(t)
	headerEnd := len(ProofMagic) + 1 + int(b[len(ProofMagic)])
	version := len(ProofMagic) + 1 + 3 // length, tag and length of the header, tag
	publicEnd := headerEnd + 1 + int(b[headerEnd])
	commitEnd := publicEnd + 1 + int(b[publicEnd])
	frame := func(body ...byte) []byte { return append(protowire.AppendVarint(nil, uint64(len(body))), body...) }
	insert := func(at int, what []byte) func([]byte) []byte {
		return func(b []byte) []byte { return append(b[:at:at], append(what, b[at:]...)...) }
	}
	for _, c := range []struct {
		want string
		b    []byte
	}{
		{"not a prove-model proof", nil},
		{"not a prove-model proof", []byte(KeyMagic + "and more of it")},
		{"no header", reseal(b, func(b []byte) []byte { return append(b[:8:8], b[headerEnd:]...) })},
		{"no public values", reseal(b, func(b []byte) []byte { return append(b[:headerEnd:headerEnd], b[publicEnd:]...) })},
		{"commitments is due: public values twice", reseal(b, func(b []byte) []byte { return append(b[:publicEnd:publicEnd], b[headerEnd:]...) })},
		{"chunk 0 where commitments is due", reseal(b, func(b []byte) []byte { return append(b[:publicEnd:publicEnd], b[commitEnd:]...) })},
		{"commitments where chunk 0 is due", reseal(b, insert(publicEnd, frame(3<<3|2, 4, 5, 0, 0, 0)))},
		{"chunk 1 where chunk 0 is due", reseal(b, insert(commitEnd, frame(4<<3|2, 2, 1<<3, 1)))},
		{"chunk 2 where io is due", fileOf(t, 3)},
		{"a frame after the last one due", reseal(b, func(b []byte) []byte { return append(b, frame(6<<3|2, 1, 5)...) })},
		{"ends too soon", reseal(b[:headerEnd+int(35+publicEnd-headerEnd)], func(b []byte) []byte { return b })},
		{"commitments is due: an empty frame", reseal(b, insert(publicEnd, frame()))},
		{"unknown field 8", reseal(b, insert(publicEnd, frame(8<<3, 1)))},
		{"exclude each other", reseal(b, insert(publicEnd, frame(3<<3|2, 1, 5, 5<<3|2, 1, 5)))},
		{"spelt out", reseal(b, insert(commitEnd, frame(4<<3|2, 2, 1<<3, 0)))},
		{"length is not minimal", reseal(b, insert(publicEnd, []byte{0x80, 0}))},
		{"length does not end", reseal(b, insert(publicEnd, bytes.Repeat([]byte{0xff}, 20)))},
		{"over the limit of 1015872", reseal(b, insert(publicEnd, protowire.AppendVarint(nil, 1015873)))},
		{"over the limit of 1015872", reseal(b, insert(publicEnd, protowire.AppendVarint(nil, 1<<62)))},
		{"over the limit of 1048576", reseal(b, insert(headerEnd, protowire.AppendVarint(nil, 1<<20+1)))},
		{"too many messages", reseal(b, insert(headerEnd, frame(append([]byte{2<<3 | 2, 34}, bytes.Repeat([]byte{1<<3 | 2, 0}, 17)...)...)))},
		{"version 5, this program reads version 4", reseal(b, func(b []byte) []byte { b[version] = 5; return b })},
		{"version 1, which prove-model v0.1 reads", reseal(b, func(b []byte) []byte { b[version] = 1; return b })},
		{"over the limit of 16384", append([]byte(ProofMagic), protowire.AppendVarint(nil, maxHeader+1)...)},
		{"too many messages", headerOf(maxHeaderLevels + 1)},
		{"too large", headerFile(frame(append([]byte{1<<3 | 2, 9 + 34, 1 << 3, 4, 2<<3 | 2, 32}, append(make([]byte, 32),
			3<<3|2, 5, 0xff, 0xff, 0xff, 0xff, 0x08)...)...))},
		{"header.hash: unknown value 2", headerWith(7<<3, 2)},
		{"header: unknown field 15", headerWith(15<<3, 1)},
		{"header.segment.predecessor: a SHA-256 of 3 bytes", headerWith(14<<3|2, 5, 1<<3|2, 3, 1, 2, 3)},
		{"header.segment.predecessor: a digest of zeros", headerWith(append([]byte{14<<3 | 2, 34, 1<<3 | 2, 32}, make([]byte, 32)...)...)},
		{"header.segment.first_token: unknown value 2", headerWith(14<<3|2, 2, 2<<3, 2)},
		{"header.trees[0].root: 0 bytes, not 32", headerWith(8<<3|2, 0)},
		{"header.trees[0].tail_log: ", headerWith(append(append([]byte{8<<3 | 2, 36, 1<<3 | 2, 32}, make([]byte, 32)...), 6<<3, 7)...)},
		{"257 trees", headerWith(bytes.Repeat(append([]byte{8<<3 | 2, 34, 1<<3 | 2, 32}, make([]byte, 32)...), maxTrees+1)...)},
		{"header.tail_log: ", headerWith(9<<3, 7)},
		{"header.hidden_inputs: ", headerWith(10<<3|2, 5, 0xff, 0xff, 0xff, 0xff, 0x0f)},
		{"header.hidden_outputs: ", headerWith(11<<3|2, 5, 0xff, 0xff, 0xff, 0xff, 0x0f)},
		{"header.texts: ", headerWith(13<<3, 0x81, 8)},
		{"header.reveals[0].index: is a field that", headerWith(12<<3|2, 3, 4<<3|2, 1, 0)},
		{"header.reveals[0].kind: unknown value 2", headerWith(12<<3|2, 2, 1<<3, 2)},
		{"header.reveals[0].top: the 0 greatest, of a kind that has 1 to 1024", headerWith(12<<3|2, 2, 1<<3, 1)},
		{"header.reveals[0].top: the 3 greatest, of a kind that has 0 to 0", headerWith(12<<3|2, 2, 3<<3, 3)},
		{"header.reveals[0].top: the 1025 greatest", headerWith(12<<3|2, 5, 1<<3, 1, 3<<3, 0x81, 8)},
		{"65 reveals", headerWith(bytes.Repeat([]byte{12<<3 | 2, 0}, maxReveals+1)...)},
	} {
		_, err := read(bytes.NewReader(c.b), limits(2), graphOf(sample()))
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
	for what, change := range map[string]func(f *plan.Frame){
		"198 are due": func(f *plan.Frame) { f.Bytes, f.Exact = 204, true },
		"190 are due": func(f *plan.Frame) { f.Bytes = 196 },
	} {
		l := limits(2)
		change(&l.Frames[2])
		if _, err := read(bytes.NewReader(b), l, graphOf(sample())); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), what) {
			t.Errorf("a stream of 194 bytes, %s: %v", what, err)
		}
	}
	_, err := read(io.MultiReader(bytes.NewReader(b[:50]), errorReader{}), limits(2), graphOf(sample()))
	if err == nil || errors.Is(err, ErrMalformed) {
		t.Errorf("an I/O error must not count as malformed: %v", err)
	}
}

// headerFile returns a file that ends with these header frames.
func headerFile(frames []byte) []byte { return append([]byte(ProofMagic), frames...) }

// headerWith is the head of a proof file, with a header that has these bytes after its key.
func headerWith(more ...byte) []byte {
	header := append(append([]byte{1 << 3, 4, 2<<3 | 2, 32}, make([]byte, 32)...), more...)
	return headerFile(protowire.AppendBytes(nil, protowire.AppendBytes([]byte{1<<3 | 2}, header)))
}

// headerOf returns a file that ends with a header of n levels.
func headerOf(n int) []byte {
	f := frameMessage.Append(nil, &frame{header: &Header{Levels: make([]soundness.Level, n)}})
	return headerFile(append(binary.AppendUvarint(nil, uint64(len(f))), f...))
}

// fileOf returns a file of the sample's contents with n chunks.
func fileOf(t *testing.T, n int) []byte {
	c := sample()
	c.Frames = nil
	for _, f := range due(n) {
		c.Frames = append(c.Frames, frameBytes{frame: f})
	}
	var b bytes.Buffer
	if err := write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPublicAgainstGraph(t *testing.T) {
	g := sampleGraph(2, 2, 3, 5, "g")
	good := contents{
		In:     [][]int32{{1, -99, 99, 0}},
		Out:    [][]int32{{0, 1, 2, 5}, {0, 0, -999, 999}},
		Frames: sampleFrames(),
	}
	// The writer's graph is another one.
	for _, c := range []struct {
		want   string
		change func(g *model.Graph, c *contents)
	}{
		{"", func(*model.Graph, *contents) {}},
		{"inputs: malformed: 0 tensors", func(g *model.Graph, c *contents) { g.Inputs, c.In = nil, nil }},
		{"outputs: malformed: 1 tensors", func(g *model.Graph, c *contents) { g.Outputs, c.Out = g.Outputs[:1], c.Out[:1] }},
		{"another length", func(g *model.Graph, c *contents) { g.Tensors[g.Inputs[0]].Shape, c.In = []int{2}, [][]int32{{1, 50}} }},
		{"another length", func(g *model.Graph, c *contents) {
			g.Tensors[g.Inputs[0]].Shape, c.In = []int{200}, [][]int32{make([]int32, 200)}
		}},
		{"100 is not in", func(g *model.Graph, c *contents) { g.Tensors[g.Inputs[0]].Max, c.In = 100, [][]int32{{1, 2, 3, 100}} }},
		{"1000 is not in", func(g *model.Graph, c *contents) {
			g.Tensors[g.Outputs[1]].Max, c.Out = 1000, [][]int32{c.Out[0], {1000, 0, 0, 0}}
		}},
	} {
		x, other := good, sampleGraph(2, 2, 3, 5, "g")
		c.change(other, &x)
		var b bytes.Buffer
		if err := writeFor(&b, other, x); err != nil {
			t.Fatal(err)
		}
		l := limits(2)
		l.Tensors = LimitsFor(&plan.Plan{Graph: g}).Tensors
		_, err := read(&b, l, g)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
	for want, x := range map[string]contents{
		"inputs: 0 tensors":              {Out: good.Out},
		"inputs: tensor 0: 3 entries":    {In: [][]int32{{1, 2, 3}}, Out: good.Out},
		"inputs: tensor 0: 100 is not":   {In: [][]int32{{1, 2, 3, 100}}, Out: good.Out},
		"outputs: tensor 1: -1000 is no": {In: good.In, Out: [][]int32{good.Out[0], {-1000, 0, 0, 0}}},
	} {
		if err := writeFor(io.Discard, g, x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestWriterOrder(t *testing.T) {
	for _, c := range []struct {
		want string
		use  func(*Writer) error
	}{
		{"public values come first", func(p *Writer) error { return p.Write(nil) }},
		{"public values twice", func(p *Writer) error {
			return errors.Join(p.WritePublic(&model.Graph{}, nil, nil), p.WritePublic(&model.Graph{}, nil, nil))
		}},
		{"commitments: a stream that is no sequence of limbs", func(p *Writer) error {
			return errors.Join(p.WritePublic(&model.Graph{}, nil, nil), p.Write(make([]byte, 3)))
		}},
		{"chunk 0: a stream that is no sequence of limbs", func(p *Writer) error {
			return errors.Join(p.WritePublic(&model.Graph{}, nil, nil), p.Write(nil), p.Write([]byte{0, 0, 0, 0x80, 0, 0, 0, 0}))
		}},
		{"commitments: a stream of 4 bytes, where the plan has 3", func(p *Writer) error {
			return errors.Join(p.WritePublic(&model.Graph{}, nil, nil), p.Write(make([]byte, 4)))
		}},
		{"chunk 0: a stream of 4 bytes, where the plan has 8", func(p *Writer) error {
			return errors.Join(p.WritePublic(&model.Graph{}, nil, nil), p.Write(nil), p.Write(make([]byte, 4)))
		}},
		{"ends where chunk 0 is due", func(p *Writer) error {
			return errors.Join(p.WritePublic(&model.Graph{}, nil, nil), p.Write(nil), p.Close())
		}},
		{"after the last one due", func(p *Writer) error {
			return errors.Join(p.WritePublic(&model.Graph{}, nil, nil), p.Write(nil), p.Write(make([]byte, 8)), p.Write(nil))
		}},
	} {
		p, err := NewWriter(io.Discard, &Header{}, []plan.Frame{
			{Kind: plan.Commitments, Bytes: 3}, {Kind: plan.Chunk, Bytes: 8, Exact: true}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.use(p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
		if p.Close() == nil {
			t.Errorf("%s: Close after an error succeeded", c.want)
		}
	}
}

func TestWriterReportsIOErrors(t *testing.T) {
	c := sample()
	c.Frames[4].body = make([]byte, 3<<20)
	if err := write(failingWriter{}, c); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
	c.Frames[4].body = nil // everything fits the buffer: the error comes with Close
	if err := write(failingWriter{}, c); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// FuzzReader: no bytes make the reader panic, and what it accepts is the one
// encoding of what it returns.
func FuzzReader(f *testing.F) {
	b := sampleFile(f)
	f.Add(b, uint8(2))
	f.Add(b[:60], uint8(2))
	f.Add(reseal(b, func(b []byte) []byte { return b[:70] }), uint8(0))
	tree := append(append([]byte{8<<3 | 2, 42, 1<<3 | 2, 32}, bytes.Repeat([]byte{7}, 32)...), 2<<3, 3, 3<<3, 2, 4<<3, 1, 5<<3, 2)
	f.Add(headerWith(slices.Concat(tree, tree, []byte{14<<3 | 2, 36, 1<<3 | 2, 32}, bytes.Repeat([]byte{9}, 32), []byte{2 << 3, 1})...), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, chunks uint8) {
		c, err := read(bytes.NewReader(b), limits(int(chunks)), graphOf(sample()))
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			// The checksum keeps a fuzzer out: give it the right one.
			if len(b) < 35 {
				return
			}
			b = reseal(b, func(b []byte) []byte { return b })
			if c, err = read(bytes.NewReader(b), limits(int(chunks)), graphOf(sample())); err != nil {
				return
			}
		}
		var again bytes.Buffer
		if err := write(&again, c); err != nil || !bytes.Equal(b, again.Bytes()) {
			t.Fatalf("not canonical: %v", err)
		}
	})
}

// The example of docs/proof-format.md.
func TestDocumentedExample(t *testing.T) {
	var b bytes.Buffer
	err := write(&b, contents{
		In: [][]int32{{1, -2}}, Out: [][]int32{{300}},
		Frames: []frameBytes{
			{plan.Frame{Kind: plan.Commitments}, []byte{0xaa, 0, 0, 0}}, {plan.Frame{Kind: plan.Chunk}, []byte{0xbb, 0, 0, 0, 1, 0, 0, 0}},
			{plan.Frame{Kind: plan.IO}, nil}, {plan.Frame{Kind: plan.Opening}, []byte{0xcc, 0, 0, 0x40}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/proof-format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, ok := strings.Cut(string(doc), "<!-- example -->")
	example, _, ok2 := strings.Cut(example, "<!-- end -->")
	if !ok || !ok2 {
		t.Fatal("no example in the document")
	}
	var want []byte
	for line := range strings.Lines(example) {
		bytes, _, isTable := strings.Cut(line, "|")
		if !isTable {
			continue
		}
		row, err := hex.DecodeString(strings.ReplaceAll(bytes, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, row...)
	}
	if !slices.Equal(b.Bytes(), want) {
		t.Errorf("documented\n%x, written\n%x", want, b.Bytes())
	}
}
