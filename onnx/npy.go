package onnx

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// npyTypes maps NumPy's type codes to element types. '=' and '|' mean that the
// byte order is the machine's or does not matter.
var npyTypes = map[string]graph.DType{
	"f2": graph.Float16, "f4": graph.Float, "f8": graph.Double, "i1": graph.Int8, "i2": graph.Int16, "i4": graph.Int32, "i8": graph.Int64,
	"u1": graph.Uint8, "u2": graph.Uint16, "u4": graph.Uint32, "u8": graph.Uint64, "b1": graph.Bool,
}

// npyHeader matches the header dictionary as NumPy writes it, with its keys sorted.
var npyHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\{'descr': '([<>|=])([a-zUS]\d+)', 'fortran_order': (True|False), 'shape': \(([\d, ]*)\), *\}\s*$`)
})

// parseNPY reads one array in NumPy's format, version 1 to 3
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
func parseNPY(data []byte) Inputs { return Inputs{npyArray(data)} }

// npyArray reads an array of numbers, or of strings, in row-major or column-major order.
func npyArray(data []byte) Input {
	header, raw := npyParts(data)
	refuse.If(strings.Contains(header, "'|O'"),
		"an array of Python objects, and a model takes numbers or strings: save it as such, as with a.astype(np.float32) or a.astype(str)")
	m := npyHeader().FindStringSubmatch(header)
	refuse.If(m == nil, "NumPy header %s is not understood", graph.Quote(header))
	order, code, byColumn := m[1], m[2], m[3] == "True"
	dt, ok := npyTypes[code]
	isText := code[0] == 'U' || code[0] == 'S'
	refuse.If(!ok && !isText || order == ">", "NumPy type %s%s is not supported", order, code)
	in := Input{Shape: npyShape(m[4])}
	if isText {
		in.DType, in.Strings = stringType, npyStrings(raw, graph.Size(in.Shape), code)
	} else {
		t := &graph.Tensor{Shape: in.Shape, DType: dt}
		setRaw(t, raw)
		in.Values = t.Float64s()
	}
	if byColumn && len(in.Shape) > 1 {
		in.Values, in.Strings = rowMajor(in.Values, in.Shape), rowMajor(in.Strings, in.Shape)
	}
	return in
}

// npyParts splits a file into the header dictionary, which describes the array, and the
// data.
func npyParts(data []byte) (header string, raw []byte) {
	rest, ok := bytes.CutPrefix(data, []byte("\x93NUMPY"))
	refuse.If(!ok || len(rest) < 6, "not a NumPy array, or truncated")
	major, rest := rest[0], rest[2:]
	var n int
	switch major {
	case 1:
		n, rest = int(binary.LittleEndian.Uint16(rest)), rest[2:]
	case 2, 3:
		n, rest = int(binary.LittleEndian.Uint32(rest)), rest[4:]
	default:
		refuse.With("NumPy format version %d is not known", major)
	}
	refuse.If(n > len(rest), "NumPy array is truncated")
	return string(rest[:n]), rest[n:]
}

// npyShape reads a shape, sizes separated by commas.
func npyShape(list string) []int {
	sizes := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	return must.Get(graph.CheckShape(each(sizes, func(s string) int64 { return must.Get(strconv.ParseInt(s, 10, 64)) })))
}

// npyStrings reads n strings of NumPy's type U (characters of four bytes) or S (bytes). The number in code is the length of
// every string; shorter ones are filled up with zeros.
func npyStrings(raw []byte, n int, code string) []string {
	width, err := strconv.Atoi(code[1:])
	refuse.If(err != nil || width > maxInputFile, "NumPy type %s is not supported", code)
	if code[0] == 'U' {
		width *= 4
	}
	refuse.If(len(raw) != n*width,
		"NumPy array of %d strings of type %s has %d bytes of data; it needs %d", n, code, len(raw), n*width)
	out := make([]string, n)
	for i := range out {
		one := raw[i*width : (i+1)*width]
		if code[0] == 'S' {
			out[i] = string(bytes.TrimRight(one, "\x00"))
		} else {
			var chars []rune
			for at := 0; at < width; at += 4 {
				chars = append(chars, rune(binary.LittleEndian.Uint32(one[at:])))
			}
			out[i] = strings.TrimRight(string(chars), "\x00")
		}
		if !utf8.ValidString(out[i]) {
			refuse.With("string %d is not in UTF-8", i)
		}
	}
	return out
}

// rowMajor reorders column-major values; nil stays nil.
func rowMajor[T any](v []T, shape []int) []T {
	if v == nil {
		return nil
	}
	strides := graph.Strides(shape)
	return filled(len(v), func(i int) T {
		at, stride := 0, 1
		for k, d := range shape {
			at += i / strides[k] % d * stride
			stride *= d
		}
		return v[at]
	})
}

// positional matches the names that NumPy gives to arrays of an archive that are saved
// without names.
var positional = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^arr_[0-9]+$`)
})

// parseNPZ reads a zip archive of arrays.
func parseNPZ(data []byte) (in Inputs) {
	z := must.Get(zip.NewReader(bytes.NewReader(data), int64(len(data))))
	left := uint64(maxInputFile) // bytes that members may still unpack to
	for _, f := range z.File {   // checked before any is unpacked
		refuse.If(f.UncompressedSize64 > left, "unpacks to more than %d bytes", maxInputFile)
		left -= f.UncompressedSize64
	}
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		refuse.If(!ok, "archive member %s is not a .npy file", graph.Quote(f.Name))
		r := must.Get(f.Open())
		refuse.Within(graph.Quote(f.Name), func() {
			member, err := io.ReadAll(r) // the reader fails if there are more bytes than the header says
			r.Close()
			must.OK(err)
			one := npyArray(member)
			one.Name, one.numbered = name, positional().MatchString(name)
			in = append(in, one)
		})
	}
	return in
}
