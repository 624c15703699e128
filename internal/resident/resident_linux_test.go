package resident

import (
	"testing"
	"testing/fstest"
)

func TestNow(t *testing.T) {
	if s, ok := Now(); !ok || s.Anonymous < 1<<16 || s.File < 1<<20 {
		t.Errorf("%+v, %v", s, ok)
	}
	if n := Available(); n < 1<<20 {
		t.Errorf("%d bytes are free", n)
	}
	for _, bad := range []string{"", "1 2", "1 x 0", "9 2 5"} {
		if s, ok := sizes(bad, 4096); ok {
			t.Errorf("%q: %+v", bad, s)
		}
	}
	if s, _ := sizes("100 30 10 1 0 2 0\n", 4096); s != (Sizes{20 * 4096, 10 * 4096}) {
		t.Errorf("%+v", s)
	}
}

func TestContainer(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  int64
		from  string
	}{
		"none":       {fstest.MapFS{}, 0, ""},
		"v2":         {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("max\n"), "sys/fs/cgroup/a/memory.max": file("4096\n")}, 4096, "sys/fs/cgroup/a/memory.max"},
		"v2, inside": {fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("8192\n")}, 8192, "sys/fs/cgroup/memory.max"},
		"v2, least": {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("9000\n"),
			"sys/fs/cgroup/a/memory.max": file("4096\n")}, 4096, "sys/fs/cgroup/a/memory.max"},
		"v1": {fstest.MapFS{"proc/self/cgroup": file("5:cpu,memory:/docker/x\n1:name=systemd:/\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("12345\n")}, 12345, "sys/fs/cgroup/memory/memory.limit_in_bytes"},
		"v1, no limit": {fstest.MapFS{"proc/self/cgroup": file("5:memory:/\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, 0, ""},
		"damaged": {fstest.MapFS{"proc/self/cgroup": file("5\n0::/\n"), "sys/fs/cgroup/memory.max": file("many\n")}, 0, ""},
	} {
		if n, from := container(c.files); n != c.want || from != c.from {
			t.Errorf("%s: %d from %q, want %d from %q", name, n, from, c.want, c.from)
		}
	}
}
