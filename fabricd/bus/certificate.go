package bus

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ReadCertificate reads the first certificate of a file in PEM.
func ReadCertificate(path string) (*x509.Certificate, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("%s: no certificate in PEM", path)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cert, nil
}

// expired says when a certificate has expired, "" if it has not.
func expired(cert *x509.Certificate, now time.Time) string {
	if now.Before(cert.NotAfter) {
		return ""
	}
	return "has expired at " + cert.NotAfter.UTC().Format("2006-01-02 15:04 UTC")
}

// tlsAdvice says what to do when a handshake has failed.
func (c Credentials) tlsAdvice(err error) string {
	var bad x509.CertificateInvalidError
	var signer x509.UnknownAuthorityError
	var host x509.HostnameError
	if why := c.authorityExpired(); why != "" {
		return why
	}
	switch {
	case errors.As(err, &bad) && bad.Reason == x509.Expired:
		return c.expiredAdvice(bad.Cert, time.Now())
	case errors.As(err, &signer):
		return "we do not know who signed its certificate: give the certificate of that authority with --tlsca"
	case errors.As(err, &host):
		return "its certificate is for other names: use one of those, or make one for this name with fabricd auth init " +
			"--hosts"
	case strings.Contains(err.Error(), "remote error: tls: ") && c.TLSCert != "":
		return c.oursAdvice(time.Now())
	}
	return "check the certificates of both and who signed them"
}

// authorityExpired speaks of the file that says whom we trust.
func (c Credentials) authorityExpired() string {
	if c.TLSCA == "" {
		return ""
	}
	ca, err := ReadCertificate(c.TLSCA)
	if err != nil {
		return ""
	}
	when := expired(ca, time.Now())
	if when == "" {
		return ""
	}
	return fmt.Sprintf("the authority %q of our file %s, which signs all certificates, %s, or our clock is wrong: "+
		"fabricd auth rotate makes another and new certificates, to be copied to all hosts",
		ca.Subject.CommonName, c.TLSCA, when)
}

// expiredAdvice is for a certificate of the other side that has expired. Who runs on its host may
// have its file.
func (c Credentials) expiredAdvice(cert *x509.Certificate, now time.Time) string {
	when := expired(cert, now)
	if when == "" { // it is the other bound
		return fmt.Sprintf("its certificate, of %q, holds from %s on only: the clock of one of us is wrong",
			cert.Subject.CommonName, cert.NotBefore.UTC().Format("2006-01-02 15:04 UTC"))
	}
	whose := fmt.Sprintf("of %q", cert.Subject.CommonName)
	beside := filepath.Join(filepath.Dir(c.TLSCA), "cert.pem")
	if own, err := ReadCertificate(beside); c.TLSCA != "" && err == nil && own.Equal(cert) {
		whose += ", the file " + beside
	}
	return fmt.Sprintf("its certificate, %s, %s, or our clock is wrong: fabricd auth rotate makes another: copy that "+
		"to its host and have the server reload it, nats-server --signal reload",
		whose, when)
}

// oursAdvice is for when the other side does not take our certificate.
func (c Credentials) oursAdvice(now time.Time) string {
	own, err := ReadCertificate(c.TLSCert)
	if err != nil {
		return err.Error()
	}
	if when := expired(own, now); when != "" {
		return fmt.Sprintf("our certificate, of %q, the file %s, %s, or a clock is wrong: give a valid one",
			own.Subject.CommonName, c.TLSCert, when)
	}
	return fmt.Sprintf("it does not take our certificate, of %q, the file %s, signed by %q: give one that was signed "+
		"by an authority it trusts", own.Subject.CommonName, c.TLSCert, own.Issuer.CommonName)
}
