package job

import "strings"

// Cutter passes a text on, by Emit, until one of Stops occurs in it. The stop and all that follows it are not passed
// on.
type Cutter struct {
	Stops   []string
	Emit    func(s string)
	Stopped bool // one of Stops was in the text

	held string // the end of the text so far, if it may be the beginning of a stop
}

// Add adds s to the text.
func (c *Cutter) Add(s string) {
	if c.Stopped || s == "" {
		return
	}
	c.held += s
	at := -1
	for _, stop := range c.Stops {
		if i := strings.Index(c.held, stop); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at >= 0 {
		c.pass(at)
		c.held, c.Stopped = "", true
		return
	}
	keep := 0
	for _, stop := range c.Stops {
		for n := min(len(stop)-1, len(c.held)); n > keep; n-- {
			if strings.HasSuffix(c.held, stop[:n]) {
				keep = n
				break
			}
		}
	}
	c.pass(len(c.held) - keep)
}

// End ends the text, and passes on what was held back.
func (c *Cutter) End() { c.pass(len(c.held)) }

// pass passes on the first n bytes of what is held.
func (c *Cutter) pass(n int) {
	if n > 0 {
		c.Emit(c.held[:n])
		c.held = c.held[n:]
	}
}
