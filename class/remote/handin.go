package remote

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// handInTime bounds one try to hand a result in.
const handInTime = 15 * time.Second

const resultsPath = "/api/v1/class/results"

// HandIn sends one result once. It is kept once by the id in it, however often it is sent. The answer is 201 for one that
// was kept by this call, 200 for one that had been, 202 for one that a learner's own server keeps until it has sent it on.
func (c *Client) HandIn(ctx context.Context, result []byte) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, handInTime)
	defer cancel()
	a, err := c.Do(ctx, http.MethodPost, resultsPath, result)
	if err != nil {
		return nil, err
	}
	switch err := a.Refused(); {
	case err == nil:
		return a, nil
	case a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden:
		return nil, &Refusal{Status: a.Status, said: "the server does not know this token: copy it from your page of the class"}
	case a.Status == http.StatusNotFound:
		return nil, &Refusal{Status: a.Status, said: "there is no class: is it a labserver serve --class?"}
	default:
		return nil, err
	}
}

// HandInPatiently sends one result, again when the server could not be reached or was too busy. The waits double from
// pause, and are spread at random.
func (c *Client) HandInPatiently(ctx context.Context, result []byte, tries int, pause time.Duration) (*Answer, error) {
	for try := 1; ; try++ {
		a, err := c.HandIn(ctx, result)
		var refused *Refusal
		if err == nil || try == tries || ctx.Err() != nil || errors.As(err, &refused) && (!refused.passing() || refused.Status == http.StatusUnauthorized) {
			return a, err
		}
		wait := time.NewTimer(Spread(pause))
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil, ctx.Err()
		case <-wait.C:
		}
		pause *= 2
	}
}

// Spread is a wait around d, from half of it to one and a half, so that a class does not return in one moment.
func Spread(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.5 + rand.Float64()))
}
