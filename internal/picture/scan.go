package picture

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
)

var errScan = errors.New("a scan is damaged")

// scan is a pass over the blocks of some components. It has the coefficients with indices from to to, in zigzag order. In a
// progressive file it has these coefficients without their low lowest bits, or one bit more of them than earlier scans.
type scan struct {
	*jpegDecoder
	planes    []*plane
	first     []*huffman // for each component, the codes for first coefficients
	rest      []*huffman // for each component, the codes for the others
	from, to  int        // first and last index of its coefficients
	high, low int        // lowest bit that earlier scans had (0 if there was none), and that this one has
	skip      int32      // number of following blocks in which this scan has nothing more
}

// scan reads the header of a scan, and then the scan.
func (d *jpegDecoder) scan(c []byte) error {
	if d.planes == nil || len(c) < 1 || c[0] < 1 || int(c[0]) > len(d.planes) || len(c) != 4+2*int(c[0]) {
		return errScan
	}
	n := int(c[0])
	s := &scan{jpegDecoder: d, from: int(c[1+2*n]), to: int(c[2+2*n]), high: int(c[3+2*n] >> 4), low: int(c[3+2*n] & 15)}
	if !d.progressive {
		s.from, s.to, s.high, s.low = 0, 63, 0, 0
	}
	if s.from > s.to || s.to > 63 || s.low > 13 || s.high != 0 && s.high != s.low+1 || d.progressive && s.from == 0 && s.to > 0 || s.from > 0 && n > 1 {
		return errScan
	}
	for i := range n {
		if err := s.add(int(c[1+2*i]), c[2+2*i]>>4, c[2+2*i]&15); err != nil {
			return err
		}
	}
	return s.run()
}

// add adds a component to the scan, with the tables of its codes.
func (s *scan) add(id int, first, rest byte) error {
	at := slices.IndexFunc(s.jpegDecoder.planes, func(p *plane) bool { return p.id == id })
	if at < 0 || first > 3 || rest > 3 || s.from == 0 && s.high == 0 && s.codes[0][first] == nil || s.to > 0 && s.codes[1][rest] == nil {
		return errScan
	}
	p := s.jpegDecoder.planes[at]
	if p.quantised == nil { // the table that is set at the component's first scan
		p.quantised = s.quantisation[p.table]
	}
	if p.quantised == nil || slices.Contains(s.planes, p) {
		return errScan
	}
	s.planes, s.first, s.rest = append(s.planes, p), append(s.first, s.codes[0][first]), append(s.rest, s.codes[1][rest])
	return nil
}

// run reads the units of the scan. A unit is one block if the scan has one component, else
// h·v blocks of each component.
func (s *scan) run() (err error) {
	defer must.Catch(&err)
	one := len(s.planes) == 1
	p := s.planes[0]
	across, down := (p.width+7)/8, (p.height+7)/8
	if !one {
		across, down = p.across/p.h, p.down/p.v
	}
	s.begin()
	for unit := range across * down {
		if s.restart > 0 && unit > 0 && unit%s.restart == 0 {
			s.count = 0
			marker, _, err := s.segment()
			if err != nil || marker < 0xd0 || marker > 0xd7 {
				return errScan
			}
			s.begin()
		}
		if one {
			must.OK(s.block(0, &p.blocks[unit/across*p.across+unit%across]))
			continue
		}
		for i, p := range s.planes {
			for k := range p.h * p.v {
				y, x := unit/across*p.v+k/p.h, unit%across*p.h+k%p.h
				must.OK(s.block(i, &p.blocks[y*p.across+x]))
			}
		}
	}
	s.count = 0
	return nil
}

// begin sets the state to that at the beginning of a scan and after a restart.
func (s *scan) begin() {
	s.count, s.skip = 0, 0
	for _, p := range s.planes {
		p.predicted = 0
	}
}

// block reads the coefficients of a block of component i.
func (s *scan) block(i int, b *[64]int16) error {
	if s.from == 0 {
		if err := s.firstOf(i, b); err != nil {
			return err
		}
	}
	switch {
	case s.to == 0:
		return nil
	case s.high > 0:
		return s.refine(s.rest[i], b)
	}
	return s.others(s.rest[i], b)
}

// firstOf reads the first coefficient of a block, which is coded by its difference from that of the block before, or
// one more bit of it.
func (s *scan) firstOf(i int, b *[64]int16) error {
	if s.high > 0 {
		bit, err := s.bit()
		b[0] |= int16(bit << s.low)
		return err
	}
	n, err := s.symbol(s.first[i])
	if err != nil {
		return err
	}
	if n > 15 {
		return errScan
	}
	v, err := s.signed(int(n))
	s.planes[i].predicted += v
	b[0] = int16(s.planes[i].predicted << s.low)
	return err
}

// others reads the coefficients from max(s.from, 1) on. Each symbol has the length of a run
// of zeros, and the size of the coefficient after it.
func (s *scan) others(t *huffman, b *[64]int16) (err error) {
	defer must.Catch(&err)
	if s.skip > 0 {
		s.skip--
		return nil
	}
	for k := max(s.from, 1); k <= s.to; k++ {
		symbol := must.Get(s.symbol(t))
		run, n := int(symbol>>4), int(symbol&15)
		if n == 0 && run < 15 { // only zeros follow in this block, and in some blocks after it
			return s.end(run)
		}
		if k += run; k > s.to {
			return errScan
		}
		if n > 0 {
			v := must.Get(s.signed(n))
			b[zigzag[k]] = int16(v << s.low)
		}
	}
	return nil
}

// end reads the number of blocks after this one in which this scan has nothing more: 2^n
// − 1, plus a number of n bits.
func (s *scan) end(n int) error {
	v, err := s.number(n)
	s.skip = 1<<n - 1 + v
	return err
}

// refine reads one more bit of the coefficients that are not 0 so far, and those of which
// this bit is the first that is not 0.
func (s *scan) refine(t *huffman, b *[64]int16) (err error) {
	defer must.Catch(&err)
	k := s.from
	if s.skip == 0 {
		for ; k <= s.to; k++ {
			symbol := must.Get(s.symbol(t))
			run, n := int(symbol>>4), symbol&15
			if n == 0 && run < 15 {
				must.OK(s.end(run))
				s.skip++ // this block, too
				break
			}
			value := int16(0)
			if n > 0 {
				bit := must.Get(s.bit())
				value = int16(2*bit-1) << s.low
			}
			k = must.Get(s.refineRun(b, k, run))
			if k <= s.to && value != 0 {
				b[zigzag[k]] = value
			}
		}
	}
	if s.skip > 0 {
		s.skip--
		_, err := s.refineRun(b, k, 64)
		return err
	}
	return nil
}

// refineRun passes over the given number of coefficients that are 0, from index k on, and reads one more bit of each other
// coefficient before the next 0 after them. It returns the index of that 0.
func (s *scan) refineRun(b *[64]int16, k, zeros int) (int, error) {
	for ; k <= s.to; k++ {
		c := &b[zigzag[k]]
		if *c == 0 {
			if zeros == 0 {
				break
			}
			zeros--
			continue
		}
		bit, err := s.bit()
		if err != nil {
			return k, err
		}
		if step := int16(1) << s.low; bit != 0 && *c&step == 0 {
			if *c > 0 {
				*c += step
			} else {
				*c -= step
			}
		}
	}
	return k, nil
}
