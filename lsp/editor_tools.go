package lsp

import "redline/tools"

// offerTools adds the tools to r that an editor makes possible.
func (s *Server) offerTools(r *tools.Registry) {
	for _, t := range []tools.Tool{tools.RenameFile, tools.DeleteFile} {
		if r.Admits(t) {
			r.Add(t)
		}
	}
}
