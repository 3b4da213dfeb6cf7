package jsonline

import (
	"encoding/json/jsontext"
	"strconv"
)

// AppendError appends the line that answers id with an error: code, our text
// and, when not nil, data, which must be one JSON value on one line.
func AppendError(dst []byte, id ID, code int, text string, data []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id.Raw()...)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendText(dst, text)
	if data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, data...)
	}
	return append(dst, "}}\n"...)
}

// AppendResult appends the line that answers id; result must be one JSON value
// on one line.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id.Raw()...)
	dst = append(dst, `,"result":`...)
	dst = append(dst, result...)
	return append(dst, "}\n"...)
}

// AppendRequest appends the line of a request, or of a notification when id is
// zero. params may be nil and otherwise must be one JSON object on one line.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if !id.IsZero() {
		dst = append(dst, `,"id":`...)
		dst = append(dst, id.Raw()...)
	}
	dst = append(dst, `,"method":`...)
	dst = AppendText(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, "}\n"...)
}

// AppendText appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD: a line must never be refused for a text in it.
func AppendText(dst []byte, s string) []byte {
	n := len(dst)
	out, err := jsontext.AppendQuote(dst, s)
	if err == nil {
		return out
	}
	out, err = jsontext.AppendQuote(dst[:n], []byte(string([]rune(s))))
	if err != nil {
		return append(dst[:n], `""`...)
	}
	return out
}
