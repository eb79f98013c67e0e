package serde

import (
	"math"
	"strconv"
	"strings"
)

// parseDouble follows Java's Double.parseDouble. Its grammar is checked here, since Go's differs: Go takes "inf" and
// refuses "1d".
func parseDouble(s string) (float64, bool) {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }) // String.trim
	sign := 1.0
	body := s
	if body != "" && (body[0] == '+' || body[0] == '-') {
		if body[0] == '-' {
			sign = -1
		}
		body = body[1:]
	}
	switch body {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return sign * math.Inf(1), true
	}
	rest, ok := strings.CutPrefix(body, "0x")
	if !ok {
		rest, ok = strings.CutPrefix(body, "0X")
	}
	digits, mark := isDecimal, "eE"
	if ok {
		digits, mark = isHex, "pP"
	}
	seen := 0
	skip := func(is func(byte) bool) int {
		n := 0
		for n < len(rest) && is(rest[n]) {
			n++
		}
		rest = rest[n:]
		return n
	}
	seen += skip(digits)
	if rest != "" && rest[0] == '.' {
		rest = rest[1:]
		seen += skip(digits)
	}
	if seen == 0 {
		return 0, false
	}
	if rest != "" && strings.IndexByte(mark, rest[0]) >= 0 {
		rest = rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		if skip(isDecimal) == 0 {
			return 0, false
		}
	} else if ok {
		return 0, false // a hexadecimal number must have its exponent
	}
	if len(rest) > 1 || rest != "" && strings.IndexByte("fFdD", rest[0]) < 0 {
		return 0, false
	}
	// Out of range, ParseFloat answers an infinity or 0 with an error; Java answers the same without one.
	v, _ := strconv.ParseFloat(s[:len(s)-len(rest)], 64)
	return v, true
}

func isDecimal(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDecimal(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// formatDouble lays a double out as Java's Double.toString does: plain from 0.001 to 10,000,000, else with an E, and
// always a digit behind the point. The digits are the fewest that tell the number from its neighbours, as in Java 19
// and later; older ones sometimes print one more.
func formatDouble(v float64) string {
	a := math.Abs(v)
	switch {
	case v != v:
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	case a == 0 || 1e-3 <= a && a < 1e7:
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if strings.IndexByte(s, '.') < 0 {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	if strings.IndexByte(mantissa, '.') < 0 {
		// Of numbers with one digit Java prints the two that come nearest: the least double is 4.9E-324.
		mantissa, exponent, _ = strings.Cut(strconv.FormatFloat(v, 'e', 1, 64), "e")
	}
	e, _ := strconv.Atoi(exponent)
	return mantissa + "E" + strconv.Itoa(e)
}
