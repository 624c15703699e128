package hostile

import (
	"encoding/binary"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// entries are the kept files. A new one is a line.
var entries = []entry{
	{"tokenizer: a becomes aa", tokenizes, normalised(40, replace("a", "aa"))},
	{"tokenizer: a text put before", tokenizes, normalised(60, `{"type": "Prepend", "prepend": "`+strings.Repeat("ab", 8000)+`"}`)},
	{"tokenizer: normal forms", tokenizes, normalised(40000, `{"type": "NFKD"}`)},
	{"tokenizer: bytes as letters", tokenizes, parts("pre_tokenizer", "pretokenizers", 40, `{"type": "ByteLevel", "use_regex": false}`)},
	{"tokenizer: spaces of spaces", tokenizes, parts("pre_tokenizer", "pretokenizers", 40, `{"type": "Metaspace", "replacement": "  ", "split": false}`)},
	{"tokenizer: decoded", tokenizes, parts("decoder", "decoders", 40, replace("a", "aa"))},
	{"tokenizer: nested", tokenizes, one("tokenizer.json", strings.Repeat(`{"model":`, 100000))},
	{"tokenizer: brackets", tokenizes, one("tokenizer.json", strings.Repeat("[", 1<<20))},
	{"tokenizer: around a text", tokenizes, tokenizerWith(`"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {}}` +
		strings.Repeat(`,{"SpecialToken": {"id": "x"}}`, 10000) + `], "special_tokens": {"x": {"ids": [0` + strings.Repeat(",0", 100000) + `]}}}`)},
	{"tokenizer: SentencePiece", tokenizes, one("tokenizer.model", strings.Repeat("\x0a\x03\x0a\x01a", 1<<17))},

	{"template: a text of itself", talks, template(twice("'x'", "ns.x ~ ns.x", ""))},
	{"template: equal lists", talks, template("{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}")},
	{"template: nested lists", talks, template(twice("[1]", "[ns.x, ns.x]", "{{ ns.x | tojson }}"))},
	{"template: replaced", talks, template(twice("'x'", "ns.x.replace('x', 'xx')", ""))},
	{"template: loops", talks, template("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}")},
	{"template: brackets", talks, template(strings.Repeat("{{ (", 60000))},
	{"template: a long one", talks, template(strings.Repeat("{% if 1 %}", 25000))},
	{"template: an escaped source", talks, one("tokenizer_config.json", `{"chat_template": "`+strings.Repeat(`\u0041`, 100000)+`{% for`+`"}`)},

	{"ONNX: a resize", opens("m.onnx"), model([]int64{1, 1, 4, 4}, node("Resize", "x,,s", "y"), floats("s", 1, 1, 5000, 5000))},
	{"ONNX: an interpolation", opens("m.onnx"), model([]int64{1, 1, 4, 4}, node("Resize", "x,,s", "y", "mode=linear"), floats("s", 1, 1, 5000, 5000))},
	{"ONNX: a wide product", opens("m.onnx"), model([]int64{1, 1}, node("Expand", "x,s", "e"), node("MatMul", "e,e", "y"), ints("s", 8192, 8192))},
	{"ONNX: a wide product, summed", opens("m.onnx"), model([]int64{1, 1}, node("Expand", "x,s", "e"), node("MatMul", "e,e", "p"), node("ReduceSum", "p", "y"), ints("s", 8192, 8192))},
	{"ONNX: a product of constants", opens("m.onnx"), model([]int64{1}, node("ConstantOfShape", "s", "c"), node("MatMul", "c,c", "p"), node("Add", "x,p", "y"), ints("s", 2048, 2048))},
	{"ONNX: a range", opens("m.onnx"), model([]int64{1}, node("Range", "a,b,c", "r"), node("Add", "x,r", "y"), ints("a"), intsOf("b", 1<<40), intsOf("c", 1))},
	{"ONNX: a large constant", opens("m.onnx"), model([]int64{1}, node("ConstantOfShape", "s", "c"), node("Add", "x,c", "y"), ints("s", 1<<20, 1<<15))},
	{"ONNX: tiles", opens("m.onnx"), model([]int64{1, 1}, node("Tile", "x,s", "e"), node("Tile", "e,s", "f"), node("Tile", "f,s", "y"), ints("s", 1<<10, 1<<10))},
	{"ONNX: padding", opens("m.onnx"), model([]int64{1, 1}, node("Pad", "x,s", "y"), ints("s", 1<<30, 1<<30, 1<<30, 1<<30))},
	{"ONNX: a wide input", opens("m.onnx"), model([]int64{1 << 14, 1 << 15}, node("Relu", "x", "y"))},
	{"ONNX: a chain of nodes", opens("m.onnx"), func() files { return chain(20000) }},
	{"ONNX: a cycle", opens("m.onnx"), model([]int64{1}, node("Relu", "y", "z"), node("Relu", "z", "y"))},
	{"ONNX: nested graphs", opens("m.onnx"), one("m.onnx", nested(4000))},
	{"ONNX: empty messages", opens("m.onnx"), one("m.onnx", "\x3a\xfe\xff\x3f"+strings.Repeat("\x0a\x00", 1<<19-4))},

	{"GGUF: a count of tensors", opens("m.gguf"), one("m.gguf", gguf(1<<40, 0))},
	{"GGUF: a count of metadata", opens("m.gguf"), one("m.gguf", gguf(0, 1<<40))},
	{"GGUF: a long text", opens("m.gguf"), one("m.gguf", gguf(0, 1)+u64(1)+"k"+u32(8)+u64(1<<50))},
	{"GGUF: arrays of arrays", opens("m.gguf"), one("m.gguf", gguf(0, 1)+u64(1)+"k"+strings.Repeat(u32(9)+u64(1), 80000))},
	{"GGUF: a long array", opens("m.gguf"), one("m.gguf", gguf(0, 1)+u64(1)+"k"+u32(9)+u32(0)+u64(1<<50))},
	{"GGUF: many empty texts", opens("m.gguf"), one("m.gguf", gguf(0, 1)+u64(1)+"k"+u32(9)+u32(8)+u64(1<<40)+strings.Repeat(u64(0), 1<<17-8))},

	{"SafeTensors: a long header", publishes, weights("{}", u64(1<<50))},
	{"SafeTensors: nested", publishes, weights("{}", u64(1<<19)+strings.Repeat("[", 1<<19))},
	{"SafeTensors: many tensors", publishes, func() files { return tensors(9000) }},
	{"config: nested", publishes, weights(strings.Repeat("[", 1<<20-100), u64(2)+"{}")},
	{"config: many layers", publishes, weights(llama(1<<30, 8), u64(2)+"{}")},
	{"config: wide layers", publishes, weights(llama(1, 1<<30), u64(2)+"{}")},

	{"input: many columns", inputs("a.csv"), func() files { return files{"a.csv": columns(65000)} }},
	{"input: many equal columns", inputs("a.csv"), one("a.csv", strings.Repeat("a,", 1<<19-1)+"a")},
	{"input: nested lists", inputs("a.json"), one("a.json", strings.Repeat("[", 1<<20))},
	{"input: a long number", inputs("a.json"), one("a.json", "[1e"+strings.Repeat("9", 1<<20-4)+"]")},
	{"input: a large array", inputs("a.npy"), one("a.npy", npy("(1099511627776,)"))},
	{"input: many axes", inputs("a.npy"), one("a.npy", npy("("+strings.Repeat("1,", 15000)+")"))},
	{"input: no archive", inputs("a.npz"), one("a.npz", strings.Repeat("PK\x05\x06", 1<<18))},
	{"input: a large picture", inputs("a.png"), one("a.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\x00\x00\x00"+strings.Repeat("\x00", 1000))},
	{"input: a large tensor", inputs("a.pb"), one("a.pb", "\x08\x80\x80\x80\x80\x80\x20\x10\x01")},
}

// How files are made.

func one(name, content string) func() files { return func() files { return files{name: content} } }

func tokenizerWith(part string) func() files {
	return one("tokenizer.json", `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, `+part+`}`)
}

func parts(part, list string, n int, what string) func() files {
	return tokenizerWith(fmt.Sprintf(`%q: {"type": "Sequence", %q: [%s]}`, part, list, strings.TrimSuffix(strings.Repeat(what+",", n), ",")))
}

func normalised(n int, what string) func() files { return parts("normalizer", "normalizers", n, what) }

func replace(from, to string) string {
	return fmt.Sprintf(`{"type": "Replace", "pattern": {"String": %q}, "content": %q}`, from, to)
}

func template(source string) func() files {
	return func() files { return files{"chat_template.jinja": source, "tokenizer_config.json": "{}"} }
}

// twice is a template whose x doubles 60 times, and what is done with it.
func twice(begin, grow, use string) string {
	return fmt.Sprintf("{%% set ns = namespace(x=%s) %%}{%% for i in range(60) %%}{%% set ns.x = %s %%}{%% endfor %%}%s", begin, grow, use)
}

// model is an ONNX model of nodes and constants, with float input x of a shape and output y.
func model(shape []int64, parts ...any) func() files {
	m := &onnxpb.ModelProto{IrVersion: 8, OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: 13}}, Graph: &onnxpb.GraphProto{
		Name: "hostile", Output: []*onnxpb.ValueInfoProto{{Name: "y"}},
	}}
	dims := &onnxpb.TensorShapeProto{}
	for _, d := range shape {
		dims.Dim = append(dims.Dim, &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d}})
	}
	m.Graph.Input = []*onnxpb.ValueInfoProto{{Name: "x", Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
		TensorType: &onnxpb.TypeProto_Tensor{ElemType: 1, Shape: dims},
	}}}}
	for _, p := range parts {
		switch p := p.(type) {
		case *onnxpb.NodeProto:
			m.Graph.Node = append(m.Graph.Node, p)
		case *onnxpb.TensorProto:
			m.Graph.Initializer = append(m.Graph.Initializer, p)
		}
	}
	return func() files {
		data, err := proto.Marshal(m)
		if err != nil {
			panic(err)
		}
		return files{"m.onnx": string(data)}
	}
}

// node takes inputs with commas between them, and attributes as name=text.
func node(op, in, out string, attributes ...string) *onnxpb.NodeProto {
	n := &onnxpb.NodeProto{OpType: op, Name: "n_" + out, Input: strings.Split(in, ","), Output: []string{out}}
	for _, a := range attributes {
		name, value, _ := strings.Cut(a, "=")
		n.Attribute = append(n.Attribute, &onnxpb.AttributeProto{Name: name, Type: onnxpb.AttributeProto_STRING, S: []byte(value)})
	}
	return n
}

func floats(name string, v ...float32) *onnxpb.TensorProto {
	return &onnxpb.TensorProto{Name: name, Dims: []int64{int64(len(v))}, DataType: 1, FloatData: v}
}

func ints(name string, v ...int64) *onnxpb.TensorProto {
	if len(v) == 0 {
		return intsOf(name, 0)
	}
	return &onnxpb.TensorProto{Name: name, Dims: []int64{int64(len(v))}, DataType: 7, Int64Data: v}
}

// intsOf is one number without axes.
func intsOf(name string, v int64) *onnxpb.TensorProto {
	return &onnxpb.TensorProto{Name: name, DataType: 7, Int64Data: []int64{v}}
}

// chain is a model of n nodes, the last of which is not known.
func chain(n int) files {
	var list []any
	last := "x"
	for i := range n {
		out := fmt.Sprint(i)
		list = append(list, &onnxpb.NodeProto{OpType: "Relu", Input: []string{last}, Output: []string{out}})
		last = out
	}
	return model([]int64{1}, append(list, node("Unheard", last, "y"))...)()
}

// nested is graphs within attributes of nodes of graphs.
func nested(n int) string {
	inner := ""
	for range n {
		for _, tag := range []byte{0x32, 0x2a, 0x0a} { // AttributeProto.g, NodeProto.attribute, GraphProto.node
			inner = string(binary.AppendUvarint([]byte{tag}, uint64(len(inner)))) + inner
		}
	}
	return string(binary.AppendUvarint([]byte{0x3a}, uint64(len(inner)))) + inner
}

func u32(v uint32) string { return string(binary.LittleEndian.AppendUint32(nil, v)) }
func u64(v uint64) string { return string(binary.LittleEndian.AppendUint64(nil, v)) }

func gguf(tensors, metadata uint64) string { return "GGUF" + u32(3) + u64(tensors) + u64(metadata) }

func weights(config, safetensors string) func() files {
	return func() files { return files{"config.json": config, "model.safetensors": safetensors} }
}

// tensors is a SafeTensors file of n tensors that overlap.
func tensors(n int) files {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%d":{"dtype":"F32","shape":[1048576],"data_offsets":[0,4194304]}`, i)
	}
	header := "{" + b.String()[1:] + "}"
	return weights("{}", u64(uint64(len(header)))+header)()
}

func llama(layers, width int) string {
	return fmt.Sprintf(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "vocab_size": 16, "rms_norm_eps": 1e-5, "max_position_embeddings": 64,
		"num_hidden_layers": %d, "hidden_size": %d, "intermediate_size": %[2]d, "num_attention_heads": 2, "num_key_value_heads": 2}`, layers, width)
}

func columns(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "c%d,", i)
	}
	return b.String() + "c0\n1\n"
}

func npy(shape string) string {
	header := "{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }\n"
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(header)))) + header
}
