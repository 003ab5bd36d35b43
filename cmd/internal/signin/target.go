package signin

import (
	"strconv"

	"redline/agent/gemini"
	"redline/agent/gemini/auth"
	"redline/agent/gemini/vault"
	"redline/cmd/internal/config"
)

// target is everything that decides which client talks to the model; two that are
// equal can share one.
type target struct {
	method string
	source string // where the credential is from, see [lsp.AuthStatus]

	apiKey, token     string
	baseURL, proxy    string
	project, location string

	// Of application default credentials.
	file        string
	fromProject bool

	// Of a login with Google: whose it is.
	refreshToken string
	email        string
	tier         string
	ownProject   string // that Code Assist has given to the account

	oauthBase string
}

// resolve returns the target for a method; err says what is missing for it.
func resolve(method string, cfg *config.Config, handed string, kept vault.Secrets) (t target, err error) {
	env := cfg.Env
	t = target{method: method, proxy: proxy(cfg), oauthBase: env.Users("REDLINE_OAUTH_ENDPOINT")}
	switch method {
	case APIKey:
		// A key that is the user's goes to no host that a project chose.
		t.baseURL = env.Users("GOOGLE_GEMINI_BASE_URL")
		switch fromEnv := env.Get("GEMINI_API_KEY"); {
		case handed != "":
			t.apiKey, t.source = handed, "client"
		case fromEnv != "":
			t.apiKey, t.source, t.baseURL = fromEnv, "environment", env.Get("GOOGLE_GEMINI_BASE_URL")
		case kept.APIKey != "":
			t.apiKey, t.source = kept.APIKey, "saved"
		default:
			err = Missing{NoKey}
		}
	case Vertex:
		t.project, t.location = env.Get("GOOGLE_CLOUD_PROJECT"), env.Get("GOOGLE_CLOUD_LOCATION")
		t.apiKey = env.Get("GOOGLE_API_KEY")
		switch {
		case t.apiKey != "":
			t.source, t.baseURL = "environment", env.Get("GOOGLE_VERTEX_BASE_URL")
			t.project, t.location = "", ""
		case t.project != "" && t.location != "":
			t.source, t.baseURL = "default", env.Users("GOOGLE_VERTEX_BASE_URL")
			t.file = env.Get("GOOGLE_APPLICATION_CREDENTIALS")
			t.fromProject = t.file != "" && env.Users("GOOGLE_APPLICATION_CREDENTIALS") == ""
		default:
			err = Missing{NoVertex}
		}
	case LoginOAuth:
		t.baseURL, t.project = env.Users("CODE_ASSIST_ENDPOINT"), assistProject(env)
		t.token = env.Users("GOOGLE_CLOUD_ACCESS_TOKEN")
		switch {
		case t.token != "":
			t.source = "environment"
		case kept.Google != nil:
			t.source, t.refreshToken, t.email = "saved", kept.Google.RefreshToken, kept.Google.Email
			t.tier, t.ownProject = kept.Google.Tier, kept.Google.Project
		case clientID(cfg) == "":
			err = Missing{NoClient}
		default:
			err = Missing{auth.SignedOut}
		}
	case Compute:
		t.baseURL, t.project, t.source = env.Users("CODE_ASSIST_ENDPOINT"), assistProject(env), "machine"
	}
	return t, err
}

// cloudShellProject is the project that Code Assist has for users of Cloud Shell.
const cloudShellProject = "cloudshell-gca"

// assistProject returns the project that Code Assist is told. In Cloud Shell the
// environment's follows "gcloud config set project" and says nothing about Code Assist:
// there, as in Gemini CLI, only a .env file does.
func assistProject(env *config.Env) string {
	get := env.Get
	if isTrue(env.Own("CLOUD_SHELL")) {
		get = env.File
	}
	for _, name := range []string{"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT_ID"} {
		if p := get(name); p != "" {
			return p
		}
	}
	if isTrue(env.Own("CLOUD_SHELL")) {
		return cloudShellProject
	}
	return ""
}

func clientID(cfg *config.Config) string {
	if id := cfg.Env.Users("REDLINE_OAUTH_CLIENT_ID"); id != "" {
		return id
	}
	return cfg.ClientID
}

func clientSecret(cfg *config.Config) string {
	if s := cfg.Env.Users("REDLINE_OAUTH_CLIENT_SECRET"); s != "" {
		return s
	}
	return cfg.ClientSecret
}

// proxy returns the proxy of the settings, else of the user's .env file. That of the environment
// itself needs no word: it is what transports go by.
func proxy(cfg *config.Config) string {
	if cfg.Proxy != "" {
		return cfg.Proxy
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		if cfg.Env.Own(name) != "" {
			return ""
		}
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		if p := cfg.Env.Users(name); p != "" {
			return p
		}
	}
	return ""
}

// callbackPort returns the port that the user wants the browser's answer to come to;
// 0 when any will do.
func callbackPort(env *config.Env) (int, error) {
	v := env.Users("OAUTH_CALLBACK_PORT")
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 65535 {
		return 0, Missing{"OAUTH_CALLBACK_PORT must be a port from 1 to 65535, not " + strconv.Quote(v)}
	}
	return n, nil
}

// options returns what the client of the target is made with.
func (t target) options(userAgent string, v *vault.Vault) (gemini.Options, error) {
	opt := gemini.Options{APIKey: t.apiKey, BaseURL: t.baseURL, Proxy: t.proxy, UserAgent: userAgent}
	over, err := gemini.NewTransport(t.proxy)
	if err != nil {
		return opt, err
	}
	client, endpoints := auth.HTTPClient(over, userAgent), auth.GoogleEndpoints(t.oauthBase)
	switch t.method {
	case Vertex:
		opt.Vertex, opt.Project, opt.Location = true, t.project, t.location
		if t.apiKey == "" {
			d := auth.Default{File: t.file, FromProject: t.fromProject, HTTP: client}
			if t.oauthBase != "" {
				d.TokenURL = endpoints.Token
			}
			opt.Tokens = auth.NewDefault(d)
		}
	case LoginOAuth, Compute:
		opt.CodeAssist, opt.Project = true, t.project
		switch {
		case t.method == Compute:
			opt.Tokens = auth.NewCompute("")
		case t.token != "":
			opt.Tokens = auth.Fixed(t.token)
		default:
			opt.Tokens = auth.NewSaved(v, endpoints, client)
		}
	}
	return opt, nil
}
