package auth

import (
	"context"
	"crypto/subtle"
	_ "embed"
	"html/template"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"redline/agent/gemini/vault"
)

// callbackPath is where the browser brings the code.
const callbackPath = "/oauth2callback"

// result is how a login ended.
type result struct {
	kept vault.Google
	err  error
}

// callback takes the browser's answer. Whatever is not the answer to this login is
// turned away, and the login goes on.
type callback struct {
	host     string // the address it listens on
	state    string
	exchange func(code string) (vault.Google, error)
	results  chan result // gets one, the first

	once sync.Once
}

// serve answers at l until the function it returns is called, which lets answers that
// are under way reach the browser.
func (c *callback) serve(l net.Listener) (stop func()) {
	srv := &http.Server{
		Handler: http.HandlerFunc(c.answer), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0), // it would hold what strangers send
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // ends with the server
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			_ = srv.Close() // a browser that does not read
		}
		<-done
	}
}

func (c *callback) answer(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case r.URL.Path != callbackPath || r.Method != http.MethodGet || r.Host != c.host:
		http.NotFound(w, r) // also favicons, and pages that guess the port by another name
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1:
		page(w, http.StatusBadRequest, "This is not the answer to the sign-in that is waiting", "Open the link that redline shows, and sign in there.")
	case q.Get("error") == "" && q.Get("code") == "":
		page(w, http.StatusBadRequest, "The answer holds no code", "Open the link that redline shows again.")
	default:
		first := false
		c.once.Do(func() { first = true })
		if !first {
			page(w, http.StatusConflict, "This sign-in is over", "You can close this page.")
			return
		}
		var res result
		if e := q.Get("error"); e != "" {
			if e == "access_denied" {
				res.err = refused("The sign-in was declined in the browser")
			} else {
				res.err = refused("Google did not allow the sign-in: %s", plain(e+" "+q.Get("error_description")))
			}
		} else {
			res.kept, res.err = c.exchange(q.Get("code"))
		}
		if res.err != nil {
			page(w, http.StatusOK, "You are not signed in", res.err.Error())
		} else {
			page(w, http.StatusOK, "You are signed in", "You can close this page and go back to your editor.")
		}
		c.results <- res
	}
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page shows the user how it went. The page loads nothing and sends nothing on, since
// its address holds the code.
func page(w http.ResponseWriter, status int, title, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	_ = pageTemplate.Execute(w, struct{ Title, Text string }{title, text}) // the browser may be gone
}
