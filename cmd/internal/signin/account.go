package signin

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"redline/agent/gemini"
	"redline/agent/gemini/auth"
	"redline/agent/gemini/vault"
	"redline/agent/model"
	"redline/cmd/internal/config"
	"redline/lsp"
)

// User is the one user of this process. It is safe for concurrent use.
type User struct {
	version string
	vault   *vault.Vault

	mu     sync.Mutex
	handed string // an API key that a client has handed over and that is not kept
}

// NewUser returns the user whose environment getenv gives; version is redline's.
func NewUser(getenv func(string) string, version string) *User {
	return &User{version: version, vault: vault.New(config.StateDir(getenv))}
}

func (u *User) agent() string {
	return fmt.Sprintf("Redline/%s (%s; %s)", u.version, runtime.GOOS, runtime.GOARCH)
}

func (u *User) handedKey() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.handed
}

func (u *User) hand(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.handed = key
}

// Account is how the user reaches the model with the settings of a workspace. It reads
// them anew each time, so that a sign-in, a change of settings or of a .env file counts
// from the next prompt on.
type Account struct {
	user *User
	load func() (*config.Config, error)

	mu     sync.Mutex
	made   target // what client is for
	client *gemini.Client
}

var _ lsp.Account = (*Account)(nil)

// Account returns the account for the settings that load reads.
func (u *User) Account(load func() (*config.Config, error)) *Account {
	return &Account{user: u, load: load}
}

// now returns the method and target of this moment.
func (a *Account) now() (target, *config.Config, error) {
	cfg, err := a.load()
	if err != nil {
		return target{}, nil, err
	}
	handed := a.user.handedKey()
	kept, loadErr := a.user.vault.Load()
	method, err := choose(cfg, handed, kept)
	if err != nil {
		return target{method: cfg.AuthType}, cfg, err
	}
	t, err := resolve(method, cfg, handed, kept)
	if err != nil && loadErr != nil && (method == LoginOAuth || method == APIKey) {
		err = Missing{capital(loadErr.Error()) + ": redline auth login"}
	}
	return t, cfg, err
}

// Auth tells which way to the model counts and what is missing for it, without trying.
func (a *Account) Auth() (method string, err error) {
	t, _, err := a.now()
	return t.method, err
}

// Generator returns the client for the credentials of this moment.
func (a *Account) Generator(context.Context) (model.ContentGenerator, error) {
	t, _, err := a.now()
	if err != nil {
		return nil, err
	}
	return a.connect(t)
}

// connect returns the client for t: the last one when it is for the same.
func (a *Account) connect(t target) (*gemini.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.client != nil && a.made == t {
		return a.client, nil
	}
	client, err := a.fresh(t)
	if err != nil {
		return nil, err
	}
	a.made, a.client = t, client
	return client, nil
}

func (a *Account) fresh(t target) (*gemini.Client, error) {
	opt, err := t.options(a.user.agent(), a.user.vault)
	if err != nil {
		return nil, Missing{fmt.Sprintf("connect to the model: %v", err)}
	}
	client, err := gemini.New(context.Background(), opt) // which waits for nothing
	if err != nil {
		return nil, Missing{fmt.Sprintf("connect to the model: %v", err)}
	}
	return client, nil
}

// Status implements [lsp.Account].
func (a *Account) Status(context.Context) (lsp.AuthStatus, error) {
	t, cfg, err := a.now()
	if cfg == nil {
		return lsp.AuthStatus{}, err
	}
	st := lsp.AuthStatus{Method: t.method, Methods: Methods}
	if err != nil {
		st.Message = err.Error()
		return st, nil
	}
	st.SignedIn, st.Source, st.Account, st.Project, st.Location = true, t.source, t.email, t.project, t.location
	st.Tier = t.tier
	if t.ownProject != "" {
		st.Project = t.ownProject
	}
	return st, nil
}

// Logout implements [lsp.Account]: everything that is kept is removed, and Google is
// told, if it can be reached; if not, the error says so, but the user is signed out
// here all the same.
func (a *Account) Logout(ctx context.Context) error {
	a.user.hand("")
	a.mu.Lock()
	a.client, a.made = nil, target{}
	a.mu.Unlock()
	kept, _ := a.user.vault.Load() // what cannot be read is removed too
	if err := a.user.vault.Clear(ctx); err != nil {
		return err
	}
	if kept.Google == nil {
		return nil
	}
	cfg, err := a.load()
	if err != nil {
		return err
	}
	g, err := a.google(cfg)
	if err == nil {
		err = g.Revoke(ctx, *kept.Google)
	}
	if err != nil {
		return fmt.Errorf("you are signed out on this machine, but Google could not be told: %w; remove the access at https://myaccount.google.com/permissions", err)
	}
	return nil
}

// google returns the flow of a login.
func (a *Account) google(cfg *config.Config) (*auth.Google, error) {
	over, err := gemini.NewTransport(proxy(cfg))
	if err != nil {
		return nil, Missing{err.Error()}
	}
	port, err := callbackPort(cfg.Env)
	if err != nil {
		return nil, err
	}
	return &auth.Google{
		ClientID: clientID(cfg), ClientSecret: clientSecret(cfg), Port: port,
		Endpoints: auth.GoogleEndpoints(cfg.Env.Users("REDLINE_OAUTH_ENDPOINT")), HTTP: auth.HTTPClient(over, a.user.agent()),
	}, nil
}

// isAuth reports whether err says that the credentials are no good.
func isAuth(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Kind == model.KindAuth
}
