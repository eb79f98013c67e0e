package class

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// crockford are the digits of a join code: no I, L, O and U, which are read as others or make words.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// codeDigits are 40 bits.
const codeDigits = 8

// NewID makes a name for a class, a person, a question or a result: 128 random bits.
func NewID() string { return rand.Text() }

// NewCode makes a join code of 40 random bits, as ParseCode gives it.
func NewCode() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	bits := binary.BigEndian.Uint64(b[:])
	code := make([]byte, codeDigits)
	for i := range code {
		code[i] = crockford[bits>>(5*i)&31]
	}
	return string(code)
}

// ShowCode writes a code in two groups, as it is read out: 7KQ2-9MXD.
func ShowCode(code string) string {
	if len(code) != codeDigits {
		return code
	}
	return code[:codeDigits/2] + "-" + code[codeDigits/2:]
}

// ParseCode reads a code that somebody typed: in any case, with spaces and dashes, with O for 0, and with I or L for 1.
// Full width characters of an East Asian keyboard are read too. It is an ErrInvalid if no code can be meant.
func ParseCode(typed string) (string, error) {
	code := make([]byte, 0, codeDigits)
	for _, r := range typed {
		if r >= '！' && r <= '～' {
			r += '!' - '！'
		}
		switch {
		case r == ' ' || r == '-' || r == '\t' || r == '\u3000' || r == '\u2010' || r == '\u2013' || r == '\u2014':
			continue
		case r >= 'a' && r <= 'z':
			r += 'A' - 'a'
		}
		switch r {
		case 'O':
			r = '0'
		case 'I', 'L':
			r = '1'
		}
		if len(code) == codeDigits || !strings.ContainsRune(crockford, r) {
			return "", invalid("code: a join code has %d letters and digits, such as %s", codeDigits, "7KQ2-9MXD")
		}
		code = append(code, byte(r))
	}
	if len(code) != codeDigits {
		return "", invalid("code: a join code has %d letters and digits, not %d", codeDigits, len(code))
	}
	return string(code), nil
}

// NewToken makes the secret of a cookie or of a personal link, 128 random bits, and the hash that the store keeps of it.
func NewToken() (token string, hash []byte) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	token = base64.RawURLEncoding.EncodeToString(b[:])
	return token, HashToken(token)
}

// HashToken is what the store keeps of a token. The token itself is random, so a plain SHA-256 tells nothing of it.
func HashToken(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}
