// Package chat turns a conversation into the form of text that a language model was
// trained on, with the template that the model comes with.
//
// Templates are written in Jinja. This package has the parts of Jinja that they use: output,
// if, for, set, macro, expressions with the usual operators, filters, tests and
// methods, and control of white space, with trim_blocks and lstrip_blocks set as
// Hugging Face does. Anything else is refused by name. A template is not trusted:
// what it may do is bounded, and it reads nothing but the conversation.
package chat
