// Package chat writes a conversation as the text that a language model was trained
// on, with the template that the model comes with.
//
// Templates are written in Jinja. What they use of it is here: output, if, for, set,
// macro, expressions with the usual operators, filters, tests and methods, and
// control of white space, with trim_blocks and lstrip_blocks as Hugging Face sets
// them. Anything else is refused by name. A template is not trusted: what it may do
// is bounded, and it reads nothing but the conversation.
package chat
