package kernels

import (
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
)

// ByteRows describes how rows of integers are stored as bytes, one row after the other. A row
// has Width planes of Pitch bytes each, and plane j has byte j of each entry. 128 is
// subtracted from the bytes of all planes but the last, so that every byte is signed; the last
// plane has the sign already. Natural rows have no negative entries, and 128 is subtracted in
// the last plane too. So an entry is Σ_j 256^j·(byte j) plus PlaneBias.
type ByteRows struct {
	Width, Pitch int
	Natural      bool
}

// RowPitch returns the least Pitch of rows of n entries that the kernels take: they
// read at least 64 bytes, and give the bytes behind the entries weight zero.
func RowPitch(n int) int { return max(n, pieceBytes) }

// PlaneBias returns what has to be added to the sum of an entry's bytes, for entries of `width` planes.
func PlaneBias(width int, natural bool) uint32 {
	var bias uint32
	for j := range width {
		if natural || j+1 < width {
			bias += 128 << (8 * j)
		}
	}
	return bias
}

// PackedRows are Rows rows of a table, one after the other from Dst on, in Width planes each (ByteRows); Natural is 1 if
// they are natural rows. Their slots (whir.Layout) are numbered from slot 0 of the first row. Slots of them, from slot
// First on, hold entries of a stack, which begin with the stack's entry From.
type PackedRows struct {
	block                                    uint64 // the first block of threads of this job
	Dst                                      Ptr
	Width, Natural, Rows, First, Slots, From uint64
}

// packTileVars and packTilesVars are log2 of TILE and of TILES of bytes.cu.
const packTileVars, packTilesVars = 12, 2

// PackPlanes writes the parts of table rows that a stack fills, and nothing else of these rows.
// A row has 2^shift slots of 2^rowVars entries each, in planes of `pitch` bytes. No two jobs may
// have an entry in common.
func PackPlanes(d Device, jobs []PackedRows, pitch, rowVars, shift int, s Stack) (err error) {
	defer must.Catch(&err)
	k := Kernel{"bytes", "pack_planes"}
	must.OK(positive(k, len(jobs), s.Count, pitch))
	if rowVars < 0 || shift < 0 || rowVars+shift > code.MaxLogSize {
		return fmt.Errorf("%w: %s of 2^%d slots of 2^%d entries", ErrSize, k.Name, shift, rowVars)
	}
	blocks, tile := 0, packTileVars
	if shift == 0 {
		tile += packTilesVars
	}
	list := slices.Clone(jobs)
	for i := range list {
		must.OK(positive(k, int(list[i].Width), int(list[i].Rows)))
		list[i].block = uint64(blocks)
		blocks += int(list[i].Rows) << max(0, rowVars+shift-tile)
	}
	at := must.Get(NewSlice(d, list))
	defer d.Free(at)
	return d.Launch(k, Launch{GridX: blocks, Block: threads}, uint64(at), uint64(len(list)), uint64(pitch), uint64(rowVars), uint64(shift),
		uint64(s.Offsets), uint64(s.Blocks), uint64(s.Count), uint64(s.Axes))
}

// SplitPlanes writes a row of n entries to dst, in the planes that `as` describes. The entries are 32-bit integers at
// src.
func SplitPlanes(d Device, dst, src Ptr, as ByteRows, n int) error {
	return Kernel{"bytes", "split_planes"}.of(n, as.Width, as.Pitch).launch(d, Cover(n), uint64(dst), uint64(src), uint64(as.Width), uint64(as.Pitch), uint64(n))
}

// A ByteRow is a plane of a row, as an operand of a ByteProduct. Its products are
// multiplied by 2^Shift and added to target number Target.
type ByteRow struct {
	Bytes         Ptr // 0 for a row of zeros
	Target, Shift uint32
}

// pieceBytes is the number of indexes of a piece of a panel (bytes.cu).
const pieceBytes = 64

// panelPieces returns the number of pieces of a panel over 2^vars indexes.
func panelPieces(vars int) int { return max(1, 1<<vars/pieceBytes) }

// PanelBytes returns the size in bytes of a panel: four vectors of weights in the base
// field over 2^vars indexes, packed for the tensor cores.
func PanelBytes(vars int) int { return panelPieces(vars) * pieceBytes * 4 * SizeM31 }

// PackParts makes n panels of weights in K over 2^vars indexes each; the four vectors
// of a panel are the limbs of a weight. The weights are parts (MakeWeights) whose
// 64-bit numbers are on the device.
func PackParts(d Device, panels, numbers Ptr, n, vars int, parts, tables Ptr) error {
	k := Kernel{"bytes", "pack_parts"}
	if err := checkPanels(k, n, vars); err != nil {
		return err
	}
	return launchFor(d, k, n*panelPieces(vars)*pieceBytes/4, uint64(panels), uint64(numbers), uint64(n), uint64(vars), uint64(parts), uint64(tables))
}

// PackRows makes n panels of weights in K over 2^vars indexes each; the four vectors of
// a panel are the limbs of a weight. Each weight is a row, the sum of parts (FillRows).
func PackRows(d Device, panels Ptr, n, vars int, r RowParts) error {
	k := Kernel{"bytes", "pack_rows"}
	if err := checkPanels(k, n, vars); err != nil {
		return err
	}
	return r.launch(d, k, panels, n, panelPieces(vars)*pieceBytes, vars)
}

// PackPoints makes panels of the weights with which rows of 2^vars values are evaluated
// at n points (PointWeight with Coef 1). A panel has the weights of four points; the
// vectors that the last panel lacks are zero. scratch has PointScratch bytes.
func PackPoints(d Device, panels Ptr, vars int, points Ptr, n int, scratch Ptr) (err error) {
	defer must.Catch(&err)
	k := Kernel{"bytes", "pack_points"}
	must.OK(checkPanels(k, n, vars))
	lower, upper, err := makePoints(d, vars, points, n, scratch)
	must.OK(err)
	return launchFor(d, k, (n+3)/4*panelPieces(vars)*pieceBytes/4, uint64(panels), uint64(n), uint64(vars), uint64(lower), uint64(upper))
}

// checkPanels refuses sizes of panels that kernels do not take.
func checkPanels(k Kernel, n, vars int) error {
	if n < 1 || vars < 0 || vars > code.MaxLogSize {
		return fmt.Errorf("%w: %s of %d over 2^%d", ErrSize, k.Name, n, vars)
	}
	return nil
}

// A ByteProduct describes the products of weights with rows. There are Panels panels of
// Pieces(vars) pieces: those of Weights whose 64-bit indexes are at Numbers, or the first
// ones if Numbers is 0. There are Count rows, of ByteRow at Rows, which are read from
// byte Column on. Column and all addresses are multiples of 16. The products are added to
// words at Sums that stand for elements of the base field: for 4·Panels vectors and
// Targets targets, that of vector v and target t is number v·Targets + t.
type ByteProduct struct {
	Weights, Numbers, Rows, Sums   Ptr
	Panels, Count, Targets, Pieces uint32
	Column                         uint32
	segments                       uint32 // log2 of the number of segments of each row (SegmentProduct)
}

// Pieces returns the number of pieces of a panel over 2^vars indexes.
func Pieces(vars int) uint32 { return uint32(panelPieces(vars)) }

const (
	joinedRows  = 4                    // JOINED of bytes.cu
	blockPanels = 8                    // PANELS of bytes.cu
	blockRows   = 128                  // rows of a block of byte_products
	maxPieces   = 1 << 16 / pieceBytes // a product of two signed bytes is below 2^15, so 2^16 of them fit into an int32
)

// productBlock is product_block of bytes.cu.
type productBlock struct{ product, tile, from, end uint32 }

// AddByteProducts adds all the products, in one or two launches. Products with so few rows that half
// of a block would be idle use blocks of half the size. These read 12 KB for each piece, and whole
// blocks 16 KB, so with more rows than that whole blocks read less in all.
func AddByteProducts(d Device, products ...ByteProduct) (err error) {
	defer must.Catch(&err)
	var wide, narrow []ByteProduct
	for _, p := range products {
		if p.Count <= blockRows/2 {
			narrow = append(narrow, p)
		} else {
			wide = append(wide, p)
		}
	}
	must.OK(addByteProducts(d, Kernel{"bytes", "byte_products"}, blockRows, wide))
	return addByteProducts(d, Kernel{"bytes", "byte_products_narrow"}, blockRows/2, narrow)
}

// A SegmentProduct describes the products of rows with weights that are products themselves. A row has 2^Segments segments of Pieces·64
// indexes. One factor is a weight over the indexes of a segment, packed in a panel as for a ByteProduct. The other is a weight over the
// segments (MakeWeights); High has its 64-bit number for each panel. Panels are short, whatever the length of a row, so that they stay in
// the device's caches, and the weights over whole rows are never made.
type SegmentProduct struct {
	ByteProduct
	High     Ptr
	Segments int
}

// SegmentBytes returns the memory in bytes that a row takes while a product with so many panels is computed.
func SegmentBytes(panels, segments int) int { return 4 * panels * SizeM31 << segments }

// joinedProduct is joined_product of bytes.cu.
type joinedProduct struct {
	sums, values, numbers, rows       Ptr
	panels, planes, targets, segments uint32
}

// AddSegmentProducts adds all the products. It processes as many rows at a time as fit into the `room` bytes at scratch
// (SegmentBytes).
func AddSegmentProducts(d Device, scratch Ptr, room int, parts, tables Ptr, products ...SegmentProduct) (err error) {
	defer must.Catch(&err)
	var some []ByteProduct
	var joined []joinedProduct
	var first []uint64 // first block of each joined product
	used, blocks := 0, 0
	flush := func() {
		if len(some) == 0 {
			return
		}
		must.OK(setSegmentProducts(d, some))
		must.OK(launchJobs(d, Kernel{"bytes", "join_products"}, blocks, nil, first, joined, uint64(parts), uint64(tables)))
		some, joined, first, used, blocks = some[:0], joined[:0], first[:0], 0, 0
	}
	for _, p := range products {
		row := SegmentBytes(int(p.Panels), p.Segments)
		if p.Panels < 1 || p.Count < 1 || p.Column%16 != 0 || p.Targets < 1 || p.Pieces < 1 || p.Pieces > maxPieces || p.Segments < 1 || p.Segments > code.MaxLogSize || room < row {
			return fmt.Errorf("%w: %d panels of %d pieces in 2^%d segments with %d rows from %d on to %d, with %d bytes", ErrSize, p.Panels, p.Pieces, p.Segments, p.Count, p.Column, p.Targets, room)
		}
		for from := 0; from < int(p.Count); {
			n := min((room-used)/row, int(p.Count)-from, math.MaxInt32>>p.Segments)
			if n == 0 {
				flush()
				continue
			}
			own := p.ByteProduct
			own.Rows, own.Sums, own.Count, own.segments = At[ByteRow](p.Rows, from), scratch.Offset(used, 1), uint32(n)<<p.Segments, uint32(p.Segments)
			some = append(some, own)
			joined = append(joined, joinedProduct{p.Sums, own.Sums, p.High, own.Rows, p.Panels, uint32(n), p.Targets, own.segments})
			first = append(first, uint64(blocks))
			from, used = from+n, used+n*row
			blocks += (int(p.Panels)*((n+joinedRows-1)/joinedRows) + threads/32 - 1) / (threads / 32)
		}
	}
	flush()
	return nil
}

// launchJobs launches a kernel on a list of jobs. Its arguments are `before`, the addresses of the list of each job's first block and of
// the jobs, the number of jobs, and `after`.
func launchJobs[T Element](d Device, k Kernel, blocks int, before []uint64, first []uint64, jobs []T, after ...uint64) (err error) {
	defer must.Catch(&err)
	at := must.Get(NewSlice(d, first))
	defer d.Free(at)
	list := must.Get(NewSlice(d, jobs))
	defer d.Free(list)
	args := slices.Concat(before, []uint64{uint64(at), uint64(list), uint64(len(jobs))}, after)
	return d.Launch(k, Launch{GridX: blocks, Block: threads}, args...)
}

// addByteProducts adds products with a kernel whose blocks take `rows` rows, one in each thread.
func addByteProducts(d Device, k Kernel, rows int, products []ByteProduct) error {
	tiles := make([]int, len(products))
	all, longest := 0, 1
	for i, p := range products {
		if p.Panels < 1 || p.Count < 1 || p.Column%16 != 0 || p.Targets < 1 || p.Pieces < 1 {
			return fmt.Errorf("%w: %s of %d panels of %d pieces with %d rows from %d on to %d", ErrSize, k.Name, p.Panels, p.Pieces, p.Count, p.Column, p.Targets)
		}
		tiles[i] = (int(p.Panels) + blockPanels - 1) / blockPanels * ((int(p.Count) + rows - 1) / rows)
		all, longest = all+tiles[i], max(longest, int(p.Pieces))
	}
	chunk, _ := parts(longest, all, productBlocks(d), 16, maxPieces)
	n := 0
	for i, p := range products {
		n += tiles[i] * ((int(p.Pieces) + chunk - 1) / chunk)
	}
	blocks := make([]productBlock, 0, n)
	for i, p := range products {
		for from := uint32(0); from < p.Pieces; from += uint32(chunk) {
			for tile := range tiles[i] {
				blocks = append(blocks, productBlock{uint32(i), uint32(tile), from, min(p.Pieces, from+uint32(chunk))})
			}
		}
	}
	if len(blocks) == 0 {
		return nil
	}
	return launchProducts(d, k, rows, products, blocks)
}

// setSegmentProducts computes the products of all segments of rows. It sets the sums rather than adding to them.
func setSegmentProducts(d Device, products []ByteProduct) error {
	tiles := func(p *ByteProduct) (panels, rows int) {
		return (int(p.Panels) + blockPanels - 1) / blockPanels, (int(p.Count) + blockRows - 1) / blockRows
	}
	all := 0
	for i := range products {
		panels, rows := tiles(&products[i])
		all += panels * rows
	}
	chunk := min(max(1, all/productBlocks(d)), 16)
	var blocks []productBlock
	for i := range products {
		panels, rows := tiles(&products[i])
		for from := 0; from < rows; from += chunk {
			for tile := range panels { // blocks of the same rows follow each other
				blocks = append(blocks, productBlock{uint32(i), uint32(tile), uint32(from), uint32(min(rows, from+chunk))})
			}
		}
	}
	return launchProducts(d, Kernel{"bytes", "byte_products_segments"}, blockRows, products, blocks)
}

// launchProducts copies products and blocks to the device and launches a kernel on them.
func launchProducts(d Device, k Kernel, rows int, products []ByteProduct, blocks []productBlock) (err error) {
	defer must.Catch(&err)
	jobs := must.Get(NewSlice(d, products))
	defer d.Free(jobs)
	work := must.Get(NewSlice(d, blocks))
	defer d.Free(work)
	return d.Launch(k, Launch{GridX: len(blocks), Block: rows}, uint64(jobs), uint64(work))
}

// productBlocks returns a number of blocks of byte_products that fill a device several times.
func productBlocks(d Device) int { return 8 * d.Multiprocessors() }

// FinishProducts reduces the words at sums, one for each of `vectors` vectors and
// `targets` targets, to M31 at out. If constants is not 0, it adds ones[v]·constants[t]
// for vector v and target t.
func FinishProducts(d Device, out, sums Ptr, vectors, targets int, ones, constants Ptr) error {
	return Kernel{"bytes", "finish_products"}.of(vectors, targets).each(d, vectors*targets, uint64(out), uint64(sums), uint64(vectors), uint64(targets), uint64(ones), uint64(constants))
}

// JoinSegments sets the M31 at out, one for each of `vectors` vectors and `targets` targets, to the sum of the n consecutive
// values at `all` that belong to it, weighted with the vector's n weights.
func JoinSegments(d Device, out, all, weights Ptr, vectors, targets, n int) error {
	return Kernel{"bytes", "join_segments"}.of(vectors, targets, n).each(d, vectors*targets, uint64(out), uint64(all), uint64(weights), uint64(vectors), uint64(targets), uint64(n))
}

// FoldedRows describes Lists lists of N rows each. Rows has the addresses of the rows,
// of 2^RowVars bytes each, 0 for a row of zeros; Weights has a weight in K for each row,
// and Constants a constant in K for each list. N is a multiple of 64.
type FoldedRows struct {
	Rows, Weights, Constants Ptr
	Lists, N, RowVars        int
	Add                      bool // add to the elements at out, rather than set them
}

// FoldBytes sets element l·2^RowVars + c of out to the sum over the rows i of list l of
// weight i times byte c of row i, plus the list's constant. With Add it adds that to
// the element.
func FoldBytes(d Device, out Ptr, f FoldedRows) (err error) {
	defer must.Catch(&err)
	k := Kernel{"bytes", "fold_bytes"}
	must.OK(positive(k, f.Lists, f.N, f.RowVars+1))
	if f.N%pieceBytes != 0 {
		return fmt.Errorf("%w: %s of lists of %d", ErrSize, k.Name, f.N)
	}
	packed := must.Get(AllocSlice[uint32](d, f.Lists*f.N*4))
	defer d.Free(packed)
	must.OK(d.Launch(Kernel{"restrict", "restrict_pack"}, Cover(f.Lists*f.N*4), uint64(packed), uint64(f.Weights), uint64(f.Lists*f.N)))
	const columns, warps, maxTerms = 128, 4, 1 << 16 // COLUMNS and FOLD_WARPS of bytes.cu; products of bytes that an int32 holds
	together := 1                                    // warps that have enough to do with the rows of a tile
	for together < warps && together*pieceBytes < f.N {
		together *= 2
	}
	tiles, each := (1<<f.RowVars+columns-1)/columns, warps/together
	l := Launch{GridX: f.Lists * ((tiles + each - 1) / each), Block: 32 * warps}
	var chunk int
	chunk, l.GridY = parts(f.N, l.GridX, columnBlocks, warps*pieceBytes, maxTerms)
	args := []uint64{uint64(f.Rows), uint64(packed), uint64(f.RowVars), uint64(f.N), uint64(f.Constants), uint64(chunk), 0, uint64(together)}
	if l.GridY == 1 {
		if f.Add {
			args[len(args)-2] = 1
		}
		return d.Launch(k, l, append([]uint64{uint64(out), 0}, args...)...)
	}
	n, to := f.Lists<<f.RowVars, out
	if f.Add {
		to = must.Get(AllocSlice[field.QM31](d, n))
		defer d.Free(to)
	}
	err = withSums(d, to, n, func(sums Ptr) error {
		return d.Launch(k, l, append([]uint64{0, uint64(sums)}, args...)...)
	})
	if err != nil || !f.Add {
		return err
	}
	return AddQM31(d, out, out, to, n)
}
