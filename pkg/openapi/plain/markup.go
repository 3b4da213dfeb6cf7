package plain

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxToken bounds one tag, comment, script or run of text of a page: what is
// larger is no documentation.
const maxToken = 2 << 20

// maxText bounds the text of a page, in bytes: an excerpt is shown of it, and the
// longest guide has forty kilobytes.
const maxText = 1 << 20

var errNoPage = errors.New("page is not readable")

// Page returns the text of a page of the documentation site as one line: its
// main region up to the footer, or the whole page when there is no such region.
// A page that the tokenizer cannot read is an error, never half a text.
func Page(page []byte) (string, error) {
	if bytes.IndexByte(page, 0) >= 0 {
		// A zero byte of the source must not pass for a line break.
		page = bytes.ReplaceAll(page, []byte{0}, []byte{' '})
	}
	all := reader{z: html.NewTokenizer(bytes.NewReader(page)), page: true}
	all.z.SetMaxBuf(maxToken)
	if err := all.read(); err != nil {
		return "", err
	}
	text := all.main.String()
	if strings.TrimSpace(strings.ReplaceAll(text, "\x00", "")) == "" {
		text = all.out.String()
	}
	return Line(strings.ReplaceAll(text, "\x00", "\n")), nil
}

// stripped returns the text of a fragment, with zero bytes for line breaks. A
// fragment is in memory already and has no bound of its own.
func stripped(s string) string {
	r := reader{z: html.NewTokenizer(strings.NewReader(s))}
	if r.read() != nil {
		return "" // cannot be: nothing bounds it, and a string ends in io.EOF
	}
	return r.out.String()
}

// reader walks the tokens of a page or a fragment.
type reader struct {
	z    *html.Tokenizer
	page bool // look for the main region, pass over navigation

	out  strings.Builder // text outside of dropped elements
	main strings.Builder // of it, that of the main region

	dropped atom.Atom // the element whose content is passed over, 0 for none
	depth   int       // how many of it are open
	region  atom.Atom // the element of the main region, 0 outside
	inside  int       // how many of it are open
	done    bool      // the main region has ended
}

// read walks to the end.
func (r *reader) read() error {
	for {
		switch r.z.Next() {
		case html.ErrorToken:
			if r.z.Err() == io.EOF {
				return nil
			}
			return errNoPage
		case html.TextToken:
			if r.dropped == 0 {
				r.write(string(r.z.Text()))
			}
			if r.page && r.out.Len()+r.main.Len() > maxText {
				return errNoPage
			}
		case html.StartTagToken:
			r.start(false)
		case html.SelfClosingTagToken:
			r.start(true)
		case html.EndTagToken:
			name, _ := r.z.TagName()
			r.end(atom.Lookup(name))
		}
	}
}

func (r *reader) write(s string) {
	if !r.page || r.region == 0 {
		r.out.WriteString(s)
		return
	}
	r.main.WriteString(s)
}

// start handles a start tag. The slash of "<script/>" means nothing: what
// follows is the script all the same.
func (r *reader) start(closed bool) {
	name, attrs := r.z.TagName()
	a := atom.Lookup(name)
	if r.dropped != 0 {
		if a == r.dropped && !closed {
			r.depth++
		}
		return
	}
	if unseen(a) || r.page && a == atom.Nav {
		if !closed || raw(a) {
			r.dropped, r.depth = a, 1
		}
		return
	}
	if block(a) {
		r.write("\x00")
	} else if a == atom.Td || a == atom.Th {
		r.write(" ")
	}
	if !r.page || closed {
		return
	}
	role := ""
	for attrs {
		var key, value []byte
		key, value, attrs = r.z.TagAttr()
		if string(key) == "role" && role == "" {
			role = string(value)
		}
	}
	switch {
	case r.region == 0 && !r.done && (a == atom.Main || role == "main" && a != 0):
		r.region, r.inside = a, 1
	case r.region != 0 && (a == atom.Footer || role == "contentinfo"):
		r.region, r.done = 0, true
	case r.region != 0 && a == r.region:
		r.inside++
	}
}

func (r *reader) end(a atom.Atom) {
	if r.dropped != 0 {
		if a == r.dropped {
			if r.depth--; r.depth == 0 {
				r.dropped = 0
			}
		}
		return
	}
	if block(a) {
		r.write("\x00")
	}
	if r.region != 0 && a == r.region {
		if r.inside--; r.inside == 0 {
			r.region, r.done = 0, true
		}
	}
}

// raw says whether the tokenizer reads the element's content as one text, to its
// end tag or to the end of the page.
func raw(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Iframe, atom.Noembed, atom.Noframes, atom.Noscript, atom.Xmp, atom.Plaintext, atom.Title, atom.Textarea:
		return true
	}
	return false
}

// unseen says whether a reader of the page does not see the element's content.
func unseen(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Iframe, atom.Noembed, atom.Noframes, atom.Noscript, atom.Title,
		atom.Template, atom.Object, atom.Svg, atom.Math, atom.Select, atom.Textarea:
		return true
	}
	return false
}

// block says whether the element begins and ends a line.
func block(a atom.Atom) bool {
	switch a {
	case atom.Br, atom.P, atom.Div, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Li, atom.Ul, atom.Ol,
		atom.Dl, atom.Dt, atom.Dd, atom.Tr, atom.Table, atom.Pre, atom.Blockquote, atom.Hr, atom.Section, atom.Article,
		atom.Header, atom.Footer, atom.Main, atom.Aside, atom.Nav, atom.Form, atom.Body:
		return true
	}
	return false
}
