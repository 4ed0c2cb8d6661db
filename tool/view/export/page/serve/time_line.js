/* SPDX-License-Identifier: MIT */
/* time_line.js - of ntprof serve: hits over time, to select a time on. */
const slots = selection.hits;
const line = { at: -1, from: -1, dragging: false };
const TICK_PIXELS = 76; // a text of a time, and some room

/* ---- drawing ---- */

// Numbers of hits to draw lines at: 0, and one, two or three round ones up to the most, which is at least 1.
function scaleOf(most) {
  const least = Math.max(1, most / 3);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least);
  return [0, 1, 2, 3].map((n) => n * step).filter((hits) => hits <= most);
}

// At most five characters or so.
function shortCount(number) {
  const powers = ["", " k", " M", " G", " T", " P", " E"];
  let power = 0;
  for (; number >= 10000 && power + 1 < powers.length; power++) number /= 1000;
  return grouped.format(number) + powers[power];
}

// Texts beside or below the line, each [text, at]; place(style, at) sets where it is.
function putTexts(element, texts, place) {
  element.replaceChildren(...texts.map(([text, at]) => {
    const span = make("span", "", text);
    place(span.style, at);
    return span;
  }));
}

function drawTexts(ticks, marks, width, x, y) {
  putTexts($("line-ticks"), ticks.map(([time, text]) => [text, x(time) * width]), (style, at) => {
    style.left = `${at}px`;
    // Those at the ends stay inside.
    style.transform = `translateX(${at < TICK_PIXELS / 3 ? 0 : width - at < TICK_PIXELS / 3 ? -100 : -50}%)`;
  });
  putTexts($("line-scale"), marks.map((hits) => [shortCount(hits), hits]), (style, hits) => {
    style.top = `${Math.max(0, y(hits) - 7)}px`;
  });
}

function drawBars(to, width, height, y) {
  const style = getComputedStyle(document.documentElement);
  if (line.at >= 0) {
    const [first, last] = markedSlots();
    to.fillStyle = style.getPropertyValue("--accent-soft");
    to.fillRect(first * width / slots.length, 0, (last - first + 1) * width / slots.length, height);
  }
  to.fillStyle = style.getPropertyValue("--heat2");
  slots.forEach((hits, i) => {
    to.fillRect(i * width / slots.length, y(hits), Math.max(1, width / slots.length - 1), height - y(hits));
  });
}

function drawLine() {
  const canvas = $("line-canvas");
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (width === 0) return;
  const most = slots.reduce((a, b) => Math.max(a, b), 1);
  const marks = scaleOf(most);
  const [since, until] = [Date.parse(selection.times[0]), Date.parse(selection.times[slots.length])];
  const ticks = ticksOf(since, until, Math.max(1, Math.floor(width / TICK_PIXELS)));
  const x = (time) => (time - since) / (until - since);
  const y = (hits) => height - hits / most * (height - 6);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const to = canvas.getContext("2d");
  to.scale(ratio, ratio);
  to.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--line");
  for (const hits of marks.slice(1)) to.fillRect(0, Math.round(y(hits)), width, 1);
  for (const [time] of ticks) to.fillRect(Math.round(x(time) * width), 0, 1, height);
  drawBars(to, width, height, y);
  drawTexts(ticks, marks, width, x, y);
}

/* ---- what is marked ---- */

// The first and the last slot that are marked; -1 if there are none.
function markedSlots() {
  const from = line.from >= 0 ? line.from : line.at;
  return [Math.min(line.at, from), Math.max(line.at, from)];
}

function tellLine() {
  const [first, last] = markedSlots();
  const sum = slots.slice(first, last + 1).reduce((a, b) => a + b, 0);
  const { times } = selection;
  const text = line.at < 0 ? `${rangeText(times[0], times[slots.length])}  ·  hits of ${selection.line_source} in ` +
      `${slotText()}  ·  drag a time, or select it by Shift and arrows`
    : `${rangeText(times[first], times[last + 1])}  ·  ${hitsText(sum)}`;
  $("line-tip").textContent = text;
  $("line").setAttribute("aria-valuenow", Math.max(0, line.at));
  $("line").setAttribute("aria-valuetext", text);
  drawLine();
}

// How long a bar is.
function slotText() {
  const seconds = (Date.parse(selection.times[1]) - Date.parse(selection.times[0])) / 1000;
  const [length, unit] = [[DAY_S, "d"], [3600, "h"], [60, "min"]].find(([s]) => seconds % s === 0) || [1, "s"];
  return `${seconds / length} ${unit}`;
}

const slotAt = (event) => {
  const box = $("line-canvas").getBoundingClientRect();
  return Math.max(0, Math.min(slots.length - 1, Math.floor((event.clientX - box.x) / box.width * slots.length)));
};

function showRange() {
  if (line.at < 0) return;
  const [first, last] = markedSlots();
  showTime(selection.times[first], selection.times[last + 1]);
}

function lineKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowLeft: -1, ArrowRight: 1, Home: -slots.length, End: slots.length }[event.key];
  if (step !== undefined) {
    const at = line.at < 0 ? (step > 0 ? -1 : slots.length) : line.at;
    if (event.shiftKey && line.from < 0) line.from = Math.max(0, line.at);
    if (!event.shiftKey) line.from = -1;
    line.at = Math.max(0, Math.min(slots.length - 1, at + step));
    tellLine();
  } else if (event.key === "Enter") {
    showRange();
  } else if (event.key === "Escape") {
    line.at = line.from = -1;
    tellLine();
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}

function makeLine() {
  // Of a refused selection only where it helps to choose another time.
  if (slots.length === 0 || (selection.refused !== "" && !slots.some((hits) => hits > 0))) return;
  const element = $("line");
  $("over-time").hidden = false;
  element.setAttribute("aria-valuemax", slots.length - 1);
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    line.from = line.at = slotAt(event);
    line.dragging = true;
    tellLine();
  });
  element.addEventListener("pointermove", (event) => {
    line.at = slotAt(event);
    if (!line.dragging) line.from = -1;
    tellLine();
  });
  element.addEventListener("pointerup", () => {
    if (!line.dragging) return;
    line.dragging = false;
    if (line.at !== line.from) showRange(); // a click only marks
  });
  element.addEventListener("pointercancel", () => { line.dragging = false; });
  element.addEventListener("keydown", lineKey);
  new ResizeObserver(() => drawLine()).observe(element);
  new MutationObserver(drawLine).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawLine);
  tellLine();
}

makeLine();
