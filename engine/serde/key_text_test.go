package serde

import (
	"math"
	"strings"
	"testing"
)

func TestParseKey(t *testing.T) {
	bits := func(v float64) int64 { return int64(math.Float64bits(v)) }
	for _, c := range []struct {
		t    KeyType
		text string
		want Key
	}{
		{Long, "9223372036854775807", Key{Num: math.MaxInt64}},
		{Long, "-9223372036854775808", Key{Num: math.MinInt64}},
		{Long, "+7", Key{Num: 7}},
		{Int, "-2147483648", Key{Num: math.MinInt32}},
		{String, " as it is ", Key{Str: " as it is "}},
		{String, "", Key{}},
		{Bool, "true", Key{Num: 1}},
		{Bool, "TRUE", Key{Num: 1}},
		{Bool, "False", Key{}},
		{Double, "1.5", Key{Num: bits(1.5)}},
		{Double, " 1.5\t", Key{Num: bits(1.5)}},
		{Double, "1.", Key{Num: bits(1)}},
		{Double, ".5", Key{Num: bits(.5)}},
		{Double, "+1e3d", Key{Num: bits(1000)}},
		{Double, "-1F", Key{Num: bits(-1)}},
		{Double, "0x1.8p1", Key{Num: bits(3)}},
		{Double, "0X.8P-1f", Key{Num: bits(.25)}},
		{Double, "-0", Key{Num: math.MinInt64}},
		{Double, "1e999", Key{Num: bits(math.Inf(1))}},
		{Double, "-1e-999", Key{Num: math.MinInt64}},
		{Double, "-Infinity", Key{Num: bits(math.Inf(-1))}},
		{Double, "+Infinity", Key{Num: bits(math.Inf(1))}},
		{Double, "NaN", Key{Num: 0x7ff8000000000000}},
		{Double, "-NaN", Key{Num: 0x7ff8000000000000}},
	} {
		got, err := ParseKey(c.t, c.text)
		if err != nil || got != c.want {
			t.Errorf("%v %q: %+v, %v, expected %+v", c.t, c.text, got, err, c.want)
		}
	}
}

func TestParseKeyErrors(t *testing.T) {
	for _, c := range []struct {
		t          KeyType
		text, want string
	}{
		{Long, "9223372036854775808", "long key 9223372036854775808, must be -9223372036854775808 to 9223372036854775807"},
		{Int, "2147483648", "int key 2147483648, must be -2147483648 to 2147483647"},
		{Long, "", `long key "", must be a whole decimal number`},
		{Long, " 1", `long key " 1", must be`}, {Long, "1_000", "must be"}, {Int, "0x10", "must be"},
		{Bool, "yes", `bool key "yes", must be true or false`},
		{Bool, "1", "must be true or false"},
	} {
		if _, err := ParseKey(c.t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %q: %v, expected %q", c.t, c.text, err, c.want)
		}
	}
	for _, text := range []string{"", " ", ".", "-", "+.", "e5", "1e", "1e+", "inf", "infinity", "nan", "Inf", "1_0", "1.5x", "1dd", "1 d",
		"0x", "0x1", "0x1.8", "0x.p1", "0xp1", "1p1", "--1", "1,5", "NaNd", "0x1p"} {
		if _, err := ParseKey(Double, text); err == nil || !strings.Contains(err.Error(), "must be a number as Java writes it") {
			t.Errorf("double %q: %v", text, err)
		}
	}
}

func TestParseKeyType(t *testing.T) {
	for want := Long; want <= Double; want++ {
		if got, err := ParseKeyType(want.String()); err != nil || got != want {
			t.Errorf("%v: %v, %v", want, got, err)
		}
	}
	if _, err := ParseKeyType("float"); err == nil || err.Error() != `key type "float", must be one of long, int, string, bool, double` {
		t.Errorf("%v", err)
	}
}

func TestFormatKey(t *testing.T) {
	for _, c := range []struct {
		t          KeyType
		text, want string
	}{
		{Long, "-5", "-5"}, {Int, "+5", "5"}, {String, "x", "x"}, {Bool, "TRUE", "true"}, {Bool, "false", "false"},
		{Double, "1", "1.0"}, {Double, "-0", "-0.0"}, {Double, "0", "0.0"}, {Double, "0.001", "0.001"}, {Double, "0.0009", "9.0E-4"},
		{Double, "9999999", "9999999.0"}, {Double, "1e7", "1.0E7"}, {Double, "1e300", "1.0E300"}, {Double, "-1.25e-10", "-1.25E-10"},
		{Double, "4.9E-324", "4.9E-324"}, {Double, "2E23", "2.0E23"}, {Double, "NaN", "NaN"}, {Double, "-Infinity", "-Infinity"}, {Double, "Infinity", "Infinity"},
	} {
		k, err := ParseKey(c.t, c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := FormatKey(c.t, k); got != c.want {
			t.Errorf("%v %q: %q, expected %q", c.t, c.text, got, c.want)
		}
	}
}

func TestAssignKey(t *testing.T) {
	k := Key{Str: "bob"}
	if g, err := AssignKey(String, &k, 128); g != 87 || err != nil {
		t.Errorf("%d, %v", g, err)
	}
	if _, err := AssignKey(String, &k, -5); err == nil {
		t.Error("a max parallelism of -5 is taken")
	}
}
