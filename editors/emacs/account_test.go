package emacs_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
	"redline/agent/googletest"
)

// Signing in, by keys: what was asked waits, a bad key, the key of auth-source, one that is
// typed, and Google by a link whose code is handed over, given up and done. Then what is
// typed and attached in the chat: names of files and commands, pictures.
func TestAccount(t *testing.T) {
	t.Parallel()
	root := workspace(t, map[string]string{"a.txt": poem, "GEMINI.md": "Be brief.\n", "pic.png": "\x89PNG", "notes.tiff": "II"})
	model := geminitest.New(t, geminitest.Say("Hello."), geminitest.Say("I see it."), geminitest.Say("By Google."))
	google := googletest.New(t, model)
	x := inTerminal(t, root, "", 120, 34,
		"GOOGLE_GEMINI_BASE_URL="+model.URL, "REDLINE_OAUTH_ENDPOINT="+google.URL, "CODE_ASSIST_ENDPOINT="+google.URL,
		"REDLINE_OAUTH_CLIENT_ID="+googletest.ClientID, "REDLINE_OAUTH_CLIENT_SECRET="+googletest.ClientSecret)
	x.press("C-x", "C-f", "a.txt", "Enter")
	x.screen("seven")
	x.press("M-x", "redline", "Enter")
	x.screen("»")
	x.press("hello", "Enter")
	x.screen("GEMINI_API_KEY environment variable not found")
	x.screen("» hello")

	login := func(method string) {
		t.Helper()
		x.press("M-x", "redline-login", "Enter")
		x.screen("Sign in with:")
		x.press(method, "Enter")
	}
	login("gemini-api-key")
	x.screen("Key (empty")
	x.press("no-good-key", "Enter")
	x.screen("API key not valid. Please pass a valid API key (M-x redline-login tries again)")
	source := filepath.Join(t.TempDir(), "authinfo")
	if err := os.WriteFile(source, []byte("machine generativelanguage.googleapis.com password "+geminitest.DefaultKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.do(`(setq auth-sources (list %s))`, quote(source))
	login("gemini-api-key")
	x.screen("Key (empty")
	x.press("Enter")
	x.screen("signed in with a key of the Gemini API (client)")
	x.press("Enter") // what was asked
	x.screen("Hello.")

	// Pictures, and what is completed.
	x.press("C-c", "C-a")
	x.screen("Attach:")
	x.press("file", "Enter")
	x.screen("File: ")
	x.press("notes.tiff", "Enter") // text, as far as we know
	x.screen("+ file notes.tiff")
	x.press("C-c", "C-d", "C-c", "C-a")
	x.screen("Attach:")
	x.press("image", "Enter")
	x.screen("Image: ")
	x.press("notes.tiff", "Enter")
	x.screen("notes.tiff is no picture")
	x.do(`(with-current-buffer (redline--session-buffer (session)) (redline--yank-image 'image/png (unibyte-string 1 2 3)))`)
	x.screen("+ image of ")
	x.press("M->", "/comp", "Tab")
	x.screen("» /compress")
	x.press("C-a", "C-k", "what is it, @a", "Tab")
	x.screen("@a.txt")
	x.press("Enter")
	x.screen("I see it.")
	r, err := model.Await(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Last(); !strings.Contains(got.Texts(), "seven") || !strings.Contains(string(r.Raw), "AQID") {
		t.Errorf("the second prompt: %s", got.Texts())
	}
	x.press("M-x", "redline-instructions", "Enter")
	x.screen("GEMINI.md  project, 10 bytes")
	x.press("q")

	// The link is there to be read, whatever the browser does.
	login("oauth-personal")
	x.screen("[Give up]")
	x.do("(redline-login-cancel)")
	x.until(`(and (drive-said "tries again") (not (get-buffer "*redline sign-in*")))`)
	login("oauth-personal")
	x.screen("[Hand over the code or address]")
	link := get[string](x.emacs, `(with-current-buffer "*redline sign-in*" (goto-char (point-min)) (search-forward "\n\n") (thing-at-point 'url t))`)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	x.press("M-x", "redline-login-code", "Enter")
	x.screen("Code or address:")
	x.press(res.Header.Get("Location"), "Enter")
	x.until(`(drive-said "as ada@example.com")`)
	x.until(`(not (get-buffer "*redline sign-in*"))`)
	x.press("M->", "once more", "Enter")
	x.screen("By Google.")
}
