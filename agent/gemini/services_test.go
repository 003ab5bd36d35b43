package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"

	"redline/agent/gemini"
	"redline/agent/gemini/auth"
	"redline/agent/geminitest"
	"redline/agent/googletest"
	"redline/agent/model"
)

const userAgent = "Redline/test (linux; amd64)"

// machine is a source of tokens that the fake gives out.
func machine(t *testing.T, srv *googletest.Server) gemini.TokenSource {
	t.Helper()
	t.Setenv("GCE_METADATA_HOST", srv.Host)
	return auth.NewCompute("")
}

func connect(t *testing.T, opt gemini.Options) *gemini.Client {
	t.Helper()
	opt.UserAgent = userAgent
	c, err := gemini.New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask sends a prompt and returns the answer.
func ask(ctx context.Context, c *gemini.Client) (text string, chunks []*model.Chunk, err error) {
	req := &model.Request{
		Model: "gemini-test", Contents: []model.Content{model.UserText("hello <you>")}, PromptID: "prompt-1", SessionID: "session-1",
		Config: &genai.GenerateContentConfig{SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "Be kind."}}}, Temperature: genai.Ptr[float32](0)},
	}
	for chunk, e := range c.Stream(ctx, req) {
		if e != nil {
			return text, chunks, e
		}
		chunks = append(chunks, chunk)
		text += model.Content{Parts: chunk.Parts}.Text()
	}
	return text, chunks, nil
}

func TestVertexPaths(t *testing.T) {
	for _, tt := range []struct {
		name    string
		express bool
		path    string
	}{
		{"project and location", false, "/v1beta1/projects/my-project/locations/us-central1/publishers/google/models/gemini-test:streamGenerateContent"},
		{"express", true, "/v1beta1/publishers/google/models/gemini-test:streamGenerateContent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// What the environment says otherwise must not count.
			t.Setenv("GOOGLE_CLOUD_PROJECT", "other-project")
			t.Setenv("GOOGLE_CLOUD_LOCATION", "other-location")
			t.Setenv("GOOGLE_API_KEY", "other-key")
			t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "false")
			fake := geminitest.New(t, geminitest.Say("Hello."))
			srv := googletest.New(t, fake)
			srv.Set(func(s *googletest.State) { s.Models = []string{"gemini-test", "gemini-embedding-001", "imagen-4"} })
			opt := gemini.Options{Vertex: true, BaseURL: srv.URL}
			if tt.express {
				opt.APIKey = geminitest.DefaultKey
			} else {
				opt.Project, opt.Location, opt.Tokens = "my-project", "us-central1", machine(t, srv)
			}
			c := connect(t, opt)
			if text, _, err := ask(t.Context(), c); text != "Hello." || err != nil {
				t.Fatalf("got %q, %v", text, err)
			}
			seen := srv.Seen("/v1beta1/")[0]
			bearer, key := seen.Header.Get("Authorization"), seen.Header.Get("X-Goog-Api-Key")
			if seen.Path != tt.path || seen.Query != "alt=sse" || seen.Header.Get("User-Agent") != userAgent ||
				tt.express != (key != "") || tt.express != (bearer == "") {
				t.Errorf("%s?%s %v", seen.Path, seen.Query, seen.Header)
			}
			if n, err := c.CountTokens(t.Context(), &model.Request{Model: "gemini-test", Contents: []model.Content{model.UserText("12345678")}}); n != 2 || err != nil {
				t.Errorf("%d tokens, %v", n, err)
			}
			infos, err := c.ListModels(t.Context())
			if err != nil || len(infos) != 1 || infos[0].Name != "gemini-test" {
				t.Errorf("models %v, %v", infos, err)
			}
		})
	}
}

// Where Vertex AI is, and what is no place: a token must go to no other host.
func TestVertexOptions(t *testing.T) {
	tokens := auth.Fixed("t")
	for location, want := range map[string]bool{
		"us-central1": true, "global": true, "eu": true, "": false, "evil.example.com/": false, "x.example.com": false, "a@b": false, "-": false, "x#": false,
	} {
		_, err := gemini.New(t.Context(), gemini.Options{Vertex: true, Project: "p", Location: location, Tokens: tokens})
		if (err == nil) != want {
			t.Errorf("location %q: %v", location, err)
		}
	}
	for name, opt := range map[string]gemini.Options{
		"two services":   {Vertex: true, CodeAssist: true, Tokens: tokens},
		"no tokens":      {CodeAssist: true},
		"key and tokens": {Vertex: true, APIKey: "k", Tokens: tokens, Project: "p", Location: "global"},
		"tokens alone":   {Tokens: tokens},
		"project":        {Vertex: true, Project: "a/b", Location: "global", Tokens: tokens},
	} {
		if _, err := gemini.New(t.Context(), opt); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func assist(t *testing.T, srv *googletest.Server, project string) *gemini.Client {
	t.Helper()
	return connect(t, gemini.Options{CodeAssist: true, BaseURL: srv.URL, Project: project, Tokens: machine(t, srv)})
}

// hosts is a network that only notes where requests go.
type hosts struct{ seen chan string }

func (h hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	h.seen <- r.URL.Scheme + "://" + r.URL.Host
	return nil, io.ErrUnexpectedEOF
}

// Where the services are.
func TestHosts(t *testing.T) {
	tokens := auth.Fixed("t")
	for want, opt := range map[string]gemini.Options{
		"https://generativelanguage.googleapis.com":     {APIKey: "k"},
		"https://aiplatform.googleapis.com":             {Vertex: true, APIKey: "k"},
		"https://us-central1-aiplatform.googleapis.com": {Vertex: true, Project: "p", Location: "us-central1", Tokens: tokens},
		"https://aiplatform.eu.rep.googleapis.com":      {Vertex: true, Project: "p", Location: "eu", Tokens: tokens},
		"https://cloudcode-pa.googleapis.com":           {CodeAssist: true, Tokens: tokens},
	} {
		net := hosts{make(chan string, 1)}
		opt.Transport = net
		_, _, err := ask(t.Context(), connect(t, opt))
		var e *model.Error
		if got := <-net.seen; got != want || !errors.As(err, &e) || e.Kind != model.KindNetwork {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	global := hosts{make(chan string, 1)}
	_, _, _ = ask(t.Context(), connect(t, gemini.Options{Vertex: true, Project: "p", Location: "global", Tokens: tokens, Transport: global})) // fails as above
	if got := <-global.seen; got != "https://aiplatform.googleapis.com" {
		t.Errorf("global: %s", got)
	}
}

// The whole way through Code Assist: envelopes around what the SDK makes of it, parts
// byte for byte.
func TestCodeAssist(t *testing.T) {
	fake := geminitest.New(t,
		geminitest.Step{Chunks: []geminitest.Chunk{{Thought: "**Thinking** hard"}, {Text: "Hel"}, {Text: "lo."}}, Wire: geminitest.Wire{CRLF: true, Comments: true}},
		geminitest.Say("Again."),
	)
	srv := googletest.New(t, fake)
	srv.Set(func(s *googletest.State) { s.Models = []string{"gemini-b", "gemini-a", "gemini-b"} })
	c := assist(t, srv, "")
	text, chunks, err := ask(t.Context(), c)
	if text != "Hello." || err != nil {
		t.Fatalf("got %q, %v", text, err)
	}
	if last := chunks[len(chunks)-1]; last.FinishReason != genai.FinishReasonStop || last.Usage == nil {
		t.Errorf("the end: %+v", last)
	}
	seen := srv.Seen("/v1internal:streamGenerateContent")[0]
	var body struct {
		Model, Project string
		Prompt         string `json:"user_prompt_id"`
		Request        struct {
			Session string `json:"session_id"`
			System  any    `json:"systemInstruction"`
			Config  struct{ Temperature *float64 }
		}
	}
	if err := json.Unmarshal([]byte(seen.Body), &body); err != nil {
		t.Fatal(err)
	}
	if seen.Query != "alt=sse" || body.Model != "gemini-test" || body.Project != googletest.Project || body.Prompt != "prompt-1" ||
		body.Request.Session != "session-1" || body.Request.System == nil || !strings.Contains(seen.Body, "hello <you>") {
		t.Errorf("%s: %s", seen.Query, seen.Body)
	}
	if seen.Header.Get("X-Goog-Api-Key") != "" || seen.Header.Get("User-Agent") != userAgent || seen.Header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", seen.Header)
	}
	if text, _, err := ask(t.Context(), c); text != "Again." || err != nil {
		t.Errorf("again: %q, %v", text, err)
	}
	if n := len(srv.Seen("/v1internal:loadCodeAssist")); n != 1 {
		t.Errorf("the account was asked for %d times", n)
	}
	if n, err := c.CountTokens(t.Context(), &model.Request{Model: "gemini-test", Contents: []model.Content{model.UserText("12345678")}}); n != 2 || err != nil {
		t.Errorf("%d tokens, %v", n, err)
	}
	if infos, err := c.ListModels(t.Context()); err != nil || fmt.Sprint(infos) != fmt.Sprint([]model.Info{{Name: "gemini-a"}, {Name: "gemini-b"}}) {
		t.Errorf("models %v, %v", infos, err)
	}
}

// How an account gets its project and tier, or is refused in words that help.
func TestCodeAssistAccounts(t *testing.T) {
	vpc := `{"error":{"code":403,"message":"Request is prohibited by organization's policy.","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SECURITY_POLICY_VIOLATED","domain":"googleapis.com"}]}}`
	disabled := `{"error":{"code":403,"message":"Gemini for Google Cloud API has not been used in project 1 before or it is disabled.","status":"PERMISSION_DENIED","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVICE_DISABLED","domain":"googleapis.com","metadata":{"service":"cloudaicompanion.googleapis.com","consumer":"projects/mine"}},` +
		`{"@type":"type.googleapis.com/google.rpc.Help","links":[{"description":"Enable","url":"https://console.example.com/enable"}]}]}}`
	for _, tt := range []struct {
		name    string
		project string
		set     func(*googletest.State)
		want    gemini.Account
		err     []string // parts of the message
		onboard int      // questions about the admission, the first included
	}{
		{name: "known", want: gemini.Account{Project: googletest.Project, Tier: "standard-tier", Name: "Tier standard-tier"}},
		{name: "known with an own project", project: "mine", set: func(s *googletest.State) { s.Project = "" }, want: gemini.Account{Project: "mine", Tier: "standard-tier", Name: "Tier standard-tier"}},
		{name: "known without a project", set: func(s *googletest.State) { s.Project = "" }, err: []string{"GOOGLE_CLOUD_PROJECT"}},
		{name: "new, free", project: "ignored", set: func(s *googletest.State) { s.Tier, s.FreeTier, s.Onboarding = "", true, 2 }, want: gemini.Account{Project: "free-managed-project", Tier: "free-tier", Name: "Free"}, onboard: 3},
		{name: "new, without a name to ask by", set: func(s *googletest.State) { s.Tier, s.FreeTier, s.NoName, s.Onboarding = "", true, true, 1 }, want: gemini.Account{Project: "free-managed-project", Tier: "free-tier", Name: "Free"}, onboard: 2},
		{name: "new, standard", project: "mine", set: func(s *googletest.State) { s.Tier = "" }, want: gemini.Account{Project: "mine", Tier: "standard-tier", Name: "Standard"}, onboard: 1},
		{name: "new, standard without a project", set: func(s *googletest.State) {
			s.Tier, s.Ineligible = "", `[{"reasonCode":"RESTRICTED_AGE","reasonMessage":"You are too young for the free tier"}]`
		}, err: []string{"GOOGLE_CLOUD_PROJECT", "too young for the free tier."}, onboard: 1},
		{name: "refused", project: "mine", set: func(s *googletest.State) {
			s.Tier, s.Refusal = "", `{"code":7,"message":"No licence.","status":"PERMISSION_DENIED"}`
		}, err: []string{"could not set up the account: No licence."}, onboard: 1},
		{name: "to be verified", set: func(s *googletest.State) {
			s.Tier, s.Ineligible = "", `[{"reasonCode":"VALIDATION_REQUIRED","reasonMessage":"Verify it","validationUrl":"https://accounts.example.com/verify"}]`
		}, err: []string{"Verify it.", "https://accounts.example.com/verify"}},
		{name: "inside a perimeter", project: "mine", set: func(s *googletest.State) { s.LoadError = vpc }, want: gemini.Account{Project: "mine", Tier: "standard-tier"}},
		{name: "API not enabled", project: "mine", set: func(s *googletest.State) { s.LoadError = disabled }, err: []string{"Enable cloudaicompanion.googleapis.com for the project mine at https://console.example.com/enable"}},
		{name: "Cloud Shell's project denied", project: "cloudshell-gca", set: func(s *googletest.State) { s.LoadError = disabled }, err: []string{"GOOGLE_CLOUD_PROJECT=, with the ID of a project of yours, into a .env file"}},
		{name: "a number for a project", project: "123456", err: []string{"123456", "project's ID"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := googletest.New(t, nil)
			if tt.set != nil {
				srv.Set(tt.set)
			}
			var said []string
			got, err := assist(t, srv, tt.project).Prepare(t.Context(), func(text string) { said = append(said, text) })
			if n := len(srv.Seen("/v1internal:onboardUser")) + len(srv.Seen("/v1internal/operations/42")); n != tt.onboard {
				t.Errorf("%d questions about the admission", n)
			}
			if tt.err == nil {
				if err != nil || got != tt.want || len(said) == 0 {
					t.Errorf("got %+v, %v (%q)", got, err, said)
				}
				return
			}
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.KindAuth {
				t.Fatalf("got %+v, %v", got, err)
			}
			for _, part := range tt.err {
				if !strings.Contains(e.Message, part) {
					t.Errorf("%q does not say %q", e.Message, part)
				}
			}
			noSecrets(t, srv, err.Error())
		})
	}
}

// An admission that takes long can be called off, and is asked for again.
func TestCodeAssistAdmissionEnds(t *testing.T) {
	fake := geminitest.New(t, geminitest.Say("Hello."))
	srv := googletest.New(t, fake)
	srv.Set(func(s *googletest.State) { s.Tier, s.FreeTier, s.Onboarding = "", true, 1<<30 })
	c := assist(t, srv, "")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := ask(ctx, c)
		done <- err
	}()
	if err := srv.Await(t.Context(), "/v1internal/operations/42", 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	srv.Set(func(s *googletest.State) { s.Onboarding = 0 })
	if text, _, err := ask(t.Context(), c); text != "Hello." || err != nil {
		t.Errorf("afterwards: %q, %v", text, err)
	}
}

// A token that the service no longer accepts is replaced, once.
func TestTokenRejected(t *testing.T) {
	fake := geminitest.New(t, geminitest.Say("One."), geminitest.Say("Two."))
	srv := googletest.New(t, fake)
	c := assist(t, srv, "")
	if text, _, err := ask(t.Context(), c); text != "One." || err != nil {
		t.Fatalf("got %q, %v", text, err)
	}
	srv.Expire()
	if text, _, err := ask(t.Context(), c); text != "Two." || err != nil {
		t.Fatalf("with a token that is over: %q, %v", text, err)
	}
	srv.Set(func(s *googletest.State) { s.Lifetime = 1 }) // over before it arrives
	srv.Expire()
	_, _, err := ask(t.Context(), c)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindAuth || e.Status != 401 {
		t.Errorf("with no good token to be had: %v", err)
	}
	noSecrets(t, srv, err.Error())
	if n := len(srv.Seen("/v1internal:streamGenerateContent")); n != 5 {
		t.Errorf("%d requests", n)
	}
}

// What a refusal of a project means, and which quota it is.
func TestRefusals(t *testing.T) {
	object := func(code int, status, reason, metadata string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":"Because.","status":%q,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":%q,"domain":"cloudcode-pa.googleapis.com","metadata":{%s}}]}}`, code, status, reason, metadata)
	}
	for _, tt := range []struct {
		object string
		kind   model.Kind
		want   string
	}{
		{object(403, "PERMISSION_DENIED", "IAM_PERMISSION_DENIED", `"permission":"aiplatform.endpoints.predict","resource":"projects/p"`), model.KindAuth, "permission aiplatform.endpoints.predict on projects/p"},
		{object(403, "PERMISSION_DENIED", "CONSUMER_INVALID", `"consumer":"projects/nope"`), model.KindAuth, `not "nope"`},
		{object(403, "PERMISSION_DENIED", "USER_PROJECT_DENIED", `"consumer":"projects/p"`), model.KindAuth, "serviceusage.serviceUsageConsumer"},
		{object(403, "PERMISSION_DENIED", "BILLING_DISABLED", `"consumer":"projects/p"`), model.KindAuth, "billing for the project p"},
		{object(403, "PERMISSION_DENIED", "VALIDATION_REQUIRED", `"validation_link":"https://accounts.example.com/v"`), model.KindAuth, "https://accounts.example.com/v"},
		{object(403, "PERMISSION_DENIED", "VALIDATION_REQUIRED", `"validation_link":"javascript:alert(1)"`), model.KindAuth, "Because. Verify the account, then"},
		{object(403, "PERMISSION_DENIED", "", ""), model.KindAuth, "Because."},
		{object(429, "RESOURCE_EXHAUSTED", "QUOTA_EXHAUSTED", ""), model.KindQuota, "Because."},
		{object(429, "RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED", ""), model.KindRate, "Because."},
	} {
		srv := googletest.New(t, nil)
		srv.Set(func(s *googletest.State) { s.CallError = tt.object })
		for service, c := range map[string]*gemini.Client{
			"code assist": assist(t, srv, ""),
			"vertex":      connect(t, gemini.Options{Vertex: true, Project: "p", Location: "global", BaseURL: srv.URL, Tokens: machine(t, srv)}),
		} {
			_, _, err := ask(t.Context(), c)
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || !strings.Contains(e.Message, tt.want) {
				t.Errorf("%s: got %v, want %s %q", service, err, tt.kind, tt.want)
			}
		}
	}
}

func noSecrets(t *testing.T, srv *googletest.Server, text string) {
	t.Helper()
	for _, secret := range srv.Secrets() {
		if strings.Contains(text, secret) {
			t.Errorf("%q holds the secret %q", text, secret)
		}
	}
}
