package input

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
)

var updateSample = flag.Bool("update-sample", false, "write flights_sample.csv.gz anew")

const (
	flightsPath = "../../testdata/flights.csv.gz"
	sampleSize  = 20000
	destColumn  = 5
)

// chooseSample is the rule of SampleFlights: which rows are in it.
func chooseSample(dest []string, size int) []bool {
	for spread := size; ; spread-- {
		chosen, total := make([]bool, len(dest)), 0
		seen := map[string]bool{}
		for k := range spread {
			i := k * len(dest) / spread
			chosen[i] = true
			total++
			seen[dest[i]] = true
		}
		for i, d := range dest {
			if !seen[d] {
				seen[d], chosen[i] = true, true
				total++
			}
		}
		if total == size {
			return chosen
		}
	}
}

func TestSampleIsMadeByItsRule(t *testing.T) {
	f, err := os.Open(flightsPath)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(all), "\n"), "\n")
	header, rows := lines[0], lines[1:]
	dest := make([]string, len(rows))
	for i, r := range rows {
		dest[i] = strings.Split(r, ",")[destColumn]
	}
	var want bytes.Buffer
	want.WriteString(header)
	for i, in := range chooseSample(dest, sampleSize) {
		if in {
			want.WriteString(strings.TrimSuffix(rows[i], "\n") + "\n")
		}
	}
	if *updateSample {
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		w.Write(want.Bytes())
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("flights_sample.csv.gz", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	z, err = gzip.NewReader(bytes.NewReader(flightsSample))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("flights_sample.csv.gz is not what its rule makes of testdata/flights.csv.gz; run with -update-sample")
	}
}

func TestSampleFlights(t *testing.T) {
	f, err := SampleFlights()
	if err != nil {
		t.Fatal(err)
	}
	counts := count(t, f, "dest")
	if f.Rows != sampleSize || len(counts) != 105 || !f.Gzip || f.Format != CSV {
		t.Errorf("%d rows, %d destinations, gzip %v, format %s", f.Rows, len(counts), f.Gzip, f.Format)
	}
}

// count reads the file and counts the keys of a column.
func count(t testing.TB, f *File, column string) map[string]int64 {
	t.Helper()
	r, err := f.NewReader(column)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m := map[string]int64{}
	for {
		key, err := r.Next()
		if err == io.EOF {
			return m
		}
		if err != nil {
			t.Fatal(err)
		}
		m[string(key)]++
	}
}
