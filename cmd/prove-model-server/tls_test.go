package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/prove-model/prove-model/internal/program"
)

// authority is a certificate authority of a test, with its files in a folder.
type authority struct {
	t      *testing.T
	folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	pool   *x509.CertPool
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, folder: t.TempDir(), pool: x509.NewCertPool()}
	a.cert, a.key = a.issue(name, true)
	a.pool.AddCert(a.cert)
	return a
}

// issue makes NAME.pem and NAME.key, signed by the authority, or by itself while there is none.
func (a *authority) issue(name string, ca bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}
	parent, signer := made, key
	if ca {
		made.IsCA, made.BasicConstraintsValid, made.KeyUsage = true, true, x509.KeyUsageCertSign
	} else {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, made, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for ending, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(a.file(name+ending), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a *authority) file(name string) string { return filepath.Join(a.folder, name) }

// TestTLS: a server with a certificate speaks HTTPS, in a version that is not old, and nothing else.
func TestTLS(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, "ca")
	a.issue("server", false)
	p := started(t, append([]string{
		"serve", "--model", "../../testdata/story", "--data", t.TempDir(), "--no-cache", "--listen", "127.0.0.1:0", "--quiet", "--tls-cert", a.file("server.pem"), "--tls-key", a.file("server.key"),
	}, quick...)...)
	if !strings.HasPrefix(p.url, "https://127.0.0.1:") {
		t.Fatalf("it says %s", p.url)
	}
	get := func(c *tls.Config, url string) (int, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}}
		defer client.CloseIdleConnections()
		resp, err := client.Get(url)
		if err != nil {
			return 0, err
		}
		resp.Body.Close()
		return resp.StatusCode, nil
	}
	if status, err := get(&tls.Config{RootCAs: a.pool}, p.url+"/v1/models"); err != nil || status != http.StatusOK {
		t.Errorf("status %d, %v", status, err)
	}
	if _, err := get(&tls.Config{}, p.url+"/v1/models"); err == nil {
		t.Error("a client that does not know the authority is served")
	}
	if _, err := get(&tls.Config{RootCAs: a.pool, MaxVersion: tls.VersionTLS11}, p.url+"/v1/models"); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	if status, err := get(nil, strings.Replace(p.url, "https", "http", 1)+"/v1/models"); err == nil && status != http.StatusBadRequest {
		t.Errorf("without TLS: status %d", status)
	}
}

// TestClusterTLS: a cluster that asks for certificates and for NKeys gives its store to who has both.
func TestClusterTLS(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t, "ca"), newAuthority(t, "other")
	for _, name := range []string{"nats", "client"} {
		a.issue(name, false)
	}
	other.issue("client", false)
	pair, err := tls.LoadX509KeyPair(a.file("nats.pem"), a.file("nats.key"))
	if err != nil {
		t.Fatal(err)
	}
	nkey := func(name string) (public string) {
		user, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := user.Seed()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(a.file(name), seed, 0o600); err != nil {
			t.Fatal(err)
		}
		if public, err = user.PublicKey(); err != nil {
			t.Fatal(err)
		}
		return public
	}
	known := nkey("known.nk")
	nkey("unknown.nk")
	js, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, TLS: true, TLSVerify: true, TLSTimeout: 10,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool, MinVersion: tls.VersionTLS12},
		Nkeys:     []*server.NkeyUser{{Nkey: known}},
	})
	if err != nil {
		t.Fatal(err)
	}
	js.Start()
	t.Cleanup(func() { js.Shutdown(); js.WaitForShutdown() })
	if !js.ReadyForConnections(time.Minute) {
		t.Fatal("NATS does not start")
	}
	url := "tls://" + js.Addr().String()
	with := func(ca, cert, key, nkey string) []string {
		return append([]string{"--cluster", url, "--cluster-ca", ca, "--cluster-cert", cert, "--cluster-key", key, "--cluster-nkey", nkey, "--model", "../../testdata/story", "--no-cache", "--quiet", "--threads", "1"}, quick...)
	}
	all := with(a.file("ca.pem"), a.file("client.pem"), a.file("client.key"), a.file("known.nk"))
	p := started(t, append([]string{"serve", "--workers", "0", "--data", t.TempDir(), "--listen", "127.0.0.1:0"}, all...)...)
	started(t, append([]string{"worker"}, all...)...)
	if _, id := p.ask("The capital"); len(p.proof(id)) == 0 {
		t.Error("no proof")
	}
	for name, flags := range map[string][]string{
		"another authority's certificate": with(a.file("ca.pem"), other.file("client.pem"), other.file("client.key"), a.file("known.nk")),
		"an NKey that is not known":       with(a.file("ca.pem"), a.file("client.pem"), a.file("client.key"), a.file("unknown.nk")),
		"a cluster of another authority":  with(other.file("other.pem"), a.file("client.pem"), a.file("client.key"), a.file("known.nk")),
	} {
		var out, log strings.Builder
		if code := proveModel(append([]string{"worker"}, flags...), &out, &log); code != program.ExitError || !strings.Contains(log.String(), "the cluster: ") {
			t.Errorf("%s: code %d: %s", name, code, log.String())
		}
	}
}
