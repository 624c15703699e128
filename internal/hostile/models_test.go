package hostile

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// models are ONNX files of a few nodes that ask for much, and inputs that unpack to much.
var models = []entry{
	{"ONNX: Loop", opens("m.onnx"), model([]int64{1}, loop(), intsOf("n", 1<<40), truth("c"))},
	{"ONNX: OneHot", opens("m.onnx"), model([]int64{4}, cast("x", "i"), node("OneHot", "i,d,v", "y"), intsOf("d", 1<<34), floats("v", 0, 1))},
	{"ONNX: HannWindow", opens("m.onnx"), model([]int64{1}, node("HannWindow", "n", "w"), node("Add", "x,w", "y"), intsOf("n", 1<<40))},
	{"ONNX: DFT", opens("m.onnx"), model([]int64{1, 1 << 14, 1}, node("DFT", "x", "y"))},
	{"ONNX: STFT", opens("m.onnx"), model([]int64{1, 1 << 20, 1}, node("STFT", "x,s,,l", "y"), intsOf("s", 1), intsOf("l", 1<<14))},
	{"ONNX: MelWeightMatrix", opens("m.onnx"), model([]int64{1}, node("MelWeightMatrix", "a,a,a,f,f", "w"), node("Add", "x,w", "y"), intsOf("a", 1<<30), scalar("f", 1))},
	{"ONNX: a long LSTM", opens("m.onnx"), model([]int64{1 << 18, 1, 1}, attributes(node("LSTM", "x,w,r", "y"), one64("hidden_size", 1)), ofShape("w", 1, 4, 1), ofShape("r", 1, 4, 1))},
	{"ONNX: a long GRU of constants", opens("m.onnx"), model([]int64{1}, node("ConstantOfShape", "s", "c"), attributes(node("GRU", "c,w,r", "g"), one64("hidden_size", 1)), node("Add", "x,g", "y"),
		ints("s", 1<<24, 1, 1), ofShape("w", 1, 3, 1), ofShape("r", 1, 3, 1))},
	{"ONNX: CumSum", opens("m.onnx"), model([]int64{1 << 13, 1 << 13}, node("CumSum", "x,a", "y"), intsOf("a", 0))},
	{"ONNX: a large kernel", opens("m.onnx"), model([]int64{1, 1, 1 << 12, 1 << 12}, node("ConstantOfShape", "s", "w"), node("Conv", "x,w", "y"), ints("s", 1, 1, 2048, 2048))},
	{"ONNX: a large pool", opens("m.onnx"), model([]int64{1, 1, 4096, 4096}, attributes(node("MaxPool", "x", "y"), many64("kernel_shape", 2048, 2048)))},
	{"ONNX: large pads", opens("m.onnx"), model([]int64{1, 1, 4, 4}, attributes(node("MaxPool", "x", "y"), many64("kernel_shape", 2, 2), many64("pads", 1<<20, 1<<20, 1<<20, 1<<20)))},
	{"ONNX: large dilations", opens("m.onnx"), model([]int64{1, 1, 4, 4}, attributes(node("MaxPool", "x", "y"), many64("kernel_shape", 2, 2), many64("dilations", 1<<40, 1<<40)))},
	{"ONNX: Einsum", opens("m.onnx"), model([]int64{1 << 10}, node("Einsum", "x,x,x,x", "y", "equation=a,b,c,d->abcd"))},
	{"ONNX: broadcasts", opens("m.onnx"), model([]int64{1 << 14}, node("Reshape", "x,s", "r"), node("Add", "x,r", "y"), ints("s", 1<<14, 1))},
	{"ONNX: Gather", opens("m.onnx"), model([]int64{1 << 20}, node("Gather", "x,i", "a"), node("Gather", "a,i", "b"), node("Gather", "b,i", "y"), ofInts("i", 1<<10))},
	{"ONNX: GatherND", opens("m.onnx"), model([]int64{1 << 12, 1 << 12}, node("ConstantOfShape", "s", "f"), cast("f", "i"), node("GatherND", "x,i", "y"), ints("s", 1<<14, 1<<8, 1))},
	{"ONNX: ScatterND", opens("m.onnx"), model([]int64{1 << 12, 1 << 12}, node("ConstantOfShape", "s", "f"), cast("f", "i"), node("ScatterND", "x,i,x", "y"), ints("s", 1<<12, 1))},
	{"ONNX: TopK", opens("m.onnx"), model([]int64{1 << 22}, node("TopK", "x,k", "y,z"), ints("k", 1<<22-1))},
	{"ONNX: sorted", opens("m.onnx"), model([]int64{1 << 12}, node("TopK", "x,k", "y,z"), ints("k", 1<<11))},
	{"ONNX: ConvTranspose", opens("m.onnx"), model([]int64{1, 1, 4, 4}, attributes(node("ConvTranspose", "x,w", "y"), many64("strides", 1<<14, 1<<14)), ofShape("w", 1, 1, 2, 2))},
	{"ONNX: DepthToSpace", opens("m.onnx"), model([]int64{1, 4, 2, 2}, attributes(node("DepthToSpace", "x", "y"), one64("blocksize", 1<<40)))},
	{"ONNX: GridSample", opens("m.onnx"), model([]int64{1, 1, 4, 4}, node("ConstantOfShape", "s", "g"), node("GridSample", "x,g", "y"), ints("s", 1, 1<<13, 1<<13, 2))},
	{"ONNX: RoiAlign", opens("m.onnx"), model([]int64{1, 1, 4, 4}, attributes(node("RoiAlign", "x,r,b", "y"), one64("output_height", 1<<14), one64("output_width", 1<<14)), ofShape("r", 1, 4), ints("b", 0))},
	{"ONNX: EyeLike", opens("m.onnx"), model([]int64{1 << 15, 1 << 15}, node("EyeLike", "x", "y"))},
	{"ONNX: a random constant", opens("m.onnx"), model([]int64{1}, attributes(node("RandomNormal", "", "r"), many64("shape", 1<<15, 1<<15)), node("Add", "x,r", "y"))},
	{"ONNX: powers of constants", opens("m.onnx"), model([]int64{8}, append(doubled(60), node("Add", "x,d0", "z"))...)},
	{"ONNX: concatenated again and again", opens("m.onnx"), model([]int64{8}, concatenated(40)...)},
	{"ONNX: a vocabulary", opens("m.onnx"), model([]int64{1}, attributes(node("LabelEncoder", "x", "y"), texts("keys_strings", 1<<15)))},
	{"ONNX: trees", opens("m.onnx"), model([]int64{1}, attributes(node("TreeEnsembleRegressor", "x", "y"), many64("nodes_treeids", make([]int64, 1<<15)...), many64("nodes_nodeids", make([]int64, 1<<15)...)))},
	{"ONNX: a long name", opens("m.onnx"), model([]int64{1}, node(strings.Repeat("Relu", 1<<17), "x", "y"))},
	{"ONNX: symbols", opens("m.onnx"), one("m.onnx", strings.Repeat("\x42\x00", 1<<18)+strings.Repeat("\x3a\x00", 1<<18))},

	{"input: an archive of zeros", inputs("a.npz"), func() files { return files{"a.npz": archive(900<<20, 1)} }},
	{"input: an archive of archives' names", inputs("a.npz"), func() files { return files{"a.npz": archive(10, 4000)} }},
	{"input: a picture of zeros", inputs("a.png"), func() files { return files{"a.png": picture(24000, 24000)} }},
	{"input: empty rows", inputs("a.csv"), one("a.csv", strings.Repeat("\n", 1<<20))},
	{"input: quotes", inputs("a.csv"), one("a.csv", strings.Repeat("\"", 1<<20-1))},
	{"input: nested objects", inputs("a.json"), one("a.json", strings.Repeat(`{"a":`, 1<<17))},
	{"input: a header without end", inputs("a.npy"), one("a.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff{"+strings.Repeat("'a': {", 1<<17))},
	{"input: many tensors", inputs("a.pb"), one("a.pb", strings.Repeat("\x08\x00", 1<<19))},

	{"tokenizer: an expression that repeats", tokenizes, tokenizerWith(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"}`)},
	{"tokenizer: one that looks ahead", tokenizes, tokenizerWith(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?:a+)+(?!a)b"}, "behavior": "Isolated"}`)},
	{"tokenizer: one that counts", tokenizes, tokenizerWith(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "` + strings.Repeat("(", 500) + "a" + strings.Repeat("{1,9})", 500) + `"}, "behavior": "Isolated"}`)},
	{"tokenizer: a long expression", tokenizes, tokenizerWith(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "` + strings.Repeat("a|", 400000) + `a"}, "behavior": "Isolated"}`)},
	{"tokenizer: merges", tokenizes, func() files { return files{"tokenizer.json": merges(16000)} }},
	{"tokenizer: a unigram", tokenizes, func() files { return files{"tokenizer.json": unigram(25000)} }},

	{"GGUF: a vocabulary of long texts", opens("m.gguf"), one("m.gguf", gguf(0, 1)+u64(1)+"k"+u32(9)+u32(8)+u64(1)+u64(1<<40))},
	{"GGUF: tensors of many axes", opens("m.gguf"), one("m.gguf", gguf(1, 0)+u64(1)+"t"+u32(1<<30)+strings.Repeat(u64(1<<40), 1<<16))},
	{"GGUF: tensors of one name", opens("m.gguf"), one("m.gguf", gguf(20000, 0)+strings.Repeat(u64(1)+"t"+u32(1)+u64(1<<40)+u32(0)+u64(0), 20000))},
	{"index: many files", publishes, func() files { return indexed(20000) }},
	{"index: nested", publishes, func() files {
		return files{"config.json": "{}", "model.safetensors.index.json": strings.Repeat(`{"weight_map":`, 1<<16)}
	}},
}

func loop() *onnxpb.NodeProto {
	n := node("Loop", "n,c,x", "y")
	n.Attribute = append(n.Attribute, &onnxpb.AttributeProto{Name: "body", Type: onnxpb.AttributeProto_GRAPH, G: &onnxpb.GraphProto{
		Name: "body", Node: []*onnxpb.NodeProto{node("Add", "v,v", "w"), node("Identity", "k", "m")},
		Input: []*onnxpb.ValueInfoProto{{Name: "i"}, {Name: "k"}, {Name: "v"}}, Output: []*onnxpb.ValueInfoProto{{Name: "m"}, {Name: "w"}},
	}})
	return n
}

func cast(in, out string) *onnxpb.NodeProto { return attributes(node("Cast", in, out), one64("to", 7)) }

func attributes(n *onnxpb.NodeProto, list ...*onnxpb.AttributeProto) *onnxpb.NodeProto {
	n.Attribute = append(n.Attribute, list...)
	return n
}

func one64(name string, v int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: name, Type: onnxpb.AttributeProto_INT, I: v}
}

func many64(name string, v ...int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: name, Type: onnxpb.AttributeProto_INTS, Ints: v}
}

func texts(name string, n int) *onnxpb.AttributeProto {
	a := &onnxpb.AttributeProto{Name: name, Type: onnxpb.AttributeProto_STRINGS}
	for i := range n {
		a.Strings = append(a.Strings, fmt.Appendf(nil, "%d", i))
	}
	return a
}

func truth(name string) *onnxpb.TensorProto {
	return &onnxpb.TensorProto{Name: name, DataType: 9, Int32Data: []int32{1}}
}

func scalar(name string, v float32) *onnxpb.TensorProto {
	return &onnxpb.TensorProto{Name: name, DataType: 1, FloatData: []float32{v}}
}

// ofShape is a tensor of ones.
func ofShape(name string, shape ...int64) *onnxpb.TensorProto {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	t := floats(name, make([]float32, n)...)
	for i := range t.FloatData {
		t.FloatData[i] = 1
	}
	t.Dims = shape
	return t
}

// ofInts is n·n zeros.
func ofInts(name string, n int64) *onnxpb.TensorProto {
	return &onnxpb.TensorProto{Name: name, Dims: []int64{n, n / 8}, DataType: 6, RawData: make([]byte, n*n/8*4)}
}

// doubled are constants, each twice as long as the one before.
func doubled(n int) (list []any) {
	list = append(list, floats("d0", 1))
	for i := range n {
		list = append(list, node("Concat", fmt.Sprintf("d%d,d%[1]d", i), fmt.Sprint("d", i+1), "axis=0"))
		list[len(list)-1].(*onnxpb.NodeProto).Attribute[0] = one64("axis", 0)
	}
	return append(list, node("Add", fmt.Sprintf("x,d%d", n), "y"))
}

func concatenated(n int) (list []any) {
	last := "x"
	for i := range n {
		out := fmt.Sprint("p", i)
		if i == n-1 {
			out = "y"
		}
		list = append(list, attributes(node("Concat", last+","+last, out), one64("axis", 0)))
		last = out
	}
	return list
}

// archive is a .npz file of arrays of so many bytes of zeros.
func archive(size, arrays int) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range arrays {
		w, err := z.Create(fmt.Sprintf("%d.npy", i))
		if err != nil {
			panic(err)
		}
		fmt.Fprint(w, npy(fmt.Sprintf("(%d,)", size/8)))
		zeros := make([]byte, 1<<20)
		for n := size; n > 0; n -= len(zeros) {
			w.Write(zeros[:min(n, len(zeros))])
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// picture is a grey PNG of zeros.
func picture(width, height int) string {
	var b, data bytes.Buffer
	chunk := func(kind string, body []byte) {
		binary.Write(&b, binary.BigEndian, uint32(len(body)))
		b.WriteString(kind)
		b.Write(body)
		binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(append([]byte(kind), body...)))
	}
	b.WriteString("\x89PNG\r\n\x1a\n")
	head := binary.BigEndian.AppendUint32(nil, uint32(width))
	chunk("IHDR", append(binary.BigEndian.AppendUint32(head, uint32(height)), 8, 0, 0, 0, 0))
	z := zlib.NewWriter(&data)
	row := make([]byte, width+1)
	for range height {
		z.Write(row)
	}
	z.Close()
	chunk("IDAT", data.Bytes())
	chunk("IEND", nil)
	return b.String()
}

// merges is a BPE tokenizer with merges of ever longer tokens.
func merges(n int) string {
	var vocab, list strings.Builder
	for i := range n {
		fmt.Fprintf(&vocab, `,"a%d":%d`, i, i+1)
		fmt.Fprintf(&list, `,"a%d a%d"`, i, i)
	}
	return `{"model": {"type": "BPE", "vocab": {"a": 0` + vocab.String() + `}, "merges": [` + list.String()[1:] + `]}}`
}

func unigram(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,["%s%d", -%d]`, strings.Repeat("a", i%25), i, i)
	}
	return `{"model": {"type": "Unigram", "unk_id": 0, "vocab": [["a", 0], ["` + strings.Repeat("a", 2000) + `", 0]` + b.String() + `]}}`
}

// indexed is an index of weights in many files.
func indexed(n int) files {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"t%d":"f%d.safetensors"`, i, i)
	}
	return files{"config.json": llama(2, 8), "model.safetensors.index.json": `{"weight_map": {` + b.String()[1:] + `}}`}
}
