// Command build makes the web verifier: a page that is one file, and the npm package.
//
//	go run ./web/build [-o dist]
//
// leaves verifier.html and npm/ in the folder. The same commit gives the same bytes.
//
//	go run ./web/build -server FOLDER
//
// leaves the verifier for the page of `prove-model serve`: the scripts of the npm package, and its WebAssembly module compressed.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/must"
)

func main() {
	out := flag.String("o", "dist", "`folder` for the results")
	server := flag.String("server", "", "`folder` for the verifier of the server's page, in place of the results")
	flag.Parse()
	make := func() error { return run(*out) }
	if *server != "" {
		make = func() error { return forServer(*server) }
	}
	if err := make(); err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

// forServer makes the npm package, and copies to out the files that the server's page needs.
func forServer(out string) (err error) {
	defer must.Catch(&err)
	temp := must.Get(os.MkdirTemp("", ""))
	defer os.RemoveAll(temp)
	must.OK(npmPackage(temp))
	must.OK(os.MkdirAll(out, 0o755))
	for _, name := range []string{"index.js", "engine.js", "input.js", "receipt.js", "wasm_exec.js", "verifier.wasm"} {
		data := must.Get(os.ReadFile(filepath.Join(temp, name)))
		if name == "verifier.wasm" {
			data = must.Get(compress(data))
			name += ".gz"
		}
		must.OK(os.WriteFile(filepath.Join(out, name), data, 0o644))
	}
	return nil
}

func compress(data []byte) (_ []byte, err error) {
	defer must.Catch(&err)
	var packed bytes.Buffer
	z := must.Get(gzip.NewWriterLevel(&packed, gzip.BestCompression))
	must.Get(z.Write(data))
	must.OK(z.Close())
	return packed.Bytes(), nil
}

func run(out string) (err error) {
	defer must.Catch(&err)
	npm := filepath.Join(out, "npm")
	must.OK(npmPackage(npm))
	page, compressed, err := page(npm)
	must.OK(err)
	fmt.Printf("web: verifier.wasm, %.2f MB compressed; verifier.html, %.2f MB\n", float64(compressed)/1e6, float64(len(page))/1e6)
	return os.WriteFile(filepath.Join(out, "verifier.html"), page, 0o644)
}

// npmPackage makes the npm package in a folder.
func npmPackage(npm string) (err error) {
	defer must.Catch(&err)
	must.OK(os.MkdirAll(npm, 0o755))
	wasm := filepath.Join(npm, "verifier.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", wasm, "./web/wasm")
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOWASM=", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	must.OKAs(cmd.Run(), "go build")
	must.OK(os.Chmod(wasm, 0o644))
	root := must.Get(exec.Command("go", "env", "GOROOT").Output())
	sources := map[string]string{ // by name in the package
		"wasm_exec.js": filepath.Join(strings.TrimSpace(string(root)), "lib/wasm/wasm_exec.js"), "LICENSE": "LICENSE", "NOTICE": "NOTICE",
	}
	for _, name := range []string{"package.json", "README.md", "index.js", "index.d.ts", "engine.js", "input.js", "receipt.js"} {
		sources[name] = filepath.Join("web/npm", name)
	}
	for name, from := range sources {
		data := must.Get(os.ReadFile(from))
		if name == "package.json" {
			data = bytes.Replace(data, []byte(",\n"), fmt.Appendf(nil, ",\n  \"version\": %q,\n", provemodel.Version), 1)
		}
		must.OK(os.WriteFile(filepath.Join(npm, name), data, 0o644))
	}
	return nil
}

// page assembles the page, a single file with all its parts. The page's content security
// policy names the digests of its script and its style sheet, so that nothing else can run in
// it or be loaded by it. compressed is the size of the compressed module. npm is the folder
// with the npm package.
func page(npm string) (page []byte, compressed int, err error) {
	defer must.Catch(&err)
	read := func(path string) string {
		data, e := os.ReadFile(path)
		if e != nil && err == nil {
			err = e
		}
		return string(data)
	}
	wasm := read(filepath.Join(npm, "verifier.wasm"))
	input := script(read("web/npm/input.js"))
	worker := read(filepath.Join(npm, "wasm_exec.js")) + script(read("web/npm/engine.js")) + read("web/page/worker.js")
	app := "\"use strict\";\n" + input + read("web/page/view.js") + read("web/page/text.js") + read("web/page/app.js")
	style := read("web/page/style.css")
	text := read("web/page/index.html")
	example := base64.StdEncoding.EncodeToString([]byte(read("testdata/golden/digits/run.proof"))) + " " +
		base64.StdEncoding.EncodeToString([]byte(read("testdata/golden/digits/key.vk")))
	must.OK(err)
	packed := must.Get(compress([]byte(wasm)))
	for name, part := range map[string]string{"worker.js": worker, "app.js": app, "style.css": style} {
		if strings.Contains(strings.ToLower(part), "</script") || strings.Contains(strings.ToLower(part), "</style") || strings.Contains(part, "<!--") {
			return nil, 0, fmt.Errorf("%s would end the element that holds it", name)
		}
	}
	replaced := strings.NewReplacer(
		"{{app-digest}}", digest(app), "{{style-digest}}", digest(style), "{{app}}", app, "{{style}}", style,
		"{{worker}}", worker, "{{example}}", example, "{{wasm}}", base64.StdEncoding.EncodeToString(packed),
	).Replace(text)
	return []byte(replaced), len(packed), nil
}

// script makes a script of a JavaScript module by removing the exports: the parts of the page share one scope.
func script(module string) string { return strings.ReplaceAll(module, "\nexport ", "\n") }

func digest(part string) string {
	d := sha256.Sum256([]byte(part))
	return "sha256-" + base64.StdEncoding.EncodeToString(d[:])
}
