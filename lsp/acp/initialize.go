package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"redline/lsp"
	"redline/lsp/rpc"
)

// initialize answers with the version spoken here, whatever the client's is: it has to
// end the connection when it cannot speak that one.
func (s *Server) initialize(_ context.Context, p *initializeParams) (*initializeResult, error) {
	if s.ready {
		return nil, invalid("the connection is initialized already; its sessions go on")
	}
	if p.ProtocolVersion == nil {
		return nil, rpc.BadParams("protocolVersion", "is missing")
	}
	s.client = p.ClientCapabilities
	s.ready = true
	if c := p.ClientInfo; c != nil {
		s.quirks = quirksOf[c.Name]
		s.log.Info("client", zap.String("name", c.Name), zap.String("version", c.Version))
	}
	out := &initializeResult{
		ProtocolVersion: protocolVersion, AuthMethods: []authMethod{},
		AgentInfo: implementation{Name: "redline", Title: "Redline", Version: s.opt.Version},
	}
	c := &out.AgentCapabilities
	c.LoadSession = s.opt.Journal != nil
	c.PromptCapabilities.Image, c.PromptCapabilities.Audio, c.PromptCapabilities.EmbeddedContext = true, true, true
	c.MCPCapabilities.HTTP, c.MCPCapabilities.SSE = true, true
	for _, m := range s.opt.Methods {
		out.AuthMethods = append(out.AuthMethods, authMethod{ID: m.ID, Name: m.Name, Description: m.Description})
	}
	if s.client.Auth.Terminal && len(s.opt.Methods) > 0 {
		out.AuthMethods = append(out.AuthMethods, authMethod{
			Type: "terminal", ID: terminalLogin, Name: "In a terminal",
			Description: "Runs “redline auth login”, which takes a key or signs in with Google", Args: []string{"auth", "login"},
		})
	}
	return out, nil
}

// terminalLogin is the way to sign in that the client carries out: it runs our binary in
// a terminal. What that leaves is found by the next session.
const terminalLogin = "terminal"

// loginWait bounds a sign-in in the browser.
const loginWait = 5 * time.Minute

// account returns who signs the user in, as the settings of no folder have it.
func (s *Server) account() (lsp.Account, error) {
	s.accountMu.Lock()
	defer s.accountMu.Unlock()
	if s.user == nil {
		set, err := s.opt.Settings(nil, nil)
		if err != nil {
			return nil, internal("settings: %v", err)
		}
		s.user = &set
	}
	if s.user.Account == nil {
		return nil, invalid("there is nothing to sign in to with these settings")
	}
	return s.user.Account, nil
}

func (s *Server) authenticate(ctx context.Context, p *authenticateParams) (empty, error) {
	known := slices.ContainsFunc(s.opt.Methods, func(m Method) bool { return m.ID == p.MethodID })
	if !known && p.MethodID != terminalLogin {
		return empty{}, rpc.BadParams("methodId", "is %q; use one of the authMethods", p.MethodID)
	}
	account, err := s.account()
	if err != nil {
		return empty{}, err
	}
	if p.MethodID == terminalLogin { // it was done by the client; see what came of it
		st, err := account.Status(ctx)
		if err != nil {
			return empty{}, internal("%v", err)
		}
		if !st.SignedIn {
			return empty{}, authRequired(fmt.Errorf("you are not signed in yet: %s", st.Message))
		}
		return empty{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, loginWait)
	defer cancel()
	talk := lsp.AuthTalk{
		Codes: make(chan string), Progress: func(text string) { s.log.Info("signing in", zap.String("progress", text)) },
		Show: s.showLink,
	}
	if err := account.Login(ctx, lsp.AuthLoginParams{Method: p.MethodID}, talk); err != nil {
		if ctx.Err() != nil && context.Cause(ctx) == context.Canceled {
			return empty{}, context.Canceled
		}
		return empty{}, authRequired(err)
	}
	return empty{}, nil
}

// showLink opens a link in the user's browser: the client cannot show one.
func (s *Server) showLink(ctx context.Context, link string) error {
	const instead = "sign in with “redline auth login -no-browser” in a terminal instead"
	if s.opt.OpenLink == nil {
		return errors.New("no browser can be opened here; " + instead)
	}
	if err := s.opt.OpenLink(ctx, link); err != nil {
		return fmt.Errorf("no browser could be opened (%w); %s", err, instead)
	}
	return nil
}

func (s *Server) logout(ctx context.Context, _ *empty) (empty, error) {
	account, err := s.account()
	if err != nil {
		return empty{}, err
	}
	if err := account.Logout(ctx); err != nil {
		return empty{}, internal("%v", err)
	}
	return empty{}, nil
}
