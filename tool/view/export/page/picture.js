/* SPDX-License-Identifier: MIT */
/* picture.js - the picture of an image: which part of it is seen, its bars, the hand on it. */
const BAR_PIXELS = 4;
const TOP = 38; // above the bars: peaks' names
const LANES = 20; // functions below the bars
const AXIS = 18;
const OVERVIEW = 22;


const picture = {
  canvas: $("canvas"),
  map: $("map"),
  image: -1,
  view: { from: 0, to: 1 },
  cursor: null, // u of the bar that keys are at
  pointer: null,
  root: false,
  prefix: null,
  chosenPrefix: null,
  colours: {},

  setImage(index) {
    this.image = index;
    const image = images[index];
    if (!image.space) image.space = makeSpace(image);
    this.view = { from: 0, to: image.space.length };
    this.cursor = null;
    $("image").value = String(index);
    this.hideTip();
    this.later();
  },
  space() { return images[this.image].space; },
  sumUp() {
    const { hits } = hitsOf(state.source);
    this.prefix = new Float64Array(rowCount + 1);
    for (let row = 0; row < rowCount; row++) this.prefix[row + 1] = this.prefix[row] + hits[row];
    this.markChosen();
  },
  markChosen() {
    const { hits } = hitsOf(state.source);
    this.chosenPrefix = null;
    const { chosen } = state;
    if (chosen && chosen.by !== "image") {
      const marked = new Float64Array(rowCount + 1);
      for (const row of chosen.rows) marked[row + 1] = hits[row];
      for (let row = 0; row < rowCount; row++) marked[row + 1] += marked[row];
      this.chosenPrefix = marked;
    }
    this.later();
  },
  // Rows with u in [from, to), as [first, end).
  rowsIn(from, to) {
    const { firstRow, space } = images[this.image];
    return [firstRow + lowerBound(space.us, from), firstRow + lowerBound(space.us, to)];
  },
  hitsIn(from, to) {
    const [first, end] = this.rowsIn(from, to);
    return this.prefix[end] - this.prefix[first];
  },
  addressAt(u) {
    const { pieces } = this.space();
    let piece = pieces[0];
    for (const each of pieces) if (each.u <= u) piece = each;
    return piece.segment.base + BigInt(Math.floor(Math.min(u - piece.u + piece.from, piece.to)));
  },
  size() {
    const box = this.map.getBoundingClientRect();
    return { width: box.width, height: box.height };
  },
  // Bytes of a bar: a power of two, whole buckets, so that bars stay as they are when the view moves.
  barBytes() {
    const perPixel = (this.view.to - this.view.from) / Math.max(1, this.size().width);
    let bytes = bucketBytes;
    while (bytes < perPixel * BAR_PIXELS) bytes *= 2;
    return bytes;
  },
  bars() {
    const bytes = this.barBytes();
    const list = [];
    const { us } = this.space();
    const { firstRow } = images[this.image];
    const { pieces } = this.space();
    for (const piece of pieces) {
      const pieceEnd = piece.u + piece.to - piece.from;
      if (pieceEnd < this.view.from || piece.u > this.view.to) continue;
      // Bars begin at multiples of their size in the address space.
      const base = Number(BigInt.asUintN(64, piece.segment.base + BigInt(piece.from)) % BigInt(bytes));
      const start = Math.max(piece.u, this.view.from);
      let bar = piece.u - base + Math.floor((start - piece.u + base) / bytes) * bytes;
      const last = Math.min(pieceEnd, this.view.to);
      let row = lowerBound(us, Math.max(bar, piece.u));
      while (bar < last) {
        // Empty stretches are stepped over: what is drawn costs what is hit or seen.
        const next = bar + bytes;
        const from = row;
        const stop = Math.min(next, pieceEnd);
        while (row < us.length && us[row] < stop) row++;
        if (row > from) {
          const hits = this.prefix[firstRow + row] - this.prefix[firstRow + from];
          const own = this.chosenPrefix
            ? this.chosenPrefix[firstRow + row] - this.chosenPrefix[firstRow + from] : 0;
          if (hits > 0) {
            list.push({
              from: Math.max(bar, piece.u), to: stop, hits, own, first: firstRow + from, end: firstRow + row,
            });
          }
        }
        bar = next;
        if (row < us.length && us[row] >= bar + bytes && us[row] < last) {
          bar += Math.floor((us[row] - bar) / bytes) * bytes;
        } else if (row >= us.length || us[row] >= last) {
          break;
        }
      }
    }
    return list;
  },
  later() {
    if (!this.asked) this.asked = requestAnimationFrame(() => { this.asked = 0; this.draw(); });
  },
  /* moving */

  least() { return bucketBytes * 8; },
  setView(from, to) {
    const { length } = this.space();
    const span = Math.min(length, Math.max(this.least(), to - from));
    const middle = (from + to) / 2;
    from = Math.max(0, Math.min(length - span, middle - span / 2));
    this.view = { from, to: from + span };
    this.later();
  },
  zoom(factor, at) {
    const { from, to } = this.view;
    const middle = at === undefined ? this.cursor !== null && this.cursor >= from && this.cursor < to
      ? this.cursor : (from + to) / 2 : at;
    const span = Math.min(this.space().length, Math.max(this.least(), (to - from) / factor));
    const left = middle - (middle - from) / (to - from) * span;
    this.setView(left, left + span);
  },
  move(part) {
    const by = (this.view.to - this.view.from) * part;
    this.setView(this.view.from + by, this.view.to + by);
  },
  zoomAll() { this.setView(0, this.space().length); },
  // From the first to the last bucket of the symbol with the most hits of what is chosen.
  extentOf(chosen) {
    const { hits } = hitsOf(state.source);
    const image = images[this.image];
    const extents = new Map();
    let best = null;
    for (const row of chosen.rows) {
      if (rows.image[row] !== this.image) continue;
      const symbol = rows.outer[row];
      const u = image.space.us[row - image.firstRow];
      let extent = extents.get(symbol);
      if (!extent) extents.set(symbol, extent = { from: u, to: u, hits: 0 });
      extent.from = Math.min(extent.from, u);
      extent.to = Math.max(extent.to, u + bucketBytes);
      extent.hits += hits[row];
      if (!best || extent.hits > best.hits) best = extent;
    }
    return best;
  },
  zoomTo(chosen) {
    if (this.image !== chosen.image) this.setImage(chosen.image);
    const extent = this.extentOf(chosen);
    if (!extent) return;
    const room = Math.max(bucketBytes * 2, (extent.to - extent.from) * 0.06);
    this.setView(extent.from - room, extent.to + room);
  },
  // What is chosen must be seen; the view stays if it is.
  reveal() {
    const { chosen } = state;
    if (!chosen || WIDE_KINDS.has(chosen.by)) return;
    const extent = this.extentOf(chosen);
    if (!extent) return;
    if (extent.to <= this.view.from || extent.from >= this.view.to) {
      const span = this.view.to - this.view.from;
      const middle = (extent.from + extent.to) / 2;
      this.setView(middle - span / 2, middle + span / 2);
    }
  },

  /* pointing */

  barAt(u) {
    const bars = this.bars();
    const near = (this.view.to - this.view.from) / this.size().width * 3;
    let best = null;
    for (const bar of bars) {
      if (bar.from <= u && u < bar.to) return bar;
      const away = u < bar.from ? bar.from - u : u - bar.to;
      if (away <= near && (!best || away < best.away)) best = { bar, away };
    }
    return best && best.bar;
  },
  tellBar(bar, x, y) {
    const tip = $("tip");
    const { total } = hitsOf(state.source);
    const { sums } = this.hottestOf(bar);
    const first = hex(this.addressAt(bar.from));
    const last = hex(this.addressAt(bar.to - 1));
    tip.textContent = "";
    tip.append(make("div", "mono dim", `${first} – ${last}`));
    tip.append(make("div", "", `${hitsText(bar.hits)}, ${percent(total > 0 ? bar.hits / total : 0)}`));
    const top = [...sums].sort((a, b) => b[1] - a[1]);
    for (const [key, hits] of top.slice(0, 3)) {
      const line = make("div", "mono", (key < 0 ? placeOf(-1 - key) : names.short[key]).slice(0, 80));
      if (top.length > 1) line.append(make("span", "dim", "  " + count(hits)));
      tip.append(line);
    }
    if (top.length > 3) tip.append(make("div", "dim", `and ${count(top.length - 3)} more`));
    tip.hidden = false;
    const { width, height } = this.size();
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(width - box.width - 4, x + 14)) + "px";
    const above = y - box.height - 10;
    tip.style.top = Math.max(4, Math.min(height - box.height - 4, above < 4 ? y + 16 : above)) + "px";
  },
  hideTip() { $("tip").hidden = true; },
  // The next bar with hits from the cursor, for keys.
  step(forward) {
    const { from, to } = this.view;
    const { us } = this.space();
    const bytes = this.barBytes();
    let row;
    if (this.cursor === null) {
      row = forward ? lowerBound(us, from) : lowerBound(us, to) - 1;
    } else {
      const bar = this.barAt(this.cursor);
      row = forward ? lowerBound(us, bar ? bar.to : this.cursor + bytes)
        : lowerBound(us, bar ? bar.from : this.cursor) - 1;
    }
    const { hits } = hitsOf(state.source);
    const { firstRow } = images[this.image];
    while (row >= 0 && row < us.length && hits[firstRow + row] === 0) row += forward ? 1 : -1;
    if (row < 0 || row >= us.length) return;
    this.cursor = us[row];
    const half = (to - from) / 2;
    if (this.cursor < from || this.cursor >= to) this.setView(this.cursor - half, this.cursor + half);
    const bar = this.barAt(this.cursor);
    if (bar) this.tellBar(bar, this.x(bar.from, this.size().width), TOP + 20);
    this.later();
  },
  chooseAt(u) {
    const bar = this.barAt(u);
    if (!bar) return false;
    this.cursor = bar.from;
    const { row } = this.hottestOf(bar);
    chooseFunctionOf(row);
    showCodeOf(this.hottestRow(bar, rows.outer[row]));
    return true;
  },
};

function addPictureEvents() {
  const { map } = picture;
  const pointers = new Map();
  let moved = 0;
  let overview = false;
  const at = (event) => {
    const box = map.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top, width: box.width, height: box.height };
  };
  const uAt = (x, width) => picture.view.from + x / width * (picture.view.to - picture.view.from);
  map.addEventListener("wheel", (event) => {
    if (picture.image < 0) return;
    event.preventDefault();
    const { x, width } = at(event);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
      picture.move((event.deltaX || event.deltaY) / 800);
    } else {
      picture.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0018)), uAt(x, width));
    }
  }, { passive: false });
  map.addEventListener("pointerdown", (event) => {
    if (picture.image < 0) return;
    const place = at(event);
    overview = place.y > place.height - OVERVIEW;
    pointers.set(event.pointerId, place);
    map.setPointerCapture(event.pointerId);
    moved = 0;
    if (overview) jumpTo(place);
  });
  const jumpTo = ({ x, width }) => {
    const middle = x / width * picture.space().length;
    const half = (picture.view.to - picture.view.from) / 2;
    picture.setView(middle - half, middle + half);
  };
  map.addEventListener("pointermove", (event) => {
    if (picture.image < 0) return;
    const place = at(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      const bar = place.y < place.height - OVERVIEW - AXIS ? picture.barAt(uAt(place.x, place.width)) : null;
      if (bar) picture.tellBar(bar, place.x, place.y);
      else picture.hideTip();
      return;
    }
    if (overview) {
      moved = 9;
      jumpTo(place);
    } else if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const factor = Math.max(8, Math.abs(place.x - other.x)) / Math.max(8, Math.abs(before.x - other.x));
      picture.zoom(factor, uAt((place.x + other.x) / 2, place.width));
      moved = 9;
    } else {
      picture.move((before.x - place.x) / place.width);
      moved += Math.abs(before.x - place.x);
      if (moved > 4) {
        map.classList.add("drag");
        picture.hideTip();
      }
    }
    pointers.set(event.pointerId, place);
  });
  const end = (event) => {
    const place = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    map.classList.remove("drag");
    if (place && event.type === "pointerup" && moved <= 4 && !overview && event.button === 0) {
      picture.chooseAt(uAt(place.x, place.width));
    }
  };
  map.addEventListener("pointerup", end);
  map.addEventListener("pointercancel", end);
  map.addEventListener("pointerleave", () => picture.hideTip());
  map.addEventListener("dblclick", () => zoomToChosen());
  map.addEventListener("blur", () => picture.hideTip());
  new ResizeObserver(() => picture.later()).observe(map);
  map.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || picture.image < 0) return;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const right = event.key === "ArrowRight";
      if (event.shiftKey) picture.move(right ? 0.2 : -0.2);
      else picture.step(right);
    } else if (event.key === "Home") {
      picture.zoomAll();
    } else if (event.key === "Enter" && picture.cursor !== null) {
      if (picture.chooseAt(picture.cursor)) zoomToChosen();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
}
