// Shows tensors: as pictures, classes, text or numbers. Names and text come from files
// of others: they are put into the page as text alone, in printable characters.

const most = { pictures: 16, bars: 10, numbers: 200, side: 512 };

/** Text in which nothing is invisible or turns the direction of what follows. */
function printable(text) {
  return String(text).replace(/[^\P{C}\n]|[\u2028\u2029]|(?! )\p{Z}/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

function element(name, text, attributes = {}) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
}

function isolated(text) {
  return element("bdi", printable(text));
}

function number(x) {
  return Number.isInteger(x) ? String(x) : x.toPrecision(5).replace(/\.?0+($|e)/, "$1");
}

/** Images in a tensor, as {count, height, width, channels, at(image, y, x, channel)}; undefined if it has none. */
function images({ shape }) {
  const small = (n) => n === 1 || n === 3;
  const wide = (h, w) => h >= 4 && w >= 4 && h <= most.side && w <= most.side;
  const rank = shape.length;
  const outer = (n) => shape.slice(0, n).reduce((a, b) => a * b, 1);
  if (rank >= 3 && small(shape[rank - 3]) && wide(shape[rank - 2], shape[rank - 1])) {
    const [c, h, w] = shape.slice(-3);
    return { count: outer(rank - 3), height: h, width: w, channels: c, at: (i, y, x, k) => ((i * c + k) * h + y) * w + x };
  }
  if (rank >= 3 && small(shape[rank - 1]) && wide(shape[rank - 3], shape[rank - 2])) {
    const [h, w, c] = shape.slice(-3);
    return { count: outer(rank - 3), height: h, width: w, channels: c, at: (i, y, x, k) => ((i * h + y) * w + x) * c + k };
  }
  if (rank === 2 && wide(shape[0], shape[1])) {
    return { count: 1, height: shape[0], width: shape[1], channels: 1, at: (_, y, x) => y * shape[1] + x };
  }
  return undefined;
}

/** The text of a tensor of code points; undefined if it has none. */
function textOf({ values }) {
  if (values.length < 2 || values.length > 1 << 20) return undefined;
  let text = "";
  for (const v of values) {
    if (!Number.isInteger(v) || v < 0 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000)) return undefined;
    if (v !== 0) text += String.fromCodePoint(v); // zeros fill up
  }
  const plain = [...text].filter((c) => /[\p{L}\p{N}\p{P}\p{Zs}\n]/u.test(c)).length;
  return text.length >= 2 && plain >= 0.9 * [...text].length ? text : undefined;
}

/** Pictures of a tensor from the first on, at most so many, as canvases. */
function pictures(tensor, found) {
  let low = Infinity;
  let high = -Infinity;
  for (const v of tensor.values) {
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  const shown = Math.min(found.count, most.pictures);
  const scale = Math.max(1, Math.floor(160 / Math.max(found.height, found.width)));
  return Array.from({ length: shown }, (_, i) => {
    const canvas = element("canvas", undefined, {
      role: "img", width: found.width, height: found.height,
      "aria-label": `picture ${i + 1} of ${found.count}, ${found.width} by ${found.height}, from ${number(low)} (black) to ${number(high)} (white)`,
    });
    canvas.style.width = `${found.width * scale}px`;
    const context = canvas.getContext("2d");
    const data = context.createImageData(found.width, found.height);
    for (let y = 0; y < found.height; y++) {
      for (let x = 0; x < found.width; x++) {
        const at = 4 * (y * found.width + x);
        for (let k = 0; k < 3; k++) {
          const v = tensor.values[found.at(i, y, x, Math.min(k, found.channels - 1))];
          data.data[at + k] = high > low ? Math.round((255 * (v - low)) / (high - low)) : 128;
        }
        data.data[at + 3] = 255;
      }
    }
    context.putImageData(data, 0, 0);
    return canvas;
  });
}

/**
 * The rows of an output that scores classes, {count, width}; undefined if it does not: indexes and counts are no scores,
 * and a score has no use alone.
 */
function scores({ shape, values, ids }) {
  const width = shape.at(-1) ?? 1;
  const rows = values.length / width;
  if (ids || width < 2 || !(shape.length <= 2 || rows === 1) || values.every(Number.isInteger)) return undefined;
  return { count: rows, width };
}

/** The classes of one row with the greatest scores: the first in words, then all as bars. nameOf names an entry. */
function classes(tensor, { width }, r, nameOf) {
  const row = Array.from(tensor.values.subarray(r * width, (r + 1) * width), (v, i) => [i, v]);
  const largest = row.toSorted((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, most.bars);
  const span = Math.max(...largest.map(([, v]) => Math.abs(v))) || 1;
  const box = element("div");
  const first = element("p", "Highest score: ", { class: "choice" });
  const name = element("strong");
  name.append(nameOf(largest[0][0]));
  first.append(name);
  const table = element("table");
  if (width > largest.length) table.append(element("caption", `the ${largest.length} highest of ${width} scores`));
  const head = element("tr");
  for (const title of ["class", "score", ""]) head.append(element("th", title, { scope: "col" }));
  table.append(head);
  for (const [i, v] of largest) {
    const line = element("tr");
    const bar = element("td", undefined, { class: "bar", "aria-hidden": "true" });
    const fill = element("span");
    fill.style.width = `${(100 * Math.abs(v)) / span}%`;
    fill.style.opacity = v < 0 ? "0.35" : "1";
    bar.append(fill);
    const title = element("th", undefined, { scope: "row" });
    title.append(nameOf(i));
    line.append(title, element("td", number(v)), bar);
    table.append(line);
  }
  box.append(first, table);
  return box;
}

function numbersOf({ values, strings }) {
  if (strings) {
    const shown = strings.slice(0, most.numbers).map((s) => JSON.stringify(printable(s))).join(" ");
    return element("pre", strings.length > most.numbers ? `${shown}\n… and ${strings.length - most.numbers} more` : shown, { tabindex: "0", dir: "auto" });
  }
  const shown = Array.from(values.subarray(0, most.numbers), number).join(" ");
  const more = values.length - most.numbers;
  return element("pre", more > 0 ? `${shown}\n… and ${more} more` : shown, { tabindex: "0" });
}

function heading(word, tensor) {
  const h = element("h3", `${word} `);
  h.append(isolated(tensor.name), ` [${tensor.shape.join(" × ")}]`);
  return h;
}

/** An input: what people see in it. */
function inputView(tensor) {
  const box = element("section");
  box.append(heading("Input", tensor));
  const found = tensor.ids ? undefined : images(tensor);
  const text = tensor.ids ? undefined : textOf(tensor);
  if (found) {
    box.append(...pictures(tensor, found));
    if (found.count > most.pictures) box.append(element("p", `and ${found.count - most.pictures} more`));
  } else if (text !== undefined) box.append(element("blockquote", printable(text), { tabindex: "0", dir: "auto" }));
  else box.append(numbersOf(tensor));
  return box;
}

/** An output, with a picture beside each row of scores if there are as many. */
function outputView(tensor, canvases, nameOf) {
  const box = element("section");
  box.append(heading(canvases.length > 0 ? "Picture, and output" : "Output", tensor));
  const found = scores(tensor);
  const image = tensor.ids || tensor.strings ? undefined : images(tensor);
  const text = tensor.ids || tensor.strings ? undefined : textOf(tensor);
  const columnOf = (i) => (tensor.columns?.[i] === undefined ? nameOf(i) : isolated(tensor.columns[i]));
  if (found) {
    const shown = Math.min(found.count, most.pictures);
    for (let r = 0; r < shown; r++) {
      const item = element("div", undefined, { class: "item" });
      if (canvases.length === shown) item.append(canvases[r]);
      item.append(classes(tensor, found, r, columnOf));
      box.append(item);
    }
    if (found.count > shown) box.append(element("p", `and ${found.count - shown} more`));
  } else if (image) box.append(...pictures(tensor, image));
  else if (text !== undefined) box.append(element("blockquote", printable(text), { tabindex: "0", dir: "auto" }));
  else box.append(numbersOf(tensor));
  return box;
}
