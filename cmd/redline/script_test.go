package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"redline/agent/geminitest"
	"redline/agent/googletest"
	"redline/agent/openaitest"
	"redline/tools/sandbox"
)

// TestMain lets the scripts call this very program as redline.
func TestMain(m *testing.M) {
	sandbox.Helper() // the helper of a sandbox is this program, too
	testscript.Main(m, map[string]func(){"redline": main, "browse": browse, "mcpserver": serveMCP})
}

// The scripts in testdata/script are what the command line promises.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("REDLINE_HOME", env.WorkDir+"/home")
			env.Setenv("NO_COLOR", "1")
			for _, v := range []string{
				"GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_MODEL", "GOOGLE_GEMINI_BASE_URL", "HTTPS_PROXY",
				"GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS",
				"CLOUD_SHELL", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "NO_BROWSER",
			} {
				env.Setenv(v, "")
			}
			env.Setenv("CLOUDSDK_CONFIG", env.WorkDir+"/gcloud")
			env.Values[googleKey{}] = new(*googletest.Server)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// expand FROM TO copies a file with ${ROOT} replaced, symbolic links followed.
			"expand": func(ts *testscript.TestScript, _ bool, args []string) {
				if len(args) != 2 {
					ts.Fatalf("usage: expand FROM TO")
				}
				root, err := filepath.EvalSymlinks(ts.MkAbs("."))
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.ReplaceAll(ts.ReadFile(args[0]), "${ROOT}", root)), 0o600))
			},
			// gemini FILE starts a fake Gemini that plays a script, and points
			// redline at it.
			"gemini": func(ts *testscript.TestScript, _ bool, args []string) {
				if len(args) != 1 {
					ts.Fatalf("usage: gemini SCRIPT")
				}
				startFake(ts, ts.ReadFile(args[0]))
			},
			"google":    scriptGoogle,
			"nosecrets": scriptSecrets,
			"exec-code": scriptCode,
			"settings":  scriptSettings,
			// openai KIND FILE starts a fake server of OpenAI's chat completions and
			// puts its address into $OPENAI_URL.
			"openai": func(ts *testscript.TestScript, _ bool, args []string) {
				if len(args) != 2 {
					ts.Fatalf("usage: openai KIND SCRIPT")
				}
				startOpenAI(ts, args[0], ts.ReadFile(args[1]))
			},
		},
	})
}

// startFake serves a script of the fake Gemini and points redline at it.
func startFake(ts *testscript.TestScript, script string) {
	parsed, err := geminitest.Load(strings.NewReader(script), ts.MkAbs("."))
	ts.Check(err)
	srv := geminitest.NewServer(parsed)
	ts.Defer(srv.Close)
	ts.Setenv("GOOGLE_GEMINI_BASE_URL", srv.URL)
	ts.Setenv("GEMINI_API_KEY", geminitest.DefaultKey)
	ts.Setenv("GEMINI_MODEL", "gemini-test")
}

// startOpenAI serves a script in the manner of a kind of server, and writes its
// address and requests where a script can look: $OPENAI_URL.
func startOpenAI(ts *testscript.TestScript, kind, text string) {
	var script openaitest.Script
	ts.Check(json.Unmarshal([]byte(strings.ReplaceAll(text, "${ROOT}", ts.MkAbs("."))), &script))
	script.Kind = openaitest.Kind(kind)
	srv := openaitest.NewServer(script)
	ts.Defer(srv.Close)
	ts.Setenv("OPENAI_URL", srv.URL)
	home := `{"redline": {"provider": "openai", "openai": {"baseUrl": "` + srv.URL + `"}, "retry": {"initialDelayMs": 1, "maxDelayMs": 2, "maxAttempts": 2}}}`
	ts.Check(os.MkdirAll(ts.MkAbs("home"), 0o755))
	ts.Check(os.WriteFile(ts.MkAbs("home/settings.json"), []byte(home), 0o600))
}
