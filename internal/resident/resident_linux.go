package resident

import (
	"bufio"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Now returns the sizes of this process, and whether they are known.
func Now() (Sizes, bool) {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return Sizes{}, false
	}
	return sizes(string(data), int64(os.Getpagesize()))
}

// sizes parses /proc/self/statm: its second number is the number of resident pages, the
// third those of mapped files among them.
func sizes(statm string, page int64) (Sizes, bool) {
	f := strings.Fields(statm)
	if len(f) < 3 {
		return Sizes{}, false
	}
	all, err := strconv.ParseInt(f[1], 10, 64)
	file, errFile := strconv.ParseInt(f[2], 10, 64)
	if err != nil || errFile != nil || file > all {
		return Sizes{}, false
	}
	return Sizes{(all - file) * page, file * page}, true
}

// Available returns the bytes of memory that the system reports as available; 0 if it
// does not report them.
func Available() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		if rest, ok := strings.CutPrefix(in.Text(), "MemAvailable:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// Container returns the memory limit, in bytes, of the container in which this process
// runs, and the file that states it; 0 if there is no limit.
func Container() (bytes int64, from string) {
	bytes, from = container(os.DirFS("/"))
	if from != "" {
		from = "/" + from
	}
	return bytes, from
}

const groups = "sys/fs/cgroup"

// container is Container for a given file system: the least limit of the process's
// control group and of the groups above it, of version 2 (cgroups(7)) and version 1. If
// the group's folder is missing, as in a container that has its own root, the limit at
// the root of the mount counts.
func container(root fs.FS) (bytes int64, from string) {
	data, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, ""
	}
	// least lowers bytes to the limits of a group and of those above it, in files called name.
	least := func(folder, group, name string) {
		for at := path.Join("/", group); ; at = path.Dir(at) {
			file := path.Join(folder, at, name)
			if n := limitIn(root, file); n > 0 && (bytes == 0 || n < bytes) {
				bytes, from = n, file
			}
			if at == "/" {
				return
			}
		}
	}
	for line := range strings.Lines(string(data)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(part) < 3:
		case part[0] == "0" && part[1] == "":
			least(groups, part[2], "memory.max")
		case hasController(part[1], "memory"):
			least(path.Join(groups, "memory"), part[2], "memory.limit_in_bytes")
		}
	}
	return bytes, from
}

// hasController reports whether a comma-separated list has a name.
func hasController(list, name string) bool {
	for c := range strings.SplitSeq(list, ",") {
		if c == name {
			return true
		}
	}
	return false
}

// unlimited is a number at or above which a limit means no limit: version 1 states the
// largest number of pages, in bytes, then.
const unlimited = 1 << 60

// limitIn reads a limit from a file; 0 if there is none.
func limitIn(root fs.FS, file string) int64 {
	data, err := fs.ReadFile(root, file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64) // or "max"
	if err != nil || n >= unlimited {
		return 0
	}
	return n
}
