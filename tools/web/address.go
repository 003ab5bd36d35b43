// Package web fetches pages for the model: bounded in time and size, never from
// addresses inside the user's own network unless that is wished, and as text.
package web

import (
	"fmt"
	"net/netip"
	"syscall"
)

// reserved are the ranges that are not the public internet, beside those that
// [netip.Addr] knows: RFC 6890 and what came after it.
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
)

// embedding are the ranges whose addresses hold an IPv4 address, and where.
var embedding = []struct {
	prefix netip.Prefix
	at     int // byte of the IPv6 address
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
	{netip.MustParsePrefix("::/96"), 12},
}

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// Public reports whether an address is one of the public internet.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	if a.Is6() {
		b := a.As16()
		for _, e := range embedding {
			if e.prefix.Contains(a) {
				return Public(netip.AddrFrom4([4]byte(b[e.at : e.at+4])))
			}
		}
	}
	return true
}

// PrivateError says that a page was not fetched because of where it is.
type PrivateError struct{ Addr string }

func (e *PrivateError) Error() string {
	return fmt.Sprintf("%s is an address of this machine or of a private network; such pages are not fetched", e.Addr)
}

// publicOnly is a dialer's Control: it sees the address that is really dialled,
// after names were looked up, also for redirects.
func publicOnly(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !Public(ap.Addr()) {
		return &PrivateError{address}
	}
	return nil
}
