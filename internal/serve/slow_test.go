package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Clients that take nothing of their answers are cut off, and hold nothing up.
func TestSlowClient(t *testing.T) {
	r := start(t, true, Options{Prove: 1, Patience: 3 * time.Second})
	a := r.ask("/v1/chat/completions", fmt.Sprintf(question, ""))
	r.fetched(a.Proof.ID)
	for _, path := range []string{a.Proof.URL + "/file", "/v1/keys/" + a.Proof.Commitment} {
		c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		// Requests until the server takes no more, as it waits for the client to take answers, and then closes the connection.
		request := []byte(strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n", 100))
		end := time.Now().Add(time.Minute)
		_ = c.SetWriteDeadline(end)
		for err = nil; err == nil && time.Now().Before(end); {
			_, err = c.Write(request)
		}
		if err == nil || time.Now().After(end) {
			t.Errorf("%s: the server waits for the client: %v", path, err)
		}
	}
	r.ask("/v1/completions", `{"model":"story","prompt":[1,2]}`)
}

// A stream of events over HTTP/2 lasts while nothing happens, and while a client takes its parts.
func TestSlowEvents(t *testing.T) {
	r := start(t, false, Options{Prove: 1, Patience: time.Second})
	a := r.ask("/v1/completions", `{"model":"story","prompt":[1,2]}`)
	h := httptest.NewUnstartedServer(r.s.Handler())
	h.EnableHTTP2 = true
	h.StartTLS()
	defer h.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL+a.Proof.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := h.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); resp.ProtoMajor != 2 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("HTTP/%d: the stream of a proof that nobody makes ends: %v", resp.ProtoMajor, err)
	}
}
