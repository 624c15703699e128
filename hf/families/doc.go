// Package families builds the graph of a model from its configuration and weights,
// as published in the Hugging Face layout. Each family has a short file. All of them
// share the building blocks: attention, positions, norms, feed-forward parts, experts,
// embeddings.
//
// Token ids are an integer input "input_ids" of shape [1, tokens]; a language model
// has the output "logits" of shape [1, tokens, vocabulary], an encoder
// "last_hidden_state" of shape [1, tokens, width] or, with the modules of a sentence
// encoder, "sentence_embedding" of shape [1, width]. Image models take
// "pixel_values".
//
// Inside, activations have shape [tokens, width]. Weights stay in the layout of the
// file: a matrix of [outputs, inputs] is multiplied transposed. So a matrix that is both
// the embeddings and the output layer is one constant.
package families
