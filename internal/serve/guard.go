package serve

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/prove-model/prove-model/internal/must"
)

// Keys are the API keys of a server. It keeps only their SHA-256, with the name of the owner.
type Keys struct{ owners map[[sha256.Size]byte]string }

// ReadKeys reads a file of API keys: on each line a name and a key, separated by spaces. Empty lines, and lines that begin with #, are
// skipped.
func ReadKeys(path string) (_ *Keys, err error) {
	defer must.Catch(&err)
	f := must.Get(os.Open(path))
	defer f.Close()
	k := &Keys{owners: map[[sha256.Size]byte]string{}}
	names := map[string]bool{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 || len(fields[1]) < 16 {
			// The message does not contain the line, which may hold a key.
			return nil, fmt.Errorf("%s, line %d: want a name and a key of at least 16 characters", path, n)
		}
		if names[fields[0]] {
			return nil, fmt.Errorf("%s, line %d: the name %s is given twice", path, n, fields[0])
		}
		names[fields[0]] = true
		digest := sha256.Sum256([]byte(fields[1]))
		if other, twice := k.owners[digest]; twice {
			return nil, fmt.Errorf("%s, line %d: %s has the key of %s", path, n, fields[0], other)
		}
		k.owners[digest] = fields[0]
	}
	must.OKAs(lines.Err(), "%s", path)
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no keys", path)
	}
	return k, nil
}

// owner returns the name of the owner of a request's key; ok is false if the server does not know the key. A nil Keys
// admits every request, with the name "".
func (k *Keys) owner(r *http.Request) (name string, ok bool) {
	if k == nil {
		return "", true
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	// The time that the look-up of a digest takes says nothing about the keys.
	name, ok = k.owners[sha256.Sum256([]byte(key))]
	return name, ok
}

// limits bound how often each API key, or each address, may send requests.
type limits struct {
	perMinute float64
	mu        sync.Mutex
	of        map[string]*rate.Limiter
}

// mostLimits is the number of keys or addresses that are remembered. Beyond it, those that have their full allowance
// again are forgotten.
const mostLimits = 10_000

func newLimits(perMinute float64) *limits {
	return &limits{perMinute: perMinute, of: map[string]*rate.Limiter{}}
}

// wait returns after how many seconds `who`, a key's owner or an address, may send a request. 0 means at once; the
// request is counted then.
func (l *limits) wait(who string) int {
	if l.perMinute == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	burst := max(1, int(l.perMinute))
	one := l.of[who]
	if one == nil {
		if len(l.of) >= mostLimits {
			for other, lim := range l.of {
				if lim.Tokens() >= float64(burst) { // it allows as much as a new one would
					delete(l.of, other)
				}
			}
			if len(l.of) >= mostLimits {
				return 60
			}
		}
		one = rate.NewLimiter(rate.Limit(l.perMinute/60), burst)
		l.of[who] = one
	}
	if one.Allow() {
		return 0
	}
	return 1 + int(60/l.perMinute)
}

// handler answers a request, or returns the error to answer with. It may also panic with an error, as package must
// does, which pass recovers.
type handler func(w http.ResponseWriter, r *http.Request) error

// guarded makes an http.HandlerFunc of a handler: it checks the request's key and rate, and answers with the handler's
// error.
func (s *Server) guarded(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.pass(w, r, h); err != nil {
			e := asAPI(err)
			if e.cause != nil && r.Context().Err() == nil {
				s.opts.Log.Error("request failed", "route", r.Pattern, "error", e.cause)
			}
			fail(w, e)
		}
	}
}

// pass calls the handler if the request has a known key and is within its rate.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, h handler) (err error) {
	defer must.Catch(&err)
	owner, ok := s.opts.Keys.owner(r)
	if !ok {
		return &apiError{Status: http.StatusUnauthorized, Type: authentication, Code: "invalid_api_key", Message: "the request needs a key that the server knows, as Authorization: Bearer KEY"}
	}
	who := owner
	if s.opts.Keys == nil {
		who, _, _ = net.SplitHostPort(r.RemoteAddr)
	}
	if seconds := s.limits.wait(who); seconds > 0 {
		return &apiError{Status: http.StatusTooManyRequests, Retry: seconds, Type: rateLimit, Code: "rate_limit_exceeded", Message: "too many requests a minute"}
	}
	noteOf(r).owner = owner
	return h(w, r)
}

// ownerOf returns the name of the owner of the request's API key, "" if the server has no keys.
func ownerOf(r *http.Request) string { return noteOf(r).owner }

// serving returns an error while the server is starting or stopping, for requests that need a model.
func (s *Server) serving() error {
	if s.draining.Load() || !s.ready.Load() {
		return &apiError{Status: http.StatusServiceUnavailable, Retry: 5, Type: serverError, Code: "not_ready", Message: "the server is starting or stopping: try again later"}
	}
	return nil
}

// local refuses requests to another host name than localhost, if the server is reachable from this machine only. Otherwise a web
// page could make a browser send requests here, by a name of its own site that resolves to 127.0.0.1 (DNS rebinding).
func (s *Server) local(next http.Handler) http.Handler {
	if !s.opts.Local {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.Trim(host, "[]")
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			fail(w, &apiError{Status: http.StatusForbidden, Type: permission, Code: "wrong_host", Message: "this server answers requests to localhost alone"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// patient limits the time that a client may take to send the body of a request. Most handlers do not read it, and package http reads
// what is left of it before it sends an answer.
func (s *Server) patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.opts.Patience))
		}
		next.ServeHTTP(w, r)
	})
}

// body reads the JSON body of a request, within the limits of time and size.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	// An HTML form of another site cannot send this type, so no such form can make a browser send a request.
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return nil, &apiError{Status: http.StatusUnsupportedMediaType, Type: invalidRequest, Code: "unsupported_media_type", Message: "a request's Content-Type is application/json"}
	}
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(s.opts.Patience))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.MaxBody))
	if err != nil {
		var timeout net.Error
		if asTimeout(err, &timeout) {
			return nil, &apiError{Status: http.StatusRequestTimeout, Type: invalidRequest, Code: "request_timeout", Message: "the request was not sent in time"}
		}
		return nil, err
	}
	_ = c.SetReadDeadline(time.Time{})
	return data, nil
}
