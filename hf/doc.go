// Package hf reads models as they are published for language models and their kin:
// folders in the Hugging Face layout, with the weights in SafeTensors, and GGUF
// files. Each becomes a graph ([Open]), built by package families from what the
// configuration says.
package hf
