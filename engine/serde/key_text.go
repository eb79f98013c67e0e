package serde

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

var keyTypes = [...]string{Long: "long", Int: "int", String: "string", Bool: "bool", Double: "double"}

// String gives the name of t as options have it.
func (t KeyType) String() string { return name(keyTypes[:], "KeyType", uint8(t)) }

// ParseKeyType reads the name of a key type: long, int, string, bool or double.
func ParseKeyType(s string) (KeyType, error) {
	for i, n := range keyTypes {
		if s == n {
			return KeyType(i), nil
		}
	}
	return 0, fmt.Errorf("key type %q, must be one of %s", s, strings.Join(keyTypes[:], ", "))
}

// ParseKey reads a key as Java's valueOf methods do: an int or a long is decimal; a double may have white space
// around it, a suffix d or f, a hexadecimal form, and overflows to Infinity; a bool is true or false in any case.
// Unlike Java, which takes any other word for false, an error names it.
func ParseKey(t KeyType, s string) (Key, error) {
	switch t {
	case String:
		return Key{Str: s}, nil
	case Bool:
		switch {
		case strings.EqualFold(s, "true"):
			return Key{Num: 1}, nil
		case strings.EqualFold(s, "false"):
			return Key{}, nil
		}
		return Key{}, fmt.Errorf("bool key %q, must be true or false", s)
	case Double:
		v, ok := parseDouble(s)
		if !ok {
			return Key{}, fmt.Errorf("double key %q, must be a number as Java writes it, such as -1.5, 1e300, NaN or Infinity", s)
		}
		return Key{Num: doubleToLongBits(int64(math.Float64bits(v)))}, nil
	case Int:
		v, err := strconv.ParseInt(s, 10, 32)
		return Key{Num: v}, integerError(t, s, err, math.MinInt32, math.MaxInt32)
	default:
		v, err := strconv.ParseInt(s, 10, 64)
		return Key{Num: v}, integerError(t, s, err, math.MinInt64, math.MaxInt64)
	}
}

func integerError(t KeyType, s string, err error, least, most int64) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%v key %s, must be %d to %d", t, s, least, most)
	}
	return fmt.Errorf("%v key %q, must be a whole decimal number", t, s)
}

// FormatKey prints a key as Java does.
func FormatKey(t KeyType, k Key) string {
	switch t {
	case String:
		return k.Str
	case Bool:
		return strconv.FormatBool(k.Num != 0)
	case Double:
		return formatDouble(math.Float64frombits(uint64(k.Num)))
	}
	return strconv.FormatInt(k.Num, 10)
}
