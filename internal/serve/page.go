package serve

import (
	"embed"
	"mime"
	"net/http"
	"path"
	"strings"
)

// The page asks a model and verifies the proof in the browser. Its verifier, of which the folder has nothing in a clone, is made of web/wasm
// and web/npm by go generate, which `make build` calls; a build without it has a page that does not verify.
//
//go:generate go -C ../.. run ./web/build -server internal/serve/page
//go:embed page
var pages embed.FS

// policy lets the page load its own parts, and talk to this server alone.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (s *Server) page(w http.ResponseWriter, r *http.Request) { servePart(w, r, "index.html") }

func (s *Server) pageFile(w http.ResponseWriter, r *http.Request) {
	servePart(w, r, r.PathValue("file"))
}

// servePart sends a part of the page.
func servePart(w http.ResponseWriter, r *http.Request, name string) {
	data, err := pages.ReadFile(path.Join("page", path.Base(name)))
	h := w.Header()
	if err != nil {
		if data, err = pages.ReadFile(path.Join("page", path.Base(name)+".gz")); err != nil || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			fail(w, &apiError{Status: http.StatusNotFound, Type: invalidRequest, Code: "not_found", Message: "the page has no such part in this build"})
			return
		}
		h.Set("Content-Encoding", "gzip")
	}
	kind := mime.TypeByExtension(path.Ext(name))
	switch path.Ext(name) { // whatever the system's tables say
	case ".js":
		kind = "text/javascript; charset=utf-8"
	case ".wasm":
		kind = "application/wasm"
	case ".css":
		kind = "text/css; charset=utf-8"
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	_, _ = w.Write(data)
}
