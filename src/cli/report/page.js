"use strict";
// Makes a page interactive: maps drawn from their values under one cursor, and a
// slider over iterations. The page shows all its pictures without it.

const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const reveal = within => $$("[data-script]", within).forEach(element => { element.hidden = false; });
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** A number to five significant digits, as people write it. */
function short(value) {
  if (!Number.isFinite(value)) return "not finite";
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(4).replace("e+", "e");
  return String(Number(value.toPrecision(5)));
}

// ---------------------------------------------------------------- values

/** The bytes of a base64 text that holds a zlib stream. */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Numbers whose bytes were sorted by significance, the lowest first. */
async function unpackFloats(text) {
  const planes = await unpack(text);
  const count = planes.length / 4, bytes = new Uint8Array(planes.length);
  for (let k = 0; k < count; k++) {
    for (let b = 0; b < 4; b++) bytes[4 * k + b] = planes[b * count + k];
  }
  return new Float32Array(bytes.buffer);
}

const NOT_FINITE = 65535;
/** Width of the drawings over a map. */
const WIDTH = 1000;

/** A map: levels in 16 bits, each stored as its difference from what its neighbours foretell. */
async function unpackMap({ nx, ny }, part) {
  const planes = await unpack(part.data);
  const count = nx * ny, levels = new Uint16Array(count), values = new Float32Array(count);
  const step = (part.hi - part.lo) / part.levels;
  for (let i = 0, k = 0; i < nx; i++) {
    for (let j = 0; j < ny; j++, k++) {
      const left = i > 0 ? levels[k - ny] : 0, below = j > 0 ? levels[k - 1] : 0;
      const corner = i > 0 && j > 0 ? levels[k - ny - 1] : 0;
      levels[k] = left + below - corner + planes[k] + 256 * planes[count + k];
      values[k] = levels[k] === NOT_FINITE ? NaN : part.lo + levels[k] * step;
    }
  }
  return values;
}

const rgb = color => [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16));
/** What a bin looks like that has no value. */
const ABSENT = [0xc8, 0xcc, 0xd0];
const NO_NUMBER = [0, 229, 255];
/** 256 shades between the colours given, evenly spaced. */
function shadesOf(colors) {
  const parsed = colors.map(rgb);
  return Array.from({ length: 256 }, (_, shade) => {
    const x = shade / 255 * (parsed.length - 1), k = Math.min(Math.floor(x), parsed.length - 2);
    return parsed[k].map((low, c) => Math.round(low + (parsed[k + 1][c] - low) * (x - k)));
  });
}

// ---------------------------------------------------------------- maps

class Maps {
  constructor(data) {
    Object.assign(this, data);
    const [xl, yl, xh, yh] = data.die;
    this.whole = { xl, yl, xh, yh };
    this.window = { ...this.whole };
    this.cursor = null;
    this.marked = null;
    this.pending = false;
  }

  async open() {
    await Promise.all(this.panels.map(async panel => {
      panel.values = await Promise.all(panel.parts.map(part => unpackMap(panel, part)));
      panel.shown = panel.values.length === 1 ? panel.values[0]
        : panel.values[0].map((x, k) => Math.hypot(x, panel.values[1][k]));
      panel.shades = shadesOf(panel.colors);
      panel.shadesAbove = panel.mark === null ? [] : shadesOf(panel.above);
      // A value above the mark by less than this is not above it but rounded to a level.
      panel.slack = 1e-9 + 0.51 * Math.max(...panel.parts.map(({ lo, hi, levels }) => (hi - lo) / levels));
      panel.zeroColor = panel.zero && rgb(panel.zero);
      [panel.from, panel.to] = panel.ends;
      panel.log = false;
    }));
    for (const boxes of ["nodes", "rows", "fences", "blockages"]) this[boxes] = await this.openBoxes(this[boxes]);
    this.sortNodes();
    this.panels.forEach(panel => this.attach(panel));
    this.attachTools();
    new ResizeObserver(() => this.draw()).observe($(".panels"));
    matchMedia("print").addEventListener("change", () => this.drawNow());
    this.draw();
  }

  async openBoxes(boxes) {
    const [x, y, w, h] = await Promise.all(["x", "y", "w", "h"].map(key => unpackFloats(boxes[key])));
    const opened = { ...boxes, x, y, w, h };
    if (boxes.kinds) opened.kinds = await unpack(boxes.kinds);
    if (boxes.names) opened.names = new TextDecoder().decode(await unpack(boxes.names)).split("\n");
    return opened;
  }

  /** Puts every node into the squares of a 64 × 64 grid that it touches. */
  sortNodes() {
    const { x, y, w, h } = this.nodes, side = 64;
    this.squares = Array.from({ length: side * side }, () => []);
    this.square = (px, py) => {
      const at = (value, low, high) => clamp(Math.floor((value - low) / (high - low) * side), 0, side - 1);
      return [at(px, this.whole.xl, this.whole.xh), at(py, this.whole.yl, this.whole.yh)];
    };
    for (let k = 0; k < x.length; k++) {
      const [i0, j0] = this.square(x[k], y[k]), [i1, j1] = this.square(x[k] + w[k], y[k] + h[k]);
      for (let i = i0; i <= i1; i++) for (let j = j0; j <= j1; j++) this.squares[i * side + j].push(k);
    }
    this.side = side;
  }

  nodesAt(px, py) {
    const { x, y, w, h } = this.nodes, [i, j] = this.square(px, py);
    const holds = k => px >= x[k] && px < x[k] + w[k] && py >= y[k] && py < y[k] + h[k];
    return this.squares[i * this.side + j].filter(holds).sort((a, b) => w[b] * h[b] - w[a] * h[a]);
  }

  // ---- drawing

  /** The colour of every value of a map, as its range and its mark say. */
  colorsOf({ shades, shadesAbove, zeroColor, mark, slack, absent, from, to, log }) {
    const along = value => log ? Math.log(Math.max(value, to * 1e-9, 1e-300)) : value;
    const [low, high, middle] = [along(from), along(to), along(mark ?? to)];
    const darkest = along(Math.max(to, 1.5 * (mark ?? 0))); // a little above the mark looks little
    const shade = (of, share) => of[clamp(Math.floor(share * 256), 0, 255)];
    const split = mark !== null && middle > low && middle < high;
    return value => {
      if (Number.isNaN(value)) return absent ? ABSENT : NO_NUMBER;
      if (zeroColor && value <= 0) return zeroColor;
      const at = along(value);
      if (!split) return shade(shades, (at - low) / (high - low));
      return value > mark + slack
        ? shade(shadesAbove, (at - middle) / (darkest - middle))
        : shade(shades, (at - low) / (middle - low));
    };
  }

  /** The map's colours, one pixel a bin, the highest row first, and those of the bar. */
  paint(panel) {
    const { nx, ny, shown, from, to, log } = panel;
    const image = new ImageData(nx, ny), colorOf = this.colorsOf(panel);
    const stops = $$(`#shades-${panel.id} stop`);
    stops.forEach((stop, k) => {
      const share = (k + 0.5) / stops.length;
      const value = log ? from * (to / from) ** share : from + share * (to - from);
      stop.setAttribute("stop-color", `rgb(${colorOf(value).join(" ")})`);
    });
    for (let i = 0, k = 0; i < nx; i++) {
      for (let j = 0; j < ny; j++, k++) {
        const color = colorOf(shown[k]);
        const at = 4 * ((ny - 1 - j) * nx + i);
        [image.data[at], image.data[at + 1], image.data[at + 2]] = color;
        image.data[at + 3] = 255;
      }
    }
    panel.picture ??= Object.assign(document.createElement("canvas"), { width: nx, height: ny });
    panel.picture.getContext("2d").putImageData(image, 0, 0);
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.drawNow(); });
  }

  drawNow() {
    this.panels.forEach(panel => this.drawPanel(panel));
  }

  drawPanel(panel) {
    const { canvas } = panel, box = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (!width || !height) return;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d"), { xl, yl, xh, yh } = this.window;
    const sx = width / (xh - xl), sy = height / (yh - yl);
    const place = (x, y, w, h) => [(x - xl) * sx, height - (y + h - yl) * sy, w * sx, h * sy];
    context.fillStyle = "#000";
    context.fillRect(0, 0, width, height);
    context.imageSmoothingEnabled = false;
    const die = this.whole;
    context.drawImage(panel.picture, ...place(die.xl, die.yl, die.xh - die.xl, die.yh - die.yl));
    const light = ["diverging", "overflow"].includes(panel.scale) ? "0, 0, 0" : "255, 255, 255";
    const boxes = (of, chosen, least) => {
      context.beginPath();
      for (let k = 0; k < of.x.length; k++) {
        if (!chosen(k) || of.x[k] > xh || of.y[k] > yh || of.x[k] + of.w[k] < xl || of.y[k] + of.h[k] < yl) continue;
        const [x, y, w, h] = place(of.x[k], of.y[k], of.w[k], of.h[k]);
        if (Math.max(w, h) >= least) context.rect(x, y, w, h);
      }
      context.stroke();
    };
    context.lineWidth = ratio;
    if ($("#show-rows").checked) {
      context.strokeStyle = `rgba(${light}, .35)`;
      boxes(this.rows, () => true, 2);
    }
    if ($("#show-cells").checked) {
      context.strokeStyle = `rgba(${light}, .5)`;
      boxes(this.nodes, k => this.nodes.kinds[k] === 0, 2 * ratio);
    }
    if ($("#show-macros").checked) {
      context.strokeStyle = `rgba(${light}, .95)`;
      boxes(this.nodes, k => this.nodes.kinds[k] === 1 || this.nodes.kinds[k] === 2, 3 * ratio);
    }
    if ($("#show-fences").checked) {
      context.lineWidth = 2 * ratio;
      context.setLineDash([8 * ratio, 4 * ratio]);
      context.strokeStyle = "#cc79a7";
      boxes(this.fences, () => true, 3 * ratio);
      this.fences.names.forEach((name, k) => {
        const [left, top, w, h] = place(this.fences.x[k], this.fences.y[k], this.fences.w[k], this.fences.h[k]);
        const [x, y] = [Math.max(left, 0), Math.max(top, 0)];
        context.font = `bold ${11 * ratio}px sans-serif`;
        const wide = context.measureText(name).width;
        if (x + wide + 10 * ratio > left + w || y + 20 * ratio > top + h) return;
        context.fillStyle = "rgba(255, 255, 255, .85)";
        context.fillRect(x + 2 * ratio, y + 2 * ratio, wide + 6 * ratio, 15 * ratio);
        context.fillStyle = "#262626";
        context.fillText(name, x + 5 * ratio, y + 13 * ratio);
      });
      context.strokeStyle = "#b4b4b4";
      boxes(this.blockages, () => true, 3 * ratio);
      context.setLineDash([]);
    }
    if (panel.lines && $("#show-arrows").checked) {
      const [x, y, w] = place(die.xl, die.yl, die.xh - die.xl, die.yh - die.yl), unit = w / WIDTH;
      const lines = new Path2D();
      lines.addPath(new Path2D(panel.lines), new DOMMatrix([unit, 0, 0, unit, x, y]));
      context.strokeStyle = `rgba(${light}, .9)`;
      context.lineWidth = 1.2 * ratio;
      context.stroke(lines);
    } else if (panel.values.length === 2 && $("#show-arrows").checked) this.drawArrows(context, panel, place, ratio);
    if (this.marked) {
      const { xl: x, yl: y, xh: right, yh: top } = this.marked;
      context.strokeStyle = "#ff2d95";
      context.lineWidth = 2 * ratio;
      context.strokeRect(...place(x, y, right - x, top - y));
    }
    if (this.cursor) {
      const [x, y] = place(this.cursor.x, this.cursor.y, 0, 0);
      for (const [color, line] of [["rgba(0,0,0,.8)", 3], ["#fff", 1]]) {
        context.strokeStyle = color;
        context.lineWidth = line * ratio;
        context.beginPath();
        context.moveTo(x, 0); context.lineTo(x, height);
        context.moveTo(0, y); context.lineTo(width, y);
        context.stroke();
      }
    }
  }

  /** The mean of the vectors in squares of about 26 pixels; lengths go with the square root. */
  drawArrows(context, panel, place, ratio) {
    const { nx, ny, values: [vx, vy] } = panel, die = this.whole;
    const binX = (die.xh - die.xl) / nx, binY = (die.yh - die.yl) / ny;
    const [, , ...bin] = place(0, 0, binX, binY);
    const [stepX, stepY] = bin.map(size => Math.max(1, Math.round(26 * ratio / size)));
    const arrows = [];
    for (let i = 0; i < nx; i += stepX) {
      for (let j = 0; j < ny; j += stepY) {
        // The last block may be cut by the die's edge.
        const columns = Math.min(stepX, nx - i), rows = Math.min(stepY, ny - j);
        const [x, y] = place(die.xl + (i + columns / 2) * binX, die.yl + (j + rows / 2) * binY, 0, 0);
        if (x < 0 || y < 0 || x > context.canvas.width || y > context.canvas.height) continue;
        let sumX = 0, sumY = 0, bins = 0;
        for (let a = i; a < i + columns; a++) {
          for (let b = j; b < j + rows; b++) {
            if (Number.isNaN(vx[a * ny + b])) continue;
            sumX += vx[a * ny + b];
            sumY += vy[a * ny + b];
            bins++;
          }
        }
        if (bins > 0) arrows.push([x, y, sumX / bins, -sumY / bins]);
      }
    }
    const sizes = arrows.map(a => Math.hypot(a[2], a[3])).filter(Number.isFinite).sort((a, b) => a - b);
    const full = sizes[Math.floor(0.98 * (sizes.length - 1))];
    if (!full) return;
    context.beginPath();
    for (const [x, y, ax, ay] of arrows) {
      const size = Math.hypot(ax, ay), length = Math.min(Math.sqrt(size / full), 1) * 22 * ratio;
      if (!(length >= 4 * ratio)) continue;
      const dx = ax / size * length / 2, dy = ay / size * length / 2;
      context.moveTo(x - dx, y - dy);
      context.lineTo(x + dx, y + dy);
      context.lineTo(x + dx * 0.3 - dy * 0.45, y + dy * 0.3 + dx * 0.45);
      context.moveTo(x + dx, y + dy);
      context.lineTo(x + dx * 0.3 + dy * 0.45, y + dy * 0.3 - dx * 0.45);
    }
    for (const [color, line] of [["rgba(0,0,0,.7)", 3], ["#fff", 1.4]]) {
      context.strokeStyle = color;
      context.lineWidth = line * ratio;
      context.stroke();
    }
  }

  // ---- what the user does

  attach(panel) {
    const figure = $(`[data-panel="${panel.id}"]`), view = $(".view", figure);
    reveal(figure);
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", $("img", view).alt);
    view.replaceChildren(canvas);
    view.tabIndex = 0;
    view.setAttribute("aria-label", `${panel.title}: arrow keys move the cursor`);
    Object.assign(panel, { canvas, view });

    const [from, to, log] = [".from", ".to", ".log"].map(name => $(name, figure));
    const show = () => {
      [from.value, to.value] = [short(panel.from), short(panel.to)];
      log.checked = panel.log;
      $(".low", figure).textContent = short(panel.from);
      $(".high", figure).textContent = short(panel.to);
      this.paint(panel);
      this.draw();
    };
    const choose = () => {
      const [low, high] = [Number(from.value), Number(to.value)];
      if (low < high) Object.assign(panel, { from: low, to: high });
      panel.log = log.checked && panel.to > 0;
      if (panel.log && panel.from <= 0) panel.from = panel.to / 1e4;
      show();
    };
    log.closest("label").hidden = panel.scale === "diverging";
    [from, to, log].forEach(input => input.addEventListener("change", choose));
    $(".reset", figure).addEventListener("click", () => {
      [panel.from, panel.to] = panel.ends;
      panel.log = false;
      show();
    });
    show();
    this.followPointer(view);
    view.addEventListener("keydown", event => this.key(event));
  }

  followPointer(view) {
    const at = event => {
      const box = view.getBoundingClientRect(), { xl, yl, xh, yh } = this.window;
      return {
        x: xl + (event.clientX - box.left) / box.width * (xh - xl),
        y: yh - (event.clientY - box.top) / box.height * (yh - yl),
      };
    };
    let grip = null;
    view.addEventListener("pointerdown", event => {
      grip = { ...at(event), id: event.pointerId };
      view.setPointerCapture(event.pointerId);
    });
    view.addEventListener("pointermove", event => {
      const here = at(event);
      if (grip && grip.id === event.pointerId) this.pan(grip.x - here.x, grip.y - here.y);
      this.point(at(event));
    });
    view.addEventListener("pointerup", () => { grip = null; });
    view.addEventListener("pointercancel", () => { grip = null; });
    view.addEventListener("pointerleave", () => { if (!grip) this.point(null); });
    view.addEventListener("dblclick", event => this.zoom(2, at(event)));
    view.addEventListener("wheel", event => {
      event.preventDefault();
      this.zoom(Math.exp(-clamp(event.deltaY, -200, 200) / 300), at(event));
    }, { passive: false });
  }

  key(event) {
    const { xl, yl, xh, yh } = this.window;
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }[event.key];
    const middle = { x: (xl + xh) / 2, y: (yl + yh) / 2 };
    if (step && event.shiftKey) {
      this.pan(step[0] * (xh - xl) / 8, step[1] * (yh - yl) / 8);
    } else if (step) {
      const from = this.cursor ?? middle, [binX, binY] = this.bin;
      const by = Math.max(1, Math.round((xh - xl) / binX / 256));
      this.point({
        x: clamp(from.x + step[0] * by * binX, this.whole.xl, this.whole.xh),
        y: clamp(from.y + step[1] * by * binY, this.whole.yl, this.whole.yh),
      });
    } else if (event.key === "+" || event.key === "=") {
      this.zoom(1.5, this.cursor ?? middle);
    } else if (event.key === "-") {
      this.zoom(1 / 1.5, this.cursor ?? middle);
    } else if (event.key === "0" || event.key === "Home") {
      this.zoom(0);
    } else if (event.key === "Escape") {
      this.point(null);
    } else {
      return;
    }
    event.preventDefault();
  }

  pan(dx, dy) {
    const { xl, yl, xh, yh } = this.window, { whole } = this;
    const x = clamp(dx, whole.xl - (xl + xh) / 2, whole.xh - (xl + xh) / 2);
    const y = clamp(dy, whole.yl - (yl + yh) / 2, whole.yh - (yl + yh) / 2);
    this.window = { xl: xl + x, yl: yl + y, xh: xh + x, yh: yh + y };
    this.draw();
  }

  /** Zooms about a point; by 0, shows the whole die. */
  zoom(by, at) {
    const { xl, yl, xh, yh } = this.window, { whole } = this;
    const width = by ? (xh - xl) / by : Infinity;
    if (width >= whole.xh - whole.xl) {
      this.window = { ...whole };
    } else if (width >= (whole.xh - whole.xl) / 4096) {
      const { x, y } = at ?? { x: (xl + xh) / 2, y: (yl + yh) / 2 };
      this.window = { xl: x - (x - xl) / by, xh: x + (xh - x) / by, yl: y - (y - yl) / by, yh: y + (yh - y) / by };
    }
    this.draw();
  }

  /** Shows a rectangle with room around it, and marks it. */
  goTo(rect) {
    const { whole } = this, aspect = (whole.xh - whole.xl) / (whole.yh - whole.yl);
    const height = Math.min(whole.yh - whole.yl, 5 * Math.max(rect.yh - rect.yl, (rect.xh - rect.xl) / aspect));
    const x = (rect.xl + rect.xh) / 2, y = (rect.yl + rect.yh) / 2;
    this.window = { xl: x - height * aspect / 2, xh: x + height * aspect / 2, yl: y - height / 2, yh: y + height / 2 };
    this.marked = rect;
    this.point({ x, y });
    this.draw();
  }

  /** Moves the cursor of all maps, and says what lies there. */
  point(at) {
    this.cursor = at;
    this.draw();
    const readout = $("#readout"), { whole } = this;
    if (!at || at.x < whole.xl || at.x > whole.xh || at.y < whole.yl || at.y > whole.yh) {
      readout.textContent = at ? "Off the die." : "Point at a map.";
      return;
    }
    const item = (name, value) => {
      const span = document.createElement("span");
      span.append(Object.assign(document.createElement("b"), { textContent: `${name} ` }), value);
      return span;
    };
    const bin = (axis, low) => {
      const k = axis === "x" ? 0 : 1;
      return Math.min(Math.floor((at[axis] - low) / this.bin[k]), this.bins[k] - 1);
    };
    const [unit, size] = this.unit, length = value => short(value / size);
    const items = [
      item("x, y", `${length(at.x)}, ${length(at.y)} ${unit}`),
      item("bin", `${bin("x", whole.xl)}, ${bin("y", whole.yl)}`),
    ];
    for (const panel of this.panels) {
      const { nx, ny } = panel;
      const i = Math.min(Math.floor((at.x - whole.xl) / (whole.xh - whole.xl) * nx), nx - 1);
      const j = Math.min(Math.floor((at.y - whole.yl) / (whole.yh - whole.yl) * ny), ny - 1);
      if (panel.absent && Number.isNaN(panel.shown[i * ny + j])) {
        items.push(item(panel.title, panel.absent));
        continue;
      }
      const values = panel.values.map(map => short(map[i * ny + j]));
      items.push(item(panel.title, `${values.length === 2 ? `(${values.join(", ")})` : values[0]} ${panel.unit}`));
    }
    const found = this.nodesAt(at.x, at.y), kinds = ["cell", "macro", "fixed", "fixed, blocks nothing"];
    const { names: all, kinds: kindOf, w, h } = this.nodes;
    const names = found.slice(0, 6).map(k => `${all[k]} (${kinds[kindOf[k]]}, ${length(w[k])} × ${length(h[k])})`);
    if (found.length > 6) names.push(`and ${found.length - 6} more`);
    const within = of => [...of.x.keys()].filter(k =>
      at.x >= of.x[k] && at.x < of.x[k] + of.w[k] && at.y >= of.y[k] && at.y < of.y[k] + of.h[k]);
    names.push(...new Set(within(this.fences).map(k => `fence ${this.fences.names[k]}`)));
    if (within(this.blockages).length) names.push("a blockage");
    const here = document.createElement("div");
    const rest = this.nodes.total - this.nodes.x.length;
    const none = rest > 0
      ? `none of the ${this.nodes.x.length} nodes that this page lists, of ${this.nodes.total}`
      : "nothing";
    here.append(item("Here", names.join("; ") || none));
    readout.replaceChildren(...items, here);
  }

  attachTools() {
    reveal($("#maps"));
    $$(".static").forEach(element => { element.hidden = true; });
    reveal($("#hot-spots") ?? document.createElement("i"));
    $$("[data-zoom]").forEach(button => button.addEventListener("click", () => {
      if (button.dataset.zoom === "0") this.marked = null;
      this.zoom(Number(button.dataset.zoom), this.cursor ?? undefined);
    }));
    ["macros", "fences", "rows", "cells", "arrows"].forEach(name =>
      $(`#show-${name}`).addEventListener("change", () => this.draw()));
    $$("[data-spot]").forEach(button => button.addEventListener("click", () => {
      const [xl, yl, xh, yh] = JSON.parse(button.dataset.spot);
      $("#maps").scrollIntoView({ block: "start" });
      this.goTo({ xl, yl, xh, yh });
    }));
    $("#find").addEventListener("change", event => {
      const k = this.nodes.names.indexOf(event.target.value.trim());
      event.target.setCustomValidity(k < 0 && event.target.value ? "No node of this name is listed." : "");
      event.target.reportValidity();
      if (k < 0) return;
      const { x, y, w, h } = this.nodes;
      $("#show-cells").checked = true;
      this.goTo({ xl: x[k], yl: y[k], xh: x[k] + w[k], yh: y[k] + h[k] });
    });
  }
}

// ---------------------------------------------------------------- iterations

class Run {
  constructor(data) {
    Object.assign(this, data);
    this.slider = $("#iteration");
    this.frames = $$(".strip img");
    this.timer = 0;
  }

  async open() {
    reveal($("#run"));
    if (this.frames.length) {
      await Promise.all(this.frames.map(image => image.decode()));
      $(".strip").hidden = true;
    }
    this.cursors = $$("[data-follows] svg[data-x]").map(svg => {
      const path = document.createElementNS(svg.namespaceURI, "path");
      path.setAttribute("class", "cursor");
      svg.append(path);
      return { path, area: JSON.parse(svg.dataset.area), x: JSON.parse(svg.dataset.x) };
    });
    this.slider.addEventListener("input", () => this.show());
    $("#play").addEventListener("click", () => this.play());
    this.show();
  }

  show() {
    const row = Number(this.slider.value), iteration = this.iterations[row];
    $("#iteration-number").textContent = iteration;
    this.slider.setAttribute("aria-valuetext", `iteration ${iteration}`);
    $("#now").replaceChildren(...this.columns.map(({ name, values }) => {
      const group = document.createElement("div");
      const part = (tag, textContent) => Object.assign(document.createElement(tag), { textContent });
      group.append(part("dt", name), part("dd", values[row] === null ? "none" : short(values[row])));
      return group;
    }));
    for (const { path, area: [left, top, right, bottom], x: [low, high] } of this.cursors) {
      const at = left + (iteration - low) / Math.max(high - low, 1e-9) * (right - left);
      path.setAttribute("d", `M${at} ${top}V${bottom}`);
    }
    if (this.frames.length) this.showFrame(row);
  }

  /** The last frame until then. */
  showFrame(row) {
    const image = this.frames.findLast(image => Number(image.dataset.row) <= row) ?? this.frames[0];
    $("#frame-note").textContent = `Cells at iteration ${this.iterations[Number(image.dataset.row)]}.`;
    if (this.drawn === image) return;
    this.drawn = image;
    const canvas = $("#frame"), context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const outline = this.outlines[Math.min(this.frames.indexOf(image), this.outlines.length - 1)];
    if (!outline) return;
    const [width, height] = this.drawing;
    context.save();
    context.scale(canvas.width / width, canvas.height / height);
    context.strokeStyle = "rgba(255, 255, 255, .9)";
    context.lineWidth = width / canvas.width;
    context.stroke(new Path2D(outline));
    context.restore();
  }

  play() {
    const last = Number(this.slider.max), button = $("#play");
    const stop = () => {
      clearInterval(this.timer);
      this.timer = 0;
      button.textContent = "Play";
    };
    if (this.timer) return stop();
    if (Number(this.slider.value) === last) this.slider.value = 0;
    button.textContent = "Stop";
    const step = Math.max(1, Math.round(last / 100));
    this.timer = setInterval(() => {
      this.slider.value = Math.min(Number(this.slider.value) + step, last);
      this.show();
      if (Number(this.slider.value) === last) stop();
    }, 80);
  }
}

// ---------------------------------------------------------------- start

/** Opens a part of the page; where that fails its static pictures stay. */
async function open(part) {
  try {
    await part.open();
  } catch (error) {
    console.error(error);
  }
}

const data = JSON.parse($("#data")?.textContent ?? "{}");
const parts = [];
if (data.maps && typeof DecompressionStream === "function") parts.push(new Maps(data.maps));
if (data.run) parts.push(new Run(data.run));
// Ready once the first drawing is on the screen: the next frame draws it, the one after comes later.
const frame = () => new Promise(requestAnimationFrame);
Promise.all(parts.map(open)).then(frame).then(frame).then(() => { document.documentElement.dataset.ready = "yes"; });
