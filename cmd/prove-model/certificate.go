package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/job"
	"github.com/prove-model/prove-model/config"
)

// certificate is the file that a key's certificate goes to; nil if none is asked
// for.
type certificate struct {
	output
	bytes int64
}

// createCertificate begins the file, by default beside the key.
func createCertificate(cfg *config.Config, key string) (*certificate, error) {
	if !cfg.Certify {
		if cfg.Cert != "" {
			return nil, job.WithHint(errors.New("--cert names the file of a certificate, and none is asked for"), "add --certify")
		}
		return nil, nil
	}
	path := cfg.Cert
	if path == "" {
		path = strings.TrimSuffix(key, filepath.Ext(key)) + ".cert"
	}
	file, err := create(path)
	return &certificate{output: file}, err
}

// take makes the certificate and writes it.
func (c *certificate) take(ctx context.Context, of *provemodel.Committed, opts []provemodel.Option) error {
	if c == nil {
		return nil
	}
	file, err := provemodel.Certify(ctx, of, opts...)
	if errors.Is(err, provemodel.ErrNotShown) {
		return job.WithHint(err, "--mode w8a8 has narrower products; without --certify verifiers take your word for the bounds")
	}
	if err != nil {
		return err
	}
	c.bytes = int64(len(file))
	return c.write(file)
}

// with returns the files that are to be placed together with this one.
func (c *certificate) with(files ...output) []output {
	if c == nil {
		return files
	}
	return append(files, c.output)
}

func (c *certificate) abort() {
	if c != nil {
		c.Abort()
	}
}

func (c *certificate) name() string {
	if c == nil {
		return ""
	}
	return c.path
}

func (c *certificate) size() int64 {
	if c == nil {
		return 0
	}
	return c.bytes
}
