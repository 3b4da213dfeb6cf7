package fakepf

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"pfsensemcp/test/fakepf/php"
)

// Control is the handler that steers a pretend appliance from outside: for the
// program's own control socket, never for the API's listener.
//
//	GET    /requests            the kept requests        DELETE /requests   forgets them
//	GET    /counters            totals
//	POST   /faults              adds a Fault (Delay as text: "250ms"); answers {"id":1}
//	DELETE /faults[?id=N]       removes one, or all
//	GET    /settings            PUT /settings            the whole Settings
//	PUT    /keys                a list of Key
//	POST   /set                 {"model","row","field","value"}
//	POST   /insert              {"model","row","value":{…}}
//	POST   /delete              {"model","row"}
//	POST   /package             {"name","installed"}
//	POST   /lock?held=true      leaves the write lock behind, or takes it away
//	POST   /land                lets late writes happen; answers {"landed":N}
//	POST   /record?label=TEXT   a change in the web interface, for the history
func (s *Server) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /requests", func(w http.ResponseWriter, _ *http.Request) { reply200(w, s.Requests()) })
	mux.HandleFunc("DELETE /requests", func(w http.ResponseWriter, _ *http.Request) { s.ResetLog(); reply200(w, struct{}{}) })
	mux.HandleFunc("GET /counters", func(w http.ResponseWriter, _ *http.Request) { reply200(w, s.Counters()) })
	mux.HandleFunc("POST /faults", func(w http.ResponseWriter, r *http.Request) {
		var f struct {
			Fault
			Delay string
		}
		if !read(w, r, &f) {
			return
		}
		if f.Delay != "" {
			d, err := time.ParseDuration(f.Delay)
			if err != nil {
				refuse(w, err)
				return
			}
			f.Fault.Delay = d
		}
		id, err := s.AddFault(f.Fault)
		if err != nil {
			refuse(w, err)
			return
		}
		reply200(w, map[string]int{"id": id})
	})
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, r *http.Request) {
		if id, err := strconv.Atoi(r.FormValue("id")); err == nil {
			s.RemoveFault(id)
		} else {
			s.ClearFaults()
		}
		reply200(w, struct{}{})
	})
	mux.HandleFunc("GET /settings", func(w http.ResponseWriter, _ *http.Request) { reply200(w, s.Settings()) })
	mux.HandleFunc("PUT /settings", func(w http.ResponseWriter, r *http.Request) {
		v := s.Settings()
		if read(w, r, &v) {
			s.SetSettings(v)
			reply200(w, v)
		}
	})
	mux.HandleFunc("PUT /keys", func(w http.ResponseWriter, r *http.Request) {
		var keys []Key
		if read(w, r, &keys) {
			s.SetKeys(keys)
			reply200(w, struct{}{})
		}
	})
	mux.HandleFunc("POST /package", func(w http.ResponseWriter, r *http.Request) {
		var v struct {
			Name      string
			Installed bool
		}
		if read(w, r, &v) {
			outcome(w, s.SetPackage(v.Name, v.Installed))
		}
	})
	s.controlRows(mux)
	mux.HandleFunc("POST /lock", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("held") == "true" {
			s.HoldLock()
		} else {
			s.ReleaseLock()
		}
		reply200(w, struct{}{})
	})
	mux.HandleFunc("POST /land", func(w http.ResponseWriter, _ *http.Request) { reply200(w, map[string]int{"landed": s.LandPending()}) })
	mux.HandleFunc("POST /record", func(w http.ResponseWriter, r *http.Request) { s.Record(r.FormValue("label")); reply200(w, struct{}{}) })
	return mux
}

func (s *Server) controlRows(mux *http.ServeMux) {
	type change struct {
		Model, Field string
		Row          int
		Value        json.RawMessage
	}
	on := func(path string, f func(c change, v any) error) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var c change
			if !read(w, r, &c) {
				return
			}
			var v any
			if c.Value != nil {
				var err error
				if v, err = php.Decode(c.Value); err != nil {
					refuse(w, err)
					return
				}
			}
			outcome(w, f(c, v))
		})
	}
	on("/set", func(c change, v any) error { return s.Set(c.Model, c.Row, c.Field, v) })
	on("/insert", func(c change, v any) error {
		o, ok := v.(php.Object)
		if !ok {
			return fmt.Errorf("value is no object")
		}
		return s.Insert(c.Model, c.Row, o)
	})
	on("/delete", func(c change, _ any) error { return s.Delete(c.Model, c.Row) })
}

func read(w http.ResponseWriter, r *http.Request, dst any) bool {
	d := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(dst); err != nil {
		refuse(w, err)
		return false
	}
	return true
}

func refuse(w http.ResponseWriter, err error) { http.Error(w, err.Error(), http.StatusBadRequest) }

func outcome(w http.ResponseWriter, err error) {
	if err != nil {
		refuse(w, err)
		return
	}
	reply200(w, struct{}{})
}

func reply200(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", jsonType)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the caller is gone
}
