package main

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
)

// createCertificate begins the file of a key's certificate, which by default is beside the key; nil if none is asked
// for.
func createCertificate(cfg *config.Config, files *outputs, key string) (*output, error) {
	if !cfg.Certify {
		if cfg.Cert != "" {
			return nil, job.WithHint(errors.New("--cert names the file of a certificate, and none is asked for"), "add --certify")
		}
		return nil, nil
	}
	return files.create("cert", cmp.Or(cfg.Cert, strings.TrimSuffix(key, filepath.Ext(key))+".cert"), certificateFile)
}

// writeCertificate makes the certificate and writes it. It returns its size in bytes.
func writeCertificate(ctx context.Context, to *output, of *provemodel.Committed, opts *job.Options) (int64, error) {
	if to == nil {
		return 0, nil
	}
	file, err := of.Certify(ctx, &opts.Certify)
	if errors.Is(err, provemodel.ErrNotShown) {
		return 0, job.WithHint(err, "--mode w8a8 has narrower products; without --certify verifiers take your word for the bounds")
	}
	if err != nil {
		return 0, err
	}
	return int64(len(file)), to.write(file)
}
