package config

import (
	"os"
	"path/filepath"

	"github.com/joho/godotenv"
)

// Env answers what an environment variable is: the process' own first, then the
// .env files found upwards of the workspace, then the user's.
type Env struct {
	own  func(string) string
	file map[string]string
}

// endpoints are the variables that say where requests go. From a .env file they
// count only when the credentials come from such a file too: else a project could
// have the user's key sent to a host of its choice.
var endpoints = map[string]bool{
	"GOOGLE_GEMINI_BASE_URL": true, "GOOGLE_VERTEX_BASE_URL": true, "CODE_ASSIST_ENDPOINT": true,
	"HTTPS_PROXY": true, "HTTP_PROXY": true, "https_proxy": true, "http_proxy": true,
}

// credentials are the variables that hold secrets.
var credentials = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}

// LoadEnv reads the .env files for a workspace in dir; the first that exists in
// DIR/.gemini/.env, DIR/.env and so on upwards counts, else the one in home.
func LoadEnv(own func(string) string, dir, home string) (*Env, error) {
	e := &Env{own: own}
	var places []string
	for d := dir; d != ""; d = filepath.Dir(d) {
		places = append(places, filepath.Join(d, ".gemini", ".env"), filepath.Join(d, ".env"))
		if d == filepath.Dir(d) {
			break
		}
	}
	if home != "" {
		places = append(places, filepath.Join(home, ".env"))
	}
	for _, p := range places {
		info, err := os.Stat(p)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		vars, err := godotenv.Read(p)
		if err != nil {
			return e, &FileError{p, err}
		}
		e.file = vars
		break
	}
	return e, nil
}

// Get returns the variable's value, empty when it is not set.
func (e *Env) Get(name string) string {
	if v := e.own(name); v != "" {
		return v
	}
	if endpoints[name] {
		for _, c := range credentials {
			if e.own(c) != "" {
				return ""
			}
		}
	}
	return e.file[name]
}
