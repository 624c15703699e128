//go:build race

package main

// raceDetector says that what a process takes is mostly what the race detector keeps.
const raceDetector = true
