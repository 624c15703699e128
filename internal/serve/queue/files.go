package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/prove-model/prove-model/internal/must"
)

// files stores jobs and proofs under names of letters, digits and dots.
type files interface {
	// put stores a file. When it returns, the file is on disk.
	put(ctx context.Context, name string, data []byte) error
	// get opens a file, which the caller closes. The error wraps errNoFile if there is none.
	get(ctx context.Context, name string) (io.ReadCloser, error)
}

// errNoFile is the error about a file that does not exist.
var errNoFile = errors.New("there is no such file")

// jobFile and proofFile return the names of the files of a job and of a proof with a SHA-256.
func jobFile(id string) string           { return "job." + id }
func proofFile(id, digest string) string { return "proof." + id + "." + digest }

// whole reads a whole file.
func whole(ctx context.Context, f files, name string) (_ []byte, err error) {
	defer must.Catch(&err)
	r := must.Get(f.get(ctx, name))
	defer r.Close()
	return io.ReadAll(r)
}

// objects are files in an object store of JetStream.
type objects struct{ jetstream.ObjectStore }

// chunk is the size in bytes of the messages that an object is stored in. It is less than NATS allows. It is large since each message is
// written to disk before the next one is sent, and a proof should be few messages.
const chunk = 512 << 10

// put implements files.
func (o objects) put(ctx context.Context, name string, data []byte) error {
	_, err := o.Put(ctx, jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunk}}, bytes.NewReader(data))
	return err
}

// get implements files.
func (o objects) get(ctx context.Context, name string) (io.ReadCloser, error) {
	f, err := o.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, errNoFile
	}
	return f, err
}

// bucket are files in an S3-compatible store.
type bucket struct {
	client       *minio.Client
	name, prefix string
}

// openBucket opens the bucket of an address http(s)://HOST/BUCKET or http(s)://HOST/BUCKET/PREFIX. Credentials come from the places
// where AWS's own clients look: the environment, the user's file, the machine.
func openBucket(ctx context.Context, address string) (_ *bucket, err error) {
	defer must.Catch(&err)
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		// The message does not contain the address, which may hold a secret.
		return nil, errors.New("want https://HOST/BUCKET or https://HOST/BUCKET/PREFIX, with credentials in the environment")
	}
	b := &bucket{}
	b.name, b.prefix, _ = strings.Cut(strings.Trim(u.Path, "/"), "/")
	if b.prefix != "" {
		b.prefix += "/"
	}
	b.client = must.Get(minio.New(u.Host, &minio.Options{
		Secure: u.Scheme == "https", Region: os.Getenv("AWS_REGION"), BucketLookup: minio.BucketLookupPath,
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{}}}),
	}))
	there, err := b.client.BucketExists(ctx, b.name)
	if err == nil && !there {
		err = fmt.Errorf("there is no bucket %s", b.name)
	}
	return b, err
}

// put implements files.
func (b *bucket) put(ctx context.Context, name string, data []byte) error {
	_, err := b.client.PutObject(ctx, b.name, b.prefix+name, bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{ContentType: "application/octet-stream", DisableMultipart: true})
	return err
}

// get implements files.
func (b *bucket) get(ctx context.Context, name string) (io.ReadCloser, error) {
	f, err := b.client.GetObject(ctx, b.name, b.prefix+name, minio.GetObjectOptions{})
	if err == nil {
		_, err = f.Stat() // GetObject does not ask the store before the first use
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil, errNoFile
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}
