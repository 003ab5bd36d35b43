package agent

import (
	"os"

	"redline/workspace"
)

// tempDir returns the session's own folder outside of the workspace, for what is
// too long to be told at once and for the output of background processes. The
// tools may read it; it is gone with the session.
func (s *Session) tempDir() (string, error) {
	s.tempMu.Lock()
	defer s.tempMu.Unlock()
	if s.temp == "" {
		dir, err := os.MkdirTemp("", "redline-"+s.id+"-")
		if err != nil {
			return "", err
		}
		s.temp = dir
	}
	return s.temp, nil
}

// tempFile makes an empty file in the session's folder.
func (s *Session) tempFile(pattern string) (string, error) {
	dir, err := s.tempDir()
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, pattern) // mode 0600
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// newView returns what the tools read from now on.
func (s *Session) newView() *workspace.View {
	v := workspace.NewView(s.opt.Workspace.Snapshot())
	v.Withheld = s.withheld
	s.tempMu.Lock()
	defer s.tempMu.Unlock()
	if s.temp != "" {
		v.Readable = []string{s.temp}
	}
	return v
}

// cleanUp ends what the session's commands left running and removes its folder. No
// turn may be running.
func (s *Session) cleanUp() {
	s.stopAll()
	s.tempMu.Lock()
	defer s.tempMu.Unlock()
	if s.temp != "" {
		_ = os.RemoveAll(s.temp) // what remains is the system's to clean
		s.temp = ""
	}
}
