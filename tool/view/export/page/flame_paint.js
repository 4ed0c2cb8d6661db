/* SPDX-License-Identifier: MIT */
/* flame_paint.js - draws the flame graph: boxes on a canvas, names as text that can be selected. */
const FLAME_HUES = [28, 208, 138, 276, 52, 330, 178, 96, 238, 6];
const FLAME_KEYS = 8; // images that the legend names

const shortened = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;

Object.assign(flame, {
  labels: $("flame-labels"),
  pool: [],
  hues: null, // by image
  range: { top: 0, height: 0 }, // what is drawn, of the whole height

  // Images by their own hits; the first of them have colours of their own.
  orderImages() {
    const tree = flameTree(state.source);
    const sums = new Float64Array(flameData.images.length);
    for (let node = 0; node < tree.count; node++) {
      const frame = tree.frame[node];
      if (frame >= 0 && flameFrames.image[frame] > 0) sums[flameFrames.image[frame] - 1] += tree.self[node];
    }
    const order = Array.from(sums.keys()).sort((a, b) => sums[b] - sums[a] || a - b);
    this.hues = new Int32Array(sums.length).fill(-1);
    order.slice(0, FLAME_HUES.length).forEach((image, i) => { this.hues[image] = FLAME_HUES[i]; });
    this.order = order;
    this.most = [0, 0]; // the largest changes: less, more
    for (let node = 1; tree.old && node < tree.count; node++) {
      const { by, error } = this.change(node);
      const way = by > 0 ? 1 : 0;
      if (Math.abs(by) > error) this.most[way] = Math.max(this.most[way], Math.abs(by));
    }
  },
  // Neighbours differ a little, always in the same way.
  shadeOf(node) { return (Math.max(0, this.tree.frame[node]) * 2654435761 >>> 0) % 7 - 3; },
  colourOfImage(image, shade) {
    const dark = isDark();
    const hue = image < 0 ? -1 : this.hues[image];
    const light = (dark ? 31 : 80) + shade * (dark ? 0.9 : 1.1);
    if (image < 0) return dark ? `hsl(220 6% ${light - 5}%)` : `hsl(40 8% ${light + 5}%)`;
    return hue < 0 ? `hsl(40 ${dark ? 8 : 18}% ${light}%)` : `hsl(${hue} ${dark ? 42 : 74}% ${light}%)`;
  },
  // From blue, which shrank, to red, which grew; without a colour, what chance explains.
  colourOfChange(node) {
    const dark = isDark();
    const { by, error } = this.change(node);
    if (Math.abs(by) <= error) return dark ? "hsl(220 6% 27%)" : "hsl(40 10% 89%)";
    const part = Math.sqrt(Math.abs(by) / this.most[by > 0 ? 1 : 0]);
    const hue = by > 0 ? 8 : 214;
    return dark ? `hsl(${hue} ${20 + 50 * part}% ${28 + 10 * part}%)`
      : `hsl(${hue} ${50 + 40 * part}% ${90 - 24 * part}%)`;
  },
  colourOf(node) {
    if (this.compared && this.tree.old && node > 0) return this.colourOfChange(node);
    return this.colourOfImage(this.imageOf(node), this.shadeOf(node));
  },

  draw() {
    const { graph, canvas } = this;
    if (graph.clientWidth < 2 || graph.clientHeight < 2) return;
    if (this.rows.length === 0 || this.width !== graph.clientWidth) {
      this.width = graph.clientWidth;
      this.lay();
      this.space.style.height = this.rows.length * this.rowHeight() + "px";
      if (this.toRoot) graph.scrollTop = this.up ? this.height() : 0;
      this.toRoot = false;
    }
    // A screen above and below is drawn too, so that what is scrolled to is there.
    const height = Math.min(this.height(), 3 * graph.clientHeight);
    const top = Math.max(0, Math.min(this.height() - height, graph.scrollTop - graph.clientHeight));
    this.range = { top, height };
    const ratio = window.devicePixelRatio || 1;
    canvas.style.top = top + "px";
    canvas.style.height = height + "px";
    const [across, down] = [Math.round(this.width * ratio), Math.round(height * ratio)];
    if (canvas.width !== across) canvas.width = across;
    if (canvas.height !== down) canvas.height = down;
    const to = canvas.getContext("2d");
    to.setTransform(ratio, 0, 0, ratio, 0, -top * ratio);
    to.clearRect(0, top, this.width, height);
    this.paint(to);
    this.placeLabels();
    graph.dataset.drawn = String(this.rows.reduce((sum, row) => sum + row.length, 0)); // for tests, and who looks
  },
  isDrawn(y) { return y + this.rowHeight() > this.range.top && y < this.range.top + this.range.height; },
  paint(to) {
    const high = this.rowHeight() - 1;
    const { zoom } = this.view;
    const { colours } = picture;
    for (let depth = 0; depth < this.rows.length; depth++) {
      const y = this.yOf(depth);
      if (!this.isDrawn(y)) continue;
      for (const { node, x, width, many } of this.rows[depth]) {
        const gap = width > 4 ? 1 : width > 2 ? 0.5 : 0;
        const dim = node < zoom && zoom < this.tree.end[node];
        to.globalAlpha = dim || (this.found && !this.matches(node)) ? 0.3 : 1;
        to.fillStyle = many ? colours.line : this.colourOf(node);
        to.fillRect(x, y, width - gap, high);
      }
    }
    to.globalAlpha = 1;
    if (this.hover && !this.hover.many) this.outline(to, this.hover.node, colours.ink, 1);
    this.outline(to, this.cursor, colours.accent, 2);
  },
  outline(to, node, colour, line) {
    const box = (this.rows[this.tree.depth[node]] || []).find((each) => each.node === node);
    if (!box || (line > 1 && !this.shownCursor())) return;
    to.strokeStyle = colour;
    to.lineWidth = line;
    to.strokeRect(box.x + line / 2, this.yOf(this.tree.depth[node]) + line / 2, Math.max(1, box.width - 1 - line),
      this.rowHeight() - 1 - line);
  },
  // Who has not moved in the graph sees no mark.
  shownCursor() { return this.cursor > 0 || document.activeElement === this.graph; },
  placeLabels() {
    let used = 0;
    for (let depth = 0; depth < this.rows.length; depth++) {
      const y = this.yOf(depth);
      if (!this.isDrawn(y)) continue;
      for (const { node, x, width, many } of this.rows[depth]) {
        if (width < FLAME_LABEL || many) continue;
        let label = this.pool[used];
        if (!label) {
          label = make("span", "flame-label");
          this.pool.push(label);
          this.labels.append(label);
        }
        used++;
        label.hidden = false;
        label.style.transform = `translate(${Math.max(0, x)}px, ${y}px)`;
        label.style.width = width - 1 + "px";
        const name = this.nameOf(node);
        const text = shortened(name, NAME_SHOWN);
        if (label.textContent !== text) label.textContent = text;
        label.classList.toggle("dim", this.found !== null && !this.matches(node));
        label.classList.toggle("found", this.matches(node));
        label.classList.toggle("no-function", this.tree.frame[node] === FLAME_REST || name.startsWith("["));
      }
    }
    for (let i = used; i < this.pool.length; i++) this.pool[i].hidden = true;
  },

  /* beside the graph */

  showChosen() {
    if (this.hover && this.hover.many) {
      this.showMany(this.tree.parent[this.hover.node]);
      return;
    }
    const node = this.hover ? this.hover.node : this.cursor;
    const { tree } = this;
    const { total } = hitsOf(state.source);
    const share = this.share(tree.total[node]);
    const image = this.imageOf(node);
    const estimate = estimateText(tree.total[node], state.source);
    const own = tree.self[node];
    const parts = [`${percent(share)}${errorText(share, total, state.source)}`, hitsText(tree.total[node])];
    if (estimate !== "") parts.push(estimate);
    if (own > 0 && node > 0) {
      parts.push(`${this.view.reversed ? "called by none" : "self"} ${percent(this.share(own))}`);
    }
    if (tree.old && node > 0) {
      const { old, by, error } = this.change(node);
      const sign = by < 0 ? "−" : "+";
      parts.push(`was ${percent(old)}: ${sign}${percent(Math.abs(by))} ± ${percent(error)}` +
        (Math.abs(by) <= error ? ", which chance explains" : ""));
    }
    $("flame-name").textContent = this.nameOf(node, flameFrames.full).slice(0, LINES_OF_NAME);
    $("flame-image").textContent = image < 0 ? "" : flameData.images[image].slice(0, NAME_SHOWN);
    $("flame-numbers").textContent = parts.join("  ·  ");
    $("flame-callers").disabled = tree.frame[this.cursor] < 0;
  },
  showMany(caller) {
    $("flame-name").textContent = `(too narrow to be drawn, called by ${this.nameOf(caller).slice(0, NAME_SHOWN)})`;
    $("flame-image").textContent = "";
    $("flame-numbers").textContent = "A click shows the caller in the whole width.";
  },
  showState() {
    const { reversed, of } = this.view;
    $("flame-reversed").setAttribute("aria-pressed", String(reversed));
    $("flame-up").setAttribute("aria-pressed", String(this.up));
    $("flame-back").disabled = this.before.length === 0;
    $("flame-difference").hidden = flameTree(state.source).old === null;
    $("flame-difference").setAttribute("aria-pressed", String(this.compared));
    const parts = [];
    if (reversed) {
      parts.push(of === null ? "Functions with their callers"
        : `Callers of ${flameFrames.short[of].slice(0, NAME_SHOWN)}`);
    }
    if (this.found) {
      const { hits, functions } = this.sumMatches();
      parts.push(functions === 0 ? "nothing matches"
        : `${percent(this.share(hits))} of the ${numbersOf(state.source)}, ` +
          several(functions, "function", "functions"));
    }
    $("flame-found").textContent = parts.join("  ·  ");
    this.showLegend();
    this.showChosen();
  },
  addKey(colour, text) {
    const key = make("span", "flame-key");
    const chip = make("i");
    chip.style.background = colour;
    key.append(chip, text);
    $("flame-legend").append(key);
  },
  showLegend() {
    this.orderImages();
    const legend = $("flame-legend");
    legend.textContent = "";
    if (this.compared) {
      const [less, more] = this.most.map(percent);
      this.addKey(isDark() ? "hsl(214 70% 38%)" : "hsl(214 90% 66%)", `shrank, by up to ${less} of all`);
      this.addKey(isDark() ? "hsl(220 6% 27%)" : "hsl(40 10% 89%)", "no change beyond chance");
      this.addKey(isDark() ? "hsl(8 70% 38%)" : "hsl(8 90% 66%)", `grew, by up to ${more}`);
      const gone = this.sumGone();
      if (gone > 0) {
        legend.append(make("span", "flame-key", `only in the old profile: ${percent(this.oldShare(gone))}`));
      }
      return;
    }
    for (const image of this.order.slice(0, FLAME_KEYS)) {
      this.addKey(this.colourOfImage(image, 0), shortened(lastPart(flameData.images[image]), 26));
    }
    if (this.order.length > FLAME_KEYS) {
      const more = this.order.length - FLAME_KEYS;
      legend.append(make("span", "flame-key", `and ${several(more, "image", "images")} more`));
    }
  },
});

/* ---- controls ---- */

const FLAME_ACTIONS = {
  Enter: () => zoomFlame(flame.cursor),
  Home: () => flame.setCursor(flame.view.zoom),
  ArrowLeft: () => flame.toBeside(-1),
  ArrowRight: () => flame.toBeside(1),
  ArrowUp: () => flame.up ? flame.toCalled() : flame.toCaller(),
  ArrowDown: () => flame.up ? flame.toCaller() : flame.toCalled(),
  0: () => flame.zoom(0),
  "/": () => { $("flame-search").focus(); $("flame-search").select(); },
  r: () => flame.reverse(),
  k: () => flame.callersOf(flame.cursor),
  u: () => turnFlame(),
  w: () => enlargeFlame(),
  d: () => compareFlame(),
  Escape: () => {
    if (flame.goBack()) return;
    if (flame.words.length > 0) clearFlameSearch();
    else showTable();
  },
};

// The function is chosen in the table, too.
function zoomFlame(node) {
  flame.chooseRowOf(node);
  flame.zoom(node);
}

function turnFlame() {
  flame.up = !flame.up;
  flame.toRoot = true;
  flame.showState();
  flame.later(true);
}

// Without table and code, or with them.
function enlargeFlame(large = document.body.dataset.large === undefined) {
  if (large) document.body.dataset.large = "";
  else delete document.body.dataset.large;
  $("flame-large").setAttribute("aria-pressed", String(large));
  flame.later(true);
}

function compareFlame() {
  if (flameTree(state.source).old === null) return;
  flame.compared = !flame.compared;
  flame.showState();
  flame.later();
}

function clearFlameSearch() {
  $("flame-search").value = "";
  flame.setWords([]);
}

const flameIsShown = () => document.body.dataset[narrow.matches ? "view" : "top"] === "flame";

// Between the flame graph and the picture of addresses.
function showFlame(shown) {
  document.body.dataset.top = shown ? "flame" : "addresses";
  if (narrow.matches) document.body.dataset.view = shown ? "flame" : "list";
  refreshMeasures();
  if (shown) {
    flame.later(true);
    flame.graph.focus({ preventScroll: true });
  }
}

function flameBoxAt(event) {
  const box = flame.space.getBoundingClientRect();
  return flame.boxAt(event.clientX - box.left, event.clientY - box.top);
}

function addFlameEvents() {
  const { graph } = flame;
  graph.addEventListener("click", (event) => {
    if (!getSelection().isCollapsed) return; // text was selected
    const box = flameBoxAt(event);
    if (box) zoomFlame(box.many ? flame.tree.parent[box.node] : box.node);
  });
  graph.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    const box = flameBoxAt(event);
    if (box !== flame.hover) {
      flame.hover = box;
      flame.showChosen();
      flame.later();
    }
  });
  graph.addEventListener("pointerleave", () => {
    flame.hover = null;
    flame.showChosen();
    flame.later();
  });
  graph.addEventListener("scroll", () => flame.later(), { passive: true });
  for (const kind of ["focus", "blur"]) graph.addEventListener(kind, () => flame.later());
  graph.addEventListener("keydown", (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? null : FLAME_ACTIONS[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  });
  new ResizeObserver(() => flame.later()).observe(graph);
}

function addFlameControls() {
  const search = $("flame-search");
  search.addEventListener("input", () => {
    flame.setWords(search.value.toLowerCase().split(/\s+/).filter((word) => word !== ""));
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (search.value !== "") clearFlameSearch();
      else flame.graph.focus();
    } else if (event.key === "Enter") {
      event.preventDefault();
      const match = flame.found ? flame.firstMatch() : -1;
      flame.graph.focus();
      if (match >= 0) flame.setCursor(match);
    }
  });
  $("flame-reversed").addEventListener("click", () => flame.reverse());
  $("flame-callers").addEventListener("click", () => flame.callersOf(flame.cursor));
  $("flame-back").addEventListener("click", () => flame.goBack());
  $("flame-up").addEventListener("click", turnFlame);
  $("flame-difference").addEventListener("click", compareFlame);
  $("flame-large").addEventListener("click", () => enlargeFlame());
  $("to-flame").addEventListener("click", () => showFlame(true));
  $("list-to-flame").addEventListener("click", () => showFlame(true));
  $("to-addresses").addEventListener("click", () => showFlame(false));
  $("flame-to-list").addEventListener("click", showTable);
}

function beginFlame() {
  document.body.dataset.top = "flame";
  addFlameEvents();
  addFlameControls();
  flame.setSource();
}
