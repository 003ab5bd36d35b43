package acp

import (
	"bytes"
	"encoding/json"
	"errors"
)

// This file holds the shapes of the protocol, as far as redline reads or writes them:
// version 1 of the schema. What else a message carries is ignored; _meta is neither read
// nor written. Times are RFC 3339, paths absolute.

// protocolVersion is the only version spoken here.
const protocolVersion = 1

// The methods of the client's requests and notifications.
const (
	methodInitialize    = "initialize"
	methodAuthenticate  = "authenticate"
	methodLogout        = "logout"
	methodSessionNew    = "session/new"
	methodSessionLoad   = "session/load"
	methodSessionResume = "session/resume"
	methodSessionList   = "session/list"
	methodSessionClose  = "session/close"
	methodSessionDelete = "session/delete"
	methodSetMode       = "session/set_mode"
	methodSetConfig     = "session/set_config_option"
	methodPrompt        = "session/prompt"
	methodCancel        = "session/cancel"
)

// The methods of our requests and notifications.
const (
	methodUpdate         = "session/update"
	methodPermission     = "session/request_permission"
	methodElicit         = "elicitation/create"
	methodReadFile       = "fs/read_text_file"
	methodWriteFile      = "fs/write_text_file"
	methodTerminalCreate = "terminal/create"
	methodTerminalOutput = "terminal/output"
	methodTerminalWait   = "terminal/wait_for_exit"
	methodTerminalKill   = "terminal/kill"
	methodTerminalFree   = "terminal/release"
)

type empty struct{}

// marker is a capability that is there when it is not null.
type marker = *json.RawMessage

type initializeParams struct {
	ProtocolVersion    *int               `json:"protocolVersion"`
	ClientCapabilities clientCapabilities `json:"clientCapabilities"`
	ClientInfo         *implementation    `json:"clientInfo"`
}

type clientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
	Auth     struct {
		Terminal bool `json:"terminal"`
	} `json:"auth"`
	Session struct {
		Notices    marker `json:"notices"`
		Compaction marker `json:"compaction"`
	} `json:"session"`
	Elicitation struct {
		Form marker `json:"form"`
	} `json:"elicitation"`
}

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

type initializeResult struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities agentCapabilities `json:"agentCapabilities"`
	AuthMethods       []authMethod      `json:"authMethods"`
	AgentInfo         implementation    `json:"agentInfo"`
}

type agentCapabilities struct {
	LoadSession        bool `json:"loadSession"`
	PromptCapabilities struct {
		Image           bool `json:"image"`
		Audio           bool `json:"audio"`
		EmbeddedContext bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	MCPCapabilities struct {
		HTTP bool `json:"http"`
		SSE  bool `json:"sse"`
	} `json:"mcpCapabilities"`
	SessionCapabilities struct {
		List                  empty `json:"list"`
		Delete                empty `json:"delete"`
		AdditionalDirectories empty `json:"additionalDirectories"`
		Resume                empty `json:"resume"`
		Close                 empty `json:"close"`
	} `json:"sessionCapabilities"`
	Auth struct {
		Logout empty `json:"logout"`
	} `json:"auth"`
}

type authMethod struct {
	Type        string   `json:"type,omitempty"` // "terminal", or nothing
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Args        []string `json:"args,omitempty"` // of a terminal's: for our binary
}

type authenticateParams struct {
	MethodID string `json:"methodId"`
}

type sessionParams struct {
	SessionID string `json:"sessionId"`
}

// openParams are those of session/new, load and resume; new has no session's name.
type openParams struct {
	SessionID             string          `json:"sessionId"`
	Cwd                   string          `json:"cwd"`
	AdditionalDirectories list[string]    `json:"additionalDirectories"`
	MCPServers            list[mcpServer] `json:"mcpServers"`
}

// mcpServer is one on stdio when it has no type.
type mcpServer struct {
	Type    string          `json:"type"`
	Name    string          `json:"name"`
	Command string          `json:"command"`
	Args    list[string]    `json:"args"`
	Env     list[nameValue] `json:"env"`
	URL     string          `json:"url"`
	Headers list[nameValue] `json:"headers"`
}

// list is an array. Encoders of Lua write an empty one as an empty object.
type list[T any] []T

// UnmarshalJSON takes both.
func (l *list[T]) UnmarshalJSON(data []byte) error {
	*l = nil
	if bytes.HasPrefix(data, []byte("{")) {
		if len(bytes.TrimSpace(data[1:len(data)-1])) > 0 {
			return errors.New("an array is wanted, not an object")
		}
		return nil
	}
	return json.Unmarshal(data, (*[]T)(l))
}

type nameValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// openResult is the answer to session/new, load and resume; only new's has a name.
type openResult struct {
	SessionID     string         `json:"sessionId,omitempty"`
	Modes         modeState      `json:"modes"`
	ConfigOptions []configOption `json:"configOptions"`
}

type modeState struct {
	CurrentModeID  string `json:"currentModeId"`
	AvailableModes []mode `json:"availableModes"`
}

type mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type configOption struct {
	Type         string        `json:"type"` // select
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Description  string        `json:"description,omitempty"`
	Category     string        `json:"category,omitempty"` // mode, model, …
	CurrentValue string        `json:"currentValue"`
	Options      []configValue `json:"options"`
}

type configValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type setModeParams struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
}

type setConfigParams struct {
	SessionID string          `json:"sessionId"`
	ConfigID  string          `json:"configId"`
	Value     json.RawMessage `json:"value"`
}

type setConfigResult struct {
	ConfigOptions []configOption `json:"configOptions"`
}

type listParams struct {
	Cwd    string `json:"cwd"`
	Cursor string `json:"cursor"`
}

type listResult struct {
	Sessions   []sessionInfo `json:"sessions"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

type sessionInfo struct {
	SessionID             string   `json:"sessionId"`
	Cwd                   string   `json:"cwd"`
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
	Title                 string   `json:"title,omitempty"`
	UpdatedAt             string   `json:"updatedAt,omitempty"`
}

type promptParams struct {
	SessionID string         `json:"sessionId"`
	Prompt    []contentBlock `json:"prompt"`
}

// contentBlock is content as the client sends it; the type says which members count.
type contentBlock struct {
	Type     string   `json:"type"` // text, image, audio, resource_link or resource
	Text     string   `json:"text"`
	Data     string   `json:"data"` // base64
	MIMEType string   `json:"mimeType"`
	URI      string   `json:"uri"`
	Name     string   `json:"name"`
	Resource resource `json:"resource"`
}

type resource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType"`
	Text     *string `json:"text"`
	Blob     *string `json:"blob"` // base64
}

type promptResult struct {
	StopReason string `json:"stopReason"`
}

// The stop reasons.
const (
	stopEnd       = "end_turn"
	stopTokens    = "max_tokens"
	stopRequests  = "max_turn_requests"
	stopRefusal   = "refusal"
	stopCancelled = "cancelled"
)

type updateParams struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

type textContent struct {
	Type string `json:"type"` // text
	Text string `json:"text"`
}

func textOf(s string) textContent { return textContent{"text", s} }

// The updates of a session.
type (
	chunkUpdate struct {
		SessionUpdate string      `json:"sessionUpdate"` // user_message_chunk, agent_message_chunk or agent_thought_chunk
		Content       textContent `json:"content"`
		MessageID     string      `json:"messageId,omitempty"`
	}
	// toolUpdate is a tool_call, or a tool_call_update, whose absent members stay.
	toolUpdate struct {
		SessionUpdate string `json:"sessionUpdate"`
		toolCall
	}
	planUpdate struct {
		SessionUpdate string      `json:"sessionUpdate"` // plan
		Entries       []planEntry `json:"entries"`
	}
	commandsUpdate struct {
		SessionUpdate     string             `json:"sessionUpdate"` // available_commands_update
		AvailableCommands []availableCommand `json:"availableCommands"`
	}
	modeUpdate struct {
		SessionUpdate string `json:"sessionUpdate"` // current_mode_update
		CurrentModeID string `json:"currentModeId"`
	}
	configUpdate struct {
		SessionUpdate string         `json:"sessionUpdate"` // config_option_update
		ConfigOptions []configOption `json:"configOptions"`
	}
	infoUpdate struct {
		SessionUpdate string `json:"sessionUpdate"` // session_info_update
		Title         string `json:"title"`
		UpdatedAt     string `json:"updatedAt"`
	}
	usageUpdate struct {
		SessionUpdate string `json:"sessionUpdate"` // usage_update
		Used          int    `json:"used"`          // tokens of the conversation
		Size          int    `json:"size"`          // tokens that the model can read
		Cost          *cost  `json:"cost,omitempty"`
	}
	noticeUpdate struct {
		SessionUpdate string `json:"sessionUpdate"` // notice
		Severity      string `json:"severity"`      // info, warning or error
		Title         string `json:"title"`
	}
	compactionUpdate struct {
		SessionUpdate string `json:"sessionUpdate"` // compaction_update
		CompactionID  string `json:"compactionId"`
		Status        string `json:"status"` // completed
	}
)

type toolCall struct {
	ToolCallID string          `json:"toolCallId"`
	Title      string          `json:"title,omitempty"`
	Name       string          `json:"name,omitempty"` // what the model calls
	Kind       string          `json:"kind,omitempty"`
	Status     string          `json:"status,omitempty"` // pending, in_progress, completed or failed
	Content    []toolContent   `json:"content,omitempty"`
	Locations  []toolLocation  `json:"locations,omitempty"`
	RawInput   json.RawMessage `json:"rawInput,omitempty"`
}

// toolContent is content, a diff or a terminal; the others are nil.
type toolContent struct {
	Type       string       `json:"type"`
	Content    *textContent `json:"content,omitempty"`
	Path       string       `json:"path,omitempty"`
	OldText    *string      `json:"oldText,omitzero"` // nil: a new file
	NewText    *string      `json:"newText,omitzero"`
	TerminalID string       `json:"terminalId,omitempty"`
}

func textItem(s string) toolContent {
	c := textOf(s)
	return toolContent{Type: "content", Content: &c}
}

func diffItem(path string, oldText *string, newText string) toolContent {
	return toolContent{Type: "diff", Path: path, OldText: oldText, NewText: &newText}
}

type toolLocation struct {
	Path string `json:"path"`
	Line int    `json:"line,omitzero"` // 1-based
}

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

type availableCommand struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *commandInput `json:"input,omitempty"`
}

type commandInput struct {
	Hint string `json:"hint"`
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

type permissionParams struct {
	SessionID string             `json:"sessionId"`
	ToolCall  toolCall           `json:"toolCall"`
	Options   []permissionOption `json:"options"`
}

type permissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"` // allow_once, allow_always, reject_once or reject_always
}

type permissionResult struct {
	Outcome struct {
		Outcome  string `json:"outcome"` // selected or cancelled
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}

type readFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
}

type readFileResult struct {
	Content *string `json:"content"`
}

type writeFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
}

type terminalParams struct {
	SessionID       string      `json:"sessionId"`
	Command         string      `json:"command"`
	Args            []string    `json:"args,omitempty"`
	Env             []nameValue `json:"env,omitempty"`
	Cwd             string      `json:"cwd,omitempty"`
	OutputByteLimit int         `json:"outputByteLimit,omitzero"`
}

type terminalCreated struct {
	TerminalID string `json:"terminalId"`
}

type terminalRef struct {
	SessionID  string `json:"sessionId"`
	TerminalID string `json:"terminalId"`
}

type exitStatus struct {
	ExitCode *int    `json:"exitCode"`
	Signal   *string `json:"signal"`
}

type terminalOutput struct {
	Output     string      `json:"output"`
	Truncated  bool        `json:"truncated"`
	ExitStatus *exitStatus `json:"exitStatus"`
}
