//go:build linux

package vscode_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"redline/editors/editortest"
)

// fakeServer, set in the environment, makes the test binary a server for the editor:
// each prompt it gets is a JSON list of requests, which it sends to the editor one after
// the other; events among them it sends as what they are. Answers are appended to the file
// that the variable names, one a line, and so are decisions on proposals: the first on each
// is stale, for the proposal has moved on by one line.
const fakeServer = "REDLINE_FAKE_SERVER"

// fakeHello is the fake server's answer to initialize, when it is to be another.
const fakeHello = "REDLINE_FAKE_HELLO"

func TestMain(m *testing.M) {
	if path := os.Getenv(fakeServer); path != "" {
		if err := serveFake(os.Stdin, os.Stdout, path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(fakeMCP) != "" {
		if err := serveMCP(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	editortest.Clean()
	os.Exit(code)
}

// message is any message of JSON-RPC.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// fakeRequest is one request that the fake server sends.
type fakeRequest struct {
	Method string `json:"method"`
	Params any    `json:"params"`
}

func serveFake(in io.Reader, out io.Writer, path string) error {
	r := bufio.NewReader(in)
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	var pending []json.RawMessage // requests of the prompt that are to be sent
	proposal := map[string]any{}  // of the last event that had one
	next := func() error {
		if len(pending) > 0 && strings.Contains(string(pending[0]), `"agent/event"`) {
			var q struct {
				Method string
				Params json.RawMessage
			}
			var p struct {
				Event struct{ Proposal map[string]any }
			}
			if err := errors.Join(json.Unmarshal(pending[0], &q), json.Unmarshal(q.Params, &p)); err != nil {
				return err
			}
			proposal, pending = p.Event.Proposal, pending[1:]
			// The turn goes on when the proposal is decided.
			return send(out, message{Method: q.Method, Params: q.Params})
		}
		if len(pending) == 0 {
			return send(out, message{Method: "agent/event", Params: json.RawMessage(`{"sessionId":"s","seq":9,"event":{"type":"turn/ended","status":"completed"}}`)})
		}
		var q message
		if err := json.Unmarshal(pending[0], &q); err != nil {
			return err
		}
		q.ID, pending = json.RawMessage(`"f"`), pending[1:]
		return send(out, q)
	}
	for {
		m, err := receive(r)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		result := json.RawMessage(`null`)
		switch m.Method {
		case "": // an answer
			if m.Error != nil {
				m.Result = m.Error
			}
			if _, err := fmt.Fprintf(log, "%s\n", m.Result); err != nil {
				return err
			}
			if err := next(); err != nil {
				return err
			}
			continue
		case "initialize":
			if hello := os.Getenv(fakeHello); hello != "" {
				result = json.RawMessage(hello)
				break
			}
			result = json.RawMessage(`{"serverInfo":{"name":"redline"},"capabilities":{"experimental":{"redline":{"version":1,"minVersion":1}},"textDocumentSync":{"openClose":true,"change":2}}}`)
			if _, err := fmt.Fprintf(log, "%s\n", m.Params); err != nil {
				return err
			}
		case "agent/session/new":
			result = json.RawMessage(`{"sessionId":"s","title":"","folders":[],"mode":"default","model":"m","createdAt":"","updatedAt":"","turns":0,"lastSeq":0}`)
		case "agent/prompt":
			var p struct{ Text string }
			if err := json.Unmarshal(m.Params, &p); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(p.Text), &pending); err != nil {
				return err
			}
			result = json.RawMessage(`{"turnId":"t"}`)
		case "agent/proposal/resolve":
			if _, err := fmt.Fprintf(log, "%s\n", m.Params); err != nil {
				return err
			}
			stale := proposal["rev"] == 1.0
			proposal["rev"] = proposal["rev"].(float64) + 1
			if !stale {
				proposal["state"] = "settled"
			}
			if result, err = json.Marshal(proposal); err != nil {
				return err
			}
			if stale {
				failed := fmt.Sprintf(`{"code":-32801,"message":"the proposal has changed since","data":{"kind":"stale","rev":2,"proposal":%s}}`, result)
				if err := send(out, message{ID: m.ID, Error: json.RawMessage(failed)}); err != nil {
					return err
				}
				continue
			}
		case "exit":
			return nil
		}
		if m.ID == nil {
			continue
		}
		if err := send(out, message{ID: m.ID, Result: result}); err != nil {
			return err
		}
		if m.Method == "agent/proposal/resolve" {
			if err := next(); err != nil {
				return err
			}
		}
		if m.Method == "agent/prompt" {
			if err := send(out, message{Method: "agent/event", Params: json.RawMessage(`{"sessionId":"s","seq":1,"event":{"type":"turn/started"}}`)}); err != nil {
				return err
			}
			if err := next(); err != nil {
				return err
			}
		}
	}
}

func send(w io.Writer, m message) error {
	m.JSONRPC = "2.0"
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(data), data)
	return err
}

func receive(r *bufio.Reader) (m message, err error) {
	length := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return m, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if v, ok := strings.CutPrefix(line, "Content-Length:"); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(v)); err != nil {
				return m, err
			}
		}
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(r, data); err != nil {
		return m, err
	}
	return m, json.Unmarshal(data, &m)
}
