package fakepf

import (
	"net/http"
	"strconv"

	"pfsensemcp/test/fakepf/php"
)

// answer is a whole answer before it is sent; faults change it.
type answer struct {
	status int
	ctype  string
	header http.Header
	body   []byte
	id     string // response_id, for the log
}

const jsonType = "application/json"

// statusText is what the envelope's "status" says for a code.
func statusText(code int) string {
	switch code {
	case 200:
		return "ok"
	case 400:
		return "bad request"
	case 401:
		return "unauthorized"
	case 403:
		return "forbidden"
	case 404:
		return "not found"
	case 405:
		return "method not allowed"
	case 406:
		return "not acceptable"
	case 409:
		return "conflict"
	case 415:
		return "unsupported media type"
	case 422:
		return "unprocessable content"
	case 424:
		return "failed dependency"
	case 503:
		return "service unavailable"
	}
	return "internal server error"
}

// envelope starts the JSON envelope up to the value of data.
func envelope(dst []byte, code int, id, message string) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"status":`...)
	dst = php.AppendString(dst, statusText(code))
	dst = append(dst, `,"response_id":`...)
	dst = php.AppendString(dst, id)
	dst = append(dst, `,"message":`...)
	dst = php.AppendString(dst, message)
	return append(dst, `,"data":`...)
}

// fail is an error answer of the API.
func fail(code int, id, message string) *answer {
	a := &answer{status: code, ctype: jsonType, header: http.Header{}, id: id}
	a.body = append(envelope(nil, code, id, message), "[]}\n"...)
	if code == http.StatusServiceUnavailable {
		a.header.Set("Retry-After", "5")
	}
	return a
}

// success closes a good answer whose envelope and data are in body.
func success(body []byte) *answer {
	a := &answer{status: 200, ctype: jsonType, header: http.Header{}, body: append(body, "}\n"...), id: "SUCCESS"}
	a.header.Set("Strict-Transport-Security", "max-age=31536000")
	a.header.Set("X-Content-Type-Options", "nosniff")
	return a
}

func html(status int, body string) *answer {
	return &answer{status: status, ctype: "text/html", header: http.Header{}, body: []byte(body)}
}

// The pages below are our own words in the form of the real ones: a whole HTML
// document where a client expects JSON.
const (
	loginPage = "<!DOCTYPE html>\n<html lang=\"en\">\n<head><title>pfSense - Login</title></head>\n<body id=\"login\"><form method=\"post\" action=\"/index.php\"><input name=\"__csrf_magic\" type=\"hidden\" value=\"sid:canary-csrf\"><input name=\"usernamefld\"><input name=\"passwordfld\" type=\"password\"><button>Sign in</button></form></body>\n</html>\n"
	pageGone  = "<!DOCTYPE html>\n<html lang=\"en\">\n<head><title>404 - File Not Found</title></head>\n<body id=\"login\"><h4>404 Error</h4><p>There is no such file here.</p></body>\n</html>\n"
	page50x   = "<!DOCTYPE html>\n<html lang=\"en\">\n<head><title>50x Error</title></head>\n<body id=\"login\"><h4>50x Error</h4><p>The web server did not get an answer in time.</p></body>\n</html>\n"
	page413   = "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
	pageOOM   = "<pre><br />PHP ERROR: Type: 1, File: /usr/local/pkg/RESTAPI/Core/Model.inc, Line: 71, Message: Allowed memory size of 536870912 bytes exhausted (tried to allocate 20480 bytes)</pre>"
	pageXML   = "<pre><br />PHP ERROR: Type: 1, File: /etc/inc/xmlparse.inc, Line: 71, Message: Uncaught TypeError: the stored configuration is no list</pre>"
	warning   = "<br />\n<b>Warning</b>:  Undefined array key \"canary\" in <b>/etc/inc/util.inc</b> on line <b>71</b><br />\n"
	trace     = "RESTAPI\\Models\\FirewallRule::from_internal(): Argument #1 must be of type array, string given\n#0 /usr/local/pkg/RESTAPI/Core/Model.inc(71): RESTAPI\\Core\\Model->from_internal_object()\n#1 {main}"
)
