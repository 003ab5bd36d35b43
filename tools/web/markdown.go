package web

import (
	"net/url"
	"strings"

	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Markdown returns the readable part of an HTML page. Links are made absolute;
// scripts, styles, and links that would run something are left out.
func Markdown(page string, base *url.URL) string {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return plain(page) // nested deeper than the parser goes
	}
	clean(doc)
	domain := ""
	if base != nil {
		domain = base.Scheme + "://" + base.Host
	}
	out, err := htmltomarkdown.ConvertNode(doc, converter.WithDomain(domain))
	if err != nil {
		return plain(page)
	}
	return strings.TrimSpace(string(out)) + "\n"
}

// dropped are the elements that say nothing to a reader.
var dropped = map[string]bool{
	"script": true, "style": true, "noscript": true, "template": true, "iframe": true, "object": true, "embed": true,
	"svg": true, "canvas": true,
}

func clean(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.CommentNode || (c.Type == html.ElementNode && dropped[c.Data]) {
			n.RemoveChild(c)
		} else {
			clean(c) // html.Parse bounds the depth
		}
		c = next
	}
	kept := n.Attr[:0]
	for _, a := range n.Attr {
		if (a.Key == "href" || a.Key == "src") && !harmless(a.Val) {
			if n.Data == "a" {
				n.Data, n.DataAtom = "span", atom.Span // its words stay
			}
			continue
		}
		kept = append(kept, a)
	}
	n.Attr = kept
}

// harmless reports whether a link leads to a page.
func harmless(link string) bool {
	// Browsers ignore such characters in a scheme.
	link = strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, link)
	scheme, _, ok := strings.Cut(link, ":")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return true
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
		return true
	}
	return false
}

// plain returns the text of a page, without its structure.
func plain(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	var b strings.Builder
	skip := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String()) + "\n"
		case html.StartTagToken:
			name, _ := z.TagName()
			if n := string(name); skip == "" && (n == "script" || n == "style") {
				skip = n
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == skip {
				skip = ""
			}
		case html.TextToken:
			if t := strings.TrimSpace(string(z.Text())); skip == "" && t != "" {
				b.WriteString(html.UnescapeString(t) + "\n")
			}
		}
	}
}
