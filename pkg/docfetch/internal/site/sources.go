package site

import "slices"

// Host is the one host that is asked.
const Host = "pfrest.org"

// DocumentURL is where the OpenAPI document is.
const DocumentURL = "https://pfrest.org/api-docs/openapi.json"

// The topics, each a page of the site. The first six are those that the document
// itself points to and the authentication page; the others were reviewed and
// found worth having.
const (
	TopicAuthentication = "AUTHENTICATION_AND_AUTHORIZATION"
	TopicObjectIDs      = "WORKING_WITH_OBJECT_IDS"
	TopicQueries        = "QUERIES_FILTERS_AND_SORTING"
	TopicControl        = "COMMON_CONTROL_PARAMETERS"
	TopicHATEOAS        = "WORKING_WITH_HATEOAS"
	TopicOpenAPI        = "SWAGGER_AND_OPENAPI"
	TopicEndpointTypes  = "ENDPOINT_TYPES"
	TopicSecuring       = "SECURING_API_ACCESS"
	TopicLimitations    = "LIMITATIONS_AND_FAQS"
)

// Kind is what an address holds.
type Kind uint8

// The kinds.
const (
	Document Kind = iota
	Guide
)

// accept is the type that a kind is asked for and must come as.
func (k Kind) accept() string {
	if k == Document {
		return "application/json"
	}
	return "text/html"
}

// String returns the kind's name, for the log.
func (k Kind) String() string {
	if k == Document {
		return "document"
	}
	return "topic"
}

// Source is one address that may be fetched.
type Source struct {
	Topic string // "" for the document
	URL   string
	Kind  Kind
}

// sources is all that is ever fetched.
var sources = [...]Source{
	{"", DocumentURL, Document},
	{TopicAuthentication, "https://pfrest.org/AUTHENTICATION_AND_AUTHORIZATION/", Guide},
	{TopicObjectIDs, "https://pfrest.org/WORKING_WITH_OBJECT_IDS/", Guide},
	{TopicQueries, "https://pfrest.org/QUERIES_FILTERS_AND_SORTING/", Guide},
	{TopicControl, "https://pfrest.org/COMMON_CONTROL_PARAMETERS/", Guide},
	{TopicHATEOAS, "https://pfrest.org/WORKING_WITH_HATEOAS/", Guide},
	{TopicOpenAPI, "https://pfrest.org/SWAGGER_AND_OPENAPI/", Guide},
	{TopicEndpointTypes, "https://pfrest.org/ENDPOINT_TYPES/", Guide},
	{TopicSecuring, "https://pfrest.org/SECURING_API_ACCESS/", Guide},
	{TopicLimitations, "https://pfrest.org/LIMITATIONS_AND_FAQS/", Guide},
}

// TheDocument returns where the OpenAPI document is.
func TheDocument() Source { return sources[0] }

// Topics returns the names of the topics.
func Topics() []string {
	var names []string
	for _, s := range sources {
		if s.Kind == Guide {
			names = append(names, s.Topic)
		}
	}
	return names
}

// Topic returns a topic's page.
func Topic(topic string) (Source, bool) {
	i := slices.IndexFunc(sources[:], func(s Source) bool { return s.Kind == Guide && s.Topic == topic })
	if i < 0 {
		return Source{}, false
	}
	return sources[i], true
}

// known says whether an address is one of those that may be fetched, byte for
// byte.
func known(url string) bool {
	return slices.ContainsFunc(sources[:], func(s Source) bool { return s.URL == url })
}
