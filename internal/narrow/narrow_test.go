package narrow

import (
	"math"
	"testing"
)

func TestWiden(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name string
		got  float32
		want float32
	}{
		{"f16 one", Float16(0x3c00), 1},
		{"f16 most", Float16(0x7bff), 65504},
		{"f16 least", Float16(0x8001), -1.0 / (1 << 24)},
		{"f16 infinite", Float16(0xfc00), -inf},
		{"bf16", BFloat16(0xc049), -3.140625},
		{"e4m3 most", E4M3(0x7e), 448},
		{"e4m3 least", E4M3(0x81), -1.0 / 512},
		{"e4m3 normal", E4M3(0x08), 1.0 / 64},
		{"e5m2 most", E5M2(0x7b), 57344},
		{"e5m2 least", E5M2(0x01), 1.0 / (1 << 16)},
		{"e5m2 infinite", E5M2(0x7c), inf},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	for name, v := range map[string]float32{"f16": Float16(0x7e00), "bf16": BFloat16(0x7fc0), "e4m3": E4M3(0xff), "e5m2": E5M2(0x7d)} {
		if v == v {
			t.Errorf("%s: %v is a number", name, v)
		}
	}
}
