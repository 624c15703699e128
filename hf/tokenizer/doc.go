// Package tokenizer turns text into the token ids of a language model, and ids into text,
// with the same results as the library that the model was made with.
//
// [Open] reads a tokenizer.json, a SentencePiece model (tokenizer.model) or what a
// GGUF file holds. The way of a text is
//
//	added tokens are cut out ─ normalisers ─ splitters ─ model: byte-level or
//	character BPE, WordPiece, SentencePiece's BPE ─ the tokens that a template puts around
//
// and back through decoders. Splitters that the files give as regular expressions
// are recognised and written by hand here, as they look ahead, which Go's do not.
// What is not known is refused by name: a text split in another way would be
// another question to the model.
package tokenizer
