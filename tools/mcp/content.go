package mcp

import (
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"redline/tools"
)

// maxMedia is how much media of one answer goes to the model, in bytes: the API
// takes requests of 20 MB, in base64.
const maxMedia = 12 << 20

// content gathers what a server sent as text and media.
type content struct {
	text  []string
	media []tools.Media
	size  int // of media, in bytes
}

// add takes one piece; what cannot be shown is named.
func (c *content) add(x sdk.Content) {
	switch x := x.(type) {
	case *sdk.TextContent:
		c.text = append(c.text, x.Text)
	case *sdk.ImageContent:
		c.blob(x.MIMEType, x.Data, "image")
	case *sdk.AudioContent:
		c.blob(x.MIMEType, x.Data, "audio")
	case *sdk.ResourceLink:
		text := fmt.Sprintf("[resource %s: %s]", line(x.Name), x.URI)
		if x.Description != "" {
			text += " " + line(x.Description)
		}
		c.text = append(c.text, text)
	case *sdk.EmbeddedResource:
		c.resource(x.Resource)
	}
}

// resource takes the contents of a resource.
func (c *content) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case len(r.Blob) == 0:
		c.text = append(c.text, fmt.Sprintf("[resource %s]\n%s", r.URI, r.Text))
	case strings.HasPrefix(r.MIMEType, "text/") && utf8.Valid(r.Blob), r.MIMEType == "application/json" && utf8.Valid(r.Blob):
		c.text = append(c.text, fmt.Sprintf("[resource %s]\n%s", r.URI, r.Blob))
	default:
		c.blob(r.MIMEType, r.Blob, "resource "+r.URI)
	}
}

func (c *content) blob(mime string, data []byte, what string) {
	switch {
	case len(data) == 0 || !shows(mime):
		c.text = append(c.text, fmt.Sprintf("[%s, %s, %d bytes, which cannot be shown]", what, line(mime), len(data)))
	case c.size+len(data) > maxMedia:
		c.text = append(c.text, fmt.Sprintf("[%s, %s, %d bytes, left out: more than %d MB in one answer cannot be shown]", what, mime, len(data), maxMedia>>20))
	default:
		c.size += len(data)
		c.media = append(c.media, tools.Media{MIMEType: mime, Data: data})
		c.text = append(c.text, fmt.Sprintf("[%s, %s]", what, mime))
	}
}

func (c *content) result() *tools.Result {
	text := strings.ToValidUTF8(strings.Join(c.text, "\n"), "\ufffd")
	if text == "" && len(c.media) == 0 {
		text = "(no content)"
	}
	return &tools.Result{Text: text, Media: c.media}
}

// shows reports whether the API takes data of a MIME type; it refuses a whole
// request for one that it does not know.
func shows(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/webp", "image/gif", "image/heic", "image/heif", "image/svg+xml", "application/pdf",
		"audio/wav", "audio/mp3", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac",
		"video/mp4", "video/mpeg", "video/webm", "video/quicktime":
		return true
	}
	return false
}
