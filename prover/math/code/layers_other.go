//go:build !amd64 || purego

package code

// active is what the encoder uses.
var active = generic
