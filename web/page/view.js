// Shows tensors: as pictures, bars, text or numbers. Names and text come from files
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

function pictures(tensor, found) {
  const box = element("div");
  let low = Infinity;
  let high = -Infinity;
  for (const v of tensor.values) {
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  const shown = Math.min(found.count, most.pictures);
  const scale = Math.max(1, Math.floor(160 / Math.max(found.height, found.width)));
  for (let i = 0; i < shown; i++) {
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
    box.append(canvas);
  }
  if (found.count > shown) box.append(element("p", `and ${found.count - shown} more`));
  return box;
}

function bars(tensor) {
  const width = tensor.shape.at(-1);
  const rows = tensor.values.length / width;
  const box = element("div");
  const shown = Math.min(rows, most.pictures);
  for (let r = 0; r < shown; r++) {
    const row = Array.from(tensor.values.subarray(r * width, (r + 1) * width), (v, i) => [i, v]);
    const largest = row.toSorted((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, most.bars);
    const span = Math.max(...largest.map(([, v]) => Math.abs(v))) || 1;
    const table = element("table");
    table.append(element("caption", `${rows > 1 ? `row ${r}: ` : ""}the largest is entry ${largest[0][0]}`));
    const head = element("tr");
    for (const title of ["entry", "value", "size"]) head.append(element("th", title, { scope: "col" }));
    table.append(head);
    for (const [i, v] of largest) {
      const line = element("tr");
      const bar = element("td", undefined, { class: "bar", "aria-hidden": "true" });
      const fill = element("span");
      fill.style.width = `${(100 * Math.abs(v)) / span}%`;
      fill.style.opacity = v < 0 ? "0.35" : "1";
      bar.append(fill);
      line.append(element("th", String(i), { scope: "row" }), element("td", number(v)), bar);
      table.append(line);
    }
    box.append(table);
    if (width > largest.length) box.append(element("p", `the ${largest.length} largest of ${width}`));
  }
  if (rows > shown) box.append(element("p", `and ${rows - shown} more rows`));
  return box;
}

function numbersOf(tensor) {
  const shown = Array.from(tensor.values.subarray(0, most.numbers), number).join(" ");
  const more = tensor.values.length - most.numbers;
  return element("pre", more > 0 ? `${shown}\n… and ${more} more` : shown, { tabindex: "0" });
}

/** A tensor under its name, with a choice of views if there are several. */
function view(word, tensor, index) {
  const box = element("section");
  const heading = element("h3", `${word} `);
  heading.append(isolated(tensor.name), ` [${tensor.shape.join(" × ")}]`);
  box.append(heading);
  const found = images(tensor);
  const text = textOf(tensor);
  const views = new Map();
  if (found) views.set("pictures", () => pictures(tensor, found));
  if (text !== undefined) views.set("text", () => element("pre", printable(text), { tabindex: "0", dir: "auto" }));
  if (tensor.shape.length > 0 && tensor.shape.length <= 2 && tensor.shape.at(-1) >= 2) views.set("bars", () => bars(tensor));
  views.set("numbers", () => numbersOf(tensor));
  const place = element("div");
  const show = (name) => place.replaceChildren(views.get(name)());
  if (views.size > 1) {
    const id = `view-${word}-${index}`;
    const choice = element("p", undefined, { class: "views" });
    const select = element("select", undefined, { id });
    for (const name of views.keys()) select.append(element("option", name));
    select.addEventListener("change", () => show(select.value));
    choice.append(element("label", "shown as ", { for: id }), select);
    box.append(choice);
  }
  show(views.keys().next().value);
  box.append(place);
  return box;
}
