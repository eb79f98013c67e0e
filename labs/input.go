package labs

import (
	_ "embed"
	"sync"

	"weir/engine/input"
)

// Input is a file of records and the column of their keys.
type Input struct {
	*input.File
	// Key is the column; empty until WithKey.
	Key string
}

// OpenInput checks a CSV or NDJSON file, plain or gzip. The error names the file and, where one is at fault, the line.
func OpenInput(path string) (*Input, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	return &Input{File: f}, nil
}

// OpenInputLimited is OpenInput for a file that may hold no more than maxBytes when decompressed.
func OpenInputLimited(path string, maxBytes int64) (*Input, error) {
	f, err := input.OpenLimited(path, maxBytes)
	if err != nil {
		return nil, err
	}
	return &Input{File: f}, nil
}

// WithKey returns the input with its key column, or an error that lists the columns there are.
func (in *Input) WithKey(column string) (*Input, error) {
	r, err := in.NewReader(column)
	if err != nil {
		return nil, err
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	return &Input{File: in.File, Key: column}, nil
}

// flights are 20,000 rows, evenly picked, of the 336,776 flights that left New York in 2013 (CC0).
//
//go:embed data/flights.csv.gz
var flights []byte

var sample = sync.OnceValues(func() (*input.File, error) { return input.OpenBytes("flights.csv.gz", flights, 0) })

// SampleFlights is the built-in file, without a key column.
func SampleFlights() *Input {
	f, err := sample()
	if err != nil {
		panic("labs: " + err.Error()) // the embedded file, which a test reads
	}
	return &Input{File: f}
}
