package serve

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace/noop"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/internal/serve/traces"
)

// TestTraces: a collector hears how a request, its proof and its verification go, in the trace that the request names, and nothing of what
// was asked. One that refuses disturbs nothing.
func TestTraces(t *testing.T) {
	var mu sync.Mutex
	spans, all, refused := map[string]*tracepb.Span{}, []byte{}, 0
	status := http.StatusOK
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		data, _ := io.ReadAll(r.Body)
		if w.WriteHeader(status); status != http.StatusOK {
			refused++
			return
		}
		var got tracepb.TracesData
		if err := proto.Unmarshal(data, &got); err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s, %v", r.URL.Path, err)
		}
		all = append(all, data...)
		for _, of := range got.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				for _, s := range scope.Spans {
					spans[s.Name] = s
				}
			}
		}
	}))
	defer collector.Close()
	var log bytes.Buffer
	opened := func() (stop func()) {
		stop, err := traces.Open(t.Context(), collector.URL, "0", slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		return stop
	}
	defer otel.SetTracerProvider(noop.NewTracerProvider())
	stop := opened()
	const id = "0af7651916cd43dd8448eb211c80319c"
	r := start(t, true, Options{Prove: 1})
	_, _, data := r.do("POST", "/v1/chat/completions", fmt.Sprintf(question, ""), "traceparent", "00-"+id+"-b7ad6b7169203331-01")
	proof := string(data[bytes.Index(data, []byte(`"url":"/v1/proofs/`))+18:][:64])
	r.fetched(proof)
	stop()
	mu.Lock()
	of := map[string]string{"POST /v1/chat/completions": "", "answer": "POST /v1/chat/completions", "accept": "POST /v1/chat/completions", "prove": "accept", "verify": "prove"}
	for name, parent := range of {
		s := spans[name]
		if s == nil || hex.EncodeToString(s.TraceId) != id || parent != "" && string(s.ParentSpanId) != string(spans[parent].GetSpanId()) {
			t.Errorf("%s: %v", name, s)
		}
	}
	if s := spans["prove"]; s == nil || len(s.Events) < 3 || !strings.Contains(s.String(), proof) {
		t.Errorf("%v", s)
	}
	for _, secret := range []string{"capital", "Paris"} {
		if bytes.Contains(all, []byte(secret)) {
			t.Errorf("%q is in a trace", secret)
		}
	}
	status = http.StatusServiceUnavailable
	mu.Unlock()
	stop = opened()
	r.ask("/v1/completions", `{"model":"story","prompt":[1,2]}`)
	stop()
	if refused == 0 || !strings.Contains(log.String(), "traces cannot be sent") || strings.Contains(log.String(), collector.URL) {
		t.Errorf("refused %d times: %s", refused, log.String())
	}
	for _, wrong := range []string{"x", "grpc://x", "http://"} {
		if _, err := traces.Open(t.Context(), wrong, "0", nil); err == nil {
			t.Errorf("%s is a collector", wrong)
		}
	}
}
