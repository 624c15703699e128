//go:build !linux

package main

// onHugePages does nothing on this system.
func onHugePages(int) {}
