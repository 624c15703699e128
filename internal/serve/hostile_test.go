package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// refused expects an error in the API's form.
func (r *running) refused(status int, code, method, path, body string, headers ...string) {
	r.t.Helper()
	got, _, data := r.do(method, path, body, headers...)
	var a struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(data, &a); err != nil || a.Error == nil || got != status || a.Error.Code != code || a.Error.Message == "" || a.Error.Type == "" {
		r.t.Errorf("%s %s %.100s: status %d, want %d %s: %s", method, path, body, got, status, code, data)
	}
}

// What cannot be answered is refused by name, before it costs anything.
func TestRefusals(t *testing.T) {
	r := start(t, false, Options{MaxBody: 10_000})
	for _, c := range []struct {
		status             int
		code, params, path string
	}{
		{400, "unsupported_parameter", `,"wings":2`, ""},
		{400, "unsupported_value", `,"n":2`, ""},
		{400, "invalid_type", `,"logprobs":3`, ""},
		{400, "invalid_value", `,"top_logprobs":3`, ""},
		{400, "invalid_value", `,"logprobs":true,"top_logprobs":21`, ""},
		{400, "invalid_value", `,"logprobs":true,"top_logprobs":-1`, ""},
		{400, "unsupported_value", `,"presence_penalty":0.5`, ""},
		{400, "unsupported_value", `,"tools":[{}]`, ""},
		{400, "unsupported_value", `,"response_format":{"type":"json_object"}`, ""},
		{400, "invalid_type", `,"temperature":"warm"`, ""},
		{400, "invalid_type", `,"stop":{}`, ""},
		{400, "invalid_value", `,"stop":""`, ""},
		{400, "invalid_value", `,"stop":["a","b","c","d","e"]`, ""},
		{400, "invalid_value", `,"temperature":-1`, ""},
		{400, "invalid_value", `,"temperature":1e300`, ""},
		{400, "invalid_value", `,"temperature":0.001`, ""},
		{400, "invalid_value", `,"top_p":0`, ""},
		{400, "max_tokens_exceeded", `,"max_tokens":0`, ""},
		{400, "max_tokens_exceeded", `,"max_tokens":-5`, ""},
		{400, "max_tokens_exceeded", `,"max_tokens":33`, ""},
		{400, "invalid_value", `,"max_tokens":1,"max_completion_tokens":2`, ""},
		{400, "invalid_type", `,"max_tokens":1e40`, ""},
		{400, "invalid_type", `,"seed":1.5`, ""},
		{400, "invalid_type", `,"alone":"yes"`, ""},
	} {
		r.refused(c.status, c.code, "POST", "/v1/chat/completions", fmt.Sprintf(question, c.params))
	}
	chat := func(status int, code, body string) { r.refused(status, code, "POST", "/v1/chat/completions", body) }
	chat(400, "invalid_json", `[]`)
	chat(400, "invalid_json", `null`)
	chat(400, "invalid_json", `{"model":`)
	chat(400, "invalid_json", `{} {}`)
	chat(400, "invalid_json", strings.Repeat(`{"a":`, 1000))
	chat(400, "invalid_json", strings.Repeat(`[`, 9000))
	chat(404, "model_not_found", `{"model":"nobody","messages":[]}`)
	chat(404, "model_not_found", `{"messages":[]}`)
	chat(400, "model_not_supported", `{"model":"digits","messages":[]}`)
	chat(400, "missing_required_parameter", `{"model":"story"}`)
	chat(400, "invalid_type", `{"model":"story","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`)
	chat(400, "invalid_type", `{"model":"story","messages":{"role":"user"}}`)
	chat(413, "request_too_large", `{"model":"story","messages":[{"role":"user","content":"`+strings.Repeat("The", 5000)+`"}]}`)
	chat(400, "context_length_exceeded", `{"model":"story","messages":[{"role":"user","content":"`+strings.Repeat(" the", 33)+`"}]}`)
	write := func(status int, code, body string) { r.refused(status, code, "POST", "/v1/completions", body) }
	write(400, "missing_required_parameter", `{"model":"story"}`)
	write(400, "invalid_value", `{"model":"story","prompt":""}`)
	write(400, "invalid_value", `{"model":"story","prompt":"The","logprobs":6}`)
	write(400, "invalid_type", `{"model":"story","prompt":"The","logprobs":true}`)
	write(400, "invalid_type", `{"model":"story","prompt":[]}`)
	write(400, "invalid_type", `{"model":"story","prompt":["a","b"]}`)
	write(400, "invalid_value", `{"model":"story","prompt":[-1]}`)
	write(400, "invalid_value", `{"model":"story","prompt":[32]}`)
	write(400, "invalid_type", `{"model":"story","prompt":[1.5]}`)
	a := r.ask("/v1/completions", `{"model":"story","prompt":"The","prove":false}`)
	sign := func(status int, code, body string) { r.refused(status, code, "POST", a.Proof.URL+"/receipt", body) }
	sign(409, "not_proved", string(a.Receipt))
	sign(400, "invalid_receipt", "{}")
	sign(400, "invalid_receipt", strings.Repeat("[", 9000))
	sign(400, "invalid_receipt", strings.Replace(string(a.Receipt), `"public_key"`, `"joint":{"proof":"","text_id":1,"texts":1},"public_key"`, 1))
	sign(400, "invalid_receipt", strings.Replace(string(a.Receipt), `"public_key"`, `"joint":{"text_id":1e99},"public_key"`, 1))
	sign(413, "request_too_large", strings.Repeat(" ", 20_000))
	r.refused(404, "not_found", "POST", "/v1/proofs/"+strings.Repeat("0", 64)+"/receipt", string(a.Receipt))
	infer := func(status int, code, body string) { r.refused(status, code, "POST", "/v2/models/digits/infer", body) }
	for _, input := range []string{
		`{"name":"image","shape":[1,1,8,8],"datatype":"FP32","data":[1]}`, `{"name":"image","shape":[1],"datatype":"FP32","data":[1]}`,
		`{"name":"other","shape":[1],"datatype":"FP32","data":[1]}`, `{"name":"image","shape":[-1,-1],"datatype":"FP32","data":[1]}`,
		`{"name":"image","shape":[9223372036854775807,9223372036854775807],"datatype":"FP32","data":[1]}`, `{"name":"image","shape":[1],"datatype":"FP32","data":["a"]}`,
		`{"name":"image","shape":[1],"datatype":"FP32","data":{"a":1}}`, `{"name":"image","shape":[1],"datatype":"FP32","data":[1e39]}`,
		`{"name":"image","shape":[1],"datatype":"FP32","data":null}`, `{"name":"image","shape":[1],"datatype":"FP32"}`,
		`{"name":"image","shape":[1],"datatype":"BYTES","data":[1]}`, `{"name":"image","shape":[1],"datatype":"INT8","data":[1.5]}`,
		`{"name":"image","shape":[1],"datatype":"FP32","data":[1],"parameters":{"binary_data_size":4}}`,
	} {
		infer(400, "invalid_value", `{"inputs":[`+input+`]}`)
	}
	infer(400, "invalid_value", `{}`)
	infer(400, "unsupported_parameter", `{"inputs":[],"raw":1}`)
	r.refused(404, "model_not_found", "POST", "/v2/models/nobody/infer", `{}`)
	r.refused(400, "model_not_supported", "POST", "/v2/models/story/infer", `{}`)
	r.refused(415, "unsupported_media_type", "POST", "/v1/chat/completions", fmt.Sprintf(question, ""), "Content-Type", "text/plain")
	for _, path := range []string{"/v1/proofs/x", "/v1/proofs/" + strings.Repeat("0", 64), "/v1/proofs/..%2f..%2fetc%2fpasswd", "/v1/proofs/*/file", "/v1/proofs/%3E/events", "/v1/keys/..%2freceipts.pem", "/v1/keys/" + strings.Repeat("a", 64)} {
		r.refused(404, "not_found", "GET", path, "")
	}
	for _, path := range []string{"/page/..%2fpage.go", "/page/nothing.js", "/page/%00"} {
		r.refused(404, "not_found", "GET", path, "")
	}
	for _, path := range []string{"/nothing", "/v1/", "/v1/files", "/v3/models", "/" + strings.Repeat("x", 10_000)} {
		r.refused(404, "unknown_url", "GET", path, "")
	}
	if n, err := r.q.Waiting(t.Context()); err != nil || n != 0 {
		t.Errorf("%d jobs, %v", n, err)
	}
}

// Keys: who has none, or another's, sees nothing; and no key is in the log.
func TestKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	const anna, ben = "sk-anna-0123456789", "sk-ben-9876543210"
	if err := os.WriteFile(file, []byte("# comment\nanna "+anna+"\n\nben "+ben+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, false, Options{Prove: 1, Keys: keys})
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer x", "Basic " + anna, "Bearer " + anna + "x", anna} {
		for _, path := range []string{"/v1/models", "/v1/proofs/" + strings.Repeat("0", 64), "/v2", "/v1/receipts/key"} {
			r.refused(401, "invalid_api_key", "GET", path, "", "Authorization", header)
		}
	}
	if status, _, _ := r.do("GET", "/livez", ""); status != http.StatusOK {
		t.Error("a probe needs a key")
	}
	r.key = anna
	a := r.ask("/v1/chat/completions", fmt.Sprintf(question, ""))
	if status, _, _ := r.do("GET", a.Proof.URL, ""); status != http.StatusOK {
		t.Errorf("her own proof: status %d", status)
	}
	r.key = ben
	for _, end := range []string{"", "/file", "/events"} {
		r.refused(404, "not_found", "GET", a.Proof.URL+end, "")
	}
	r.refused(404, "not_found", "POST", a.Proof.URL, "")
	if b := r.ask("/v1/chat/completions", fmt.Sprintf(question, "")); b.Proof.ID == a.Proof.ID {
		t.Error("the proof of one is the other's")
	}
	for _, secret := range []string{anna, ben, "capital"} {
		if strings.Contains(r.log.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
	if !strings.Contains(r.log.String(), "key=anna") {
		t.Error("the log does not say whose request it was")
	}
	for name, content := range map[string]string{
		"short": "a b", "none": "# no\n", "twice": "a 0123456789abcdef\na 0123456789abcdeg", "of both": "a 0123456789abcdef\nb 0123456789abcdef",
		"words": "a b c",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKeys(file); err == nil || strings.Contains(err.Error(), "0123456789") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Too many requests, and too many proofs that wait, are refused with a time after which to try again.
func TestLimits(t *testing.T) {
	r := start(t, false, Options{Prove: 1, Rate: 3, MaxQueue: 1})
	r.ask("/v1/completions", `{"model":"story","prompt":[1,2]}`)
	status, h, data := r.do("POST", "/v1/completions", `{"model":"story","prompt":[1,2,3]}`)
	if status != http.StatusTooManyRequests || h.Get("Retry-After") == "" || !bytes.Contains(data, []byte("queue_full")) {
		t.Errorf("a full queue: status %d: %s", status, data)
	}
	r.do("GET", "/v1/models", "")
	status, h, data = r.do("GET", "/v1/models", "")
	if status != http.StatusTooManyRequests || h.Get("Retry-After") == "" || !bytes.Contains(data, []byte("rate_limit_exceeded")) {
		t.Errorf("the fourth request of a minute: status %d: %s", status, data)
	}
	if status, _, _ := r.do("GET", "/readyz", ""); status != http.StatusOK {
		t.Error("probes are counted")
	}
}

// Requests that are addressed to another name are those of a browser that was led here.
func TestWrongHost(t *testing.T) {
	r := start(t, false, Options{Local: true})
	for _, host := range []string{"evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", ""} {
		if host != "" {
			r.refused(403, "wrong_host", "GET", "/v1/models", "", "Host", host)
		}
	}
	for _, host := range []string{"localhost", "localhost:99", "127.0.0.1:1", "[::1]:80"} {
		if status, _, _ := r.do("GET", "/v1/models", "", "Host", host); status != http.StatusOK {
			t.Errorf("%s: status %d", host, status)
		}
	}
}

// Until models are there, and when the server is about to end, it says so.
func TestReadiness(t *testing.T) {
	r := start(t, false, Options{})
	r.s.ready.Store(false)
	r.refused(503, "not_ready", "GET", "/readyz", "")
	r.refused(503, "not_ready", "POST", "/v1/chat/completions", fmt.Sprintf(question, ""))
	r.s.Ready()
	if status, _, _ := r.do("GET", "/readyz", ""); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	a := r.ask("/v1/completions", `{"model":"story","prompt":[1,2],"prove":true}`)
	heard := make(chan error, 1)
	go func() {
		resp, err := http.Get(r.url + a.Proof.URL + "/events")
		if err == nil {
			eventsOf(t, resp.Body)
			resp.Body.Close()
		}
		heard <- err
	}()
	time.Sleep(100 * time.Millisecond)
	r.s.Drain()
	select {
	case err := <-heard:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a stream of events does not end when the server does")
	}
	r.refused(503, "not_ready", "GET", "/readyz", "")
	if status, _, _ := r.do("GET", "/livez", ""); status != http.StatusOK {
		t.Error("a server that drains is taken for dead")
	}
}

// A client that leaves before its answer is complete has asked for nothing, and its place is free.
func TestClientLeaves(t *testing.T) {
	r := start(t, false, Options{Prove: 1, Parallel: 1})
	address := strings.TrimPrefix(r.url, "http://")
	for range 20 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(question, `,"stream":true`)
		fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		c.Close()
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if status, _, _ := r.do("POST", "/v1/completions", `{"model":"story","prompt":[1,2],"prove":false}`); status == http.StatusOK {
			break
		} else if time.Now().After(end) {
			t.Fatalf("status %d", status)
		}
	}
}

// The store that does not take a job has the answer refused: nobody gets a receipt for what is not kept.
func TestStoreGone(t *testing.T) {
	r := start(t, false, Options{Prove: 1})
	r.q.Close()
	r.refused(503, "store_unavailable", "POST", "/v1/chat/completions", fmt.Sprintf(question, ""))
	r.refused(503, "store_unavailable", "GET", "/readyz", "")
}

// A client that sends its request in drops is cut off, and holds nothing up.
func TestSlowBody(t *testing.T) {
	r := start(t, false, Options{Patience: 300 * time.Millisecond})
	c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	answer := make([]byte, 1<<10)
	n, err := c.Read(answer)
	if err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 408")) || !bytes.Contains(answer[:n], []byte("request_timeout")) {
		t.Errorf("%v: %s", err, answer[:n])
	}
}
