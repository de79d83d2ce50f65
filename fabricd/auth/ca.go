package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/safefile"
)

// How long certificates are valid. Chosen by us: that of a host for as long as public authorities
// allow, its authority for longer than the fabric.
const (
	hostTime      = 397 * 24 * time.Hour
	authorityTime = 10 * 365 * 24 * time.Hour
	clockSkew     = time.Hour // hosts' clocks differ
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte // the certificate
}

// newAuthority makes one, and returns its key in PEM.
func newAuthority(fabric string, now time.Time) (a authority, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return a, nil, err
	}
	form := &x509.Certificate{
		Subject: pkix.Name{CommonName: "weft fabric " + fabric}, NotBefore: now.Add(-clockSkew),
		NotAfter: now.Add(authorityTime),
		IsCA:     true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	a.key = private
	if a.cert, a.pem, err = sign(form, form, private.Public(), private); err != nil {
		return a, nil, err
	}
	key, err = keyPEM(private)
	return a, key, err
}

// readAuthority reads one from two files in PEM. The key may be in any of the usual encodings.
func readAuthority(certPath, keyPath string, now time.Time) (a authority, err error) {
	if a.cert, err = bus.ReadCertificate(certPath); err != nil {
		return a, err
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	keyText, err := safefile.ReadSecret(keyPath)
	if err != nil {
		return a, fmt.Errorf("key of the authority: %w", err)
	}
	if a.key, err = parseKey(keyText); err != nil {
		return a, fmt.Errorf("%s: %w", keyPath, err)
	}
	switch public, ok := a.key.Public().(interface{ Equal(crypto.PublicKey) bool }); {
	case !a.cert.IsCA || !a.cert.BasicConstraintsValid:
		return a, fmt.Errorf("%s is no certificate of an authority: it may not sign others", certPath)
	case !ok || !public.Equal(a.cert.PublicKey):
		return a, fmt.Errorf("%s is not the key of the certificate %s", keyPath, certPath)
	case now.After(a.cert.NotAfter):
		return a, fmt.Errorf("%s: %w at %s: give a valid authority", certPath, errExpired,
			a.cert.NotAfter.UTC().Format("2006-01-02 15:04 UTC"))
	}
	return a, nil
}

var errExpired = errors.New("the certificate has expired")

func parseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no key in PEM")
	}
	for _, parse := range []func([]byte) (any, error){
		x509.ParsePKCS8PrivateKey,
		func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) },
		func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) },
	} {
		if key, err := parse(block.Bytes); err == nil {
			if s, ok := key.(crypto.Signer); ok {
				return s, nil
			}
		}
	}
	return nil, errors.New("a key that cannot be read: want one without a password, in PKCS #8, SEC 1 or PKCS #1")
}

// certificate makes one for a machine that goes by these names and addresses, for servers and
// clients: servers of a cluster are both.
func (a authority) certificate(name string, addresses []string, now time.Time) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	form := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(hostTime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if a.cert.NotAfter.Before(form.NotAfter) {
		form.NotAfter = a.cert.NotAfter
	}
	// A process on the same machine may use the loopback.
	for _, at := range slices.Concat(addresses, []string{"localhost", "127.0.0.1", "::1"}) {
		if ip := net.ParseIP(at); ip != nil {
			if !slices.ContainsFunc(form.IPAddresses, ip.Equal) {
				form.IPAddresses = append(form.IPAddresses, ip)
			}
		} else if !slices.Contains(form.DNSNames, at) {
			form.DNSNames = append(form.DNSNames, at)
		}
	}
	if _, cert, err = sign(form, a.cert, private.Public(), a.key); err != nil {
		return nil, nil, err
	}
	key, err = keyPEM(private)
	return cert, key, err
}

func sign(form, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (*x509.Certificate, []byte,
	error,
) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	form.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, form, parent, public, key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the certificate of %s: %w", form.Subject.CommonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	return cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

func keyPEM(key crypto.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// aged reports whether less than a third of a certificate's time is left, or it was signed by
// another authority, or it is not there.
func (a authority) aged(path string, now time.Time) bool {
	cert, err := bus.ReadCertificate(path)
	if err != nil || cert.CheckSignatureFrom(a.cert) != nil {
		return true
	}
	return cert.NotAfter.Sub(now) < cert.NotAfter.Sub(cert.NotBefore)/3
}

// certificates makes those that are missing or aged, and returns whose. Hosts have one for the
// names they are reached by, who leads one for those of all hosts.
func (d *Dir) certificates(a authority, now time.Time) (made []string, err error) {
	one := func(folder, name string, addresses []string) error {
		if !a.aged(d.file(folder+"/"+certFile), now) {
			return nil
		}
		cert, key, err := a.certificate(name, addresses, now)
		if err != nil {
			return err
		}
		made = append(made, folder)
		return errors.Join(d.write(folder+"/"+certFile, cert), d.write(folder+"/"+certKeyFile, key),
			d.write(folder+"/"+caFile, a.pem))
	}
	var all []string
	for _, h := range d.Hosts {
		all = append(all, h.Name, h.Address)
		if err := one(hostsDir+"/"+h.Name, h.Name, []string{h.Name, h.Address}); err != nil {
			return made, err
		}
	}
	if err := one(leaderDir, "leader of "+d.Fabric, all); err != nil {
		return made, err
	}
	for _, user := range []bus.Role{bus.RoleManager, bus.RoleOperator, bus.RoleViewer} {
		if err := d.write(usersDir+"/"+user.String()+"/"+caFile, a.pem); err != nil {
			return made, err
		}
	}
	return made, d.write(caFile, a.pem)
}
