// Package safetensors reads files of weights in the SafeTensors format, one at a
// time ([Open]) or the shards of a folder ([OpenIndex]).
//
// A file is eight bytes of length, little-endian, a header of that many bytes, and
// the data. The header is a JSON object that gives each tensor a type, a shape and
// where its bytes lie in the data:
//
//	{"__metadata__": {"format": "pt"}, "w": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}, …}
//
// Nothing in a file is trusted. The tensors must fill the data, without a gap or an overlap, as the
// format demands; names are unique; the header has at most 100 MB and is read in place. Numbers are
// decoded on demand, and numbers that are not finite are refused then.
package safetensors
