package queue

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// bucketOf starts an S3 server that has a bucket, and returns its address. away has it refuse everything while it is set.
func bucketOf(t *testing.T) (address string, away *atomic.Bool) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "somebody")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-0123456789")
	t.Setenv("AWS_REGION", "us-east-1")
	store := s3mem.New()
	if err := store.CreateBucket("proofs"); err != nil {
		t.Fatal(err)
	}
	away = new(atomic.Bool)
	s3 := gofakes3.New(store, gofakes3.WithLogger(gofakes3.StdLog(log.New(io.Discard, "", 0)))).Server()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusForbidden) // which the client does not try again
			return
		}
		s3.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h.URL, away
}

// TestBucket: jobs and proofs lie in an S3-compatible store, and all goes as with JetStream; also while the store is away.
func TestBucket(t *testing.T) {
	address, away := bucketOf(t)
	ctx := context.Background()
	open := func(address string) (*Queue, error) {
		return Embedded(ctx, t.TempDir(), Options{Silence: 600 * time.Millisecond, Bucket: address})
	}
	q, err := open(address + "/proofs/some/prefix")
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	// Small, and larger than one message or part of an upload need be.
	for _, size := range []int{1, 5 << 20, 20 << 20} {
		data := bytes.Repeat([]byte{7}, size)
		if err := q.files.put(ctx, "x", data); err != nil {
			t.Fatal(err)
		}
		if got, err := whole(ctx, q.files, "x"); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: %d come back, %v", size, len(got), err)
		}
	}
	if _, err := q.files.get(ctx, "y"); !errors.Is(err, errNoFile) {
		t.Errorf("what is not there: %v", err)
	}
	r := accepted(t, q, jobOf(1), true)
	stop, _ := running(t, q, proveBytes)
	if r = ended(t, q, r.ID); r.State != Proved || !bytes.Equal(held(t, q, r), bytesOf(jobOf(1))) {
		t.Errorf("%+v", r)
	}
	stop()

	// While it is away nothing is accepted, and what was proved waits.
	second := accepted(t, q, jobOf(2), true)
	var proofs atomic.Int64
	stop, _ = running(t, q, func(ctx context.Context, j *Job, team *Team, p func(string, int, int)) ([]byte, error) {
		proofs.Add(1)
		away.Store(true)
		return proveBytes(ctx, j, team, p)
	})
	defer stop()
	until(t, "a proof", func() bool { return proofs.Load() > 0 })
	if _, err := q.Accept(ctx, jobOf(3), true); err == nil {
		t.Error("a job is accepted that cannot be stored")
	} else if strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	time.Sleep(time.Second)
	away.Store(false)
	if second = ended(t, q, second.ID); second.State != Proved || proofs.Load() != 1 {
		t.Errorf("proved %d times: %+v", proofs.Load(), second)
	}
	for _, wrong := range []string{address + "/nothing", address + "/", "ftp://x/y", "x", "http://user:secret@host/bucket", "https://"} {
		if _, err := open(wrong); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
