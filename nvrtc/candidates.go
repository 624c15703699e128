//go:build cuda && cgo && linux && (amd64 || arm64)

package nvrtc

import (
	"os"
	"os/exec"
	"path/filepath"
)

// sonames are NVRTC's, the preferred first.
var sonames = []string{"libnvrtc.so.13", "libnvrtc.so.12"}

// candidates returns where NVRTC may be, in the order to try: what
// PROVE_MODEL_NVRTC names, and then only that; the loader's folders; the CUDA
// toolkit; the folders where Python's wheels put it.
func candidates() (paths []string, only bool) {
	if path := os.Getenv("PROVE_MODEL_NVRTC"); path != "" {
		return []string{path}, true
	}
	paths = append(paths, sonames...)
	var folders []string
	for _, home := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda"} {
		if home != "" {
			folders = append(folders, filepath.Join(home, "lib64"), filepath.Join(home, "lib"))
		}
	}
	for _, site := range sitePackages() {
		folders = append(folders, filepath.Join(site, "nvidia", "cu13", "lib"), filepath.Join(site, "nvidia", "cuda_nvrtc", "lib"))
	}
	for _, name := range sonames {
		for _, folder := range folders {
			path := filepath.Join(folder, name)
			if _, err := os.Stat(path); err == nil {
				paths = append(paths, path)
			}
		}
	}
	return paths, false
}

// sitePackages returns the folders of Python packages: of the active
// environment, of the python3 on the path, of the user and of the system.
func sitePackages() []string {
	prefixes := []string{os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX")}
	if python, err := exec.LookPath("python3"); err == nil {
		prefixes = append(prefixes, filepath.Dir(filepath.Dir(python)))
		if python, err = filepath.EvalSymlinks(python); err == nil {
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(python)))
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	prefixes = append(prefixes, "/usr/local", "/usr", "/opt/conda")
	var sites []string
	for _, prefix := range prefixes {
		if prefix == "" {
			continue
		}
		for _, kind := range []string{"site-packages", "dist-packages"} {
			// A pattern of ours cannot be malformed.
			found, _ := filepath.Glob(filepath.Join(prefix, "lib", "python3*", kind))
			sites = append(sites, found...)
		}
	}
	return sites
}
