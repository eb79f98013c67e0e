package lsm

import (
	"fmt"
	"regexp"
	"strconv"
)

// catalogMarker is the name of the marker that points to Pebble's catalog of the tables that were taken in: a number of its
// own, and the catalog's file with that one's number.
var catalogMarker = regexp.MustCompile(`^marker\.remote-obj-catalog\.(\d+)\.(REMOTE-OBJ-CATALOG-(\d+))$`)

// placedAs returns the name that a file of a checkpoint gets in the folder of a new DB.
//
// Pebble numbers the next catalog by the marker. In a checkpoint the marker begins at 1 again while the catalog keeps its
// number, so that the DB would sooner or later give a new catalog the name of the old one, and then delete it as the old one:
// no further checkpoint of it could be taken. The marker is therefore placed with the number of its catalog.
func placedAs(name string) string {
	m := catalogMarker.FindStringSubmatch(name)
	if m == nil {
		return name
	}
	marker, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		return name
	}
	catalog, err := strconv.ParseUint(m[3], 10, 64)
	if err != nil || marker >= catalog {
		return name
	}
	return fmt.Sprintf("marker.remote-obj-catalog.%06d.%s", catalog, m[2])
}
