package api

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/safefile"
)

// certificate is that of the HTTP side, read again when its file has changed.
type certificate struct {
	certFile, keyFile string

	mu     sync.Mutex
	pair   *tls.Certificate // guarded by mu
	as     time.Time        // guarded by mu: when the file was changed
	looked time.Time        // guarded by mu
}

// openCertificate reads a certificate and its key; nil when no files are given.
func openCertificate(certFile, keyFile string) (*certificate, error) {
	switch {
	case certFile == "" && keyFile == "":
		return nil, nil
	case certFile == "" || keyFile == "":
		return nil, errors.New("a certificate for the page and its key go together: give both")
	}
	c := &certificate{certFile: certFile, keyFile: keyFile}
	if err := c.read(time.Now()); err != nil {
		return nil, err
	}
	return c, nil
}

// read reads the files. The caller holds mu, or nobody else has c.
func (c *certificate) read(now time.Time) error {
	if err := safefile.CheckSecret(c.keyFile); err != nil {
		return err
	}
	info, err := os.Stat(c.certFile)
	if err != nil {
		return fmt.Errorf("certificate of the page: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("certificate of the page, %s and %s: %w", c.certFile, c.keyFile, err)
	}
	if end := pair.Leaf.NotAfter; now.After(end) {
		return fmt.Errorf("certificate of the page %s: it has expired on %s: give a valid one, fabricd auth rotate makes "+
			"new ones", c.certFile, end.Format(time.DateOnly))
	}
	c.pair, c.as, c.looked = &pair, info.ModTime(), now
	return nil
}

// get is the certificate for a connection. One that cannot be read does not replace the one that
// could.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) > time.Second {
		c.looked = now
		if info, err := os.Stat(c.certFile); err == nil && !info.ModTime().Equal(c.as) {
			_ = c.read(now) // the key may be written a moment later: it is tried again
		}
	}
	return c.pair, nil
}
