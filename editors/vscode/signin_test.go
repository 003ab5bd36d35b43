//go:build linux

package vscode_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
	"redline/agent/googletest"
)

// consentPage stands before the fake of Google's services and is what the user's browser
// shows: the consent, after which it goes back to this machine, or, for a browser on
// another machine, a page that does not load, whose address is in ends.
type consentPage struct {
	far   chan bool   // whether the browser is on another machine, for each sign-in
	ends  chan string // the address that such a browser ends at
	fake  *url.URL
	proxy *httputil.ReverseProxy
}

func newConsentPage(t *testing.T, google *googletest.Server) (*consentPage, string) {
	fake, err := url.Parse(google.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := &consentPage{far: make(chan bool, 8), ends: make(chan string, 8), fake: fake}
	c.proxy = &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(fake) }}
	// Not 127.0.0.1, which the editor would reach through itself.
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(c)
	srv.Listener.Close()
	srv.Listener = listener
	srv.Start()
	t.Cleanup(srv.Close)
	return c, srv.URL
}

// ServeHTTP implements [http.Handler].
func (c *consentPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/auth" || !<-c.far {
		c.proxy.ServeHTTP(w, r)
		return
	}
	link := *c.fake
	link.Path, link.RawQuery = r.URL.Path, r.URL.RawQuery
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(link.String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	_ = res.Body.Close()
	c.ends <- res.Header.Get("Location")
	fmt.Fprint(w, "This site can’t be reached")
}

// TestVSCodeSignIn signs in by every way but the API key, wrongly first: what fails says why,
// nothing waits for ever, what was chosen before comes back, and what is signed in can be asked.
func TestVSCodeSignIn(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{"a.txt": "text\n"})
	model := geminitest.New(t, geminitest.Step{Chunks: []geminitest.Chunk{{Text: "Hello."}}, Times: -1, Optional: true})
	google := googletest.New(t, model)
	google.Set(func(s *googletest.State) { s.NoMachine, s.Models = true, []string{"gemini-test"} })
	page, signInURL := newConsentPage(t, google)
	w := start(t, setup{
		folder: dir,
		open:   []string{"a.txt"},
		env: map[string]string{
			"GEMINI_MODEL": "gemini-test", "GOOGLE_GEMINI_BASE_URL": model.URL, "CLOUDSDK_CONFIG": t.TempDir(),
			"REDLINE_OAUTH_ENDPOINT": signInURL, "CODE_ASSIST_ENDPOINT": google.URL, "GOOGLE_VERTEX_BASE_URL": google.URL, "GCE_METADATA_HOST": google.Host,
			"REDLINE_OAUTH_CLIENT_ID": googletest.ClientID, "REDLINE_OAUTH_CLIENT_SECRET": googletest.ClientSecret,
		},
	})
	settings := func() string {
		return read(t, filepath.Join(w.data, "Machine", "settings.json")) + read(t, filepath.Join(w.data, "User", "settings.json"))
	}
	toast := func(has string) { t.Helper(); w.wait(".notification-toast", has) }
	link := func(has string) {
		t.Helper()
		w.do(command{"op": "click", "sel": ".notification-toast a, .notification-toast .monaco-button", "has": has})
	}
	choose := func(way string) {
		t.Helper()
		w.wait(".quick-input-widget", "Sign in to Redline")
		w.do(command{"op": "click", "sel": ".quick-input-list .monaco-list-row", "has": way})
	}
	signIn := func(way string) { t.Helper(); w.run("Redline: Sign In"); choose(way) }
	// The editor asks before it opens an address.
	open := func(button string) {
		t.Helper()
		w.wait(".monaco-dialog-box", "open the external website")
		w.do(command{"op": "click", "sel": ".monaco-dialog-box .monaco-button", "has": button})
	}
	enter := func(title, text string) {
		t.Helper()
		w.wait(".quick-input-widget", title)
		w.press("Control+a")
		w.typeText(text)
		w.press("Enter")
	}
	answered := 0
	ask := func() {
		t.Helper()
		w.ask("Hello")
		w.do(command{"op": "wait", "in": "chat", "sel": ".answer", "nth": answered})
		answered++
	}
	closeToasts := func() { t.Helper(); w.run("Notifications: Clear All Notifications") }

	// The start asks for nothing and takes nothing.
	w.wait(".statusbar-item", "Redline: sign in")
	w.until(`document.activeElement.closest(".editor-instance") !== null`)

	// With a Google account: declined, stopped, and by an address that is pasted.
	google.Set(func(s *googletest.State) { s.Deny = true })
	page.far <- false
	signIn("Google account")
	w.wait(".monaco-dialog-box", "open the external website")
	w.shot("0-open")
	open("Open")
	toast("The sign-in was declined in the browser")
	w.shot("1-declined")
	if s := settings(); strings.Contains(s, "oauth-personal") {
		t.Errorf("what failed is chosen: %s", s)
	}
	google.Set(func(s *googletest.State) { s.Deny = false })
	link("Sign In Another Way")
	choose("Google account")
	open("Cancel")
	toast("Open it in any browser.")
	toast("Waiting for you to sign in in the browser")
	w.shot("2-waiting")
	w.do(command{"op": "click", "sel": ".notification-toast .monaco-button", "has": "Cancel"})
	closeToasts()
	w.wait(".statusbar-item", "Redline: sign in")

	page.far <- true
	signIn("Google account")
	open("Open")
	back := <-page.ends
	toast("copy the address of that page")
	link("Paste the code")
	enter("Sign in with Google", "no such thing")
	toast("This is no code.")
	w.shot("3-wrong-code")
	link("Paste the code")
	enter("Sign in with Google", back)
	toast("signed in (Google account, " + googletest.Email + ", " + googletest.Project + ")")
	w.shot("4-google")
	w.gone(`.statusbar-item:has-text("sign in")`)
	ask()

	w.run("Redline: Sign Out")
	w.do(command{"op": "click", "sel": ".monaco-dialog-box .monaco-button", "has": "Sign Out"})
	toast("you are signed out.")
	w.wait(".statusbar-item", "Redline: sign in")
	if len(google.Seen("/revoke")) != 1 {
		t.Error("Google was not told of the sign-out")
	}
	closeToasts()

	// With a Google account, where the browser reaches this machine.
	page.far <- false
	signIn("Google account")
	open("Open")
	toast("signed in (Google account")
	if pages := string(w.do(command{"op": "pages"})); !strings.Contains(pages, "You are signed in") {
		t.Errorf("the browser shows %s", pages)
	}
	closeToasts()

	// Vertex AI: a project without credentials leaves what was; then with them.
	vertexBy := func(what string) {
		t.Helper()
		signIn("Vertex AI")
		w.wait(".quick-input-titlebar", "Vertex AI")
		w.do(command{"op": "click", "sel": ".quick-input-list .monaco-list-row", "has": what})
	}
	vertex := func() {
		t.Helper()
		vertexBy("Project and location")
		enter("Google Cloud project", "my-project")
		enter("Location", "europe-west4")
	}
	vertex()
	toast("No Google credentials were found")
	w.shot("5-no-credentials")
	if s := settings(); !strings.Contains(s, "oauth-personal") || strings.Contains(s, "my-project") {
		t.Errorf("the sign-in of before is not back: %s", s)
	}
	ask()
	closeToasts()
	google.Set(func(s *googletest.State) { s.NoMachine = false })
	vertex()
	toast("signed in (Vertex AI, my-project)")
	w.shot("6-vertex")
	ask()
	if len(google.Seen("/v1beta1/projects/my-project/locations/europe-west4/")) == 0 {
		t.Error("Vertex AI was not asked")
	}
	closeToasts()

	// An express key: a wrong one is asked for again.
	vertexBy("Express key")
	enter("Vertex AI express key", "wrong-key")
	w.wait(".quick-input-widget", "not valid")
	w.shot("7-express")
	enter("Vertex AI express key", geminitest.DefaultKey)
	toast("signed in (Vertex AI)")
	ask()
	if last := google.Seen("/v1beta1/publishers/"); len(last) == 0 || last[len(last)-1].Header.Get("X-Goog-Api-Key") != geminitest.DefaultKey {
		t.Error("Vertex AI was not asked with the key")
	}
	closeToasts()

	signIn("Cloud Shell")
	toast("signed in (Cloud Shell or a machine of Google Cloud")
	ask()
	w.shot("8-cloud-shell")
	log := w.log.String() + settings()
	for _, secret := range append(google.Secrets(), geminitest.DefaultKey, "wrong-key") {
		if strings.Contains(log, secret) {
			t.Errorf("a log or the settings have a secret: %.12s…", secret)
		}
	}
}
