package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/serve/models"
	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/serve/receipt"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/vocabulary"
)

// bundled are the models of the tests, which are committed to once.
var bundled = sync.OnceValues(func() ([]*models.Model, error) {
	var out []*models.Model
	for name, set := range map[string]func(c *config.Config){
		"sentence": func(c *config.Config) { c.Model = sentenceFolder },
		"story":    func(c *config.Config) { c.Model = "../../testdata/story" },
		"columns": func(c *config.Config) {
			c.Model, c.Calibration = "../../onnx/testdata/strings/columns.onnx", []string{"../../onnx/testdata/strings/columns.json"}
		},
		"digits": func(c *config.Config) {
			c.Model, c.Calibration = "../../testdata/digits/digits.onnx", []string{"../../testdata/digits/calibration.json"}
		},
	} {
		c := config.Default()
		c.NoCache, c.SecurityBits, c.GrindBits, c.Mode = true, 30, 0, config.ModeW8A8 // keys and proofs that take little time
		set(&c)
		m, err := models.Open(context.Background(), name, &c, nil, ui.NewPhases(io.Discard, true))
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
})

// logBuffer is a log that may be read while others write.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// running is a server of a test.
type running struct {
	t   *testing.T
	s   *Server
	q   *queue.Queue
	url string
	log *logBuffer
	key string // that requests have
}

// start starts a server with the bundled models. workers says whether it proves.
func start(t *testing.T, workers bool, opts Options) *running {
	t.Helper()
	list, err := bundled()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	q, err := queue.Embedded(ctx, filepath.Join(t.TempDir(), "store"), queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	signing, err := receipt.OpenKey(filepath.Join(t.TempDir(), "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, q: q, log: &logBuffer{}}
	opts.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if opts.MaxBody == 0 {
		opts.MaxBody = 1 << 20
	}
	if opts.MaxQueue == 0 {
		opts.MaxQueue = 1000
	}
	if opts.Parallel == 0 {
		opts.Parallel = 2
	}
	r.s = New(q, signing, opts)
	for _, m := range list {
		if err := r.s.Add(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	var wait sync.WaitGroup
	if workers {
		wait.Go(func() {
			if err := r.s.Check(ctx); err != nil {
				t.Error(err)
			}
		})
		wait.Go(func() {
			if err := Work(ctx, q, list, 1, 1, "test"); err != nil {
				t.Error(err)
			}
		})
	}
	h := httptest.NewServer(r.s.Handler())
	r.url = h.URL
	t.Cleanup(func() {
		h.Close()
		cancel()
		wait.Wait()
		q.Close()
	})
	r.s.Ready()
	return r
}

// do sends a request and returns the status, the header and the body.
func (r *running) do(method, path, body string, headers ...string) (int, http.Header, []byte) {
	r.t.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, data
}

// ask posts a request that must be answered, and returns the answer.
func (r *running) ask(path, body string) *answerBody {
	r.t.Helper()
	status, _, data := r.do("POST", path, body)
	if status != http.StatusOK {
		r.t.Fatalf("%s: status %d: %s", path, status, data)
	}
	var a answerBody
	if err := json.Unmarshal(data, &a); err != nil {
		r.t.Fatal(err)
	}
	return &a
}

type answerBody struct {
	ID      string
	Object  string
	Choices []struct {
		Text    string
		Message struct{ Role, Content string }
		Delta   struct{ Role, Content string }
		Finish  *string `json:"finish_reason"`
	}
	Outputs []struct {
		Name       string
		Shape      []int
		Data       []float64
		Parameters map[string][]string
	}
	Usage   *usage
	Proof   *proofRef
	Receipt json.RawMessage
	Error   *apiError
}

// fetched waits for a proof and returns its file.
func (r *running) fetched(id string) []byte {
	r.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		status, h, data := r.do("GET", "/v1/proofs/"+id+"/file", "")
		switch {
		case status == http.StatusOK:
			return data
		case status != http.StatusAccepted || h.Get("Retry-After") == "":
			r.t.Fatalf("proof %s: status %d: %s", id, status, data)
		}
	}
	r.t.Fatalf("proof %s: not made", id)
	return nil
}

// verified verifies the proof of an answer as a client does, and returns its statement.
func (r *running) verified(a *answerBody) (*provemodel.Statement, *receipt.Signed) {
	r.t.Helper()
	signed, err := receipt.Read(a.Receipt, r.s.PublicKey())
	if err != nil {
		r.t.Fatal(err)
	}
	if signed.Proof != a.Proof.ID || signed.Commitment != a.Proof.Commitment {
		r.t.Errorf("the receipt is about %s of %s, and the answer says %+v", signed.Proof, signed.Commitment, a.Proof)
	}
	file := r.fetched(a.Proof.ID)
	status, _, vk := r.do("GET", "/v1/keys/"+a.Proof.Commitment, "")
	if status != http.StatusOK {
		r.t.Fatalf("the key: status %d", status)
	}
	opts := &provemodel.VerifyOptions{MinBits: 30}
	if signed.Text != nil {
		if opts.Sampling, err = signed.Sampling.Sampling(); err != nil {
			r.t.Fatal(err)
		}
	}
	s, err := provemodel.VerifyFiles(bytes.NewReader(vk), bytes.NewReader(file), opts)
	if err != nil {
		r.t.Fatal(err)
	}
	if s.Commitment.String() != signed.Commitment {
		r.t.Error("the key has another commitment than the receipt says")
	}
	if signed.Text != nil && fmt.Sprint(s.Generated.Prompt, s.Generated.Tokens) != fmt.Sprint(signed.PromptTokens, signed.Tokens) {
		r.t.Error("the proof is about other tokens than the receipt says")
	}
	return s, signed
}

const question = `{"model":"story","messages":[{"role":"user","content":"The capital of France is"}]%s}`

func TestChat(t *testing.T) {
	r := start(t, true, Options{Prove: 1})
	body := fmt.Sprintf(question, "")
	a := r.ask("/v1/chat/completions", body)
	if c := a.Choices[0]; c.Message.Content != " Paris. It lies on the Seine!" || c.Message.Role != "assistant" || *c.Finish != "stop" || a.Usage.Total != 14 || a.Object != "chat.completion" {
		t.Errorf("%+v, %+v", c, a.Usage)
	}
	_, signed := r.verified(a)
	if signed.Request != bodyDigest([]byte(body)) || signed.AnswerSHA256 != receipt.TextDigest(a.Choices[0].Message.Content) {
		t.Error("the receipt has other digests than the request and the answer")
	}
	// The same question has the same proof, and is not proved twice.
	if again := r.ask("/v1/chat/completions", body); again.Proof.ID != a.Proof.ID || again.Proof.State != queue.Proved || again.ID == a.ID {
		t.Errorf("asked again: %+v", again.Proof)
	}
}

func TestStopsAndLimits(t *testing.T) {
	r := start(t, true, Options{})
	for _, c := range []struct{ params, text, finish string }{
		{`,"max_tokens":3`, " Paris. It", "length"},
		{`,"max_completion_tokens":1`, " Paris", "length"},
		{`,"stop":" on"`, " Paris. It lies", "stop"},
		{`,"stop":["is. I","nothing"]`, " Par", "stop"},
		{`,"stop":"Seine?"`, " Paris. It lies on the Seine!", "stop"},
		{`,"temperature":0,"top_p":1,"n":1,"logprobs":false,"user":"somebody","tools":[],"metadata":{"a":"b"}`, " Paris. It lies on the Seine!", "stop"},
	} {
		a := r.ask("/v1/chat/completions", fmt.Sprintf(question, c.params+`,"prove":true`))
		if got := a.Choices[0]; got.Message.Content != c.text || *got.Finish != c.finish {
			t.Errorf("%s: %q, %s", c.params, got.Message.Content, *got.Finish)
		}
		r.verified(a)
	}
}

// Drawn tokens: the seed is the request's, or one that the receipt tells.
func TestDrawn(t *testing.T) {
	r := start(t, true, Options{Prove: 1})
	one := r.ask("/v1/completions", `{"model":"story","prompt":"The capital of","seed":7,"temperature":1.5,"top_p":0.9,"top_k":5}`)
	two := r.ask("/v1/completions", `{"model":"story","prompt":[1,2,3],"seed":7,"temperature":1.5,"top_p":0.9,"top_k":5}`)
	if one.Choices[0].Text != two.Choices[0].Text || one.Proof.ID != two.Proof.ID {
		t.Errorf("the same seed gives %q and %q", one.Choices[0].Text, two.Choices[0].Text)
	}
	_, signed := r.verified(one)
	if s, err := signed.Sampling.Sampling(); err != nil || *s != (provemodel.Sampling{Seed: 7, Temperature: 1.5, TopK: 5, TopP: 0.9}) {
		t.Errorf("%+v, %v", s, err)
	}
	free := r.ask("/v1/completions", `{"model":"story","prompt":"The capital of","temperature":1}`)
	if _, signed := r.verified(free); signed.Sampling == nil || signed.Sampling.Seed == "0" {
		t.Errorf("no seed is said: %+v", signed.Sampling)
	}
}

// eventsOf reads a stream of server-sent events.
func eventsOf(t *testing.T, body io.Reader) (names, data []string) {
	t.Helper()
	name := ""
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if s, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = s
		} else if s, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			names, data, name = append(names, name), append(data, s), ""
		}
	}
	return names, data
}

func TestStream(t *testing.T) {
	r := start(t, true, Options{Prove: 1})
	for path, body := range map[string]string{
		"/v1/chat/completions": fmt.Sprintf(question, `,"stream":true,"stream_options":{"include_usage":true}`),
		"/v1/completions":      `{"model":"story","prompt":"The capital of France is","stream":true,"stream_options":{"include_usage":true}}`,
	} {
		_, h, data := r.do("POST", path, body)
		if h.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%s: %s: %s", path, h.Get("Content-Type"), data)
		}
		_, events := eventsOf(t, bytes.NewReader(data))
		if len(events) < 5 || events[len(events)-1] != "[DONE]" {
			t.Fatalf("%s: %q", path, events)
		}
		text, finish := "", ""
		var last answerBody
		for _, e := range events[:len(events)-1] {
			var part answerBody
			if err := json.Unmarshal([]byte(e), &part); err != nil {
				t.Fatal(err)
			}
			for _, c := range part.Choices {
				if text += c.Text + c.Delta.Content; c.Finish != nil {
					finish = *c.Finish
				}
			}
			if part.Proof != nil {
				last = part
			}
			if part.Usage != nil && part.Usage.Completion != 9 {
				t.Errorf("%s: %+v", path, part.Usage)
			}
		}
		if text != " Paris. It lies on the Seine!" || finish != "stop" {
			t.Errorf("%s: %q, %q", path, text, finish)
		}
		if _, signed := r.verified(&last); signed.AnswerSHA256 != receipt.TextDigest(text) {
			t.Errorf("%s: the receipt has another text", path)
		}
	}
}

func TestInfer(t *testing.T) {
	r := start(t, true, Options{Prove: 1})
	file, err := os.ReadFile("../../testdata/digits/input.json")
	if err != nil {
		t.Fatal(err)
	}
	var input struct {
		Data [][]float64 `json:"input_data"`
	}
	if err := json.Unmarshal(file, &input); err != nil || len(input.Data) != 1 {
		t.Fatalf("%v: %s", err, file)
	}
	data, _ := json.Marshal(input.Data[0])
	a := r.ask("/v2/models/digits/infer", `{"id":"x","inputs":[{"name":"image","shape":[1,1,8,8],"datatype":"FP32","data":`+string(data)+`}],"outputs":[{"name":"logits"}]}`)
	s, signed := r.verified(a)
	if a.ID != "x" || len(a.Outputs) != 1 || fmt.Sprint(a.Outputs[0].Data) != fmt.Sprint([]float64(s.Outputs[0].Values)) {
		t.Errorf("the answer is %v, and %v is proved", a.Outputs, s.Outputs)
	}
	if signed.Outputs["logits"] != receipt.Digest(a.Outputs[0].Data) || signed.Inputs["image"] != receipt.Digest(input.Data[0]) {
		t.Error("the receipt has other digests than the arrays")
	}
	for path, want := range map[string]string{"/v2": `"prove-model"`, "/v2/models/digits": `"image"`, "/v2/models/digits/ready": "true", "/v2/health/ready": "true", "/v2/health/live": "true", "/v1/models": signed.Commitment, "/v1/models/digits": signed.Commitment} {
		if status, _, body := r.do("GET", path, ""); status != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: status %d: %s", path, status, body)
		}
	}
}

// Strings are inputs of the type BYTES, which become numbers by the vocabulary, whose file is sent, and outputs have their names beside
// their numbers.
func TestInferStrings(t *testing.T) {
	r := start(t, true, Options{Prove: 1})
	request := `{"inputs":[{"name":"colour","shape":[1,1],"datatype":"BYTES","data":[["%s"]]},
		{"name":"size","shape":[1,1],"datatype":"BYTES","data":["S"]},{"name":"price","shape":[1,1],"datatype":"FP32","data":[2]}]}`
	a := r.ask("/v2/models/columns/infer", fmt.Sprintf(request, "red"))
	s, signed := r.verified(a)
	if len(a.Outputs) != 2 || fmt.Sprint(a.Outputs[0].Data) != fmt.Sprint([]float64(s.Outputs[0].Values)) || fmt.Sprint(a.Outputs[0].Parameters["strings"]) != "[buy]" {
		t.Errorf("the answer is %+v, and %v is proved", a.Outputs, s.Outputs)
	}
	if signed.Inputs["colour"] != receipt.StringsDigest([]string{"red"}) || signed.Inputs["price"] != receipt.Digest([]float64{2}) {
		t.Error("the receipt has other digests than the arrays")
	}
	status, _, words := r.do("GET", "/v1/models/columns/vocabulary", "")
	if status != http.StatusOK || s.Vocabulary == nil || vocabulary.Digest(words) != *s.Vocabulary {
		t.Errorf("the vocabulary: status %d, %s", status, words)
	}
	if _, _, body := r.do("GET", "/v2/models/columns", ""); !strings.Contains(string(body), `{"name":"colour","datatype":"BYTES","shape":[-1,1]}`) {
		t.Errorf("the inputs: %s", body)
	}
	if status, _, _ := r.do("GET", "/v1/models/digits/vocabulary", ""); status != http.StatusNotFound {
		t.Errorf("the vocabulary of a model of numbers: status %d", status)
	}
	for _, wrong := range []string{
		strings.Replace(request, `[["%s"]]`, `[1]`, 1), strings.Replace(request, `["S"]`, `["S","M"]`, 1), strings.Replace(request, `"BYTES","data":["S"]`, `"FP32","data":[1]`, 1),
	} {
		if status, _, body := r.do("POST", "/v2/models/columns/infer", strings.Replace(wrong, "%s", "blue", 1)); status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", wrong, status, body)
		}
	}
}

// An answer that is not proved at once is proved when somebody asks.
func TestOnRequest(t *testing.T) {
	r := start(t, true, Options{})
	a := r.ask("/v1/chat/completions", fmt.Sprintf(question, ""))
	if a.Proof.State != queue.Kept {
		t.Fatalf("%+v", a.Proof)
	}
	if status, _, _ := r.do("GET", a.Proof.URL+"/file", ""); status != http.StatusConflict {
		t.Errorf("the file of a proof that nobody asked for: status %d", status)
	}
	if status, _, body := r.do("POST", a.Proof.URL, ""); status != http.StatusAccepted {
		t.Fatalf("status %d: %s", status, body)
	}
	// What becomes of it is told, until it is done.
	_, h, data := r.do("GET", a.Proof.URL+"/events", "")
	names, events := eventsOf(t, bytes.NewReader(data))
	if h.Get("Content-Type") != "text/event-stream" || len(names) == 0 || names[len(names)-1] != "proof" || !strings.Contains(events[len(events)-1], `"proved"`) {
		t.Errorf("%q %q", names, events)
	}
	file := r.fetched(a.Proof.ID)
	r.verified(a)
	_, h, _ = r.do("GET", a.Proof.URL+"/file", "")
	if status, _, body := r.do("GET", a.Proof.URL+"/file", "", "If-None-Match", h.Get("ETag")); status != http.StatusNotModified || len(body) > 0 {
		t.Errorf("known bytes: status %d, %d bytes again", status, len(body))
	}
	if len(file) == 0 {
		t.Error("no bytes")
	}
}

// The webhook hears of every proof, once it listens, with a signature.
func TestWebhook(t *testing.T) {
	type notice struct {
		body      []byte
		signature string
	}
	heard := make(chan notice, 4)
	refuse := true
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse {
			refuse = false
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		data, _ := io.ReadAll(r.Body)
		heard <- notice{data, r.Header.Get("Prove-Model-Signature")}
	}))
	defer hook.Close()
	r := start(t, true, Options{Prove: 1, Webhook: hook.URL})
	a := r.ask("/v1/chat/completions", fmt.Sprintf(question, ""))
	select {
	case got := <-heard:
		signature, err := base64.StdEncoding.DecodeString(got.signature)
		if err != nil || !ed25519.Verify(r.s.signing.Public().(ed25519.PublicKey), append([]byte("prove-model webhook\n"), got.body...), signature) {
			t.Errorf("the signature %s does not hold: %v", got.signature, err)
		}
		if !bytes.Contains(got.body, []byte(a.Proof.ID)) || !bytes.Contains(got.body, []byte(`"state":"proved"`)) {
			t.Errorf("%s", got.body)
		}
	case <-time.After(time.Minute):
		t.Error("the webhook hears nothing")
	}
}
