package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// events is an answer that is a stream of server-sent events. It becomes a stream with the first event: until then the handler may
// answer with an error.
type events struct {
	w       http.ResponseWriter
	started bool
	err     error // the first failure to send an event: the client is gone, or too slow
}

// send sends an event; name may be "".
func (e *events) send(name string, v any) {
	data, err := json.Marshal(v)
	if err == nil {
		e.raw(name, data)
	} else if e.err == nil {
		e.err = err
	}
}

// raw sends an event whose data is given in bytes.
func (e *events) raw(name string, data []byte) {
	if e.err != nil {
		return
	}
	c, first := http.NewResponseController(e.w), !e.started
	if first {
		e.started = true
		h := e.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // else proxies that buffer answers would hold tokens back
		e.w.WriteHeader(http.StatusOK)
	}
	if name != "" {
		_, e.err = fmt.Fprintf(e.w, "event: %s\n", name)
	}
	if e.err == nil {
		_, e.err = fmt.Fprintf(e.w, "data: %s\n\n", data)
	}
	if e.err == nil {
		e.err = c.Flush()
	}
	if e.err == nil {
		// In HTTP/2 a deadline ends a stream even if nothing is to be written. observed sets one again for the stream's end.
		_ = c.SetWriteDeadline(time.Time{})
	}
	if e.err == nil && first {
		_ = c.SetReadDeadline(time.Time{}) // the request has been read, also one whose body the handler has not read
	}
}
