package serve

import (
	"embed"
	"mime"
	"net/http"
	"path"
	"strings"
)

// pages has the files of the page, which asks a model and verifies the proof in the browser. The page's verifier is not in a clone of the
// repository: go generate, which `make build` calls, makes it from web/wasm and web/npm. Without it, the page does not verify.
//
//go:generate go -C ../.. run ./web/build -server internal/serve/page
//go:embed page
var pages embed.FS

// policy is the page's content security policy: the page may load only its own parts and talk only to this server.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page sends the page itself.
func (s *Server) page(w http.ResponseWriter, r *http.Request) { servePart(w, r, "index.html") }

// pageFile sends the part of the page that the request's path names.
func (s *Server) pageFile(w http.ResponseWriter, r *http.Request) {
	servePart(w, r, r.PathValue("file"))
}

// servePart sends a part of the page. A part that the build has only in compressed form goes only to clients that accept gzip.
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
	switch path.Ext(name) { // these types must not depend on the system's tables
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
