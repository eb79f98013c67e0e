// Package exercises lists all exercises, in the order of the catalogue. Each has a folder of its own beside this file.
package exercises

import (
	"fmt"
	"strings"

	buffertimeouts "weir/exercises/01-buffer-timeouts"
	skewcure "weir/exercises/02-skew-cure"
	hardbackpressure "weir/exercises/03-hard-backpressure"
	unalignedmatrix "weir/exercises/04-unaligned-matrix"
	undertarget "weir/exercises/05-under-target"
	announce "weir/exercises/06-announce"
	credit "weir/exercises/07-credit"
	subpartition "weir/exercises/08-subpartition"
	localpool "weir/exercises/09-local-pool"
	debloater "weir/exercises/10-debloater"
	keygroup "weir/exercises/11-key-group"
	keyranges "weir/exercises/12-key-ranges"
	inplace "weir/exercises/13-in-place"
	maxparallelism "weir/exercises/14-max-parallelism"
	scalein "weir/exercises/15-scale-in"
	ttl "weir/exercises/16-ttl"
	copyonwrite "weir/exercises/17-copy-on-write"
	compositekey "weir/exercises/18-composite-key"
	assignment "weir/exercises/19-assignment"
	sharedregistry "weir/exercises/20-shared-registry"
	"weir/exercises/kit"
	"weir/labs"
)

// All answers every exercise; each call makes new ones.
func All() []*kit.Exercise {
	return []*kit.Exercise{
		buffertimeouts.Exercise(), skewcure.Exercise(), hardbackpressure.Exercise(), unalignedmatrix.Exercise(), undertarget.Exercise(),
		announce.Exercise(), credit.Exercise(), subpartition.Exercise(), localpool.Exercise(),
		debloater.Exercise(),
		keygroup.Exercise(), keyranges.Exercise(),
		inplace.Exercise(), maxparallelism.Exercise(), scalein.Exercise(), ttl.Exercise(),
		copyonwrite.Exercise(), compositekey.Exercise(),
		assignment.Exercise(), sharedregistry.Exercise(),
	}
}

// Find answers the exercise with an id; the error names the nearest, or all.
func Find(id string) (*kit.Exercise, error) {
	all := All()
	ids := make([]string, len(all))
	for i, e := range all {
		if e.ID == id {
			return e, nil
		}
		ids[i] = e.ID
	}
	if near := labs.Nearest(id, ids); len(near) > 0 {
		return nil, fmt.Errorf("no exercise %q: did you mean %s?", id, strings.Join(near, " or "))
	}
	return nil, fmt.Errorf("no exercise %q: there are %s", id, strings.Join(ids, ", "))
}
