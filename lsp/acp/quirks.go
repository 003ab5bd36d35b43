package acp

// quirks are what a client does in its own way, as was seen of it, and it matters.
type quirks struct {
	// byKind says that it shows an option by its kind and not by its name, so that two
	// of a kind cannot be told apart.
	byKind bool
	// oneDiff says that it shows the first diff of a question only: there is a question
	// for each file.
	oneDiff bool
	// blindFiles says that it reads files from the disk and writes them into buffers: by
	// it, what the user typed would be overwritten unseen. Files go to the disk then,
	// where an editor notices them.
	blindFiles bool
}

// quirksOf has the clients' quirks by the name that they give.
var quirksOf = map[string]quirks{
	"CodeCompanion.nvim": {byKind: true, oneDiff: true, blindFiles: true}, // as of August 2026; it also adds a line to the end
}
