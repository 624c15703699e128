package onnx

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// npy writes an array as NumPy does, version 1.
func npy(descr string, fortran bool, shape string, raw []byte) []byte {
	order := "False"
	if fortran {
		order = "True"
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	return append(append(out, header...), raw...)
}

func float32Bytes(v ...float32) []byte {
	var out []byte
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

func zipped(members ...any) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.Create(members[i].(string))
		if err == nil {
			_, err = w.Write(members[i+1].([]byte))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func TestReadInputs(t *testing.T) {
	two := npy("<f4", false, "(2, 1)", float32Bytes(1, 2))
	for _, c := range []struct {
		file   string
		data   []byte
		shapes [][]int
		values [][]float64
		fails  string
	}{
		{"a.json", []byte(`{"input_data": [[1, 2.5, -3e-1], [4]], "other": {}}`), [][]int{nil, nil}, [][]float64{{1, 2.5, float64(float32(-0.3))}, {4}}, ""},
		{"a.JSON", []byte(`{"input_data": [[1, 2]], "input_shapes": [[1, 2]]}`), [][]int{{1, 2}}, [][]float64{{1, 2}}, ""},
		{"a.json", []byte(`{"input_data": [[[1, 2], [3, 4], [5, 6]]]}`), [][]int{{3, 2}}, [][]float64{{1, 2, 3, 4, 5, 6}}, ""},
		{"a.json", []byte(`{"input_data": [[true, false]]}`), [][]int{nil}, [][]float64{{1, 0}}, ""},
		{"a.json", []byte(`{"input_data": [3]}`), [][]int{nil}, [][]float64{{3}}, ""},
		{"a.json", []byte(`{"input_data": [[1, 2]`), nil, nil, "unexpected end"},
		{"a.json", []byte(`{"input_data": []}`), nil, nil, "no inputs"},
		{"a.json", []byte(`{}`), nil, nil, "input_data"},
		{"a.json", []byte(``), nil, nil, "is empty"},
		{"a.json", []byte(`[[1, 2], [3, 4]]`), [][]int{{2, 2}}, [][]float64{{1, 2, 3, 4}}, ""},
		{"a.json", []byte(`[1, 2]`), [][]int{nil}, [][]float64{{1, 2}}, ""},
		{"a.json", []byte(`[1, 2] 3`), nil, nil, "after top-level"},
		{"a.json", []byte(`{"input": [[1, 2]]}`), [][]int{{1, 2}}, [][]float64{{1, 2}}, ""},
		{"a.json", []byte(`{"b": [1], "a": [[2], [3]]}`), [][]int{nil, {2, 1}}, [][]float64{{1}, {2, 3}}, ""},
		{"a.json", []byte(`{"b": [1], "b": [2]}`), nil, nil, `"b" twice`},
		{"a.json", []byte(`{"b": [1], "c": []}`), nil, nil, `"c" is empty`},
		{"a.csv", []byte("a, b\n1,0.1\r\n-2,true\n"), nil, nil, ""},
		{"a.csv", []byte("1,2\n3,4\n"), nil, nil, "must name the columns"},
		{"a.csv", []byte("a,b\n3,4,5\n"), nil, nil, "fields"},
		{"a.csv", []byte("a,a\n3,4\n"), nil, nil, "column 2"},
		{"a.csv", []byte("a,b\n"), nil, nil, "no rows"},
		{"a.csv", nil, nil, nil, "is empty"},
		{"a.png", []byte("hello"), nil, nil, "not a PNG"},
		{"a.png", pngOf(image.NewGray(image.Rect(0, 0, 3, 2)))[:45], nil, nil, "damaged"},
		{"a.png", bomb(1<<20, 1<<20), nil, nil, "1048576 × 1048576 pixels"},
		{"a.json", []byte(`{"input_data": [[]]}`), nil, nil, "empty"},
		{"a.json", []byte(`{"input_data": [[1, 2], [3]], "input_shapes": [[2]]}`), [][]int{nil, nil}, [][]float64{{1, 2}, {3}}, ""},
		{"a.json", []byte(`{"input_data": [[1, 2]], "input_shapes": [[3]]}`), [][]int{nil}, [][]float64{{1, 2}}, ""},
		{"a.json", []byte(`{"input_data": [[1, 2]], "input_shapes": [[-2]]}`), [][]int{nil}, [][]float64{{1, 2}}, ""},
		{"a.json", []byte(`{"input_data": [[[1, 2], [3]]]}`), nil, nil, "different lengths"},
		{"a.json", []byte(`{"input_data": [[[1], 2]]}`), nil, nil, "unevenly"},
		{"a.json", []byte(`{"input_data": [[1, [2]]]}`), nil, nil, "unevenly"},
		{"a.json", []byte(`{"input_data": [[[1], []]]}`), nil, nil, "different lengths"},
		{"a.json", []byte(`{"input_data": [[1, "2"]]}`), nil, nil, "numbers are expected"},
		{"a.json", []byte(`{"input_data": [[1, null]]}`), nil, nil, "numbers are expected"},
		{"a.json", []byte(`{"input_data": [{"x": 1}]}`), nil, nil, "object"},
		{"a.json", []byte(`{"input_data": [[1e999]]}`), nil, nil, "1e999"},
		{"a.json", []byte(`{"input_data": [[NaN]]}`), nil, nil, "invalid"},
		{"a.json", []byte(`{"input_data": [` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `]}`), nil, nil, "deeper"},
		{"a.npy", two, [][]int{{2, 1}}, [][]float64{{1, 2}}, ""},
		{"a.npy", npy("<f4", true, "(2, 3)", float32Bytes(1, 4, 2, 5, 3, 6)), [][]int{{2, 3}}, [][]float64{{1, 2, 3, 4, 5, 6}}, ""},
		{"a.npy", npy("<i8", false, "(1,)", []byte{255, 255, 255, 255, 255, 255, 255, 255}), [][]int{{1}}, [][]float64{{-1}}, ""},
		{"a.npy", npy("|u1", false, "()", []byte{7}), [][]int{{}}, [][]float64{{7}}, ""},
		{"a.npy", npy("<f4", false, "(3,)", float32Bytes(1, 2)), nil, nil, "needs 12"},
		{"a.npy", npy("<f4", false, "(4294967296, 4294967296)", nil), nil, nil, "large"},
		{"a.npy", npy(">f4", false, "(1,)", float32Bytes(1)), nil, nil, ">f4"},
		{"a.npy", npy("|O", false, "(1,)", nil), nil, nil, "array of Python objects"},
		{"a.npy", npy("|O8", false, "(1,)", nil), nil, nil, "not understood"},
		{"a.npy", npy("<f4", false, "(1,)", float32Bytes(float32(math.Inf(1)))), [][]int{{1}}, [][]float64{{math.Inf(1)}}, ""},
		{"a.npy", npy("<f4", false, "(0,)", nil), [][]int{{0}}, [][]float64{{}}, ""},
		{"a.json", []byte(`[["-Infinity", 1], [2, "Infinity"]]`), [][]int{{2, 2}}, [][]float64{{math.Inf(-1), 1, 2, math.Inf(1)}}, ""},
		{"a.json", []byte(`["Inf", 1]`), nil, nil, `"Inf"`},
		{"a.npy", npy("<U2", false, "(2,)", []byte("a\x00\x00\x00")), nil, nil, "needs 16"},
		{"a.npy", npy("|S2", false, "(1,)", []byte("\xff\x00")), nil, nil, "not in UTF-8"},
		{"a.npy", two[:9], nil, nil, "truncated"},
		{"a.npy", two[:20], nil, nil, "truncated"},
		{"a.npy", []byte("hello"), nil, nil, "not a NumPy"},
		{"a.npz", zipped("x.npy", two, "z.npy", npy("<f8", false, "(1,)", []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f})), [][]int{{2, 1}, {1}}, [][]float64{{1, 2}, {1}}, ""},
		{"a.npz", zipped("x.txt", two), nil, nil, "x.txt"},
		{"a.npz", zipped("x.npy", two[:50]), nil, nil, "x.npy"},
		{"a.npz", two, nil, nil, "zip"},
		{"a.npz", zipped(), nil, nil, "no inputs"},
		{"a.pb", marshal(t, testFloats("x", []int64{1, 2}, 1, 2)), [][]int{{1, 2}}, [][]float64{{1, 2}}, ""},
		{"a.pb", marshal(t, testFloats("x", []int64{3}, 1, 2)), nil, nil, "needs 12"},
		{"a.pb", []byte{0xff}, nil, nil, "not an ONNX tensor"},
		{"a.txt", nil, nil, nil, ".npz"},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(path, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		in, err := ReadInputs(path)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) || !strings.Contains(err.Error(), c.file) {
				t.Errorf("%s %q: got %v, error %v; want %q", c.file, c.data, in, err, c.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %q: %v", c.file, c.data, err)
			continue
		}
		for i, v := range in {
			if v.table != nil {
				continue // TestTables
			}
			if !slices.Equal(v.Shape, c.shapes[i]) || (v.Shape == nil) != (c.shapes[i] == nil) || !slices.Equal(v.Values, c.values[i]) {
				t.Errorf("%s %q: input %d is %v", c.file, c.data, i, v)
			}
		}
	}
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "none.json"): "none.json: no such file", filepath.Join(dir, "none"): "none: no such file", dir: "a folder",
	} {
		if _, err := ReadInputs(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// What standard input has is told by its content, for the formats that files have by their extensions.
func TestExtensionOf(t *testing.T) {
	tensor, err := proto.Marshal(&onnxpb.TensorProto{Dims: []int64{2}, DataType: 1, FloatData: []float32{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{
		"\x93NUMPY\x01\x00": ".npy", "PK\x03\x04rest": ".npz", "\x89PNG\r\n": ".png", "\xff\xd8\xff\xe0": ".jpg",
		" \n[[1]]": ".json", "\ufeff{}": ".json", "a,b\r\n1,2\n": ".csv", "a\tb\n": ".csv", string(tensor): ".pb",
		"P5 2 1 255\n\x01\x02": ".bmp", "P6,P7\n1,2\n": ".csv", "BMI,age\n": ".csv", "II*\x00": ".tiff",
	} {
		if got := extensionOf([]byte(content)); got != want || formats[got] == nil {
			t.Errorf("%q: %s, want %s", content, got, want)
		}
	}
}
