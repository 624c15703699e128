// Package hf reads published models of text, images and speech: folders in the Hugging
// Face layout, with the weights in SafeTensors, and GGUF files. [Open] opens one,
// and package families builds its graph from the configuration.
package hf
