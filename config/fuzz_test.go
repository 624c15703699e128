package config

import (
	"strings"
	"testing"
)

// FuzzFile reads settings files of any content: what is not refused is valid. The seeds name
// anchors that double, which a reader must not follow to the end.
func FuzzFile(f *testing.F) {
	f.Add("mode: w8a8\n")
	f.Add("mode: [\n")
	f.Add("? {a: b}\n: c\n")
	doubling := "a: &a [x, x]\n"
	for i := range 20 {
		name, before := string(rune('b'+i)), string(rune('a'+i))
		doubling += name + ": &" + name + " [*" + before + ", *" + before + "]\n"
	}
	f.Add(doubling)
	f.Add(strings.Repeat("[", 10000))
	f.Add("model: a.onnx\nreveal: [y=argmax, a=b=top-5]\nhide: weights,input,output:a\n")
	f.Add("reveal: [=top-0]\n")
	f.Add("hide: ',,'\n")
	f.Fuzz(func(t *testing.T, yaml string) {
		c, err := load(t, yaml)
		if err == nil && c.validate() != nil {
			t.Fatalf("%q is taken and not valid", yaml)
		}
	})
}
