package auth

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	cloudauth "cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"

	"redline/agent/gemini"
)

// Default gives tokens of the application default credentials: the file that
// GOOGLE_APPLICATION_CREDENTIALS names, else gcloud's own, else the machine's.
type Default struct {
	// File is the credentials file, empty when none is named.
	File string
	// FromProject says that a file of the project names File. Such a file cannot be of
	// the kind that says where to read secrets of the user and where to send them.
	FromProject bool
	TokenURL    string // of user credentials
	HTTP        *http.Client

	busy    chan struct{} // see [Saved]
	creds   *cloudauth.Credentials
	given   string // the last token
	compute *Compute
}

// NewDefault returns a source with the fields of d.
func NewDefault(d Default) *Default {
	d.busy = make(chan struct{}, 1)
	return &d
}

var _ gemini.TokenSource = (*Default)(nil)

// Token implements [gemini.TokenSource].
func (d *Default) Token(ctx context.Context, rejected string) (gemini.Token, error) {
	select {
	case d.busy <- struct{}{}:
	case <-ctx.Done():
		return gemini.Token{}, ctx.Err()
	}
	defer func() { <-d.busy }()
	if rejected != "" && rejected == d.given {
		d.creds = nil // the library would give the same again
	}
	if d.creds == nil && d.compute == nil {
		if err := d.find(); err != nil {
			return gemini.Token{}, err
		}
	}
	if d.compute != nil {
		return d.compute.Token(ctx, rejected)
	}
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	tok, err := d.creds.Token(limited)
	if err != nil {
		d.creds = nil
		if ctx.Err() != nil {
			return gemini.Token{}, ctx.Err()
		}
		return gemini.Token{}, d.failure(err)
	}
	d.given = tok.Value
	quota, err := d.creds.QuotaProjectID(limited)
	if err != nil {
		quota = "" // it is optional
	}
	return gemini.Token{Value: tok.Value, QuotaProject: quota}, nil
}

// find looks where credentials can be.
func (d *Default) find() error {
	path := d.File
	if path == "" {
		path = gcloudFile()
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && d.File == "":
		d.compute = NewCompute(noDefault)
		return nil
	case err != nil:
		return refused("The file of GOOGLE_APPLICATION_CREDENTIALS cannot be read: %v", err)
	}
	var kind struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(data, &kind) != nil || kind.Type == "" {
		return refused("%s is no file of Google credentials; make one with \"gcloud auth application-default login\"", path)
	}
	if d.FromProject && kind.Type != "service_account" && kind.Type != "authorized_user" {
		return refused("The project's .env names %s as credentials, which are of the type %s; such a file can have secrets of yours sent elsewhere. If you trust it, set GOOGLE_APPLICATION_CREDENTIALS yourself", path, plain(kind.Type))
	}
	creds, err := credentials.DetectDefault(&credentials.DetectOptions{
		Scopes: []string{scopeCloud}, CredentialsJSON: data, Client: d.HTTP, TokenURL: d.TokenURL,
	})
	if err != nil {
		// Its text can quote the file, which holds secrets.
		return refused("%s is no usable file of Google credentials (type %s); make a new one", path, plain(kind.Type))
	}
	d.creds = creds
	return nil
}

// failure explains why the library has no token. Its own text can hold whole answers.
func (d *Default) failure(err error) error {
	var answer *cloudauth.Error
	if !errors.As(err, &answer) {
		return gemini.Unreachable("Google's sign-in service", err)
	}
	var body struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(answer.Body, &body) // other forms say nothing that can be shown
	if body.Error == "invalid_grant" {
		return refused("Google no longer accepts the default credentials, which have expired or were revoked. Run \"gcloud auth application-default login\" again, or set GOOGLE_APPLICATION_CREDENTIALS to a file that is valid")
	}
	status := 0
	if answer.Response != nil {
		status = answer.Response.StatusCode
	}
	if status == 0 {
		return gemini.Unreachable("Google's sign-in service", err)
	}
	return explain(status, body.Error, body.Description)
}

// gcloudFile returns where gcloud keeps the default credentials.
func gcloudFile() string {
	const name = "application_default_credentials.json"
	if dir := os.Getenv("CLOUDSDK_CONFIG"); dir != "" {
		return filepath.Join(dir, name)
	}
	if runtime.GOOS == "windows" {
		return filepath.Join(os.Getenv("APPDATA"), "gcloud", name)
	}
	home, _ := os.UserHomeDir() // without one there is no file either
	return filepath.Join(home, ".config", "gcloud", name)
}

// noDefault is said when no default credentials are found.
const noDefault = "No Google credentials were found. Run \"gcloud auth application-default login\", or set GOOGLE_APPLICATION_CREDENTIALS to a credentials file"

// noCompute is said when the machine has no credentials.
const noCompute = "Could not authenticate with the credentials of this machine (metadata server). Choose another way to sign in, or run this in Cloud Shell or on a Google Cloud machine with a service account"

// computeTimeout is how long the machine's metadata server is given; it is near.
const computeTimeout = 5 * time.Second
