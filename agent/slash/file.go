package slash

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// Bounds of a folder of commands.
const (
	maxFile  = 1 << 20 // bytes of one
	maxFiles = 1000
	maxDepth = 8 // folders in folders
)

// file is a command in a file.
type file struct {
	Command
	template *template
	err      error // why it cannot be used
}

// load returns the commands in a folder by name; none when there is no folder.
func load(folder, source string) map[string]*file {
	out := map[string]*file{}
	if folder == "" {
		return out
	}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what cannot be read is as good as not there
		case d.IsDir() && strings.Count(path[len(folder):], string(filepath.Separator)) > maxDepth:
			return fs.SkipDir
		case len(out) == maxFiles:
			return fs.SkipAll
		case d.IsDir() || filepath.Ext(path) != ".toml":
			return nil
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return nil
		}
		parts := strings.Split(strings.TrimSuffix(filepath.ToSlash(rel), ".toml"), "/")
		for i := range parts {
			parts[i] = strings.ReplaceAll(clean(parts[i]), ":", "-") // folders are told by it
		}
		name := strings.Join(parts, ":")
		if !isName(name) {
			return nil
		}
		f := &file{Command: Command{Name: name, Source: source, Description: "Custom command from " + filepath.Base(path)}}
		if err := f.read(path); err != nil {
			f.err = fmt.Errorf("the command /%s cannot be used: %s: %w", name, path, err)
		}
		out[name] = f
		return nil
	})
	return out
}

func (f *file) read(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	case info.Size() > maxFile:
		return fmt.Errorf("it is larger than %d MB", maxFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var def struct {
		Prompt      any
		Description any
	}
	if err := toml.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), &def); err != nil {
		return err
	}
	prompt, ok := def.Prompt.(string)
	if !ok || strings.TrimSpace(prompt) == "" {
		return errors.New(`it needs a line prompt = "…"`)
	}
	if def.Description != nil {
		text, ok := def.Description.(string)
		if !ok {
			return errors.New("its description must be a string")
		}
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			f.Description = text
		}
	}
	f.template, err = parse(prompt)
	return err
}
