package labs

import (
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"weir/whole"
)

// RecordFileVersion is the version of the format of run.weir: gzip around JSON, an envelope with the digest and the
// signature of its content, which is a Record.
const RecordFileVersion = 1

// recordFile is the envelope.
type recordFile struct {
	Weir    string `json:"weir"` // always "run"
	Version int    `json:"version"`
	// Digest is the SHA-256 of the content without insignificant white space, in hexadecimal.
	Digest string `json:"digest"`
	// Signature is that of the server whose session it was; absent for a run of the command line.
	Signature *recordSignature `json:"signature,omitempty"`
	Content   json.RawMessage  `json:"content"`
}

// recordSignature is an Ed25519 signature of the digest, with the public key, both in base64.
type recordSignature struct {
	Key string `json:"key"`
	Sig string `json:"sig"`
}

// Origin says how far a record can be trusted.
type Origin string

const (
	// OriginVerified is a record that a trusted server signed.
	OriginVerified Origin = "verified"
	// OriginReported is a record that only its bringer vouches for.
	OriginReported Origin = "reported"
)

func digestOf(content []byte) [sha256.Size]byte { return sha256.Sum256(content) }

// signed is what a signature covers: its purpose, so that the key signs nothing else by mistake, and the digest.
func signed(digest [sha256.Size]byte) []byte {
	return append([]byte("weir run record 1\n"), digest[:]...)
}

// Write writes the record as a run.weir file; without a key it is unsigned.
func (r *Record) Write(w io.Writer, key ed25519.PrivateKey) error {
	content, err := json.Marshal(r) // compact
	if err != nil {
		return fmt.Errorf("record of %s: %w", r.Lab, err)
	}
	digest := digestOf(content)
	f := recordFile{Weir: "run", Version: RecordFileVersion, Digest: hex.EncodeToString(digest[:]), Content: content}
	if key != nil {
		public, _ := key.Public().(ed25519.PublicKey)
		f.Signature = &recordSignature{base64.StdEncoding.EncodeToString(public), base64.StdEncoding.EncodeToString(ed25519.Sign(key, signed(digest)))}
	}
	b, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("record of %s: %w", r.Lab, err)
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(b); err != nil {
		return err
	}
	return z.Close()
}

// Save writes the record to a file that is there whole or not at all.
func (r *Record) Save(path string, key ed25519.PrivateKey) error {
	if err := whole.Replace(path, 0o644, func(w io.Writer) error { return r.Write(w, key) }); err != nil {
		return fmt.Errorf("record %s: %w", path, err)
	}
	return nil
}

// RecordError says why a record is refused, to a learner.
type RecordError struct{ Reason Text }

func (e *RecordError) Error() string { return "record: " + e.Reason.En }

func refuse(en, zh string, args ...any) error {
	return &RecordError{Text{fmt.Sprintf(en, args...), fmt.Sprintf(zh, args...)}}
}

// ReadRecord reads a run.weir file and checks its version, its bounds, its digest and its signature. A record without a
// signature, or with that of a server that is not among the trusted ones, is good but only reported. The error is a
// *RecordError unless reading itself failed.
func ReadRecord(from io.Reader, trusted ...ed25519.PublicKey) (*Record, Origin, error) {
	b, err := unzip(from)
	if err != nil {
		return nil, "", err
	}
	if err := bounded(b); err != nil {
		return nil, "", err
	}
	var f recordFile
	if err := json.Unmarshal(b, &f); err != nil || f.Weir != "run" {
		return nil, "", refuse("this is no record of a run: give the run.weir that the page or `labserver run --record` wrote",
			"这不是运行记录：请给出页面或 `labserver run --record` 写出的 run.weir")
	}
	if f.Version != RecordFileVersion {
		return nil, "", refuse("format %d, this version reads %d: run the lab again with this version", "记录格式为 %d，本版本只读 %d：请用本版本重新运行", f.Version, RecordFileVersion)
	}
	var content bytes.Buffer
	if err := json.Compact(&content, f.Content); err != nil {
		return nil, "", refuse("the content is damaged: run the lab again", "内容已损坏：请重新运行实验")
	}
	digest := digestOf(content.Bytes())
	if f.Digest != hex.EncodeToString(digest[:]) {
		return nil, "", refuse("the digest does not match: the record was changed after it was written; run the lab again",
			"摘要对不上：记录写出之后被改动过；请重新运行实验")
	}
	origin, err := f.Signature.origin(digest, trusted)
	if err != nil {
		return nil, "", err
	}
	r, err := decodeRecord(content.Bytes())
	if err != nil {
		return nil, "", err
	}
	return r, origin, nil
}

// origin checks a signature; there may be none.
func (s *recordSignature) origin(digest [sha256.Size]byte, trusted []ed25519.PublicKey) (Origin, error) {
	if s == nil {
		return OriginReported, nil
	}
	key, err := base64.StdEncoding.DecodeString(s.Key)
	sig, err2 := base64.StdEncoding.DecodeString(s.Sig)
	if err != nil || err2 != nil || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, signed(digest), sig) {
		return "", refuse("the signature does not match: the record was changed after the server signed it; download it again",
			"签名对不上：服务器签名之后记录被改动过；请重新下载")
	}
	for _, t := range trusted {
		if t.Equal(ed25519.PublicKey(key)) {
			return OriginVerified, nil
		}
	}
	return OriginReported, nil
}

// ReadRecordFile is ReadRecord for a file.
func ReadRecordFile(path string, trusted ...ed25519.PublicKey) (*Record, Origin, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	return ReadRecord(f, trusted...)
}
