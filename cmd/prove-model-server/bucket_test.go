package main

import (
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// TestBucket: a server and a worker whose jobs and proofs lie in an S3-compatible store.
func TestBucket(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "somebody")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-0123456789")
	t.Setenv("AWS_REGION", "us-east-1")
	store := s3mem.New()
	if err := store.CreateBucket("proofs"); err != nil {
		t.Fatal(err)
	}
	s3 := httptest.NewServer(gofakes3.New(store, gofakes3.WithLogger(gofakes3.StdLog(log.New(io.Discard, "", 0)))).Server())
	defer s3.Close()
	dir := t.TempDir()
	js := natsServer(t, filepath.Join(dir, "nats"), 0)
	flags := append([]string{"--cluster", js.ClientURL(), "--bucket", s3.URL + "/proofs/x", "--model", "../../testdata/story", "--no-cache", "--quiet", "--threads", "1"}, quick...)
	p := started(t, append([]string{"serve", "--workers", "0", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0"}, flags...)...)
	started(t, append([]string{"worker"}, flags...)...)
	_, id := p.ask("The capital")
	if len(p.proof(id)) == 0 {
		t.Error("no proof")
	}
	list, err := store.ListBucket("proofs", nil, gofakes3.ListBucketPage{})
	if err != nil || len(list.Contents) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, f := range list.Contents {
		if f.Key != "x/job."+id && len(f.Key) != len("x/proof.")+64+1+64 {
			t.Errorf("%s is in the bucket", f.Key)
		}
	}
}
