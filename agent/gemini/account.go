package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"redline/agent/model"
)

// How long Code Assist is given: for one call, and for an account to be admitted,
// with the waits between questions whether it is.
const (
	callTimeout    = 60 * time.Second
	onboardTimeout = 5 * time.Minute
	onboardFirst   = 500 * time.Millisecond
	onboardMost    = 5 * time.Second
)

// Account is what Code Assist knows of a user.
type Account struct {
	Project string // the Google Cloud project that requests count for
	Tier    string // such as "free-tier" or "standard-tier"
	Name    string // of the tier, for people; may be empty
}

// assist is the service Code Assist as one user sees it.
type assist struct {
	base    string     // its address, without a slash at the end
	project string     // the user's own; may be empty
	over    *transport // sends requests

	// busy holds one token: whoever has it sets up the account. It is a channel and
	// not a mutex so that waiting ends with the caller's context.
	busy chan struct{}
	have *Account // guarded by busy
}

func newAssist(base, project string, over *transport) *assist {
	if base == "" {
		base = codeAssistURL
	}
	return &assist{base: strings.TrimSuffix(base, "/"), project: project, over: over, busy: make(chan struct{}, 1)}
}

// account returns the user's account, which it sets up once. A failure is not kept:
// the next caller tries again.
func (a *assist) account(ctx context.Context, progress func(string)) (Account, error) {
	select {
	case a.busy <- struct{}{}:
	case <-ctx.Done():
		return Account{}, ctx.Err()
	}
	defer func() { <-a.busy }()
	if a.have != nil {
		return *a.have, nil
	}
	if progress == nil {
		progress = func(string) {}
	}
	got, err := a.setUp(ctx, progress)
	if err != nil {
		return Account{}, err
	}
	a.have = &got
	return got, nil
}

// tier is a plan of Code Assist.
type tier struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	IsDefault bool   `json:"isDefault"`
}

// loaded is the answer to loadCodeAssist.
type loaded struct {
	CurrentTier *tier  `json:"currentTier"`
	PaidTier    *tier  `json:"paidTier"`
	Allowed     []tier `json:"allowedTiers"`
	Ineligible  []struct {
		Code    string `json:"reasonCode"`
		Message string `json:"reasonMessage"`
		URL     string `json:"validationUrl"`
	} `json:"ineligibleTiers"`
	Project projectName `json:"cloudaicompanionProject"`
}

// projectName is a project as the service writes it: a string, or an object with an id.
type projectName string

// UnmarshalJSON reads both forms.
func (p *projectName) UnmarshalJSON(data []byte) error {
	var object struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(data, &object) == nil {
		*p = projectName(object.ID)
		return nil
	}
	var name string
	if err := json.Unmarshal(data, &name); err != nil {
		return err
	}
	*p = projectName(name)
	return nil
}

// operation is work that Code Assist goes on with after it has answered.
type operation struct {
	Name  string    `json:"name"`
	Done  bool      `json:"done"`
	Error *apiError `json:"error"`
	Reply struct {
		Project projectName `json:"cloudaicompanionProject"`
	} `json:"response"`
}

// metadata says who asks.
type metadata struct {
	IDEType    string `json:"ideType"`
	Platform   string `json:"platform"`
	PluginType string `json:"pluginType"`
	Project    string `json:"duetProject,omitempty"`
}

// errNotReady ends the wait for an account to be admitted.
var errNotReady = errors.New("the account is not set up in time")

var numeric = regexp.MustCompile(`^[0-9]+$`)

// setUp loads the account and has it admitted if it is new.
func (a *assist) setUp(ctx context.Context, progress func(string)) (Account, error) {
	if numeric.MatchString(a.project) {
		return Account{}, refusal("GOOGLE_CLOUD_PROJECT is %s, which is the number of a project; set it to the project's ID, such as my-project-123", a.project)
	}
	about := metadata{"IDE_UNSPECIFIED", "PLATFORM_UNSPECIFIED", "GEMINI", a.project}
	type request struct {
		TierID   string   `json:"tierId,omitempty"`
		Project  string   `json:"cloudaicompanionProject,omitempty"`
		Metadata metadata `json:"metadata"`
	}
	progress("Asking Code Assist about your account")
	var l loaded
	if err := a.call(ctx, ":loadCodeAssist", request{Project: a.project, Metadata: about}, &l); err != nil {
		var e *model.Error
		switch {
		case !errors.As(err, &e):
			return Account{}, err
		case e.Reason == reasonSecurityPolicy:
		case e.Status == http.StatusForbidden && a.project == "cloudshell-gca":
			return Account{}, refusal("Access to Cloud Shell's own project for Gemini was denied. Put GOOGLE_CLOUD_PROJECT=, with the ID of a project of yours, into a .env file")
		default:
			return Account{}, err
		}
		// Inside a service perimeter the question itself is refused; such accounts
		// are on the standard tier.
		l.CurrentTier = &tier{ID: "standard-tier"}
	}
	if l.CurrentTier != nil {
		t := l.CurrentTier
		if l.PaidTier != nil && l.PaidTier.ID != "" {
			t = l.PaidTier
		}
		return a.choose(l, string(l.Project), t)
	}
	for _, i := range l.Ineligible {
		if i.Code == "VALIDATION_REQUIRED" && i.URL != "" {
			return Account{}, refusal("Google wants this account to be verified: %s Open %s, then try again", sentence(i.Message), i.URL)
		}
	}
	// The old tier, for users with a project of their own, is what is left when none
	// is offered as the default.
	t := &tier{ID: "legacy-tier"}
	for i := range l.Allowed {
		if l.Allowed[i].IsDefault {
			t = &l.Allowed[i]
			break
		}
	}
	req := request{TierID: t.ID, Project: a.project, Metadata: about}
	if t.ID == "free-tier" {
		// Its project is Google's; naming another one fails.
		req.Project, req.Metadata.Project = "", ""
	}
	progress("Setting up your account with Code Assist")
	project, err := a.onboard(ctx, req, progress)
	if err != nil {
		return Account{}, err
	}
	return a.choose(l, project, t)
}

// choose returns the account on tier t with project, else with the user's own.
func (a *assist) choose(l loaded, project string, t *tier) (Account, error) {
	if project == "" {
		project = a.project
	}
	if project == "" {
		var why []string
		for _, i := range l.Ineligible {
			if i.Message != "" {
				why = append(why, sentence(i.Message))
			}
		}
		need := "This account requires setting the GOOGLE_CLOUD_PROJECT environment variable to the ID of a Google Cloud project."
		return Account{}, refusal("%s", strings.Join(append([]string{need}, why...), " "))
	}
	return Account{Project: project, Tier: t.ID, Name: t.Name}, nil
}

// onboard has the account admitted and waits until it is. It returns the project that
// the service gives, which may be empty.
func (a *assist) onboard(ctx context.Context, req any, progress func(string)) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, onboardTimeout, errNotReady)
	defer cancel()
	failed := func(err error) error {
		if errors.Is(context.Cause(ctx), errNotReady) {
			return &model.Error{Kind: model.KindServer, Message: fmt.Sprintf("Code Assist did not finish setting up the account within %v; try again later", onboardTimeout)}
		}
		return err
	}
	var op operation
	if err := a.call(ctx, ":onboardUser", req, &op); err != nil {
		return "", failed(err)
	}
	began := time.Now()
	for wait := onboardFirst; !op.Done && op.Error == nil; wait = min(2*wait, onboardMost) {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return "", failed(ctx.Err())
		}
		progress(fmt.Sprintf("Setting up your account with Code Assist (%.0f s)", time.Since(began).Seconds()))
		name := op.Name
		var err error
		if name == "" { // an operation without a name is asked about by asking again
			err = a.call(ctx, ":onboardUser", req, &op)
		} else {
			op = operation{}
			err = a.call(ctx, "/"+strings.TrimPrefix(name, "/"), nil, &op)
		}
		if err != nil {
			return "", failed(err)
		}
		if op.Name == "" {
			op.Name = name
		}
	}
	if op.Error != nil {
		op.Error.Code = 0 // it is one of gRPC's, not of HTTP
		e := op.Error.model(http.StatusForbidden)
		e.Message = "Code Assist could not set up the account: " + e.Message
		return "", e
	}
	return string(op.Reply.Project), nil
}

// refusal is an account that cannot be used as things are.
func refusal(format string, args ...any) *model.Error {
	return &model.Error{Kind: model.KindAuth, Message: fmt.Sprintf(format, args...)}
}

// sentence ends s with a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:") {
		return s
	}
	return s + "."
}
