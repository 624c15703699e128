package picture

import (
	"errors"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
)

var errScan = errors.New("a scan is damaged")

// scan is a pass over the blocks of some components: over coefficients from one to another, in zigzag order, and in progressive
// files over all bits from one on, or one bit more.
type scan struct {
	*jpegDecoder
	planes    []*plane
	first     []*huffman // by component
	rest      []*huffman
	from, to  int
	high, low int // the bit of earlier scans, 0 for none, and of this one
	skip      int32
}

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
	if p.quantised == nil { // what holds at its first scan
		p.quantised = s.quantisation[p.table]
	}
	if p.quantised == nil || slices.Contains(s.planes, p) {
		return errScan
	}
	s.planes, s.first, s.rest = append(s.planes, p), append(s.first, s.codes[0][first]), append(s.rest, s.codes[1][rest])
	return nil
}

// run reads the units of the scan: a block of one component, or blocks of all, interleaved.
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

// begin is the state in which a scan, and what follows a restart, begins.
func (s *scan) begin() {
	s.count, s.skip = 0, 0
	for _, p := range s.planes {
		p.predicted = 0
	}
}

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

// firstOf reads the first coefficient, which is told by its difference from the last block's, or one more bit of it.
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

// others reads the coefficients from s.from or 1 on, as runs of zeros and what follows them.
func (s *scan) others(t *huffman, b *[64]int16) (err error) {
	defer must.Catch(&err)
	if s.skip > 0 {
		s.skip--
		return nil
	}
	for k := max(s.from, 1); k <= s.to; k++ {
		symbol := must.Get(s.symbol(t))
		run, n := int(symbol>>4), int(symbol&15)
		if n == 0 && run < 15 { // no more in this block, nor in others
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

// end reads in how many blocks after this one nothing is left.
func (s *scan) end(n int) error {
	v, err := s.number(n)
	s.skip = 1<<n - 1 + v
	return err
}

// refine reads one bit more of the coefficients, and those that begin with this bit.
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

// refineRun passes over so many coefficients that are 0, from k on, and reads a bit of each other one before the next 0. It
// returns the place of that.
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
