package config

import (
	"strings"
	"testing"
	"time"

	"redline/agent/models"
)

func TestConversationSettings(t *testing.T) {
	c, err := load(t, map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"}, map[string]string{
		"home/settings.json": `{"redline": {"compressionThreshold": 0.5, "contextWindow": 32768, "retry": {"stallMs": 1500}},
			"contextFileName": "RULES.md",
			"modelConfigs": {"customAliases": {"mine": {"extends": "flash", "modelConfig": {"generateContentConfig": {"temperature": 0.3}}}}}}`,
		"a/ws/.gemini/settings.json": `{"context": {"fileName": ["A.md", "B.md"]},
			"modelConfigs": {"customAliases": {"theirs": {"extends": "mine", "modelConfig": {"model": "gemini-3-pro-preview"}}}, "nonsense": 1}}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.CompressAt != 0.5 || c.Window != 32768 || c.Retry.Stall != 1500*time.Millisecond || strings.Join(c.ContextNames, " ") != "A.md B.md" {
		t.Errorf("got %+v", c)
	}
	r, err := c.Models.Resolve("theirs", models.Chat)
	if err != nil || r.Model != "gemini-3-pro-preview" || r.Params["temperature"] != 0.3 {
		t.Errorf("resolved %+v (%v)", r, err)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "nonsense") {
		t.Errorf("warnings %q", c.Warnings)
	}
	for text, want := range map[string]string{
		`{"redline": {"compressionThreshold": 0}}`:                                  "redline.compressionThreshold: must be a number above 0",
		`{"modelConfigs": []}`:                                                      "modelConfigs: must be an object",
		`{"modelConfigs": {"aliases": {"a": {"extends": "a", "modelConfig": {}}}}}`: "extends itself",
		`{"context": {"fileName": 7}}`:                                              "context.fileName: must be a list of strings",
		`{"redline": {"contextWindow": -1}}`:                                        "redline.contextWindow: must be a whole number",
	} {
		if _, err := load(t, nil, map[string]string{"home/settings.json": text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
