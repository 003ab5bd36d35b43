package signin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"redline/agent/gemini"
	"redline/agent/gemini/auth"
	"redline/agent/gemini/vault"
	"redline/agent/model"
	"redline/cmd/internal/config"
	"redline/lsp"
)

// checkTimeout is how long trying a credential out may take.
const checkTimeout = 20 * time.Second

// maxKey is how long an API key may be, in bytes.
const maxKey = 4096

// Login implements [lsp.Account].
func (a *Account) Login(ctx context.Context, req lsp.AuthLoginParams, talk lsp.AuthTalk) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	method, err := a.wanted(cfg, req)
	if err != nil {
		return err
	}
	a.user.vault.UseKeyring(cfg.Keyring)
	switch method {
	case APIKey:
		err = a.loginKey(ctx, cfg, req, talk)
	case LoginOAuth:
		err = a.loginGoogle(ctx, cfg, talk)
	default: // nothing to keep: try what is there
		err = a.try(ctx, method, cfg, talk)
	}
	if err != nil {
		return err
	}
	if now, err := a.Auth(); now != method || err != nil {
		talk.Progress(a.overruled(cfg, method, now))
	}
	return nil
}

// wanted returns the method of a login.
func (a *Account) wanted(cfg *config.Config, req lsp.AuthLoginParams) (string, error) {
	switch {
	case req.Method != "":
		return ParseMethod(req.Method)
	case req.APIKey != "":
		return APIKey, nil
	case cfg.AuthType != "":
		return ParseMethod(cfg.AuthType)
	}
	kept, _ := a.user.vault.Load() // unreadable: as if there were nothing
	method, err := choose(cfg, a.user.handedKey(), kept)
	if method == APIKey && clientID(cfg) != "" && cfg.Env.Get("GEMINI_API_KEY") == "" {
		return LoginOAuth, nil // somebody with a client, and no key to try, wants to log in
	}
	return method, err
}

// overruled explains why another method than the one just signed in with counts.
func (a *Account) overruled(cfg *config.Config, method, now string) string {
	why := "the environment"
	if cfg.AuthType != "" {
		why = "the settings (security.auth.selectedType)"
	}
	return fmt.Sprintf("Note: %s is used all the same, because of %s. Set security.auth.selectedType to %q to use this sign-in.", now, why, method)
}

// loginKey takes an API key: the one that is handed over, else the environment's.
func (a *Account) loginKey(ctx context.Context, cfg *config.Config, req lsp.AuthLoginParams, talk lsp.AuthTalk) error {
	key := strings.Clone(strings.TrimSpace(req.APIKey)) // of a message that is not kept
	if key == "" {
		return a.try(ctx, APIKey, cfg, talk)
	}
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Missing{"This is no API key: it has characters that a key cannot have. Get one at https://aistudio.google.com/apikey"}
	}
	t, err := resolve(APIKey, cfg, key, vault.Secrets{})
	if err != nil {
		return err
	}
	if err := a.check(ctx, t, talk); err != nil {
		return err
	}
	if req.Keep == lsp.KeepMemory {
		a.user.hand(key)
		return nil
	}
	a.user.hand("")
	return a.user.vault.Update(ctx, func(s *vault.Secrets) error {
		s.APIKey, s.Last = key, APIKey
		return nil
	})
}

// try checks the credentials that are there for a method.
func (a *Account) try(ctx context.Context, method string, cfg *config.Config, talk lsp.AuthTalk) error {
	kept, _ := a.user.vault.Load() // unreadable: as if there were nothing
	t, err := resolve(method, cfg, a.user.handedKey(), kept)
	if err != nil {
		return err
	}
	return a.check(ctx, t, talk)
}

// check asks the service of t something that costs nothing. A service that cannot be
// reached, or that has no such question, says nothing against the credentials.
func (a *Account) check(ctx context.Context, t target, talk lsp.AuthTalk) error {
	client, err := a.connect(t)
	if err != nil {
		return err
	}
	if t.method == Compute {
		_, err := prepare(ctx, client, talk)
		return err
	}
	talk.Progress("Trying the credentials")
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err = client.ListModels(limited)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case isAuth(err):
		return err
	}
	talk.Progress(fmt.Sprintf("The credentials could not be tried out (%s); they are taken as they are.", reason(err)))
	return nil
}

// prepare sets up the user with Code Assist.
func prepare(ctx context.Context, client *gemini.Client, talk lsp.AuthTalk) (gemini.Account, error) {
	account, err := client.Prepare(ctx, talk.Progress)
	if err != nil {
		return account, err
	}
	tier := account.Name
	if tier == "" {
		tier = account.Tier
	}
	talk.Progress(fmt.Sprintf("Code Assist: %s, project %s", tier, account.Project))
	return account, nil
}

// loginGoogle has the user log in in the browser, keeps the result, and sets the
// account up with Code Assist.
func (a *Account) loginGoogle(ctx context.Context, cfg *config.Config, talk lsp.AuthTalk) error {
	if clientID(cfg) == "" {
		return Missing{NoClient}
	}
	g, err := a.google(cfg)
	if err != nil {
		return err
	}
	talk.Progress("Waiting for you to sign in in the browser")
	kept, err := g.Login(ctx, auth.Talk{Show: talk.Show, Codes: talk.Codes, Say: talk.Progress})
	if err != nil {
		return err
	}
	if err := a.user.vault.Update(ctx, func(s *vault.Secrets) error {
		s.Google, s.Last = &kept, LoginOAuth
		return nil
	}); err != nil {
		return err
	}
	a.user.hand("") // a key of before would go before what the user has just chosen
	who := kept.Email
	if who == "" {
		who = "your Google account"
	}
	talk.Progress("Signed in as " + who)
	t, err := resolve(LoginOAuth, cfg, "", vault.Secrets{Google: &kept})
	if err != nil {
		return err
	}
	client, err := a.connect(t)
	if err != nil {
		return err
	}
	account, err := prepare(ctx, client, talk)
	if err != nil {
		return err
	}
	return a.user.vault.Update(ctx, func(s *vault.Secrets) error {
		if s.Google != nil { // else signed out meanwhile
			s.Google.Project, s.Google.Tier = account.Project, account.Tier
		}
		return nil
	})
}

// reason returns an error's text without the status line of the service.
func reason(err error) string {
	var e *model.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// capital begins s with a capital letter.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
