package site

import "errors"

// Failure is why a page could not be had: one of a closed set, each with fixed
// words. Nothing of what a site or a resolver said is in it.
type Failure string

// The failures.
const (
	NotAllowed       Failure = "url_not_allowed"
	TooManyRedirects Failure = "too_many_redirects"
	TooLarge         Failure = "too_large"
	WrongType        Failure = "wrong_type"
	Network          Failure = "network"
	Status           Failure = "status"
	Corrupt          Failure = "corrupt" // it came, but it is not what it should be
)

// Error returns the fixed words.
func (f Failure) Error() string {
	switch f {
	case NotAllowed:
		return "the site led to an address that may not be fetched"
	case TooManyRedirects:
		return "the site redirected more than once"
	case TooLarge:
		return "the page is larger than 8 MiB"
	case WrongType:
		return "the page is not of the type that it should be, or not UTF-8"
	case Status:
		return "the site answered with another status than 200"
	case Corrupt:
		return "the page came, but it is not what it should be"
	}
	return "the site could not be reached, or the connection broke"
}

// FailureOf returns the failure in err's chain; everything else is the network's.
func FailureOf(err error) Failure {
	if f, ok := errors.AsType[Failure](err); ok {
		return f
	}
	return Network
}
