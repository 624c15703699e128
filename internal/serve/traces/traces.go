// Package traces sends OpenTelemetry traces of requests and proofs to a collector: how long each part of the work took, in every process.
// Nothing is sent unless Open is called. Spans contain routes, statuses, ids of proofs and names of models, but no contents of requests.
package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/internal/must"
)

// Attributes of spans.
const (
	Proof  = attribute.Key("prove_model.proof")
	Model  = attribute.Key("prove_model.model")
	Worker = attribute.Key("prove_model.worker")
)

const name = "prove-model"

// Start begins a span, which the caller ends.
func Start(ctx context.Context, what string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	return otel.Tracer(name).Start(ctx, what, trace.WithAttributes(attributes...))
}

// End ends a span, and marks it as failed if err is not nil. The text of the error is not sent.
func End(s trace.Span, err error) {
	if err != nil {
		s.SetStatus(codes.Error, "")
	}
	s.End()
}

// Received returns a context whose spans are children of the span that a message's headers name, if they name one.
func Received(ctx context.Context, header map[string][]string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header))
}

// Send writes the context's span into a message's headers.
func Send(ctx context.Context, header map[string][]string) {
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
}

// sendTime is how long the collector may take to answer.
const sendTime = 10 * time.Second

// Open makes this process send spans to a collector by OTLP over HTTP, at an address such as http://HOST:4318. A collector that does not
// answer delays nothing: spans are dropped. stop sends the spans that are left.
func Open(ctx context.Context, address, version string, log *slog.Logger) (stop func(), err error) {
	defer must.Catch(&err)
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("want a URL with http or https") // not the address, which may hold a secret
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/traces"
	}
	exporter := must.Get(otlptrace.New(ctx, &client{u.String()}))
	p := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", name), attribute.String("service.version", version))))
	otel.SetTracerProvider(p)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { log.Warn("traces cannot be sent") }))
	return func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
		defer cancel()
		_ = p.Shutdown(limited) // the error handler logs the error
	}, nil
}

// client posts spans. OpenTelemetry's own exporter for HTTP links gRPC, which would make the command a quarter larger.
type client struct{ address string }

// Start and Stop implement otlptrace.Client.
func (*client) Start(context.Context) error { return nil }
func (*client) Stop(context.Context) error  { return nil }

// UploadTraces implements otlptrace.Client. The encoding of TracesData is also that of the ExportTraceServiceRequest
// that collectors expect.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) (err error) {
	defer must.Catch(&err)
	data := must.Get(proto.Marshal(&tracepb.TracesData{ResourceSpans: spans}))
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(data)))
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp := must.Get(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers with status %d", resp.StatusCode)
	}
	return nil
}
