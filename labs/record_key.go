package labs

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"weir/whole"
)

// recordKeyFile is the name of the key's file in the data folder.
const recordKeyFile = "record.key"

// RecordKey returns the key that a server signs the records of its own sessions with. It lies in the data folder, readable
// by its owner alone, and is made at the first call; servers that share a folder share the key.
func RecordKey(dir string) (ed25519.PrivateKey, error) {
	path := filepath.Join(dir, recordKeyFile)
	key, err := readRecordKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("key for records: %w", err)
	}
	_, key, err = ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key for records: %w", err)
	}
	// Whoever comes second finds the whole key of the first.
	if err := whole.Create(path, []byte(hex.EncodeToString(key.Seed())+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("key for records: %w", err)
	}
	return readRecordKey(path)
}

// TrustedRecordKey returns the public half of the data folder's key, nil if no server made one yet.
func TrustedRecordKey(dir string) ed25519.PublicKey {
	key, err := readRecordKey(filepath.Join(dir, recordKeyFile))
	if err != nil {
		return nil
	}
	public, _ := key.Public().(ed25519.PublicKey)
	return public
}

func readRecordKey(path string) (ed25519.PrivateKey, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("key for records: %w", err)
	}
	seed, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("key for records: %s does not hold a key: delete it to have a new one made", path)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}
