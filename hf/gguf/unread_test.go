package gguf

import "testing"

// A type that is not read has a name, and none that is read is listed among those.
func TestTypeName(t *testing.T) {
	for number, want := range map[uint32]string{15: "Q8_K", 9: "Q8_1", 40: "NVFP4", 4: "with the number 4 of the format"} {
		if got := typeName(number); got != want {
			t.Errorf("type %d is called %q, not %q", number, got, want)
		}
	}
	for number, name := range unread {
		if _, ok := types[number]; ok {
			t.Errorf("%s is read", name)
		}
	}
}
