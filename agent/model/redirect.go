package model

import (
	"fmt"
	"net/http"
)

// maxRedirects is how many redirections within a service are followed.
const maxRedirects = 5

// SameService is the CheckRedirect of clients that carry credentials: it follows a redirection only to the host that was
// asked, by the same scheme or a safer one. Elsewhere the key, which Go's client sends along in headers it does not
// know, and the prompt would go to somebody the user never named.
func SameService(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if next.URL.Host != first.Host || next.URL.Scheme != first.Scheme && next.URL.Scheme != "https" {
		return &Error{Kind: KindBadRequest, Message: fmt.Sprintf("%s answers with a redirection to %s://%s, which is not followed, as your key would go there; if that is the right address, set it as the base URL",
			first.Host, next.URL.Scheme, next.URL.Host)}
	}
	if len(via) > maxRedirects {
		return &Error{Kind: KindBadRequest, Message: fmt.Sprintf("%s redirects in a circle; check the base URL and the proxy", first.Host)}
	}
	return nil
}
