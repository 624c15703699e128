package report

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
)

// page is an HTML document. All text that is written to it is escaped, since names come
// from files of other people. It loads nothing and runs nothing, and its content
// security policy forbids both.
type page struct{ strings.Builder }

// text escapes a text for HTML.
func text(s string) string { return html.EscapeString(ui.Printable(s)) }

// printf writes HTML; the arguments are texts, which it escapes.
func (p *page) printf(format string, args ...string) {
	escaped := seq.Map(args, func(a string) any { return text(a) })
	fmt.Fprintf(p, format, escaped...)
}

const style = `:root{color-scheme:light dark;--ink:#1c2126;--soft:#59636e;--paper:#fff;--panel:#f4f6f8;--line:#d0d6dc;--bar:#3d78b4;--odd:#c8501e}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaee;--soft:#a3adb8;--paper:#14181c;--panel:#1e242a;--line:#3c454e;--bar:#6fa5db;--odd:#ff9466}}
*{box-sizing:border-box}body{margin:0 auto;max-width:62rem;padding:1rem;color:var(--ink);background:var(--paper);font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin:1.6rem 0 .3rem;break-after:avoid}p{max-width:46rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem}dt{color:var(--soft)}dd{margin:0}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.4rem 0;font-size:.85rem}
th,td{padding:.12rem .7rem .12rem 0;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line);vertical-align:top}
th:first-child,td:first-child,.text{text-align:left;white-space:normal}td:first-child{min-width:7rem}tr{break-inside:avoid}
blockquote{margin:.3rem 0 .75rem;padding:.6rem .9rem;background:var(--panel);border-left:.25rem solid var(--bar);white-space:pre-wrap;font-size:1.1rem}
img{image-rendering:pixelated;width:auto;min-width:10rem;max-width:100%;border:1px solid var(--line);margin:.3rem .5rem .3rem 0}
.advice{border-left:.3rem solid var(--odd);padding-left:.7rem}
.plot{font-size:.8rem;margin:.4rem 0}.plot>div{display:grid;grid-template-columns:minmax(0,22rem) 1fr 8.5rem;gap:0 .5rem;align-items:center;break-inside:avoid}
.plot span{text-align:right}.plot span+div+span{text-align:left}.plot i{display:block;height:.8rem;background:var(--bar)}.plot .odd{background:var(--odd)}
@media (max-width:40rem){body{padding:.75rem}th,td{padding-right:.45rem}td:first-child{min-width:5rem}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.4rem}
.plot>div{grid-template-columns:1fr 8.5rem;margin-bottom:.3rem}.plot>div>:first-child{grid-column:1/-1;text-align:left}}
@media print{body{max-width:none;font-size:11px}:root{--ink:#000;--paper:#fff}.wide{overflow:visible}}`

// open writes the beginning of the document.
func (p *page) open(title string) {
	p.printf("<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"+
		"<meta name=viewport content=\"width=device-width,initial-scale=1\"><title>%s</title><style>", title)
	p.WriteString(style)
	p.printf("</style></head><body>\n<h1>%s</h1>\n", title)
}

func (p *page) close() { p.WriteString("</body></html>\n") }

func (p *page) heading(s string) { p.printf("<h2>%s</h2>\n", s) }

// facts writes a list of names with their values.
func (p *page) facts(facts []Fact) {
	p.WriteString("<dl>\n")
	for _, f := range facts {
		p.printf("<dt>%s</dt><dd>%s</dd>\n", f.Name, f.Value)
	}
	p.WriteString("</dl>\n")
}

// table writes a table. The first column, and each column with a long cell, is formatted as text.
func (p *page) table(header []string, rows [][]string) {
	class := make([]string, len(header))
	for _, row := range rows {
		for i, cell := range row {
			if len(cell) > 40 {
				class[i] = " class=text"
			}
		}
	}
	p.WriteString("<div class=wide><table><thead><tr>")
	for i, h := range header {
		p.printf("<th scope=col"+class[i]+">%s</th>", h)
	}
	p.WriteString("</tr></thead><tbody>\n")
	for _, row := range rows {
		p.WriteString("<tr>")
		for i, cell := range row {
			p.printf("<td"+class[i]+">%s</td>", cell)
		}
		p.WriteString("</tr>\n")
	}
	p.WriteString("</tbody></table></div>\n")
}

// bar is a bar of a plot.
type bar struct {
	name  string
	value float64
	label string
	odd   bool // drawn in another colour
}

// plot draws bars: from zero or, if logarithmic is set, over the decades that the values span, about six at most.
func (p *page) plot(title string, bars []bar, logarithmic bool) {
	low, high := math.Inf(1), 0.0
	for _, b := range bars {
		if b.value > 0 && !math.IsInf(b.value, 0) {
			low, high = math.Min(low, b.value), math.Max(high, b.value)
		}
	}
	low = math.Max(low, high/1e6) / 2
	p.printf("<div class=plot role=img aria-label=\"%s\">\n", title)
	for _, b := range bars {
		size := 0.0 // fraction of the width
		switch v := math.Min(b.value, high); {
		case high == 0 || v <= 0:
		case logarithmic:
			size = math.Max(0, math.Log(v/low)/math.Log(high/low))
		default:
			size = v / high
		}
		class := ""
		if b.odd {
			class = " class=odd"
		}
		p.printf("<div><span>%s</span><div><i"+class+" style=\"width:%s%%\"></i></div><span>%s</span></div>\n", clip(b.name), fmt.Sprintf("%.1f", 100*size), b.label)
	}
	p.WriteString("</div>\n")
}

// clip shortens a name that is too long for a plot, by cutting out its middle.
func clip(name string) string {
	const most = 50
	r := []rune(ui.Printable(name))
	if len(r) <= most {
		return string(r)
	}
	return string(r[:most/2-1]) + "…" + string(r[len(r)-most/2:])
}
