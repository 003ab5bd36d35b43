package model_test

import (
	"encoding/json"
	"testing"

	"redline/agent/model"
)

func TestNamed(t *testing.T) {
	for raw, want := range map[string]string{
		`{"text":"x"}`:                  `{"text":"x"}`,
		`{"functionCall":{"name":"a"}}`: `{"functionCall":{"name":"a"}}`,
		`{"functionCall":{"args":{"n":9007199254740993},"id":"7"},"thoughtSignature":"QUJD"}`: `{"functionCall":{"args":{"n":9007199254740993},"id":"7","name":"undefined_tool_name"},"thoughtSignature":"QUJD"}`,
		`{"functionCall":{"name":""}}`: `{"functionCall":{"name":"undefined_tool_name"}}`,
		`{"functionCall":{}}`:          `{"functionCall":{"name":"undefined_tool_name"}}`,
	} {
		p, err := model.RawPart(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		named := p.Named()
		if got := string(named.Raw()); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}
