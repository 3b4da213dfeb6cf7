package tlsdial

// Text is our text for a connection that was not made: the class ("connection"
// or "tls"), what failed and the next step. blocked says that a key was refused
// shortly before, so that silence may be the appliance's login protection. Of the
// certificate that was shown it carries the pin alone: subject and issuer are
// text of a stranger.
func (f *Failure) Text(blocked bool) (class, msg, next string) {
	shown := ""
	if f.Pin != "" {
		shown = "; the certificate that was shown has the pin " + f.Pin + ": compare it on the appliance's console before you trust it"
	}
	switch f.Kind {
	case Resolve:
		return classConnection, "the appliance's name has no address", "check the API URL and this host's name resolution"
	case Refused:
		return classConnection, "the appliance refused the connection", "check the port of the API URL and that the web interface runs"
	case NoAnswer:
		msg, next = "the appliance did not answer the connection in time", "check that the appliance is up and that its rules let this host in"
		if blocked {
			next = "a key was refused shortly before: login protection of the appliance has probably blocked this host's address; wait, or take it off the block list there"
		}
		return classConnection, msg, next
	case Untrusted:
		return classTLS, "the appliance's certificate is signed by no trusted authority", "set TLS mode auto with the appliance's CA file" + shown
	case WrongName:
		return classTLS, "the appliance's certificate is for another name or address", "use a name in the API URL that the certificate has, or give the appliance a certificate for this one" + shown
	case NotValid:
		return classTLS, "the appliance's certificate has expired or is not valid yet", "check the clocks, or renew the certificate on the appliance" + shown
	case PinMismatch:
		return classTLS, "the appliance's certificate does not match the pin", "if the certificate was not renewed, somebody else answers: stop and find out" + shown
	case Handshake:
		return classTLS, "the TLS handshake failed", "check that the port of the API URL speaks HTTPS with TLS 1.2 or newer"
	}
	return classConnection, "the appliance cannot be reached", "check the network and the route to the appliance"
}
