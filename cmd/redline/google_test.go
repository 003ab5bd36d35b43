package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"redline/agent/geminitest"
	"redline/agent/googletest"
)

// browse is the browser of the scripts: it opens the link that it is given, follows where
// it is sent, and writes the page it ends at to the file PAGE.
func browse() {
	res, err := http.Get(os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err == nil && os.Getenv("PAGE") != "" {
		err = os.WriteFile(os.Getenv("PAGE"), page, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// googleEnv are the variables by which redline finds the fake of Google's services, for a
// user who has an OAuth client.
func googleEnv(srv *googletest.Server) map[string]string {
	return map[string]string{
		"REDLINE_OAUTH_ENDPOINT": srv.URL, "CODE_ASSIST_ENDPOINT": srv.URL, "GOOGLE_VERTEX_BASE_URL": srv.URL, "GCE_METADATA_HOST": srv.Host,
		"REDLINE_OAUTH_CLIENT_ID": googletest.ClientID, "REDLINE_OAUTH_CLIENT_SECRET": googletest.ClientSecret,
	}
}

// scriptGoogle is the script's command
//
//	google [-SETTING[=VALUE]…] [MODELSCRIPT]
//
// which starts a fake of Google's services, with the model's answers from the file, and
// points redline at it. Given again, it changes the settings of the one that runs.
func scriptGoogle(ts *testscript.TestScript, _ bool, args []string) {
	srv, _ := ts.Value(googleKey{}).(**googletest.Server)
	if *srv == nil {
		script := geminitest.Script{}
		if n := len(args); n > 0 && !strings.HasPrefix(args[n-1], "-") {
			parsed, err := geminitest.Load(strings.NewReader(ts.ReadFile(args[n-1])), ts.MkAbs("."))
			ts.Check(err)
			script, args = parsed, args[:n-1]
		}
		model := geminitest.NewServer(script)
		ts.Defer(model.Close)
		*srv = googletest.NewServer(model)
		ts.Defer((*srv).Close)
		for k, v := range googleEnv(*srv) {
			ts.Setenv(k, v)
		}
		ts.Setenv("GEMINI_MODEL", "gemini-test")
		(*srv).Set(func(s *googletest.State) { s.Models = []string{"gemini-test"} })
	}
	for _, a := range args {
		if a == "-proxy" {
			proxyGoogle(ts, *srv)
			continue
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "-"), "=")
		(*srv).Set(func(s *googletest.State) {
			switch name {
			case "deny":
				s.Deny = true
			case "new":
				s.Tier, s.FreeTier, s.Onboarding = "", true, 2
			case "no-project":
				s.Project = value
			case "refresh":
				s.RefreshCode = value
			case "no-machine":
				s.NoMachine = true
			case "expire": // below, outside of the lock
			case "grant":
				s.RefreshCode = ""
			default:
				ts.Fatalf("google: there is no setting %q", name)
			}
		})
		if name == "expire" {
			(*srv).Expire()
		}
	}
}

// proxyGoogle puts a proxy before the fake, whose name for redline only the proxy knows.
// The browser goes through it too, by the environment.
func proxyGoogle(ts *testscript.TestScript, srv *googletest.Server) {
	base, err := url.Parse(srv.URL)
	ts.Check(err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			if p.In.URL.Host == "google.invalid" {
				p.SetURL(base)
			}
		},
	})
	ts.Defer(proxy.Close)
	ts.Setenv("PROXY", proxy.URL)
	ts.Setenv("HTTP_PROXY", proxy.URL) // the browser's
	ts.Setenv("REDLINE_OAUTH_ENDPOINT", "http://google.invalid")
	ts.Setenv("CODE_ASSIST_ENDPOINT", "http://google.invalid")
}

// googleKey is where a script keeps its fake.
type googleKey struct{}

// scriptSecrets is the script's command
//
//	nosecrets FILE…
//
// which fails when a file holds anything the fake has given out.
func scriptSecrets(ts *testscript.TestScript, _ bool, args []string) {
	srv, _ := ts.Value(googleKey{}).(**googletest.Server)
	if *srv == nil || len((*srv).Secrets()) < 2 {
		ts.Fatalf("nosecrets: nothing has been given out")
	}
	for _, file := range args {
		text := ts.ReadFile(file)
		for _, secret := range (*srv).Secrets() {
			if strings.Contains(text, secret) {
				ts.Fatalf("%s holds the secret %q", file, secret)
			}
		}
	}
}

// scriptCode is the script's command
//
//	exec-code N PROGRAM ARGUMENT…
//
// which is exec for a program that is to end with the code N.
func scriptCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exec-code N PROGRAM ARGUMENT…")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("%s ended with code %d, not %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// scriptSettings is the script's command
//
//	settings JSON
//
// which writes the user's settings.
func scriptSettings(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: settings JSON")
	}
	home := ts.Getenv("REDLINE_HOME")
	ts.Check(os.MkdirAll(home, 0o700))
	ts.Check(os.WriteFile(filepath.Join(home, "settings.json"), []byte(args[0]), 0o600))
}
