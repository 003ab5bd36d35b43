package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// codec is LSP's JSON: protocol's union-aware encoding, for its types and ours.
type codec struct{}

var _ jsonrpc2.Codec = codec{}

// Marshal implements [jsonrpc2.Codec].
func (codec) Marshal(v any) ([]byte, error) {
	switch raw := v.(type) {
	case jsonrpc2.RawMessage:
		return orNull(raw), nil
	case json.RawMessage:
		return orNull(raw), nil
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer && rv.IsNil() {
		return []byte("null"), nil // protocol's encoders do not expect it
	}
	return protocol.Marshal(v)
}

// Unmarshal implements [jsonrpc2.Codec].
func (codec) Unmarshal(data []byte, v any) error {
	switch raw := v.(type) {
	case *jsonrpc2.RawMessage:
		*raw = bytes.Clone(data)
		return nil
	case *json.RawMessage:
		*raw = bytes.Clone(data)
		return nil
	}
	if err := protocol.Unmarshal(data, v); err != nil {
		return err
	}
	ownStrings(v)
	return nil
}

func orNull(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}

// decodeParams decodes the parameters of a message. Nothing in the result
// refers to raw. Its errors are made by [BadParams].
func decodeParams[P any](raw []byte) (*P, error) {
	p := new(P)
	if len(raw) > 0 {
		if c := first(raw); c == '[' && reflect.TypeFor[P]().Kind() == reflect.Struct {
			return nil, BadParams("", "parameters must be an object, not an array")
		}
		if err := (codec{}).Unmarshal(raw, p); err != nil {
			return nil, paramsError(raw, err)
		}
	}
	if v, ok := any(p).(Validator); ok {
		if err := v.Validate(); err != nil {
			var own *Error
			if errors.As(err, &own) {
				return nil, own
			}
			return nil, BadParams("", "%v", err)
		}
	}
	return p, nil
}

// atOffset is how protocol's decoders say where they failed: bytes from the
// start of the parameters.
var atOffset = regexp.MustCompile(` at offset (\d+)$`)

// paramsError names the field that could not be decoded.
func paramsError(raw []byte, err error) *Error {
	var se *jsonv2.SemanticError
	if errors.As(err, &se) {
		want := jsonType(se.GoType)
		if se.Err != nil && se.JSONKind == 0 {
			return BadParams(dotted(se.JSONPointer), "not a valid %s: %v", want, se.Err)
		}
		return BadParams(dotted(se.JSONPointer), "must be %s, not %s", want, kindName(se.JSONKind))
	}
	if m := atOffset.FindStringSubmatch(err.Error()); m != nil {
		if off, aerr := strconv.ParseInt(m[1], 10, 64); aerr == nil {
			what := strings.TrimPrefix(strings.TrimSuffix(err.Error(), m[0]), "protocol: invalid JSON ")
			return BadParams(pathAt(raw, off), "must be of JSON type %s", what)
		}
	}
	return BadParams("", "%v", err)
}

// pathAt returns the path of the value that holds the byte at offset off.
func pathAt(raw []byte, off int64) string {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return ""
		}
		if dec.InputOffset() > off {
			return dotted(dec.StackPointer())
		}
	}
}

// dotted writes a JSON pointer as people write paths: context[1].kind.
func dotted(p jsontext.Pointer) string {
	var b strings.Builder
	for tok := range p.Tokens() {
		switch _, err := strconv.Atoi(tok); {
		case err == nil:
			b.WriteString("[" + tok + "]")
		case b.Len() == 0:
			b.WriteString(tok)
		default:
			b.WriteString("." + tok)
		}
	}
	return b.String()
}

// jsonType names what JSON a Go type is written as.
func jsonType(t reflect.Type) string {
	if t == nil {
		return "a value"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a base64 string"
		}
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer"
	}
	return fmt.Sprintf("a %s", t)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "what was sent"
}
