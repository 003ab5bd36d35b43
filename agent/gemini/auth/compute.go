package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"cloud.google.com/go/compute/metadata"

	"redline/agent/gemini"
	"redline/agent/model"
)

// Compute gives tokens of the machine: of Cloud Shell's user, or of the service
// account of a machine in Google Cloud. They come from its metadata server, which
// GCE_METADATA_HOST can name.
type Compute struct {
	absent string // what to say when there is no such server

	busy   chan struct{} // see [Saved]
	token  string
	expiry time.Time
}

// NewCompute returns the machine's source; absent is said when there is none, and may
// be empty.
func NewCompute(absent string) *Compute {
	if absent == "" {
		absent = noCompute
	}
	return &Compute{absent: absent, busy: make(chan struct{}, 1)}
}

var _ gemini.TokenSource = (*Compute)(nil)

// Token implements [gemini.TokenSource].
func (c *Compute) Token(ctx context.Context, rejected string) (gemini.Token, error) {
	select {
	case c.busy <- struct{}{}:
	case <-ctx.Done():
		return gemini.Token{}, ctx.Err()
	}
	defer func() { <-c.busy }()
	if c.token != "" && c.token != rejected && time.Until(c.expiry) > early {
		return gemini.Token{Value: c.token}, nil
	}
	limited, cancel := context.WithTimeout(ctx, computeTimeout)
	defer cancel()
	text, err := metadata.GetWithContext(limited, "instance/service-accounts/default/token?"+url.Values{"scopes": {scopeCloud}}.Encode())
	if err != nil {
		var answer *metadata.Error
		switch {
		case ctx.Err() != nil:
			return gemini.Token{}, ctx.Err()
		case errors.As(err, &answer) && answer.Code >= 500:
			return gemini.Token{}, &model.Error{Kind: model.KindServer, Status: answer.Code, Message: "the metadata server of this machine has trouble"}
		}
		return gemini.Token{}, refused("%s", c.absent)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"` // seconds
	}
	if json.Unmarshal([]byte(text), &answer) != nil || answer.AccessToken == "" {
		return gemini.Token{}, refused("%s", c.absent)
	}
	if answer.AccessToken == rejected {
		return gemini.Token{}, refused("The service does not accept the credentials of this machine; its account may lack the scope cloud-platform")
	}
	c.token, c.expiry = answer.AccessToken, time.Now().Add(time.Duration(answer.ExpiresIn)*time.Second)
	return gemini.Token{Value: c.token}, nil
}
