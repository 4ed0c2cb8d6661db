/* SPDX-License-Identifier: MIT */
/* list.js - a list of any length, of which only what is seen is made. */
const LIST_HEIGHT_MAX = 8000000; // browsers have a limit; longer lists scroll by proportion

class VirtualList {
  constructor(scroller, height, makeRow, fillRow) {
    Object.assign(this, { scroller, height, makeRow, fillRow, count: 0, top: 0, pool: new Map(), free: [] });
    this.head = null;
    this.spacer = make("div", "spacer");
    this.spacer.setAttribute("role", "presentation");
    scroller.append(this.spacer);
    scroller.addEventListener("scroll", () => this.later(), { passive: true });
    new ResizeObserver(() => this.later()).observe(scroller);
  }
  later() {
    if (!this.asked) this.asked = requestAnimationFrame(() => { this.asked = 0; this.draw(false); });
  }
  seen() { return Math.max(0, this.scroller.clientHeight - (this.head ? this.head.offsetHeight : 0)); }
  resize(count) {
    this.count = count;
    this.spacer.style.height = Math.min(count * this.height(), LIST_HEIGHT_MAX) + "px";
    this.draw(true);
  }
  // Pixels of the whole list above the view, which are more than those scrolled if it is long.
  above() {
    const whole = this.count * this.height();
    const scrolled = this.scroller.scrollTop;
    const seen = this.seen();
    if (whole <= LIST_HEIGHT_MAX) return scrolled;
    return scrolled / (LIST_HEIGHT_MAX - seen) * (whole - seen);
  }
  draw(anew) {
    const height = this.height();
    const above = this.above();
    const first = Math.max(0, Math.floor(above / height) - 4);
    const end = Math.min(this.count, Math.ceil((above + this.seen()) / height) + 4);
    const shift = this.scroller.scrollTop - above;
    for (const [i, row] of this.pool) {
      if (i < first || i >= end) {
        this.pool.delete(i);
        this.free.push(row);
      }
    }
    for (let i = first; i < end; i++) {
      let row = this.pool.get(i);
      if (!row || anew) {
        if (!row) {
          row = this.free.pop();
          if (!row) {
            row = this.makeRow();
            this.spacer.append(row);
          }
          this.pool.set(i, row);
        }
        row.hidden = false;
        this.fillRow(row, i);
      }
      row.style.transform = `translateY(${i * height + shift}px)`;
    }
    for (const row of this.free) row.hidden = true;
  }
  page() { return Math.max(1, Math.floor(this.seen() / this.height()) - 1); }
  // Scrolls only if row i is not seen; to the middle if asked.
  show(i, middle) {
    const height = this.height();
    const above = this.above();
    const seen = this.seen();
    const top = i * height;
    if (top >= above && top + height <= above + seen) return;
    let wanted = middle ? top - seen / 2 : top < above ? top : top + height - seen;
    const whole = this.count * height;
    wanted = Math.max(0, Math.min(wanted, whole - seen));
    this.scroller.scrollTop = whole <= LIST_HEIGHT_MAX ? wanted
      : wanted / (whole - seen) * (LIST_HEIGHT_MAX - seen);
    this.draw(false);
  }
}

function pixelsOf(variable) {
  return parseFloat(getComputedStyle(document.documentElement).getPropertyValue(variable)) || 24;
}
let rowPixels = 28;
let codePixels = 20;
const narrow = matchMedia("(max-width: 760px), (max-height: 520px)");
