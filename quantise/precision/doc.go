// Package precision chooses number formats with which an integer model is within a target of
// the float model on samples: priors by the role of a value, errors by where they enter, and
// a search.
package precision
