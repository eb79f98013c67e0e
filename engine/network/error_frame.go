package network

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// ErrorKind says what the receiver of an ErrorResponse has to do.
type ErrorKind uint8

// The kinds of errors that travel.
const (
	ErrorOther             ErrorKind = 0 // the channel (or, without a receiver, the whole connection) fails
	ErrorPartitionNotFound ErrorKind = 1 // the channel may ask again
)

// errorMark begins the body of Weir's own ErrorResponse. Flink's begins with AC ED, the mark of Java serialization.
const errorMark = 'W'

// ErrorResponse reports a failure to the consumer. Without a receiver it is fatal: it concerns all channels of the
// connection.
//
// Flink puts a Java-serialized exception into the body. Weir has its own encoding there:
//
//	['W'][1-byte kind][4-byte length][cause, UTF-8]
//
// and then Flink's tail: [00] for a fatal one, [01][16-byte receiver] for one that concerns a single channel.
type ErrorResponse struct {
	Kind        ErrorKind
	Cause       string
	HasReceiver bool
	Receiver    ChannelID
	Java        bool // it carries a Java exception, whose text is not decoded
}

// Fatal reports whether the error concerns the whole connection.
func (e *ErrorResponse) Fatal() bool { return !e.HasReceiver }

// maxCauseBytes keeps an ErrorResponse well below the length at which a reader takes it for garbage.
const maxCauseBytes = 8 << 10

// Append writes the whole frame behind b; a cause longer than 8 KiB is cut.
func (e *ErrorResponse) Append(b []byte) []byte {
	cause := e.Cause
	if len(cause) > maxCauseBytes {
		cause = cause[:maxCauseBytes]
		for !utf8.ValidString(cause) && len(cause) > maxCauseBytes-utf8.UTFMax {
			cause = cause[:len(cause)-1]
		}
	}
	n := FrameHeaderLength + 6 + len(cause) + 1
	if e.HasReceiver {
		n += len(e.Receiver)
	}
	b = appendFrameHeader(b, n, MsgErrorResponse)
	b = append(b, errorMark, byte(e.Kind))
	b = binary.BigEndian.AppendUint32(b, uint32(len(cause)))
	b = append(b, cause...)
	if !e.HasReceiver {
		return append(b, 0)
	}
	return append(append(b, 1), e.Receiver[:]...)
}

// ParseErrorResponse decodes a whole frame, Weir's or, as far as its tail, Flink's.
func ParseErrorResponse(b []byte) (ErrorResponse, error) {
	var e ErrorResponse
	if len(b) < FrameHeaderLength+2 {
		return e, &FrameError{"ErrorResponse bytes", int64(len(b)), "11 or more"}
	}
	body := b[FrameHeaderLength:]
	if body[0] == 0xAC && body[1] == 0xED {
		return parseJavaError(body)
	}
	if body[0] != errorMark {
		return e, &FrameError{"first byte of ErrorResponse", int64(body[0]), "87 ('W') or a Java stream"}
	}
	if len(body) < 7 {
		return e, &FrameError{"ErrorResponse body bytes", int64(len(body)), "7 or more"}
	}
	e.Kind = ErrorKind(body[1])
	n := int64(binary.BigEndian.Uint32(body[2:]))
	tail := int64(len(body)) - 6 - n
	if tail != 1 && tail != 17 {
		return e, &FrameError{"cause length", n, fmt.Sprintf("%d or %d by the frame's length", len(body)-7, len(body)-23)}
	}
	e.Cause = string(body[6 : 6+n])
	rest := body[6+n:]
	if int(rest[0]) != int(tail/17) {
		return e, &FrameError{"receiver flag", int64(rest[0]), fmt.Sprint(tail / 17)}
	}
	if tail == 17 {
		e.HasReceiver = true
		copy(e.Receiver[:], rest[1:])
	}
	return e, nil
}

// parseJavaError reads only the tail: the exception ends with TC_ENDBLOCKDATA or TC_NULL, then come the flag and the
// receiver.
func parseJavaError(body []byte) (ErrorResponse, error) {
	e := ErrorResponse{Java: true, Cause: "a Java exception (its text is serialized by Java)"}
	if at := len(body) - 17; at > 0 && body[at] == 1 && (body[at-1] == 0x78 || body[at-1] == 0x70) {
		e.HasReceiver = true
		copy(e.Receiver[:], body[at+1:])
		return e, nil
	}
	if last := body[len(body)-1]; last != 0 {
		return e, &FrameError{"receiver flag of a Java ErrorResponse", int64(last), "0 for a fatal one"}
	}
	return e, nil
}
