package lsm

import "testing"

func TestCatalogMarkerIsPlacedWithTheNumberOfItsCatalog(t *testing.T) {
	for name, want := range map[string]string{
		"marker.remote-obj-catalog.000001.REMOTE-OBJ-CATALOG-000002": "marker.remote-obj-catalog.000002.REMOTE-OBJ-CATALOG-000002",
		"marker.remote-obj-catalog.000001.REMOTE-OBJ-CATALOG-000001": "marker.remote-obj-catalog.000001.REMOTE-OBJ-CATALOG-000001",
		"marker.remote-obj-catalog.000007.REMOTE-OBJ-CATALOG-000002": "marker.remote-obj-catalog.000007.REMOTE-OBJ-CATALOG-000002",
		"marker.manifest.000001.MANIFEST-000007":                     "marker.manifest.000001.MANIFEST-000007",
		"REMOTE-OBJ-CATALOG-000002":                                  "REMOTE-OBJ-CATALOG-000002",
	} {
		if got := placedAs(name); got != want {
			t.Errorf("%s: %s, expected %s", name, got, want)
		}
	}
}
