package exchange

import (
	"fmt"
	"strings"
	"testing"
)

func TestX5AnAnswerThatShowsAnotherAliasIsNoSuccess(t *testing.T) {
	show := func(data string) string { return answer(200, 200, "SUCCESS", data) }
	for data, want := range map[string]Effect{
		echo:                     Accepted,
		`{}`:                     Accepted, // nothing is shown: reads decide
		`{"id":7}`:               Accepted,
		`{"name":"web_servers"}`: Accepted,
		`{"id":"7","name":"web_servers","descr":"DMZ web servers"}`: Ambiguous, // N1: another type
		`{"id":7.0}`:                    Ambiguous,
		`{"id":8,"name":"web_servers"}`: Ambiguous,
		`{"id":null}`:                   Ambiguous,
		`{"id":false}`:                  Ambiguous,
		`{"name":"db_servers"}`:         Ambiguous,
		`{"name":null}`:                 Ambiguous,
		`{"descr":"DMZ web server"}`:    Ambiguous,
		`{"descr":["DMZ web servers"]}`: Ambiguous,
		`[]`:                            Ambiguous,
		`[` + echo + `]`:                Ambiguous,
	} {
		r, _ := play(t, func(p *peer, _, _ string) { p.say(show(data)) })
		if r.Effect() != want || !r.Answered {
			t.Errorf("%s: %+v", data, r)
		}
	}
}

func TestX6WhatAnAnswerMeansIsTheTable(t *testing.T) {
	for _, x := range []struct {
		status int
		id     string
		want   Effect
	}{
		{400, "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE", Shifted},
		{400, "FIELD_INVALID_CHOICE", Rejected},
		{401, "AUTH_AUTHENTICATION_FAILED", Rejected},
		{403, "AUTH_AUTHORIZATION_FAILED", Rejected},
		{404, "MODEL_OBJECT_NOT_FOUND", Rejected},
		{405, "ENDPOINT_METHOD_NOT_ALLOWED", Rejected},
		{409, "X", Rejected},
		{415, "X", Rejected},
		{422, "X", Rejected},
		{429, "X", Rejected},
		{403, "FIELD_VALUE_CHANGED_WHEN_NOT_EDITABLE", Rejected}, // the id counts with its own status alone
		{406, "BINARY_CONTENT_HANDLER_RESOURCE_NOT_SUPPORTED", Ambiguous},
		{402, "X", Ambiguous},
		{408, "X", Ambiguous},
		{410, "X", Ambiguous},
		{413, "X", Ambiguous},
		{424, "X", Ambiguous},
		{499, "X", Ambiguous},
		{503, "MODEL_WRITE_CONFIG_LOCKED", Locked},
		{503, "DISPATCHER_TOO_MANY_QUEUED_PROCESSES", Ambiguous},
		{503, "ENDPOINT_UNAVAILABLE", Ambiguous},
		{500, "MODEL_WRITE_CONFIG_LOCKED", Ambiguous},
		{500, "ENDPOINT_RECEIVED_UNEXPECTED_ERROR", Ambiguous},
		{502, "X", Ambiguous},
		{504, "X", Ambiguous},
		{301, "X", Ambiguous},
		{302, "X", Ambiguous},
		{307, "X", Ambiguous},
		{308, "X", Ambiguous},
	} {
		r, s := play(t, func(p *peer, _, _ string) { p.say(answer(x.status, x.status, x.id, "[]")) })
		if r.Effect() != x.want || !r.Answered || r.Status != x.status || r.ResponseID != x.id || r.EchoOK {
			t.Errorf("%d %s: %s, %+v", x.status, x.id, r.Effect(), r)
		}
		if s.connections() != 1 {
			t.Errorf("%d: %d connections", x.status, s.connections())
		}
	}
}

func TestReview17AStatusCountsOnlyFromACompleteEnvelopeThatConfirmsIt(t *testing.T) {
	whole := `{"code":400,"status":"bad request","response_id":"FIELD_INVALID_CHOICE","message":"","data":[]}`
	for name, raw := range map[string]string{
		"another code":                answer(400, 500, "FIELD_INVALID_CHOICE", "[]"),
		"a good code, bad status":     answer(503, 200, "SUCCESS", echo),
		"a bad code, good status":     answer(200, 503, "MODEL_WRITE_CONFIG_LOCKED", "[]"),
		"nginx's page":                response(404, "Content-Type: text/html\r\n", "<html>404</html>"),
		"no code":                     response(400, "Content-Type: application/json\r\n", strings.Replace(whole, `"code":400,`, "", 1)),
		"a code in quotes":            response(400, "Content-Type: application/json\r\n", strings.Replace(whole, `400`, `"400"`, 1)),
		"no message":                  response(400, "Content-Type: application/json\r\n", strings.Replace(whole, `"message":"",`, "", 1)),
		"no data":                     response(400, "Content-Type: application/json\r\n", strings.Replace(whole, `,"data":[]`, "", 1)),
		"null data":                   response(400, "Content-Type: application/json\r\n", strings.Replace(whole, `[]`, "null", 1)),
		"no response_id":              response(400, "Content-Type: application/json\r\n", strings.Replace(whole, `"response_id":"FIELD_INVALID_CHOICE",`, "", 1)),
		"an empty response_id":        response(400, "Content-Type: application/json\r\n", strings.Replace(whole, `FIELD_INVALID_CHOICE`, "", 1)),
		"another member":              response(400, "Content-Type: application/json\r\n", strings.Replace(whole, `{`, `{"more":1,`, 1)),
		"a response_id of a stranger": response(400, "Content-Type: application/json\r\n", strings.Replace(whole, `FIELD_INVALID_CHOICE`, "<b>x</b>", 1)),
		"nothing":                     response(400, "Content-Type: application/json\r\n", ""),
		"an interim response alone":   "HTTP/1.1 100 Continue\r\n\r\n",
		"an early hint":               "HTTP/1.1 103 Early Hints\r\nContent-Type: application/json\r\n\r\n" + done,
		"HTTP/2 in text":              strings.Replace(done, "HTTP/1.1", "HTTP/2.0", 1),
		"no HTTP":                     "SSH-2.0-OpenSSH_9.7\r\n",
	} {
		r, _ := play(t, func(p *peer, _, _ string) { p.say(raw) })
		if r.Effect() != Ambiguous || r.Answered || r.ResponseID != "" || r.EchoOK || class(r.Err) != "ambiguous_response" {
			t.Errorf("%s: %+v (%s)", name, r, class(r.Err))
		}
	}
}

func TestX8AnAnswerOutOfFormIsAmbiguous(t *testing.T) {
	const json = "Content-Type: application/json\r\n"
	body := done[strings.Index(done, "{"):]
	chunked := func(b string) string {
		return "HTTP/1.1 200 OK\r\n" + json + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(b), b)
	}
	for name, raw := range map[string]string{
		"a body over 1 MiB":            response(200, json, body[:len(body)-1]+strings.Repeat(" ", 1<<20)+"}"),
		"a chunked body over 1 MiB":    chunked(body[:len(body)-1] + strings.Repeat(" ", 1<<20) + "}"),
		"a header over 64 KiB":         strings.Replace(done, "Server: nginx", "X: "+strings.Repeat("x", 64<<10), 1),
		"a duplicate key":              response(200, json, strings.Replace(body, `"status":`, `"status":"ok","status":`, 1)),
		"a duplicate key of the data":  response(200, json, strings.Replace(body, `"id":7`, `"id":7,"id":7`, 1)),
		"a duplicate key, deep inside": response(200, json, strings.Replace(body, `"192.0.2.10"`, `{"a":1,"a":1}`, 1)),
		"an escaped duplicate key":     response(200, json, strings.Replace(body, `"code":200`, `"code":200,"\u0063ode":200`, 1)),
		"a list":                       response(200, json, "["+body+"]"),
		"a text":                       response(200, json, `"SUCCESS"`),
		"null":                         response(200, json, `null`),
		"text that is not UTF-8":       response(200, json, strings.Replace(body, "canary", "\xe9", 1)),
		"PHP's warning in front":       response(200, json, "<br />\n<b>Warning</b>: x\n"+body),
		"something behind":             response(200, json, body+"{}"),
		"a second response":            done + done,
		"half of it":                   response(200, json, body[:len(body)-2]),
		"another content type":         response(200, "Content-Type: text/html\r\n", body),
		"no content type":              response(200, "", body),
		"two content types":            response(200, json+"Content-Type: text/html\r\n", body),
		"compressed":                   response(200, json+"Content-Encoding: gzip\r\n", body),
		"a login page":                 response(200, "Content-Type: text/html; charset=UTF-8\r\n", "<!DOCTYPE html>"),
		"two lengths":                  strings.Replace(done, "Server: nginx", "Content-Length: 3", 1),
		"a header line without a name": strings.Replace(done, "Server: nginx", ": nginx", 1),
	} {
		r, s := play(t, func(p *peer, _, _ string) { p.say(raw) })
		if r.Effect() != Ambiguous || r.Answered || class(r.Err) != "ambiguous_response" || s.connections() != 1 {
			t.Errorf("%s: %+v (%s)", name, r, class(r.Err))
		}
		if r.Err != nil && strings.Contains(fmt.Sprintf("%v %+v %#v", r.Err, r.Err, r), "canary") {
			t.Errorf("%s: the answer's text is in the error", name)
		}
	}
	for name, raw := range map[string]string{
		"chunks": chunked(body), "with a charset": strings.Replace(done, "application/json", "application/json; charset=utf-8", 1),
		"blanks around": response(200, json, "\n"+body+"\n"), "links beside it": response(200, json, strings.Replace(body, `{`, `{"_links":[],`, 1)),
		"an end by closing": "HTTP/1.1 200 OK\r\n" + json + "\r\n" + body,
	} {
		if r, _ := play(t, func(p *peer, _, _ string) { p.say(raw) }); r.Effect() != Accepted {
			t.Errorf("%s: %+v %v", name, r, r.Err)
		}
	}
}
