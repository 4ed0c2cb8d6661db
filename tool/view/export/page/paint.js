/* SPDX-License-Identifier: MIT */
/* paint.js - draws the picture. */
Object.assign(picture, {
  readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["bg", "panel", "sunk", "ink", "muted", "faint", "line", "accent", "accent-soft",
      "heat0", "heat1", "heat2", "heat3", "mono", "sans"]) {
      this.colours[name] = style.getPropertyValue("--" + name).trim();
    }
    this.ramp = null;
  },
  heat(part) {
    if (!this.ramp) {
      const stops = ["heat0", "heat1", "heat2", "heat3"].map((name) => {
        const value = parseInt(this.colours[name].slice(1), 16);
        return [value >> 16, value >> 8 & 255, value & 255];
      });
      this.ramp = Array.from({ length: 64 }, (_, i) => {
        const at = i / 63 * 3;
        const k = Math.min(2, Math.floor(at));
        const mix = stops[k].map((from, c) => Math.round(from + (stops[k + 1][c] - from) * (at - k)));
        return `rgb(${mix.join(",")})`;
      });
    }
    return this.ramp[Math.max(0, Math.min(63, Math.round(part * 63)))];
  },
  heightOf(hits, most) {
    const part = most > 0 ? hits / most : 0;
    return this.root ? Math.sqrt(part) : part;
  },

  draw() {
    const { width, height } = this.size();
    if (width < 2 || height < 2) return;
    const ratio = window.devicePixelRatio || 1;
    const { canvas } = this;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const to = canvas.getContext("2d");
    to.setTransform(ratio, 0, 0, ratio, 0, 0);
    to.clearRect(0, 0, width, height);
    if (this.image < 0) return;
    this.paint(to, width, height);
  },
  x(u, width) { return (u - this.view.from) / (this.view.to - this.view.from) * width; },
  paint(to, width, height) {
    const bottom = height - OVERVIEW - AXIS - LANES - 4;
    const bars = this.bars();
    let most = 0;
    for (const bar of bars) most = Math.max(most, bar.hits);
    this.most = most;
    this.paintGrid(to, width, bottom, most);
    this.paintBars(to, width, bottom, bars, most);
    this.paintPeaks(to, width, bottom, bars, most);
    this.paintLanes(to, width, bottom + 4);
    this.paintAxis(to, width, bottom + 4 + LANES);
    this.paintOverview(to, width, height - OVERVIEW);
    // For tests, and for who looks: the range that is seen.
    this.map.dataset.from = this.addressAt(this.view.from).toString(16);
    this.map.dataset.bytes = String(this.view.to - this.view.from);
  },
  paintGrid(to, width, bottom, most) {
    to.font = `11px ${this.colours.sans}`;
    to.textBaseline = "top";
    to.strokeStyle = this.colours.line;
    to.lineWidth = 1;
    for (const part of [0.5, 1]) {
      const y = Math.round(bottom - this.heightOf(part, 1) * (bottom - TOP)) + 0.5;
      to.setLineDash([2, 4]);
      to.beginPath();
      to.moveTo(0, y);
      to.lineTo(width, y);
      to.stroke();
    }
    to.setLineDash([]);
    to.beginPath();
    to.moveTo(0, bottom + 0.5);
    to.lineTo(width, bottom + 0.5);
    to.stroke();
    to.fillStyle = this.colours.muted;
    to.textAlign = "left";
    to.fillText(most > 0 ? `${hitsText(most)} in a bar of ${bytesText(this.barBytes())}`
      : `no ${numbersOf(state.source)} of this source here`, 10, 5);
    const { view } = this;
    const hits = this.hitsIn(view.from, view.to);
    const { total } = hitsOf(state.source);
    to.textAlign = "right";
    const share = percent(total > 0 ? hits / total : 0);
    to.fillText(`${bytesText(view.to - view.from)} in view, ${share} of all ${numbersOf(state.source)}`, width - 10, 5);
  },
  paintBars(to, width, bottom, bars, most) {
    const room = bottom - TOP;
    for (const bar of bars) {
      const x = this.x(bar.from, width);
      const wide = this.x(bar.to, width) - x;
      const high = Math.max(1.5, this.heightOf(bar.hits, most) * room);
      const gap = wide > 5 ? 1 : wide > 3 ? 0.5 : 0;
      to.fillStyle = this.heat(0.18 + 0.82 * this.heightOf(bar.hits, most));
      to.fillRect(x, bottom - high, Math.max(1, wide - gap), high);
      if (bar.own > 0) {
        const own = Math.max(1.5, high * bar.own / bar.hits);
        to.fillStyle = this.colours.accent;
        to.fillRect(x, bottom - own, Math.max(1, wide - gap), own);
      }
      if (this.cursor !== null && bar.from <= this.cursor && this.cursor < bar.to) {
        to.strokeStyle = this.colours.ink;
        to.strokeRect(x - 1, bottom - high - 1, Math.max(1, wide - gap) + 2, high + 1);
      }
    }
    for (const piece of this.space().pieces) {
      const x = Math.round(this.x(piece.u + piece.to - piece.from, width)) + 0.5;
      if (piece === this.space().pieces.at(-1) || x < 0 || x > width) continue;
      to.strokeStyle = this.colours.faint;
      to.setLineDash([3, 3]);
      to.beginPath();
      to.moveTo(x, TOP - 6);
      to.lineTo(x, bottom + LANES + 4);
      to.stroke();
      to.setLineDash([]);
      if (piece.gap > 0) {
        to.fillStyle = this.colours.muted;
        to.font = `10.5px ${this.colours.sans}`;
        to.textAlign = "left";
        to.textBaseline = "top";
        to.fillText(bytesText(piece.gap) + " without hits left out", x + 4, TOP - 8);
      }
    }
  },
  // The function with the most hits of a bar.
  hottestOf(bar) {
    const { hits } = hitsOf(state.source);
    const sums = new Map();
    let best = bar.first;
    let bestHits = -1;
    const end = Math.min(bar.end, bar.first + 5000);
    for (let row = bar.first; row < end; row++) {
      const key = names.known[rows.outer[row]] === 0 ? -1 - row : rows.outer[row];
      const sum = (sums.get(key) || 0) + hits[row];
      sums.set(key, sum);
      if (sum > bestHits) [best, bestHits] = [row, sum];
    }
    return { row: best, hits: bestHits, sums };
  },
  hottestRow(bar, fn) {
    const { hits } = hitsOf(state.source);
    let best = -1;
    for (let row = bar.first; row < bar.end; row++) {
      if (rows.outer[row] === fn && (best < 0 || hits[row] > hits[best])) best = row;
    }
    return best;
  },
  paintPeaks(to, width, bottom, bars, most) {
    const room = bottom - TOP;
    const peaks = [...bars].sort((a, b) => b.hits - a.hits).slice(0, 14);
    const taken = [];
    const said = new Set();
    to.font = `11.5px ${this.colours.mono}`;
    to.textBaseline = "bottom";
    for (const bar of peaks) {
      if (bar.hits < most * 0.08) break;
      const { row } = this.hottestOf(bar);
      const whole = names.known[rows.outer[row]] === 0 ? placeOf(row) : functionText(row);
      const text = whole.length > 30 ? whole.slice(0, 29) + "…" : whole;
      const own = state.chosen && bar.own > 0;
      const long = to.measureText(text).width;
      const x = (this.x(bar.from, width) + this.x(bar.to, width)) / 2;
      const y = bottom - this.heightOf(bar.hits, most) * room - 3;
      const left = Math.max(4, Math.min(width - long - 4, x - long / 2));
      const box = { left: left - 3, right: left + long + 3, top: y - 14, bottom: y + 1 };
      const hides = taken.some((other) => other.left < box.right && box.left < other.right &&
        other.top < box.bottom && box.top < other.bottom);
      // Nor over a bar that is higher.
      const blocked = bars.some((other) => other !== bar && this.x(other.to, width) > box.left &&
        this.x(other.from, width) < box.right && bottom - this.heightOf(other.hits, most) * room < box.bottom - 2);
      if (hides || blocked || said.has(whole)) continue;
      taken.push(box);
      said.add(whole);
      to.textAlign = "left";
      to.fillStyle = own ? this.colours.accent : this.colours.ink;
      to.fillText(text, left, y);
    }
  },
  runs() {
    const image = images[this.image];
    if (!image.space.runs) {
      image.space.runs = makeRuns(image);
      image.space.runStarts = Float64Array.from(image.space.runs, (run) => run.start);
    }
    return image.space.runs;
  },
  paintLanes(to, width, top) {
    const runs = this.runs();
    const { runStarts } = this.space();
    const first = Math.max(0, lowerBound(runStarts, this.view.from) - 1);
    const chosen = state.chosen ? state.chosen.fn : -1;
    to.font = `11px ${this.colours.mono}`;
    to.textBaseline = "middle";
    to.textAlign = "left";
    let covered = -1;
    for (let i = first; i < runs.length && runs[i].start < this.view.to; i++) {
      const run = runs[i];
      const x = Math.max(0, this.x(run.start, width));
      const end = Math.min(width, this.x(run.end, width));
      // Of those that share a pixel the first is drawn.
      if (end <= 0 || Math.ceil(end) === covered) continue;
      covered = Math.ceil(end);
      const mine = run.symbol === chosen;
      to.fillStyle = mine ? this.colours["accent-soft"] : this.colours.sunk;
      to.fillRect(x, top, Math.max(1, end - x), LANES - 3);
      to.fillStyle = mine ? this.colours.accent : this.colours.line;
      to.fillRect(x, top, 1, LANES - 3);
      if (end - x > 42) {
        const name = names.known[run.symbol] === 0 ? placeOf(run.row) : names.short[run.symbol];
        const room = Math.floor((end - x - 10) / 6.7);
        to.fillStyle = mine ? this.colours.accent : this.colours.muted;
        const shown = name.length > room ? name.slice(0, Math.max(1, room - 1)) + "…" : name;
        to.fillText(shown, x + 5, top + LANES / 2 - 1);
      }
    }
  },
  paintAxis(to, width, top) {
    const span = this.view.to - this.view.from;
    let step = 16;
    while (step / span * width < 130) step *= 2;
    to.font = `10.5px ${this.colours.mono}`;
    to.textBaseline = "top";
    to.textAlign = "left";
    to.strokeStyle = this.colours.line;
    let free = -1;
    for (const piece of this.space().pieces) {
      const pieceEnd = piece.u + piece.to - piece.from;
      if (pieceEnd < this.view.from || piece.u > this.view.to) continue;
      const base = Number((piece.segment.base + BigInt(piece.from)) % BigInt(step));
      let u = piece.u + (base === 0 ? 0 : step - base);
      if (u < this.view.from) u += Math.ceil((this.view.from - u) / step) * step;
      for (; u < Math.min(pieceEnd, this.view.to); u += step) {
        const x = this.x(u, width);
        const text = hex(this.addressAt(u));
        to.beginPath();
        to.moveTo(Math.round(x) + 0.5, top - 2);
        to.lineTo(Math.round(x) + 0.5, top + 4);
        to.stroke();
        if (x > free && x + to.measureText(text).width < width - 4) {
          to.fillStyle = this.colours.muted;
          to.fillText(text, x + 3, top + 1);
          free = x + to.measureText(text).width + 14;
        }
      }
    }
  },
  paintOverview(to, width, top) {
    const { length } = this.space();
    const high = OVERVIEW - 6;
    const pixel = length / width;
    to.fillStyle = this.colours.sunk;
    to.fillRect(0, top, width, high);
    const { us } = this.space();
    const { firstRow } = images[this.image];
    const sums = new Float64Array(Math.ceil(width) + 1);
    const own = new Uint8Array(sums.length);
    let most = 0;
    for (let i = 0; i < us.length; i++) {
      const at = Math.floor(us[i] / pixel);
      sums[at] += this.prefix[firstRow + i + 1] - this.prefix[firstRow + i];
      if (this.chosenPrefix && this.chosenPrefix[firstRow + i + 1] > this.chosenPrefix[firstRow + i]) own[at] = 1;
      if (sums[at] > most) most = sums[at];
    }
    for (let x = 0; x < sums.length; x++) {
      if (sums[x] === 0) continue;
      to.fillStyle = own[x] ? this.colours.accent : this.heat(0.15 + 0.85 * Math.sqrt(sums[x] / most));
      to.fillRect(x, top + 2, 1.5, high - 4);
    }
    const left = this.view.from / length * width;
    const wide = Math.max(3, (this.view.to - this.view.from) / length * width);
    if (wide < width - 1) {
      to.globalAlpha = 0.6;
      to.fillStyle = this.colours.panel;
      to.fillRect(0, top, left, high);
      to.fillRect(left + wide, top, width - left - wide, high);
      to.globalAlpha = 1;
    }
    to.strokeStyle = wide < width - 1 ? this.colours.ink : this.colours.line;
    to.strokeRect(left + 0.5, top + 0.5, wide - 1, high - 1);
  },
});
