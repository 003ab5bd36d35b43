package lsp

import (
	"context"
	"errors"
	"time"

	"go.lsp.dev/uri"

	"redline/agent"
	"redline/lsp/rpc"
)

// The methods about what the commands of a session left running.
const (
	methodProcessList = "agent/process/list"
	methodProcessStop = "agent/process/stop"
)

// ProcessParams names a session, and for agent/process/stop a process of it.
type ProcessParams struct {
	SessionID string `json:"sessionId"`
	PID       int    `json:"pid,omitempty"`
}

// ProcessList is the answer to agent/process/list and agent/process/stop.
type ProcessList struct {
	Processes []ProcessInfo `json:"processes"`
}

// ProcessInfo is a command that was left running.
type ProcessInfo struct {
	PID       int     `json:"pid"`
	Command   string  `json:"command"`
	Directory uri.URI `json:"directory"`
	LogFile   uri.URI `json:"logFile,omitempty"` // where its output goes
	StartedAt string  `json:"startedAt"`         // RFC 3339
	Running   bool    `json:"running"`           // false: it has ended since
}

func (s *Server) processList(ctx context.Context, p *ProcessParams) (ProcessList, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return ProcessList{}, err
	}
	out := ProcessList{Processes: []ProcessInfo{}}
	for _, q := range x.Processes(ctx) {
		w := ProcessInfo{PID: q.PID, Command: q.Command, Directory: uri.File(q.Dir), StartedAt: q.Started.UTC().Format(time.RFC3339), Running: q.Running}
		if q.LogFile != "" {
			w.LogFile = uri.File(q.LogFile)
		}
		out.Processes = append(out.Processes, w)
	}
	return out, nil
}

func (s *Server) processStop(ctx context.Context, p *ProcessParams) (ProcessList, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return ProcessList{}, err
	}
	if err := x.StopProcess(ctx, p.PID); err != nil {
		if errors.Is(err, agent.ErrNoProcess) {
			return ProcessList{}, rpc.BadParams("pid", "%v", err)
		}
		return ProcessList{}, err
	}
	return s.processList(ctx, p)
}
