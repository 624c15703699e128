// Package safetensors reads files of weights in the SafeTensors format, one at a
// time ([Open]) or the shards of a folder ([OpenIndex]).
//
// A file is the length of the header, in eight little-endian bytes, the header, and the
// data. The header is a JSON object that gives each tensor's type, shape and place in
// the data:
//
//	{"__metadata__": {"format": "pt"}, "w": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}, …}
//
// Nothing in a file is trusted. The tensors must fill the data, without a gap or an overlap, as the
// format demands; names are unique; the header has at most 100 MB and is read in place. Numbers are
// decoded on demand, and numbers that are not finite are refused then.
package safetensors
