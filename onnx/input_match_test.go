package onnx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
)

func pngOf(m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// bomb is a small file that claims a large picture.
func bomb(width, height uint32) []byte {
	data := pngOf(image.NewGray(image.Rect(0, 0, 1, 1)))
	binary.BigEndian.PutUint32(data[16:], width)
	binary.BigEndian.PutUint32(data[20:], height)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

// files writes what follows each name into a folder and returns the paths.
func files(t *testing.T, list ...any) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(list); i += 2 {
		paths = append(paths, filepath.Join(dir, list[i].(string)))
		var data []byte
		switch v := list[i+1].(type) {
		case string:
			data = []byte(v)
		case []byte:
			data = v
		}
		if err := os.WriteFile(paths[len(paths)-1], data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

func TestInputsByName(t *testing.T) {
	p := files(t, "a.json", "[1, 2]", "b.npy", npy("<f4", false, "(1, 3)", float32Bytes(3, 4, 5)), "both.json", `{"y": [[3, 4, 5]], "x": [1, 2]}`,
		"other.json", `{"y": [1], "w": [2]}`, "c.json", "[[6, 7, 8]]")
	wanted := []graph.Input{{Name: "x", Shape: []int{1, 2}}, {Name: "y", Shape: []int{1, 3}}}
	for _, c := range []struct {
		files []string
		want  [][]float64
		fails string
	}{
		{[]string{"y=" + p[1], "x=" + p[0]}, [][]float64{{1, 2}, {3, 4, 5}}, ""},
		{[]string{"y=" + p[1], p[0]}, [][]float64{{1, 2}, {3, 4, 5}}, ""},
		{[]string{p[0], p[1]}, [][]float64{{1, 2}, {3, 4, 5}}, ""},
		{[]string{p[2]}, [][]float64{{1, 2}, {3, 4, 5}}, ""},
		{[]string{"y=" + p[1], "x=" + p[0], "y=" + p[4]}, [][]float64{{1, 2}, {3, 4, 5, 6, 7, 8}}, ""},
		{[]string{p[3]}, nil, `"w" is given`},
		{[]string{"z=" + p[0], p[1]}, nil, `it has "x", "y"`},
		{[]string{"y=" + p[1]}, nil, `nothing is for "x"`},
		{[]string{"x=" + p[2]}, nil, "holds 2 arrays"},
	} {
		in, err := ReadInputs(c.files...)
		if err == nil {
			in, err = in.For(wanted)
		}
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%v: error %v, want %q", c.files, err, c.fails)
			}
			continue
		}
		if err != nil || len(in) != len(c.want) {
			t.Errorf("%v: %v, %v", c.files, in, err)
			continue
		}
		for i, v := range in {
			if !slices.Equal(v.Values, c.want[i]) {
				t.Errorf("%v: input %d is %v", c.files, i, v.Values)
			}
		}
	}
}

// Names that files have must be those of inputs, but for what NumPy calls arrays without one.
func TestNamesInFiles(t *testing.T) {
	npy := func(v float32) []byte { return npy("<f4", false, "(1, 1)", float32Bytes(v)) }
	p := files(t, "right.npz", zipped("y.npy", npy(9), "x.npy", npy(1)), "wrong.npz", zipped("Y.npy", npy(9), "x.npy", npy(1)),
		"numbered.npz", zipped("arr_0.npy", npy(1), "arr_1.npy", npy(9)), "some.npz", zipped("y.npy", npy(9), "arr_0.npy", npy(1)),
		"x.pb", marshal(t, testFloats("x", []int64{1, 1}, 1)), "z.pb", marshal(t, testFloats("z", []int64{1, 1}, 9)), "z.json", `{"z": [[9]]}`)
	wanted := []graph.Input{{Name: "x", Shape: []int{1, 1}}, {Name: "y", Shape: []int{1, 1}}}
	for _, c := range []struct {
		files []string
		fails string
	}{
		{[]string{p[0]}, ""},
		{[]string{p[1]}, `"Y" is given, but the model has no input of that name: it has "x", "y"`},
		{[]string{p[2]}, ""},
		{[]string{p[3]}, ""},
		{[]string{p[4], p[5]}, `"z" is given`},
		{[]string{p[4], "y=" + p[5]}, ""},
		{[]string{"x=" + p[4], p[6]}, `"z" is given`},
		{[]string{p[4], "y=" + p[6]}, ""},
	} {
		in, err := ReadInputs(c.files...)
		if err == nil {
			in, err = in.For(wanted)
		}
		switch {
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
			t.Errorf("%v: error %v, want %q", c.files, err, c.fails)
		case c.fails == "" && (err != nil || len(in) != 2 || in[0].Values[0] != 1 || in[1].Values[0] != 9):
			t.Errorf("%v: %v, %v", c.files, in, err)
		}
	}
}

func TestShapesOfArrays(t *testing.T) {
	images := graph.Input{Name: "x", Shape: []int{1, 1, 8, 8}, Symbols: []string{"N", "", "", ""}}
	for _, c := range []struct {
		shape []int
		of    graph.Input
		fits  bool
	}{
		{[]int{3, 1, 8, 8}, images, true},
		{[]int{1, 8, 8}, images, true}, // without the batch
		{nil, images, true},            // its count decides
		{[]int{1, 3, 8, 8}, images, false},
		{[]int{8, 8, 3, 1}, images, false},
		{[]int{8, 8, 1}, images, false},
		{[]int{3, 8, 8}, images, false},
		{[]int{3, 64}, images, false},
		{[]int{2, 1, 1, 8, 8}, images, false},
		{[]int{2, 3}, graph.Input{Shape: []int{1, 3}}, true},
		{[]int{3}, graph.Input{Shape: []int{1, 3}}, true},
		{[]int{3}, graph.Input{Shape: []int{2, 3}}, false},
		{[]int{4, 3}, graph.Input{Shape: []int{2, 3}}, true},
		{[]int{5, 3}, graph.Input{Shape: []int{2, 3}}, false},
		{[]int{2, 1}, graph.Input{Shape: []int{1, 2}}, false},
		{[]int{7, 3}, graph.Input{Shape: []int{3}}, true}, // the model has no batch
		{[]int{7, 3, 4}, graph.Input{Shape: []int{3, 4}}, true},
		{[]int{7, 4, 3}, graph.Input{Shape: []int{3, 4}}, false},
		{[]int{7}, graph.Input{Shape: []int{}}, true},
		{[]int{7, 1}, graph.Input{Shape: []int{}}, false},
		{[]int{2, 9, 3}, graph.Input{Shape: []int{0, 0, 3}}, true}, // as a file declares it
		{[]int{2, 9, 4}, graph.Input{Shape: []int{0, 0, 3}}, false},
	} {
		v := Input{Shape: c.shape, Values: make([]float64, graph.Size(c.shape))}
		if err := v.fits(c.of); (err == nil) != c.fits {
			t.Errorf("%v for %v: %v", c.shape, c.of.Shape, err)
		} else if err != nil && !strings.Contains(err.Error(), fmt.Sprint(c.shape)) {
			t.Errorf("%v for %v is not told: %v", c.shape, c.of.Shape, err)
		}
	}
	_, err := Inputs{{Shape: []int{1, 3, 8, 8}}}.For([]graph.Input{images})
	if want := `has shape [1 3 8 8], and the input has ["N" 1 8 8]`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// A file of which the name has an equals sign is a file.
func TestFileWithEqualsSign(t *testing.T) {
	p := files(t, "x=1.json", "[1]")
	if in, err := ReadInputs(p[0]); err != nil || len(in) != 1 || in[0].Name != "" {
		t.Errorf("%v, %v", in, err)
	}
}

func TestNotes(t *testing.T) {
	p := files(t, "a.json", `{"input_data": [[1, 2]], "input_shapes": [[3]]}`)
	in, err := ReadInputs(p[0])
	if notes := in.Notes(); err != nil || !strings.Contains(notes, "a.json") || !strings.Contains(notes, "[3]") {
		t.Errorf("notes %q, %v", notes, err)
	}
}

func TestTables(t *testing.T) {
	p := files(t, "t.csv", "\ufeffage,\"height\"\n1,0.1\n2,true\n", "t.tsv", "age\theight\tanswer\n1\t3\t9\n")
	tenth := float64(float32(0.1))
	for _, c := range []struct {
		file   string
		wanted []graph.Input
		want   [][]float64
		fails  string
	}{
		{p[0], []graph.Input{{Name: "x", Shape: []int{0, 2}}}, [][]float64{{1, tenth, 2, 1}}, ""},
		{"x=" + p[0], []graph.Input{{Name: "x", Shape: []int{0, 2}}}, [][]float64{{1, tenth, 2, 1}}, ""},
		{p[0], []graph.Input{{Name: "height", Shape: []int{0, 1}}, {Name: "age", Shape: []int{0, 1}}}, [][]float64{{tenth, 1}, {1, 2}}, ""},
		{p[1], []graph.Input{{Name: "age", Shape: []int{0, 1}}}, [][]float64{{1}}, ""},
		{p[1], []graph.Input{{Name: "age", Shape: []int{0, 3}}}, [][]float64{{1, 3, 9}}, ""},
		{p[0], []graph.Input{{Name: "x", Shape: []int{0, 1, 2, 1}}}, [][]float64{{1, tenth, 2, 1}}, ""},
		{p[0], []graph.Input{{Name: "x", Shape: []int{2}}}, [][]float64{{1, tenth, 2, 1}}, ""},
		{p[0], []graph.Input{{Name: "height", Shape: []int{0}}, {Name: "age", Shape: []int{1, 1, 1}}}, [][]float64{{tenth, 1}, {1, 2}}, ""},
		{p[0], []graph.Input{{Name: "x", Shape: []int{0}}}, nil, "has shape [2 2]"},
		{p[1], []graph.Input{{Name: "x", Shape: []int{0, 2}}}, nil, "has 3 columns"},
		{p[0], []graph.Input{{Name: "age", Shape: []int{0, 1}}, {Name: "weight", Shape: []int{0, 1}}}, nil, `none for "weight"`},
	} {
		in, err := ReadInputs(c.file)
		if err != nil {
			t.Fatal(err)
		}
		in, err = in.For(c.wanted)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s for %v: error %v, want %q", c.file, c.wanted, err, c.fails)
			}
			continue
		}
		if err != nil || len(in) != len(c.want) {
			t.Errorf("%s for %v: %v, %v", c.file, c.wanted, in, err)
			continue
		}
		for i, v := range in {
			if v.Name != c.wanted[i].Name || !slices.Equal(v.Values, c.want[i]) {
				t.Errorf("%s for %v: input %d is %v", c.file, c.wanted, i, v)
			}
		}
	}
}

func TestPictures(t *testing.T) {
	m := image.NewNRGBA(image.Rect(0, 0, 4, 2)) // left half red and transparent, right half blue
	for y := range 2 {
		for x := range 4 {
			c := color.NRGBA{255, 51, 0, 10}
			if x > 1 {
				c = color.NRGBA{0, 51, 255, 255}
			}
			m.SetNRGBA(x, y, c)
		}
	}
	p := files(t, "p.png", pngOf(m))
	fifth := float64(float32(0.2))
	for _, c := range []struct {
		image string
		shape []int
		want  []float64
		fails string
	}{
		{"", []int{1, 3, 2, 4}, []float64{1, 1, 0, 0, 1, 1, 0, 0, fifth, fifth, fifth, fifth, fifth, fifth, fifth, fifth, 0, 0, 1, 1, 0, 0, 1, 1}, ""},
		{"0..255", []int{2, 4, 3}, slices.Repeat([]float64{255, 51, 0, 255, 51, 0, 0, 51, 255, 0, 51, 255}, 2), ""},
		{"bgr,-1..1", []int{1, 2, 4, 3}, slices.Repeat([]float64{-1, float64(float32((51./255 - 0.5) / 0.5)), 1, -1, float64(float32((51./255 - 0.5) / 0.5)), 1,
			1, float64(float32((51./255 - 0.5) / 0.5)), -1, 1, float64(float32((51./255 - 0.5) / 0.5)), -1}, 2), ""},
		{"crop,0..255", []int{3, 2, 2}, []float64{255, 0, 255, 0, 51, 51, 51, 51, 0, 255, 0, 255}, ""},
		{"0..255", []int{3, 2, 2}, []float64{219, 36, 219, 36, 51, 51, 51, 51, 36, 219, 36, 219}, ""}, // weights 3, 3 and 1 of 7
		{"0.5:0:0/0.5:1:1", []int{2, 3, 2, 4}, nil, ""},
		{"", []int{1, 10}, nil, "not a picture"},
		{"", []int{1, 5, 20, 20}, nil, "no axis"},
		{"", []int{1, 3, 1, 3}, nil, "does not say"},
		{"sepia", nil, nil, "no way to scale"},
		{"imagenet,0..1", nil, nil, "two ways"},
		{"0.5/0", nil, nil, "no way to scale"},
		{"nan/1", nil, nil, "no way to scale"},
	} {
		in, err := ReadInputs(p[0])
		if err != nil {
			t.Fatal(err)
		}
		how, err := ParsePictures(c.image)
		if err == nil {
			in, err = in.WithPictures(how).For([]graph.Input{{Name: "x", Shape: c.shape, DType: graph.Float}})
		}
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%q %v: error %v, want %q", c.image, c.shape, err, c.fails)
			}
			continue
		}
		if err != nil || c.want != nil && !slices.Equal(in[0].Values, c.want) {
			t.Errorf("%q %v: %v, %v", c.image, c.shape, in, err)
		}
	}
	in, _ := ReadInputs(p[0])
	if _, err := in.For([]graph.Input{{Name: "x", Shape: []int{1, 3, 2, 4}, DType: graph.Uint8}}); err == nil || !strings.Contains(err.Error(), "0..255") {
		t.Errorf("whole numbers: %v", err)
	}
}

// Pictures are samples, end to end; a grey one is the luminance; a smooth one stays so
// when its size changes, in the middle of the values.
func TestPicturesOfABatch(t *testing.T) {
	ramp := image.NewGray(image.Rect(0, 0, 64, 48))
	for y := range 48 {
		for x := range 64 {
			ramp.SetGray(x, y, color.Gray{uint8(2*x + y)})
		}
	}
	p := files(t, "a.png", pngOf(ramp), "b.png", pngOf(image.NewGray(image.Rect(0, 0, 9, 9))))
	in, err := ReadInputs(p...)
	if err == nil {
		in, err = in.For([]graph.Input{{Name: "x", Shape: []int{1, 1, 12, 16}}})
	}
	if err != nil || len(in) != 1 || len(in[0].Values) != 2*12*16 {
		t.Fatalf("%v, %v", in, err)
	}
	for y := 1; y < 11; y++ {
		for x := 1; x < 15; x++ {
			want := (2*(4*float64(x)+1.5) + 4*float64(y) + 1.5) / 255
			if got := in[0].Values[y*16+x]; math.Abs(got-want) > 1.5/255 {
				t.Fatalf("%d, %d: %v, want %v", x, y, got, want)
			}
		}
	}
	for _, v := range in[0].Values[12*16:] {
		if v != 0 {
			t.Fatal("the second picture is not black")
		}
	}
}

// FuzzInputs reads hostile files in every format, for inputs of several kinds.
func FuzzInputs(f *testing.F) {
	f.Add(".json", []byte(`{"input_data": [[1, 2.5, -3e-1], [4]], "input_shapes": [[3], [1]]}`))
	f.Add(".json", []byte(`{"x": [[1, 2], [3, 4]], "y": 1}`))
	f.Add(".json", []byte(`[[[1]], [[true]]]`))
	f.Add(".csv", []byte("x,y\n1,2\n\"3\",false\n"))
	f.Add(".tsv", []byte("x\ty\n1\t2\n"))
	f.Add(".npy", npy("<f4", true, "(2, 1)", float32Bytes(1, 2)))
	f.Add(".pb", marshal(f, testFloats("x", []int64{1, 2}, 1, 2)))
	f.Add(".npz", zipped("x.npy", npy("<f4", false, "(2, 1)", float32Bytes(1, 2))))
	f.Add(".png", pngOf(image.NewNRGBA(image.Rect(0, 0, 3, 2))))
	f.Add(".jpg", []byte{0xff, 0xd8, 0xff, 0xdb})
	f.Fuzz(func(t *testing.T, ext string, data []byte) {
		read := formats[ext]
		if read == nil || len(data) > 1<<14 {
			return
		}
		if ext == ".png" || ext == ".jpg" || ext == ".jpeg" {
			if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && c.Width*c.Height > 1<<16 {
				return // speed
			}
		}
		in, err := refusal(func(data []byte) Inputs {
			in := read(data)
			in.check()
			return in
		}, data)
		if err != nil {
			return
		}
		for _, v := range in {
			if v.Shape != nil && graph.Size(v.Shape) != len(v.Values) {
				t.Errorf("shape %v with %d values", v.Shape, len(v.Values))
			}
		}
		in = in.WithPictures(wholePictures)
		for _, wanted := range [][]graph.Input{
			{{Name: "x", Shape: []int{1, 2}}},
			{{Name: "x", Shape: []int{1, 3, 4, 5}}},
			{{Name: "x", Shape: []int{1, 1}}, {Name: "y", Shape: []int{1, 1}}},
		} {
			got, err := in.For(wanted)
			if err != nil {
				continue
			}
			for _, v := range got {
				if v.table != nil || v.Values == nil && len(got) == len(wanted) && v.DType == 0 && !slices.Contains(v.Shape, 0) {
					t.Fatalf("%v has no values", v)
				}
				for _, x := range v.Values {
					if (math.IsNaN(x) || math.IsInf(x, 0)) && v.Numbers == graph.FiniteNumbers {
						t.Fatal("not finite, and nobody knows")
					}
				}
			}
		}
	})
}
