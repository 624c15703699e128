// Package hf reads published language models and their kin: folders in the Hugging
// Face layout, with the weights in SafeTensors, and GGUF files. [Open] opens one,
// and package families builds its graph from the configuration.
package hf
