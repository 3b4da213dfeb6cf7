package alias

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"
	"slices"
	"strings"
	"time"

	"pfsensemcp/pkg/errs"
	"pfsensemcp/pkg/pfrest"
)

const (
	// maxHead is how much of the OpenAPI document is read: its version stands
	// within the first 200 bytes of 4 MB.
	maxHead = 64 << 10
	// recent is how young the newest entry of the configuration history may not be:
	// a form that is being saved, or an apply that writes back what it read.
	recent = 5 * time.Second
	// newest is how many entries are asked for. They come newest first.
	newest = 5

	whatVersion  = "the version of the appliance's REST package"
	whatSettings = "the settings of the appliance's REST API"
	whatPending  = "the appliance's list of pending changes"
	whatHistory  = "the appliance's configuration history"
)

// Survey is a List with everything else that must hold when a change is prepared,
// authorized, confirmed or sent.
type Survey struct {
	List
	Version        string    // of the REST package, one of Config.Versions
	InterfaceNames string    // id, descr or if: how the appliance names interfaces
	Pending        bool      // aliases were changed and not applied
	NewestChange   time.Time // of the configuration, by the appliance's clock; zero for none

	unread  error // what made the two above unknown
	checked time.Time
}

// surveyTime bounds a whole survey. An appliance that takes longer for six small reads is
// in no state to be changed, and whoever waits holds the writer's turn.
const surveyTime = time.Minute

// Survey reads version, settings, pending changes and history, and then what List
// reads, which is therefore the youngest. Errors are of class read,
// appliance_version (a package version on which the change is not proven) or
// appliance_settings. What is pending and the history may fail to be read: Busy
// says so.
func (r *Reader) Survey(ctx context.Context) (*Survey, error) {
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	began := r.now()
	s := new(Survey)
	var err error
	if s.Version, err = r.version(ctx); err != nil {
		return nil, err
	}
	if s.InterfaceNames, err = r.settings(ctx); err != nil {
		return nil, err
	}
	if s.Pending, err = r.pending(ctx); err != nil {
		s.unread = err
	}
	if s.NewestChange, err = r.history(ctx); err != nil {
		s.unread = err
	}
	s.checked = r.now()
	l, err := r.List(ctx)
	if err != nil {
		return nil, err
	}
	s.List = *l
	s.Began = began
	return s, nil
}

// version reads the head of the OpenAPI document and closes the stream.
func (r *Reader) version(ctx context.Context) (string, error) {
	doc, err := r.client.Schema(ctx, pfrest.Caller{})
	if err != nil {
		return "", failed(whatVersion, err)
	}
	defer doc.Close() // nothing was written: there is nothing to lose
	v, err := versionOf(io.LimitReader(doc, maxHead))
	if err != nil {
		return "", failed(whatVersion, err)
	}
	v = strings.TrimPrefix(v, "v")
	if !slices.Contains(r.versions, v) {
		return "", errs.New(errs.Conflict, "the appliance runs a version of the REST package on which this change is not proven").WithClass(classVersion).
			WithNext("compare the package's version with the list in the documentation: on another one the same request may rename an alias")
	}
	return v, nil
}

// versionOf returns info.version of an OpenAPI document. The error is a coded one
// of the stream, or errShape.
func versionOf(doc io.Reader) (string, error) {
	d := jsontext.NewDecoder(doc)
	if err := enter(d, "info"); err != nil {
		return "", err
	}
	if err := enter(d, ""); err != nil {
		return "", err
	}
	if err := seek(d, "version"); err != nil {
		return "", err
	}
	t, err := d.ReadToken()
	if err != nil {
		return "", shape(err)
	}
	if t.Kind() != '"' {
		return "", errShape
	}
	return t.String(), nil
}

// enter goes into an object, and to the value of a member when one is named.
func enter(d *jsontext.Decoder, member string) error {
	t, err := d.ReadToken()
	if err != nil {
		return shape(err)
	}
	if t.Kind() != '{' {
		return errShape
	}
	if member == "" {
		return nil
	}
	return seek(d, member)
}

// seek goes on to the value of a member of the object that d is in.
func seek(d *jsontext.Decoder, member string) error {
	for {
		t, err := d.ReadToken()
		if err != nil {
			return shape(err)
		}
		if t.Kind() != '"' {
			return errShape
		}
		if t.String() == member {
			return nil
		}
		if err := d.SkipValue(); err != nil {
			return shape(err)
		}
	}
}

// shape keeps the stream's own errors, whose texts are ours; all others quote the
// document.
func shape(err error) error {
	if e, ok := coded(err); ok {
		return e
	}
	return errShape
}

// settings returns how interfaces are named.
func (r *Reader) settings(ctx context.Context) (names string, err error) {
	err = r.get(ctx, pathSettings, pfrest.Page{}, whatSettings, func(data jsontext.Value) error {
		var v struct {
			Links    *bool   `json:"hateoas"`
			ReadOnly *bool   `json:"read_only"`
			Names    *string `json:"represent_interfaces_as"`
		}
		if err := json.Unmarshal(data, &v); err != nil {
			return err
		}
		if v.Links == nil || v.ReadOnly == nil || v.Names == nil || !slices.Contains([]string{"id", "descr", "if"}, *v.Names) {
			return errShape
		}
		switch {
		case *v.Links:
			return linksOn()
		case *v.ReadOnly:
			return errs.New(errs.Conflict, "the appliance's REST API is read-only").WithClass(classSettings).
				WithNext("switch read-only mode off in the settings of the appliance's REST API, or leave it and make no change")
		}
		names = *v.Names
		return nil
	})
	return names, err
}

// pending says whether aliases were changed and not applied.
func (r *Reader) pending(ctx context.Context) (pending bool, err error) {
	err = r.get(ctx, pathApply, pfrest.Page{}, whatPending, func(data jsontext.Value) error {
		var v struct {
			Applied *bool     `json:"applied"`
			Pending *[]string `json:"pending_subsystems"`
		}
		if err := json.Unmarshal(data, &v); err != nil {
			return err
		}
		if v.Applied == nil || v.Pending == nil || *v.Applied != (len(*v.Pending) == 0) {
			return errShape // the two must say the same
		}
		pending = slices.Contains(*v.Pending, "aliases")
		return nil
	})
	return pending, err
}

// history returns the time of the newest entry. The list holds versions that were
// replaced, so this is a hint and no proof.
func (r *Reader) history(ctx context.Context) (last time.Time, err error) {
	err = r.get(ctx, pathHistory, pfrest.Page{Limit: newest}, whatHistory, func(data jsontext.Value) error {
		var rows []struct {
			Time *int64 `json:"time"`
		}
		if err := json.Unmarshal(data, &rows); err != nil {
			return err
		}
		for _, row := range rows {
			if row.Time == nil || *row.Time <= 0 || *row.Time > 1<<40 {
				return errShape
			}
			if t := time.Unix(*row.Time, 0); t.After(last) {
				last = t
			}
		}
		return nil
	})
	return last, err
}

// Busy returns an error of class appliance_busy while the change could meet
// somebody else's: the configuration was changed within the last five seconds,
// aliases have a pending change that is not ours, or either could not be read.
// Pending is ours when the digest of all aliases is lastAll, which is the one that
// our newest verified change was left with; "" when there is none.
func (s *Survey) Busy(lastAll string) error {
	busy := func(cause error, msg, next string) error {
		return errs.Wrap(cause, errs.Conflict, msg).WithClass(classBusy).WithNext(next)
	}
	if s.unread != nil {
		return busy(s.unread, "whether somebody else is changing the appliance could not be read", "check the write identity's privileges with mcpctl doctor write, then try again")
	}
	// A time in the future is not five seconds old either: the two clocks disagree,
	// and what cannot be judged counts as busy.
	if !s.NewestChange.IsZero() && s.checked.Sub(s.NewestChange) < recent {
		return busy(nil, "the appliance's configuration was changed within the last 5 seconds, or its clock is ahead of ours", "try again in a few seconds; if this stays, compare the two clocks")
	}
	if !s.Pending {
		return nil
	}
	if all, err := s.All(); err != nil || lastAll == "" || all != lastAll {
		return busy(err, "aliases were changed on the appliance and not applied, and the change is not ours", "apply or revert the pending change on the appliance")
	}
	return nil
}
