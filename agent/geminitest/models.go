package geminitest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// embedding is listed beside the script's models, as one that cannot converse.
const embedding = "gemini-embedding-001"

type wireModel struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	DisplayName string   `json:"displayName"`
	InputLimit  int      `json:"inputTokenLimit"`
	OutputLimit int      `json:"outputTokenLimit"`
	Methods     []string `json:"supportedGenerationMethods"`
	Thinking    bool     `json:"thinking,omitempty"`
}

// models answers GET …/models, in pages, and GET …/models/NAME.
func (s *Server) models(w http.ResponseWriter, r *http.Request, name string) {
	if err := s.authorize(r); err != nil {
		err.write(w)
		return
	}
	var all []wireModel
	for _, n := range s.script.Models {
		all = append(all, wireModel{
			Name: "models/" + n, Version: "001", DisplayName: "Fake " + n, InputLimit: 1 << 20, OutputLimit: 1 << 16,
			Methods: []string{"generateContent", "countTokens", "createCachedContent", "batchGenerateContent"}, Thinking: true,
		})
	}
	all = append(all, wireModel{
		Name: "models/" + embedding, Version: "001", DisplayName: "Fake embedding", InputLimit: 2048, OutputLimit: 1,
		Methods: []string{"embedContent", "countTextTokens"},
	})
	if name != "" {
		i := slices.IndexFunc(all, func(m wireModel) bool { return m.Name == "models/"+name })
		if i < 0 {
			(&Error{Status: http.StatusNotFound, Message: fmt.Sprintf("Model is not found: models/%s for api version %s", name, version(r.URL.Path))}).write(w)
			return
		}
		writeJSON(w, http.StatusOK, encode(all[i]))
		return
	}
	size, start := 50, 0
	q := r.URL.Query()
	if v := q.Get("pageSize"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			invalid("Invalid value at 'page_size' (TYPE_INT32), %q", v).write(w)
			return
		}
		if n > 0 {
			size = n
		}
	}
	if v := q.Get("pageToken"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n >= len(all) {
			invalid("Invalid page token.").write(w)
			return
		}
		start = n
	}
	end := min(start+size, len(all))
	page := map[string]any{"models": all[start:end]}
	if end < len(all) {
		page["nextPageToken"] = strconv.Itoa(end)
	}
	writeJSON(w, http.StatusOK, encode(page))
}
