package rpc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestGuard runs testdata/guard/*.txt: the bytes of "send" go over the wire as
// they are (after \r and \n escapes, with {N} for the right Content-Length), the lines of "want"
// are the answers, in order. The connection must then still be alive.
func TestGuard(t *testing.T) {
	files, err := filepath.Glob("testdata/guard/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			checkGuard(t, txtar.Parse(data))
		})
	}
}

func checkGuard(t *testing.T, ar *txtar.Archive) {
	_, p := connect(t, base(), Options{MaxBody: 4096})
	if !strings.Contains(string(ar.Comment), "before initialize") {
		p.initialize()
	}
	for _, f := range ar.Files {
		for line := range strings.Lines(string(f.Data)) {
			line = strings.TrimSuffix(line, "\n")
			switch f.Name {
			case "send":
				p.raw(strings.NewReplacer(`\r`, "\r", `\n`, "\n").Replace(line))
			case "frames":
				p.send(line)
			case "want":
				if got := p.receive(); got != normal(t, line) {
					t.Errorf("received %s\nwant     %s", got, line)
				}
			default:
				t.Fatalf("unknown section %s", f.Name)
			}
		}
	}
	const want = `{"id":"alive","jsonrpc":"2.0","result":{"a":1}}`
	if strings.Contains(string(ar.Comment), "before initialize") {
		p.initialize()
	}
	if got := p.answer(`{"jsonrpc":"2.0","id":"alive","method":"echo","params":{"a":1}}`); got != want {
		t.Errorf("the connection is not usable afterwards: %s", got)
	}
}
