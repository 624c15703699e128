//go:build !linux

package main

func onHugePages(int) {}
