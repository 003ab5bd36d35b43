package rpc

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
)

// verdict is what the guard thinks of a message body.
type verdict struct {
	// pass is what jsonrpc2 may see: the body itself, or a mended answer; nil to
	// keep it from jsonrpc2.
	pass []byte
	// reply is the error answer to send, nil for none.
	reply []byte
	// method and params of a single request or notification that passes. They
	// alias the body.
	method string
	params []byte
	// problem says why something was dropped or mended, for the log.
	problem string
}

// check decides about a body. Everything it passes is accepted by jsonrpc2,
// which would close the connection otherwise.
func check(body []byte) verdict {
	valid := jsontext.Value(body).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if !valid {
		return refuse(nil, CodeParse, "message is not valid JSON")
	}
	if first(body) == '[' {
		return verdict{pass: batch(body)}
	}
	view, err := jsonrpc2.ScanMessageView(body)
	if err != nil {
		return judge(body)
	}
	switch view.Kind {
	case jsonrpc2.MessageViewCall, jsonrpc2.MessageViewNotification:
		method, ok := view.MethodString()
		if !ok {
			return judge(body)
		}
		return verdict{pass: body, method: method, params: view.Params}
	}
	return verdict{pass: body}
}

// batch prepares a batch for jsonrpc2, which judges each member but calls one
// that is no object a parse error: the empty object is the same as a bad request.
func batch(body []byte) []byte {
	var members []json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return body
	}
	changed := false
	for i, m := range members {
		if first(m) != '{' {
			members[i], changed = json.RawMessage("{}"), true
		}
	}
	if changed {
		if b, err := json.Marshal(members); err == nil {
			return b
		}
	}
	return body
}

// judge handles valid JSON that jsonrpc2 refuses.
func judge(body []byte) verdict {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil || m == nil {
		return refuse(nil, CodeInvalidRequest, "message is not a JSON object")
	}
	id, hasID := m["id"]
	_, hasMethod := m["method"]
	_, hasResult := m["result"]
	_, hasError := m["error"]
	if !hasMethod && (hasResult || hasError) {
		return mend(id, m["result"], m["error"])
	}
	problem := "not a valid request"
	var method string
	var version string
	switch {
	case json.Unmarshal(m["jsonrpc"], &version) != nil || version != "2.0":
		problem = `"jsonrpc" must be "2.0"`
	case !hasMethod:
		problem = `"method" is missing`
	case m["method"][0] != '"' || json.Unmarshal(m["method"], &method) != nil:
		problem = `"method" must be a string`
	case hasResult || hasError:
		problem = `a request carries neither "result" nor "error"`
	case hasID:
		problem = `"id" must be an integer or a string`
	}
	return refuse(id, CodeInvalidRequest, problem)
}

// mend turns an answer that jsonrpc2 would choke on into one it takes, so that
// the call it answers does not wait for its deadline. An answer is never
// answered: with the same id that would look like the answer to a call of the
// peer's own.
func mend(id, result, errObj json.RawMessage) verdict {
	// Lua and Vim script encoders are known to write 7 as 7.0.
	f, err := strconv.ParseFloat(string(id), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return verdict{problem: "answer with an unusable id"}
	}
	num := jsonrpc2.NewNumberID(int64(f))
	if len(errObj) == 0 || string(errObj) == "null" {
		return verdict{pass: jsonrpc2.AppendResponse(nil, num, jsonrpc2.RawMessage(result), nil), problem: "answer mended"}
	}
	e := struct {
		Code    json.RawMessage
		Message json.RawMessage
		Data    json.RawMessage
	}{}
	wire := &jsonrpc2.Error{Code: CodeInternal}
	if err := json.Unmarshal(errObj, &e); err != nil {
		wire.Message = "the peer answered a malformed error: " + string(errObj[:min(len(errObj), 200)])
	} else {
		var code float64
		if json.Unmarshal(e.Code, &code) == nil && code == math.Trunc(code) && math.Abs(code) <= math.MaxInt32 {
			wire.Code = jsonrpc2.Code(code)
		}
		if json.Unmarshal(e.Message, &wire.Message) != nil {
			wire.Message = "the peer answered an error without a message"
		}
		wire.Data = jsonrpc2.RawMessage(e.Data)
	}
	return verdict{pass: jsonrpc2.AppendResponse(nil, num, nil, wire), problem: "answer mended"}
}

// bareAnswer takes a message with nothing but an id for an answer of null: JavaScript drops a result that is undefined.
// It is for when answers are waited for; else the same message is a request without its method.
func bareAnswer(body []byte) (verdict, bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(body, &m) != nil || len(m) != 2 || string(m["jsonrpc"]) != `"2.0"` || m["id"] == nil {
		return verdict{}, false
	}
	v := mend(m["id"], json.RawMessage("null"), nil)
	return v, v.pass != nil
}

// refuse makes the verdict that answers an error. An id that is a number or a
// string is repeated even if it is not one LSP allows (1.5): it lets the peer
// find its request.
func refuse(id json.RawMessage, code int, problem string) verdict {
	if c := first(id); c != '"' && c != '-' && (c < '0' || c > '9') {
		id = json.RawMessage("null")
	}
	kind := KindInvalidRequest
	if code == CodeParse {
		kind = "parse"
	}
	reply, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   any             `json:"error"`
	}{"2.0", id, struct {
		Code    int       `json:"code"`
		Message string    `json:"message"`
		Data    ErrorData `json:"data"`
	}{code, problem, ErrorData{Kind: kind}}})
	if err != nil {
		return verdict{problem: problem + ": " + err.Error()}
	}
	return verdict{reply: reply, problem: problem}
}

// first returns the first byte that is not white space, 0 when there is none.
func first(b []byte) byte {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c
	}
	return 0
}
