package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prove-model/prove-model/config"
)

// listening has the server of a test listen as the command does, and returns the address.
func (r *running) listening() string {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- r.s.Listen(ctx, l, "", "") }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			r.t.Error(err)
		}
	})
	return l.Addr().String()
}

// said sends bytes and returns the status of the answer, 0 if the connection is closed without one, and its body.
func said(t *testing.T, address, sent string) (status int, body string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	go func() { _, _ = io.WriteString(c, sent) }() // of which the server need not read all
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data)
}

// What is no request, or one that does not end, is refused or cut off; it computes nothing, leaves nothing in the log, and others are
// answered meanwhile.
func TestConnections(t *testing.T) {
	r := start(t, false, Options{Prove: 1, MaxBody: 10_000, Patience: 3 * time.Second})
	address := r.listening()
	const secret = "sk-secret-0123456789"
	chunked := "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	body := fmt.Sprintf(question, "")
	for name, c := range map[string]struct {
		sent   string
		status int
		api    bool // whether the error has the API's form: not where net/http refuses what it cannot read
	}{
		"no HTTP":                    {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, false},
		"no version":                 {"GET /v1/models\r\n\r\n", 400, false},
		"an old version":             {"GET /v1/models HTTP/0.9\r\n\r\n", 505, false},
		"no host":                    {"GET /v1/models HTTP/1.1\r\n\r\n", 400, false},
		"a long header":              {"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + strings.Repeat("x", 1<<20) + "\r\n\r\n", 431, false},
		"many headers":               {"GET /v1/models HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 1<<16) + "\r\n", 431, false},
		"a header that is none":      {"GET /v1/models HTTP/1.1\r\nHost: x\r\na b: c\r\n\r\n", 400, false},
		"two lengths":                {"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}", 400, false},
		"a length below zero":        {"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}", 400, false},
		"headers that do not end":    {"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Key: " + secret, 0, false},
		"a line that does not end":   {"GET /v1/mod", 400, false},
		"a body that does not end":   {chunked + "1\r\n{\r\n", 408, true},
		"a body larger than it says": {chunked + "2710\r\n" + strings.Repeat("x", 10_000) + "\r\n2710\r\n" + strings.Repeat("x", 10_000) + "\r\n0\r\n\r\n", 413, true},
		"a length that is too large": {"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999999999\r\n\r\n{" + strings.Repeat(" ", 20_000), 413, true},
		"packed": {fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", 20,
			strings.Repeat("\x1f\x8b", 10)), 400, true},
		"a method that there is not": {"BREW /v1/models HTTP/1.1\r\nHost: x\r\n\r\n", 404, true},
		"another's address":          {"GET http://elsewhere.example/v1/nothing?key=" + secret + " HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n", 404, true},
		"a tunnel":                   {"CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example:443\r\n\r\n", 404, true},
	} {
		status, text := said(t, address, c.sent)
		if status != c.status || c.api != strings.Contains(text, `{"error":{"message":"`) {
			t.Errorf("%s: status %d, want %d: %.200s", name, status, c.status, text)
		}
	}
	// Bodies that do not come, and that nobody reads.
	for _, sent := range []string{
		"POST /v1/proofs/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n",
		"POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n",
	} {
		begin := time.Now()
		if status, _ := said(t, address, sent); status == 200 || time.Since(begin) > 30*time.Second {
			t.Errorf("%.20q: status %d after %v", sent, status, time.Since(begin))
		}
	}
	// Connections that say nothing, or nothing more, keep nobody else from being answered.
	for i := range 200 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, []string{"", "POST /v1/chat/completions HTTP/1.1\r\n", chunked}[i%3])
	}
	if status, text := said(t, address, fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)); status != 200 {
		t.Errorf("status %d: %s", status, text)
	}
	if n, err := r.q.Waiting(t.Context()); err != nil || n != 1 {
		t.Errorf("%d jobs of one answer, %v", n, err)
	}
	if strings.Contains(r.log.String(), secret) || strings.Contains(r.log.String(), "elsewhere") {
		t.Error("what a request says is in the log")
	}
}

// Nobody else's machine reaches a server of which nothing is said.
func TestLoopback(t *testing.T) {
	host, _, err := net.SplitHostPort(config.Default().Listen)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		t.Errorf("it listens on %s by default", config.Default().Listen)
	}
}
