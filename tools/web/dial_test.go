package web

import (
	"errors"
	"net"
	"testing"
)

// What a name led to is checked when it is dialled, so that neither a redirect nor
// a name server can lead inside.
func TestDialIsChecked(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var private *PrivateError
	if c, err := (Options{}).transport().DialContext(t.Context(), "tcp", l.Addr().String()); !errors.As(err, &private) {
		t.Errorf("dialled %v, error %v", c, err)
	}
	c, err := (Options{AllowPrivate: true}).transport().DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
