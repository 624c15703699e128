package serve

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/prove-model/prove-model/internal/serve/queue"
)

// Types of errors, as OpenAI's API has them.
const (
	invalidRequest = "invalid_request_error"
	authentication = "authentication_error"
	permission     = "permission_error"
	rateLimit      = "rate_limit_error"
	serverError    = "server_error"
)

// apiError is an error that is reported to the client.
type apiError struct {
	Status  int    `json:"-"`
	Retry   int    `json:"-"` // after how many seconds the client may try again; 0: the answer does not say
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   any    `json:"param"` // the member of the request that is wrong, or nil
	Code    string `json:"code"`
	cause   error  // the underlying error, for the log only
}

func (e *apiError) Error() string { return e.Message }
func (e *apiError) Unwrap() error { return e.cause }

var errBusy = &apiError{Status: http.StatusTooManyRequests, Retry: 5, Type: rateLimit, Code: "queue_full", Message: "too many requests are waiting: try again later"}

// bad is the error about a member of a request, "" for the request as a whole.
func bad(param, code string, err error) *apiError {
	e := &apiError{Status: http.StatusBadRequest, Type: invalidRequest, Code: code, Message: err.Error()}
	if param != "" {
		e.Param = param
	}
	return e
}

// unavailable is the error when the store fails. The client is not told err, which is logged.
func unavailable(err error) *apiError {
	return &apiError{Status: http.StatusServiceUnavailable, Retry: 5, Type: serverError, Code: "store_unavailable", Message: "the server cannot store what it would have to prove: try again later", cause: err}
}

// asAPI converts any error to the API's form. The text of an error that is not meant for clients goes to the log only.
func asAPI(err error) *apiError {
	var e *apiError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &tooLarge):
		return &apiError{Status: http.StatusRequestEntityTooLarge, Type: invalidRequest, Code: "request_too_large", Message: "the request has more than " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes"}
	case errors.Is(err, queue.ErrUnknown):
		return &apiError{Status: http.StatusNotFound, Type: invalidRequest, Code: "not_found", Message: "there is none"}
	}
	return &apiError{Status: http.StatusInternalServerError, Type: serverError, Code: "internal_error", Message: "the server has failed; its log says why", cause: err}
}

// errorBody returns an error as the body of an answer in OpenAI's API.
func errorBody(e *apiError) any {
	return map[string]any{"error": e}
}

// fail answers with an error.
func fail(w http.ResponseWriter, e *apiError) {
	if e.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.Retry))
	}
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeJSON(w, e.Status, errorBody(e))
}

// writeJSON answers with a value as JSON.
func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil { // NaN or an infinity where no answer of this server has one
		status, data = http.StatusInternalServerError, []byte(`{"error":{"message":"the answer cannot be written as JSON","type":"server_error","param":null,"code":"internal_error"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}
