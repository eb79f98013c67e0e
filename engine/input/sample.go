package input

import (
	_ "embed"
	"sync"
)

// The built-in sample is 20,000 of the 336,776 flights that left New York in 2013 (the nycflights13 data, CC0). The rows
// are in the order of the whole file: as many as there is room for at equal distances (row k*n/m for k = 0 to m-1), and
// the first row of every destination that these leave out, so that all 105 destinations occur. The package's tests make
// it anew from testdata/flights.csv.gz and compare; with -update-sample they write it.
//
//go:embed flights_sample.csv.gz
var flightsSample []byte

// SampleFlights is the built-in sample, checked.
var SampleFlights = sync.OnceValues(func() (*File, error) {
	return OpenBytes("flights_sample.csv.gz", flightsSample, 0)
})
