package nvim_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// What the plugin answers to workspace/applyEdit, and what becomes of the buffers,
// by the data in testdata/apply: setup is Lua, edit the params, with URI(name) for
// the name of a file and VERSION for the version of its buffer; want is the answer
// and, for each file named, its buffer's lines.
func TestApply(t *testing.T) {
	files, err := filepath.Glob("testdata/apply/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	each(t, func(t *testing.T, version string) {
		for _, file := range files {
			name := filepath.Base(file)
			t.Run(name, func(t *testing.T) {
				a, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				parts, disk := map[string]string{}, map[string]string{}
				for _, f := range a.Files {
					if name, ok := bytes.CutPrefix([]byte(f.Name), []byte("disk/")); ok {
						disk[string(name)] = string(f.Data)
					} else {
						parts[f.Name] = string(f.Data)
					}
				}
				n := start(t, version, workspace(t, disk), "")
				// Any command that starts the server will do.
				n.lua(`client = nil require('redline.client').ready(function(c) client = c end) await('the server', function() return client end)`, nil)
				n.lua(parts["setup"], nil)
				n.lua(`function URI(name) return vim.uri_from_fname(vim.env.REDLINE_ROOT .. '/' .. name) end
					function VERSION(name) return vim.lsp.util.buf_versions[vim.fn.bufnr(name)] or 0 end`, nil)
				got := get[json.RawMessage](n, `
					local result = require('redline.apply').apply(client, `+parts["edit"]+`)
					local out = { applied = result.applied, why = result.failureReason, at = result.failedChange, files = vim.empty_dict() }
					for _, b in ipairs(vim.api.nvim_list_bufs()) do
						local name = vim.fs.basename(vim.api.nvim_buf_get_name(b))
						if name ~= '' and vim.api.nvim_buf_is_loaded(b) then
							out.files[name] = { text = table.concat(lines(b), '|'), known = client.attached_buffers[b] ~= nil, eol = vim.bo[b].endofline }
						end
					end
					return out`)
				var g, w any
				if err := json.Unmarshal(got, &g); err != nil {
					t.Fatal(err)
				}
				if os.Getenv("REDLINE_UPDATE") == "1" {
					pretty, err := json.MarshalIndent(g, "", "  ")
					if err != nil {
						t.Fatal(err)
					}
					for i, f := range a.Files {
						if f.Name == "want" {
							a.Files[i].Data = append(pretty, '\n')
						}
					}
					if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				if err := json.Unmarshal([]byte(parts["want"]), &w); err != nil {
					t.Fatalf("want: %v", err)
				}
				gs, _ := json.MarshalIndent(g, "", "  ") // decoded from JSON just now
				ws, _ := json.MarshalIndent(w, "", "  ")
				equal(t, "result", string(gs), string(ws))
			})
		}
	})
}
