package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/joho/godotenv"

	"redline/tools/secret"
)

// Env answers what an environment variable is: the process' own first, then the
// .env files found upwards of the workspace, then the user's.
type Env struct {
	own  func(string) string
	file map[string]string
	// users says that file is the user's own, not the project's.
	users bool
	// withheld are the variables of ours that a .env file sets and that do not count,
	// because the folder is not trusted; sorted.
	withheld []string
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

// harmless are the variables that count from a .env file of a folder that is not
// trusted, as in Gemini CLI: the key of somebody who keeps it there.
var harmless = map[string]bool{
	"GEMINI_API_KEY": true, "GOOGLE_API_KEY": true, "GOOGLE_CLOUD_PROJECT": true, "GOOGLE_CLOUD_LOCATION": true,
}

// LoadEnv reads the .env files for a workspace in dir; the first that exists in
// DIR/.gemini/.env, DIR/.env and so on upwards counts, else the one in home. In a
// folder that is not trusted the one in home goes first, DIR/.gemini/.env does not
// count, and of DIR/.env only what is harmless.
func LoadEnv(own func(string) string, dir, home string, trusted bool) (*Env, error) {
	e := &Env{own: own}
	var places []string
	if home != "" && !trusted {
		places = append(places, filepath.Join(home, ".env"))
	}
	for d := dir; d != ""; d = filepath.Dir(d) {
		if trusted {
			places = append(places, filepath.Join(d, ".gemini", ".env"))
		}
		places = append(places, filepath.Join(d, ".env"))
		if d == filepath.Dir(d) {
			break
		}
	}
	if home != "" && trusted {
		places = append(places, filepath.Join(home, ".env"))
	}
	for i, p := range places {
		vars, err := readEnv(p)
		if err != nil {
			return e, err
		}
		if vars == nil {
			continue
		}
		users := home != "" && i == 0 && !trusted
		if !trusted && !users {
			maps.DeleteFunc(vars, func(name, _ string) bool {
				if !harmless[name] && ours(name) {
					e.withheld = append(e.withheld, name)
				}
				return !harmless[name]
			})
			slices.Sort(e.withheld)
		}
		e.file, e.users = vars, home != "" && p == filepath.Join(home, ".env")
		break
	}
	return e, nil
}

// ours reports whether a variable is one that is read here.
func ours(name string) bool {
	return endpoints[name] || strings.HasPrefix(name, "GEMINI_") || strings.HasPrefix(name, "GOOGLE_") || strings.HasPrefix(name, "REDLINE_")
}

// readEnv returns the variables of a .env file, nil when there is none.
func readEnv(file string) (map[string]string, error) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return nil, nil
	}
	vars, err := godotenv.Read(file)
	if err != nil {
		return nil, &FileError{file, err}
	}
	return vars, nil
}

// Secrets returns the values of the credentials there are.
func (e *Env) Secrets() []string {
	var out []string
	for _, name := range secret.Own {
		if v := e.Get(name); v != "" {
			out = append(out, v)
		}
	}
	return out
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

// Users returns the variable's value as the user set it, in the environment or in their
// own .env file; a project's does not count. It is for what must not be chosen by a
// project, such as where tokens of the user are sent.
func (e *Env) Users(name string) string {
	if v := e.own(name); v != "" || !e.users {
		return v
	}
	return e.file[name]
}

// Own returns the variable's value in the environment of the process itself.
func (e *Env) Own(name string) string { return e.own(name) }

// File returns what a .env file says of the variable, whatever the environment does.
func (e *Env) File(name string) string { return e.file[name] }
