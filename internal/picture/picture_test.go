package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPillow: every format gives the pixels that Pillow decodes (scripts/onnx/pictures.py).
func TestPillow(t *testing.T) {
	var want map[string]struct {
		Height, Width int
		RGB, Grey     string
	}
	if err := json.Unmarshal(file(t, "want.json"), &want); err != nil || len(want) < 15 {
		t.Fatal(len(want), err)
	}
	for name, w := range want {
		data := file(t, name)
		for order, digest := range map[string]string{RGB: w.RGB, Grayscale: w.Grey} {
			height, width, pixels, err := Decode(data, order)
			got := sha256.Sum256(pixels)
			if err != nil || height != w.Height || width != w.Width || hex.EncodeToString(got[:]) != digest {
				t.Errorf("%s, %s: %d × %d, other pixels: %v", name, order, width, height, err)
			}
		}
		_, _, rgb, _ := Decode(data, RGB)
		_, _, bgr, _ := Decode(data, BGR)
		for i := 0; i < len(bgr); i += 3 {
			slices.Reverse(bgr[i : i+3])
		}
		if !bytes.Equal(rgb, bgr) {
			t.Errorf("%s: BGR is not RGB in reverse", name)
		}
	}
}

// TestRefused: what is not decoded is refused with the reason, and files that claim much before memory is made for it.
func TestRefused(t *testing.T) {
	encoded := func(m image.Image) []byte {
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	clear := image.NewNRGBA(image.Rect(0, 0, 2, 2))
	deep := image.NewGray16(image.Rect(0, 0, 2, 2))
	huge := encoded(image.NewGray(image.Rect(0, 0, 2, 2)))
	binary.BigEndian.PutUint32(huge[16:], 1<<15)
	binary.BigEndian.PutUint32(huge[20:], 1<<15)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	scans := append(file(t, "full.jpg"), bytes.Repeat([]byte{0xff, 0xda}, 300)...)
	whole := file(t, "quarter.jpg")
	for name, c := range map[string]struct {
		data []byte
		why  string
	}{
		"text":         {[]byte("hello"), "no picture in a format"},
		"empty":        {nil, "no picture"},
		"JPEG 2000":    {[]byte("\x00\x00\x00\x0cjP  \r\n\x87\n"), "JPEG 2000"},
		"transparent":  {encoded(clear), "transparent"},
		"16 bits":      {encoded(deep), "16 bits"},
		"huge PNG":     {huge, "at most"},
		"huge PGM":     {[]byte("P5 100000 100000 255\n"), "at most"},
		"scans":        {scans, "scans"},
		"short JPEG":   {whole[:len(whole)/2], "damaged JPEG"},
		"short PPM":    {[]byte("P6 2 2 255\n123"), "damaged PPM"},
		"PPM of 16":    {[]byte("P6 2 2 65535\n123"), "255"},
		"no such file": {[]byte("P6\n# \n"), "damaged PPM"},
	} {
		if _, _, _, err := Decode(c.data, RGB); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, _, err := Decode(whole, "CMYK"); err == nil {
		t.Error("an order that there is not")
	}
}

// TestDamaged: files with bytes changed or cut off are decoded or refused, and nothing else.
func TestDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for _, name := range []string{"quarter_progressive.jpg", "half_progressive.jpg", "quarter.jpg", "restarts.jpg", "packed.tiff", "lossy.webp", "palette.png", "colours.bmp"} {
		data := file(t, name)
		for range 300 {
			changed := slices.Clone(data[:len(data)-rng.IntN(2)*rng.IntN(len(data))])
			for range rng.IntN(4) {
				if len(changed) > 0 {
					changed[rng.IntN(len(changed))] = byte(rng.Uint32())
				}
			}
			height, width, pixels, err := Decode(changed, RGB)
			if err == nil && len(pixels) != 3*height*width {
				t.Fatalf("%s: %d bytes for %d × %d", name, len(pixels), width, height)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"quarter_progressive.jpg", "half.jpg", "restarts.jpg", "lossy.webp", "packed.tiff", "grey.pgm"} {
		f.Add(file(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if height, width, err := Size(data); err != nil || height*width > 1<<16 {
			return
		}
		Decode(data, RGB)
	})
}
