package chip

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"syscall"

	"github.com/google/go-tpm/tpm2"
)

// The errors that are ours and not the TPM's.
var (
	errSize   = errors.New("the TPM's answer has another size than a counter")
	errRange  = errors.New("the counter's value is beyond what is kept")
	errOrder  = errors.New("the TPM's list of handles does not ascend, or has no end")
	errNoAuth = errors.New("the secret was not given")
)

const (
	// pageHandles is how many handles are asked for at once.
	pageHandles = 64
	// maxHandles bounds the whole list; a TPM has room for a few dozen.
	maxHandles = 4096
)

// Conn is a connection for one operation.
type Conn struct {
	*link
	port    *Port
	session tpm2.Session // nil until Authorize
	flush   []tpm2.TPMHandle
}

// Detach frees the rest of the operation from the caller's context: once an
// increment is issued, giving up would not undo it. The time-out of each command
// stays.
func (c *Conn) Detach() { c.ctx = context.WithoutCancel(c.ctx) }

// End empties the slots that the operation used and closes the connection.
func (c *Conn) End() {
	for _, h := range slices.Backward(c.flush) {
		if c.broken {
			break
		}
		// What remains is flushed by the kernel's resource manager, or by primary.
		_, _ = (tpm2.FlushContext{FlushHandle: h}).Execute(c.link)
	}
	_ = c.Close() // everything that matters was answered
}

// Index is what stands at a handle.
type Index struct {
	Differs string // in words, how it differs from an index of ours; "" when it does not
	Name    string // 4 and 64 hex digits
	Written bool   // it has been incremented
	name    tpm2.TPM2BName
}

// Find looks at a handle, nil when it is free. It asks whether the handle is in
// use first, so that no error code has to be believed.
func (c *Conn) Find(handle uint32) (*Index, error) {
	taken, _, err := c.handles(handle, 1)
	if err != nil || len(taken) == 0 || taken[0] != handle {
		return nil, err
	}
	r, err := (tpm2.NVReadPublic{NVIndex: tpm2.TPMHandle(handle)}).Execute(c.link)
	if err != nil {
		return nil, err
	}
	p, err := r.NVPublic.Contents()
	if err != nil {
		return nil, err
	}
	// Computed here from what the index is; what the TPM says of it outside a
	// session could be anybody's.
	name, err := tpm2.NVName(p)
	if err != nil {
		return nil, err
	}
	return &Index{Differs: difference(handle, *p), Name: hex.EncodeToString(name.Buffer), Written: p.Attributes.Written, name: *name}, nil
}

// Indices lists the handles in use from first to last, ascending, and asks about
// none of them.
func (c *Conn) Indices(first, last uint32) ([]uint32, error) {
	var out []uint32
	for next := first; ; {
		page, more, err := c.handles(next, pageHandles)
		if err != nil {
			return nil, err
		}
		for _, h := range page {
			if h < next || len(out) == maxHandles {
				return nil, errOrder
			}
			if h > last {
				return out, nil
			}
			out, next = append(out, h), h+1
		}
		if !more || len(page) == 0 {
			return out, nil
		}
	}
}

// handles lists at most n handles in use, from first on, and says whether there
// are more.
func (c *Conn) handles(first, n uint32) ([]uint32, bool, error) {
	r, err := (tpm2.GetCapability{Capability: tpm2.TPMCapHandles, Property: first, PropertyCount: n}).Execute(c.link)
	if err != nil {
		return nil, false, err
	}
	list, err := r.CapabilityData.Data.Handles()
	if err != nil {
		return nil, false, err
	}
	out := make([]uint32, len(list.Handle))
	for i, h := range list.Handle {
		out[i] = uint32(h)
	}
	return out, bool(r.MoreData), nil
}

// Authorize starts the session that proves the secret without showing it: an HMAC
// session with a salted key, so that a listener cannot even try guesses.
func (c *Conn) Authorize(secret []byte) (err error) {
	c.session, err = c.salted(tpm2.Auth(secret))
	return err
}

// salted starts an HMAC session. The salt goes to a key of the null hierarchy,
// which needs nobody's secret and ends with the TPM's power.
func (c *Conn) salted(opts ...tpm2.AuthOption) (tpm2.Session, error) {
	key, err := c.primary(tpm2.TPMRHNull, tpm2.ECCSRKTemplate)
	if err != nil {
		return nil, err
	}
	pub, err := key.OutPublic.Contents()
	if err != nil {
		return nil, err
	}
	opts = append(opts, tpm2.Salted(key.ObjectHandle, *pub))
	s, _, err := tpm2.HMACSession(c.link, tpm2.TPMAlgSHA256, 16, opts...)
	if err != nil {
		return nil, err
	}
	c.flush = append(c.flush, s.Handle())
	return s, nil
}

// primary makes the TPM derive a key.
func (c *Conn) primary(hierarchy tpm2.TPMHandle, template tpm2.TPMTPublic) (*tpm2.CreatePrimaryResponse, error) {
	create := tpm2.CreatePrimary{PrimaryHandle: hierarchy, InPublic: tpm2.New2B(template)}
	key, err := create.Execute(c.link)
	if full(err) && c.port.Socket() {
		// An operation that broke off left its slots full, and there is no
		// resource manager to empty them.
		if err = c.empty(); err == nil {
			key, err = create.Execute(c.link)
		}
	}
	if err != nil {
		return nil, err
	}
	c.flush = append(c.flush, key.ObjectHandle)
	return key, nil
}

// full says whether the TPM has no slot left for an object or a session.
func full(err error) bool {
	return is(err, tpm2.TPMRCObjectMemory, tpm2.TPMRCSessionMemory, tpm2.TPMRCObjectHandles, tpm2.TPMRCSessionHandles)
}

// empty flushes every object and session of a TPM whose only user we are.
func (c *Conn) empty() error {
	for _, first := range []tpm2.TPMHT{tpm2.TPMHTTransient, tpm2.TPMHTLoadedSession} {
		list, _, err := c.handles(uint32(first)<<24, pageHandles)
		if err != nil {
			return err
		}
		for _, h := range list {
			if _, err := (tpm2.FlushContext{FlushHandle: tpm2.TPMHandle(h)}).Execute(c.link); err != nil {
				return err
			}
		}
	}
	return nil
}

// Value reads the counter in the session. The answer carries an HMAC over the
// secret, so a value comes from this index or not at all.
func (c *Conn) Value(handle uint32, i *Index) (int64, error) {
	if c.session == nil {
		return 0, errNoAuth
	}
	h := tpm2.TPMHandle(handle)
	r, err := (tpm2.NVRead{
		AuthHandle: tpm2.AuthHandle{Handle: h, Name: i.name, Auth: c.session},
		NVIndex:    tpm2.NamedHandle{Handle: h, Name: i.name}, Size: counterSize,
	}).Execute(c.link)
	if err != nil {
		return 0, err
	}
	if len(r.Data.Buffer) != counterSize {
		return 0, errSize
	}
	v := binary.BigEndian.Uint64(r.Data.Buffer)
	if v > math.MaxInt64-1 {
		return 0, errRange
	}
	return int64(v), nil
}

// Try uses the secret on an index that has no value yet, without changing it: a
// read, which the TPM refuses after it has accepted the secret. A TPM that has not
// seen such a secret since its start notes that first and answers "retry" once,
// and an increment is not given twice.
func (c *Conn) Try(handle uint32, i *Index) error {
	_, err := c.Value(handle, i)
	if is(err, tpm2.TPMRCNVUninitialized) {
		return nil
	}
	return err
}

// Increment issues one increment in the session. An error proves nothing about
// whether it happened.
func (c *Conn) Increment(handle uint32, i *Index) error {
	if c.session == nil {
		return errNoAuth
	}
	h := tpm2.TPMHandle(handle)
	_, err := (tpm2.NVIncrement{
		AuthHandle: tpm2.AuthHandle{Handle: h, Name: i.name, Auth: c.session},
		NVIndex:    tpm2.NamedHandle{Handle: h, Name: i.name},
	}).Execute(c.link)
	return err
}

// OwnerSession starts the session in which Define is issued: salted and encrypting,
// because the command carries the new index's secret.
func (c *Conn) OwnerSession() (err error) {
	c.session, err = c.salted(tpm2.Auth(nil), tpm2.AESEncryption(128, tpm2.EncryptIn))
	return err
}

// Define defines an index of ours. An error proves nothing about whether it
// happened.
func (c *Conn) Define(handle uint32, secret []byte) error {
	if c.session == nil {
		return errNoAuth
	}
	_, err := (tpm2.NVDefineSpace{
		AuthHandle: tpm2.AuthHandle{Handle: tpm2.TPMRHOwner, Auth: c.session},
		Auth:       tpm2.TPM2BAuth{Buffer: secret},
		PublicInfo: tpm2.New2B(public(handle, false)),
	}).Execute(c.link)
	return err
}

// endorsementKey makes the TPM derive its endorsement key anew (the TCG's P-256
// template) and returns the digest of the public area. It tells one TPM from
// another, which an index's Name does not. A TPM that will not show it is no
// error.
func (c *Conn) endorsementKey() (string, error) {
	key, err := c.primary(tpm2.TPMRHEndorsement, tpm2.ECCEKTemplate)
	if err != nil {
		if Answered(err) {
			return "", nil
		}
		return "", err
	}
	sum := sha256.Sum256(key.OutPublic.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// is says whether an error is one of the TPM's codes.
func is(err error, codes ...tpm2.TPMRC) bool {
	for _, rc := range codes {
		if errors.Is(err, rc) {
			return true
		}
	}
	return false
}

// Answered says whether the TPM answered with a code of its own. A code is not
// authenticated: it proves nothing about an increment.
func Answered(err error) bool {
	_, ok := errors.AsType[tpm2.TPMRC](err)
	return ok
}

// Refused says whether the TPM refused the secret.
func Refused(err error) bool {
	return is(err, tpm2.TPMRCAuthFail, tpm2.TPMRCBadAuth, tpm2.TPMRCNVAuthorization, tpm2.TPMRCAuthUnavailable)
}

// Lockout says whether the TPM refuses every secret for now.
func Lockout(err error) bool { return is(err, tpm2.TPMRCLockout) }

// Away says, in our words, why the TPM could not be asked, and what to do about it:
// "" when there is nothing better than to look.
func Away(err error) (msg, next string) {
	switch {
	case Late(err):
		return "the TPM did not answer in time", ""
	case errors.Is(err, fs.ErrNotExist):
		return "the TPM is not there", "ls -l /dev/tpmrm0: no such device means no TPM, no driver, or PrivateDevices= in the unit"
	case errors.Is(err, fs.ErrPermission):
		return "the TPM may not be opened by this user", "the unit needs DeviceAllow=/dev/tpmrm0 rw and SupplementaryGroups=tss"
	case errors.Is(err, syscall.EBUSY):
		return "the TPM is held by another program", "a program uses /dev/tpm0 without the resource manager: find it and stop it"
	}
	return "the TPM cannot be reached", ""
}

// Late says whether the TPM was reached and did not answer in time.
func Late(err error) bool {
	return errors.Is(err, errTimeout) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}
