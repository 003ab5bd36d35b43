package lsp

import _ "embed"

//go:generate go test . -run ^TestReference$ -update

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (2020-12) of redline's own methods and events, the one
// that METHODS.md is the readable form of. Both are made from the types of this package
// by go generate; a test fails when they are stale.
func Schema() []byte { return schema }
