//go:build !race

package exercises

const raced = false
