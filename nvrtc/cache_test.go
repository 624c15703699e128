package nvrtc

import (
	"bytes"
	"os"
	"testing"
)

func TestCache(t *testing.T) {
	dir := t.TempDir()
	SetCacheDir(dir)
	defer SetCacheDir("")
	key := Source{Name: "a", Text: "b"}.key("sm_90", "12.9")
	if code, _ := readCache(key); code != nil {
		t.Fatal("an entry in an empty cache")
	}
	code := []byte("machine code")
	writeCache(key, code, "a warning")
	if got, log := readCache(key); !bytes.Equal(got, code) || log != "a warning" {
		t.Fatalf("read %q, log %q, want %q", got, log, code)
	}
	whole, err := os.ReadFile(cachePath(key))
	if err != nil {
		t.Fatal(err)
	}
	// Any damage makes it a miss.
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		if err := os.WriteFile(cachePath(key), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _ := readCache(key); code != nil {
			t.Errorf("entry with byte %d changed was accepted", i)
		}
		if err := os.WriteFile(cachePath(key), whole[:i], 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _ := readCache(key); code != nil {
			t.Errorf("entry of %d of %d bytes was accepted", i, len(whole))
		}
	}
	writeCache(key, code, "")
	if got, log := readCache(key); !bytes.Equal(got, code) || log != "" {
		t.Error("a damaged entry was not replaced")
	}
	SetCacheDir("")
	writeCache(key, code, "")
	if code, _ := readCache(key); code != nil {
		t.Error("an entry without a cache")
	}
}

func TestKey(t *testing.T) {
	base := Source{Name: "n", Text: "t", Headers: map[string]string{"h": "1", "g": "2"}}
	seen := map[string]string{base.key("sm_90", "12.9"): "base"}
	for name, key := range map[string]string{
		"arch":          base.key("sm_80", "12.9"),
		"compiler":      base.key("sm_90", "13.0"),
		"name":          Source{"m", "t", base.Headers}.key("sm_90", "12.9"),
		"text":          Source{"n", "u", base.Headers}.key("sm_90", "12.9"),
		"header":        Source{"n", "t", map[string]string{"h": "1", "g": "3"}}.key("sm_90", "12.9"),
		"fewer headers": Source{"n", "t", map[string]string{"h": "1"}}.key("sm_90", "12.9"),
		"moved":         Source{"nt", "", base.Headers}.key("sm_90", "12.9"),
	} {
		if other, ok := seen[key]; ok {
			t.Errorf("%s has the key of %s", name, other)
		}
		seen[key] = name
	}
	if base.key("sm_90", "12.9") != (Source{"n", "t", map[string]string{"g": "2", "h": "1"}}).key("sm_90", "12.9") {
		t.Error("the key depends on the order of headers")
	}
}
