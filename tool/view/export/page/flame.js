/* SPDX-License-Identifier: MIT */
/*
 * flame.js - the flame graph: what of it is seen, moving in it, searching.
 *
 * What is drawn depends on what is seen and not on the size of the tree: nodes narrower than FLAME_LEAST pixels are
 * one box for each caller, with all that they call, and rows are drawn only near the part that is scrolled to.
 */
const FLAME_LEAST = 0.5;
const FLAME_LABEL = 26; // pixels of a box from which its name is written

const flame = {
  graph: $("flame-graph"),
  space: $("flame-space"),
  canvas: $("flame-canvas"),
  // What is seen: the tree, and the node whose width is that of the graph.
  view: { reversed: false, of: null, zoom: 0 },
  before: [], // views to go back to
  tree: null,
  trees: new Map(), // reversed ones, of the source
  cursor: 0,
  hover: null, // a box
  up: false, // callers below
  compared: false,
  words: [],
  found: null, // by frame, whether the words are in its name and image
  rows: [], // boxes by depth, from left to right: { node, x, width, many }

  later(anew) {
    if (anew) this.rows = [];
    if (!this.asked) this.asked = requestAnimationFrame(() => { this.asked = 0; this.draw(); });
  },

  /* trees */

  setSource() {
    this.trees.clear();
    this.before = [];
    this.compared = flameTree(state.source).old !== null;
    this.setView({ reversed: false, of: null, zoom: 0 });
    this.setWords(this.words);
  },
  treeOf({ reversed, of }) {
    const forward = flameTree(state.source);
    if (!reversed) return forward;
    if (!this.trees.has(of)) this.trees.set(of, reverseFlame(forward, of, flameData.least));
    return this.trees.get(of);
  },
  setView(view) {
    this.view = view;
    this.tree = this.treeOf(view);
    this.cursor = view.zoom;
    this.hover = null;
    this.showState();
    this.later(true);
    this.toRoot = true;
  },
  go(view) {
    this.before.push({ view: this.view, cursor: this.cursor });
    this.setView(view);
  },
  zoom(node) {
    if (node !== this.view.zoom) this.go({ ...this.view, zoom: node });
  },
  goBack() {
    const last = this.before.pop();
    if (!last) return false;
    this.setView(last.view);
    this.setCursor(last.cursor);
    return true;
  },
  reverse() { this.go({ reversed: !this.view.reversed, of: null, zoom: 0 }); },
  callersOf(node) {
    if (this.tree.frame[node] >= 0) this.go({ reversed: true, of: this.tree.frame[node], zoom: 0 });
  },

  /* the table: a function is one with the same name there, in the same image */

  // For each frame the numbers of its names in the table: none if it has no hits, several if it was inlined, too. As
  // there are more functions in the graph, it may distinguish them by file, line and address where the table does not.
  namesOfFrames() {
    if (!this.rowNames) {
      const known = new Map();
      const key = (name, image) => image + "\n" + name;
      for (let row = 0; row < rowCount; row++) {
        for (const name of [rows.inner[row], rows.outer[row]]) {
          const place = key(names.full[name], images[rows.image[row]].path);
          known.set(place, (known.get(place) || new Set()).add(name));
        }
      }
      this.rowNames = Array.from(flameFrames.image, (image, i) => {
        const full = flameFrames.full[i];
        const path = image > 0 ? flameData.images[image - 1] : "";
        return [full, full.replace(/, 0x[0-9a-f]+\)$/, ")"), full.replace(/ \([^()]*:\d+(, 0x[0-9a-f]+)?\)$/, "")]
          .map((text) => known.get(key(text, path))).find((found) => found) || new Set();
      });
    }
    return this.rowNames;
  },
  // Chooses the function of a node in the table: by its hottest code, of what was inlined where it was.
  chooseRowOf(node) {
    const frame = this.tree.frame[node];
    const called = frame >= 0 ? this.namesOfFrames()[frame] : new Set();
    if (called.size === 0) return;
    const { hits } = hitsOf(state.source);
    const own = state.by === "inline" ? rows.inner : rows.outer;
    const rank = (row) => called.has(own[row]) ? 2 : called.has(rows.inner[row]) || called.has(rows.outer[row]) ? 1 : 0;
    let best = 0;
    for (let row = 1; row < rowCount; row++) {
      if (rank(row) > rank(best) || (rank(row) === rank(best) && hits[row] > hits[best])) best = row;
    }
    chooseFunctionOf(best);
  },
  // Goes to the widest node of the function that is chosen in the table; what is seen is zoomed out of if need be.
  showFunctionOf(row) {
    const name = state.by === "inline" ? rows.inner[row] : rows.outer[row];
    const called = this.namesOfFrames();
    const widest = (from) => {
      let best = -1;
      for (let node = from; node < this.tree.end[from]; node++) {
        const frame = this.tree.frame[node];
        if (frame >= 0 && called[frame].has(name) && (best < 0 || this.tree.total[node] > this.tree.total[best])) {
          best = node;
        }
      }
      return best;
    };
    let node = widest(this.view.zoom);
    if (node < 0 && (node = widest(0)) >= 0) this.zoom(0);
    if (node >= 0) this.setCursor(node);
  },

  /* names and shares */

  nameOf(node, names = flameFrames.short) {
    const frame = this.tree.frame[node];
    if (frame === FLAME_REST) return `[${several(this.tree.rest[node], "function", "functions")} below ` +
      `${percent(flameData.least)}]`;
    return frame === FLAME_ALL ? "all" : names[frame];
  },
  imageOf(node) {
    const frame = this.tree.frame[node];
    return frame < 0 || flameFrames.image[frame] === 0 ? -1 : flameFrames.image[frame] - 1;
  },
  share(hits) {
    const { total } = hitsOf(state.source);
    return total > 0 ? hits / total : 0;
  },
  oldShare(hits) {
    const { old_total: total } = flameData.trees[state.source];
    return total > 0 ? hits / total : 0;
  },
  // How much the share changed, and how far off that may be, 95 times of 100.
  change(node) {
    const [share, old] = [this.share(this.tree.total[node]), this.oldShare(this.tree.old[node])];
    const source = sources[state.source];
    const one = (part, hits) => hits > 0 ? part * (1 - part) / hits : 0;
    const error = flameData.trees[state.source].exact ? 0
      : Z * Math.sqrt(one(share, hitsOf(state.source).total / source.units_of_hit) +
        one(old, flameData.trees[state.source].old_hits));
    return { share, old, by: share - old, error };
  },

  /* search: every word in the name or the image */

  setWords(words) {
    this.words = words;
    this.found = null;
    if (words.length > 0) {
      const has = (texts, word) => texts.map((text) => text.toLowerCase().includes(word));
      const tests = words.map((word) => [flameFrames.short, flameFrames.full, flameData.images]
        .map((texts) => has(texts, word)));
      this.found = Uint8Array.from(flameFrames.image, (image, i) => tests.every(([inShort, inFull, inImage]) =>
        inShort[i] || inFull[i] || (image > 0 && inImage[image - 1])) ? 1 : 0);
    }
    this.showState();
    this.later();
  },
  matches(node) {
    const frame = this.tree.frame[node];
    return this.found !== null && frame >= 0 && this.found[frame] === 1;
  },
  // Hits of stacks with a match, each once; the widest one that is seen; and how many functions match.
  sumMatches() {
    const tree = flameTree(state.source);
    let hits = 0;
    for (let node = 1; node < tree.count;) {
      if (tree.frame[node] >= 0 && this.found[tree.frame[node]]) {
        hits += tree.total[node];
        node = tree.end[node];
      } else {
        node++;
      }
    }
    return { hits, functions: this.found.reduce((sum, found) => sum + found, 0) };
  },
  // Hits of the old profile in what the new one has none of.
  sumGone() {
    const tree = flameTree(state.source);
    let gone = 0;
    for (let node = 1; node < tree.count;) {
      if (tree.total[node] === 0) {
        gone += tree.old[node];
        node = tree.end[node];
      } else {
        node++;
      }
    }
    return gone;
  },
  firstMatch() {
    let best = -1;
    for (let node = this.view.zoom; node < this.tree.end[this.view.zoom]; node++) {
      if (this.matches(node) && (best < 0 || this.tree.total[node] > this.tree.total[best])) best = node;
    }
    return best;
  },

  /* layout */

  rowHeight() { return narrow.matches ? 26 : 19; },
  height() { return Math.max(this.rows.length * this.rowHeight(), this.graph.clientHeight); },
  yOf(depth) {
    return this.up ? this.height() - (depth + 1) * this.rowHeight() : depth * this.rowHeight();
  },
  put(node, x, width, many) {
    const depth = this.tree.depth[node];
    if (!this.rows[depth]) this.rows[depth] = [];
    this.rows[depth].push({ node, x, width, many });
  },
  lay() {
    const { tree } = this;
    const { zoom } = this.view;
    const width = this.graph.clientWidth;
    this.rows = [];
    for (let node = zoom; node > 0;) {
      node = tree.parent[node];
      this.put(node, 0, width, false);
    }
    const scale = tree.total[zoom] > 0 ? width / tree.total[zoom] : 0;
    const origin = tree.left[zoom];
    for (let node = zoom; node < tree.end[zoom];) {
      const wide = node === zoom ? width : tree.total[node] * scale;
      const x = (tree.left[node] - origin) * scale;
      if (wide >= FLAME_LEAST) {
        this.put(node, x, wide, false);
        node++;
        continue;
      }
      // Those behind it of the same caller are narrower.
      const caller = tree.parent[node];
      const left = (tree.left[caller] + tree.total[caller] - tree.self[caller] - tree.left[node]) * scale;
      if (left >= FLAME_LEAST) this.put(node, x, left, true);
      node = tree.end[caller];
    }
  },
  boxAt(x, y) {
    const row = this.up ? Math.floor((this.height() - y) / this.rowHeight()) : Math.floor(y / this.rowHeight());
    const boxes = this.rows[row] || [];
    let [low, high] = [0, boxes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (boxes[middle].x + boxes[middle].width <= x) low = middle + 1;
      else high = middle;
    }
    return low < boxes.length && boxes[low].x <= x ? boxes[low] : null;
  },

  /* moving */

  setCursor(node) {
    this.cursor = node;
    this.hover = null;
    this.showChosen();
    this.scrollTo(node);
    this.later();
  },
  scrollTo(node) {
    const y = this.yOf(this.tree.depth[node]);
    const { graph } = this;
    if (y < graph.scrollTop) graph.scrollTop = y;
    const below = y + this.rowHeight() - graph.clientHeight;
    if (below > graph.scrollTop) graph.scrollTop = below;
  },
  toCaller() { if (this.cursor > 0) this.setCursor(this.tree.parent[this.cursor]); },
  toCalled() {
    const child = this.cursor + 1;
    const boxes = this.rows[this.tree.depth[this.cursor] + 1] || [];
    if (child < this.tree.end[this.cursor] && boxes.some((box) => box.node === child)) this.setCursor(child);
  },
  toBeside(by) {
    const boxes = this.rows[this.tree.depth[this.cursor]] || [];
    const box = boxes[boxes.findIndex((each) => each.node === this.cursor) + by];
    if (box) this.setCursor(box.node);
  },
};
