package audit

import (
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
)

// bounded reads a page and refuses a larger one.
func bounded(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxPage+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxPage {
		return nil, errors.New("the page is too large")
	}
	return b, nil
}

// Text returns the words of a page's own content: what stands in its element of
// the role main (or <main>), and everything where it has none. The frame around
// it lists every other page's title, so a phrase found there proves nothing.
func Text(page []byte) string {
	var all, main strings.Builder
	z := html.NewTokenizer(strings.NewReader(string(page)))
	var skip string // inside an element whose text is none
	depth, tag := 0, ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			if main.Len() > 0 {
				return main.String()
			}
			return all.String()
		case html.TextToken:
			if skip == "" {
				text := html.UnescapeString(string(z.Text()))
				all.WriteString(text + " ")
				if depth > 0 {
					main.WriteString(text + " ")
				}
			}
		case html.StartTagToken:
			name, attrs := z.TagName()
			n := string(name)
			switch {
			case skip != "":
			case n == "script" || n == "style" || n == "noscript" || n == "template":
				skip = n
			case depth > 0 && n == tag:
				depth++
			case depth == 0 && (n == "main" || attrs && isMain(z)):
				depth, tag = 1, n
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			switch n := string(name); {
			case n == skip:
				skip = ""
			case depth > 0 && n == tag:
				depth--
			}
		}
	}
}

// isMain says whether the tag at hand has the role main.
func isMain(z *html.Tokenizer) bool {
	for {
		key, value, more := z.TagAttr()
		if string(key) == "role" && string(value) == "main" {
			return true
		}
		if !more {
			return false
		}
	}
}
