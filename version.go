package provemodel

// Version is the release that this source is, or becomes. It is stated only here: archives,
// wheels, the npm package and `prove-model version` take it from here, and CHANGELOG.md begins
// with it.
const Version = "0.3.0"
