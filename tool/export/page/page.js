/* SPDX-License-Identifier: MIT */
/*
 * page.js - the page of ntprof export --format html. Plain JavaScript, no network, no markup made of
 * strings: names come in by textContent alone. html_data.h tells how the data is packed.
 */
"use strict";
(() => {
const $ = (id) => document.getElementById(id);
const NAME_SHOWN = 300; // characters of a name in a row; the whole of it stands in the pane
const LINES_OF_NAME = 4096;

function make(tag, classes, text) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  if (text !== undefined) element.textContent = text;
  return element;
}

/* ---- packed columns ---- */

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Numbers above 2^53 lose their last digits here, and are shown as rounded.
function unpack(base64, count) {
  const bytes = bytesOf(base64);
  const numbers = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++];
    let number = byte & 0x7f;
    for (let scale = 128; byte & 0x80; scale *= 128) {
      byte = bytes[at++];
      number += (byte & 0x7f) * scale;
    }
    numbers[i] = number;
  }
  return numbers;
}

const unpackSmall = (base64, count) => Uint32Array.from(unpack(base64, count));

/* ---- the profile ---- */

const data = JSON.parse($("profile").textContent);
const texts = data.texts;
const sources = data.sources;
const images = data.images.map(([path, buildId, start, limit, offset]) => ({
  path: texts[path], name: lastPart(texts[path]) || "[unknown]", buildId: texts[buildId],
  start: BigInt("0x" + start), limit: BigInt("0x" + limit), offset: BigInt("0x" + offset),
  segments: [], firstRow: 0, endRow: 0, space: null,
}));
const functions = {
  name: unpackSmall(data.functions.name, data.functions.count),
  file: unpackSmall(data.functions.file, data.functions.count),
  line: unpackSmall(data.functions.line, data.functions.count),
};
const frames = {
  function: unpackSmall(data.frames.function, data.frames.count),
  line: unpackSmall(data.frames.line, data.frames.count),
  caller: unpackSmall(data.frames.caller, data.frames.count),
};
const rowCount = data.rows.count;
const rows = {
  offset: unpack(data.rows.step, rowCount), // summed up below
  function: unpackSmall(data.rows.function, rowCount),
  line: unpackSmall(data.rows.line, rowCount),
  caller: unpackSmall(data.rows.caller, rowCount),
  process: unpackSmall(data.rows.process, rowCount),
  thread: unpackSmall(data.rows.thread, rowCount),
  cpu: unpackSmall(data.rows.cpu, rowCount), // plus 1; 0: not told
  image: new Uint32Array(rowCount),
  segment: new Uint32Array(rowCount),
};
const bucketBytes = Math.max(1, Number(data.bucket_bytes));
const segments = [];
{
  let row = 0;
  for (const [image, base, count] of data.segments) {
    const segment = { image, base: BigInt("0x" + base), first: row, end: row + count };
    if (images[image].segments.length === 0) images[image].firstRow = row;
    images[image].segments.push(segment);
    images[image].endRow = segment.end;
    rows.image.fill(image, row, segment.end);
    rows.segment.fill(segments.length, row, segment.end);
    segments.push(segment);
    for (let sum = 0; row < segment.end; row++) rows.offset[row] = sum += rows.offset[row];
  }
}

function lastPart(path) {
  const slash = path.lastIndexOf("/");
  return slash >= 0 && slash + 1 < path.length ? path.slice(slash + 1) : path;
}

const addressOf = (row) => segments[rows.segment[row]].base + BigInt(rows.offset[row]);
const hex = (number) => "0x" + number.toString(16);
const nameOf = (fn) => texts[functions.name[fn]];
const sameBucket = (a, b) => rows.segment[a] === rows.segment[b] && rows.offset[a] === rows.offset[b];

function placeOf(row) {
  const image = images[rows.image[row]];
  return image.name + "+" + hex(BigInt.asUintN(64, addressOf(row) - image.start + image.offset));
}

const functionText = (row) => rows.function[row] === 0 ? placeOf(row) : nameOf(rows.function[row]);

// The function of the symbol table that the code of a row lies in, whatever was inlined there.
function symbolOf(row) {
  let fn = rows.function[row];
  for (let frame = rows.caller[row]; frame !== 0; frame = frames.caller[frame]) fn = frames.function[frame];
  return fn;
}

function lineText(file, line) {
  return file === "" ? "" : line > 0 ? lastPart(file) + ":" + line : lastPart(file);
}

// Hits of a source by row, unpacked when they are first asked for.
const hitsBySource = [];
function hitsOf(source) {
  if (!hitsBySource[source]) {
    const hits = new Float64Array(rowCount);
    const bytes = bytesOf(data.hits[source]);
    let at = 0;
    const next = () => {
      let byte = bytes[at++];
      let number = byte & 0x7f;
      for (let scale = 128; byte & 0x80; scale *= 128) {
        byte = bytes[at++];
        number += (byte & 0x7f) * scale;
      }
      return number;
    };
    for (let row = 0; at < bytes.length; row++) {
      row += next();
      hits[row] = next();
    }
    let total = 0;
    for (let row = 0; row < rowCount; row++) total += hits[row];
    hitsBySource[source] = { hits, total };
  }
  return hitsBySource[source];
}

/* ---- numbers as people read them ---- */

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
function count(number) {
  return Number.isSafeInteger(number) ? grouped.format(number) : "≈" + number.toPrecision(3);
}
const exact = (text) => grouped.format(BigInt(text));
const percent = (share) => share > 0 && share < 0.00005 ? "<0.01%" : (share * 100).toFixed(share < 0.0995 ? 2 : 1) + "%";
function bytesText(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let unit = 0;
  for (; number >= 1024 && unit + 1 < units.length; unit++) number /= 1024;
  return (number < 10 && unit > 0 ? number.toFixed(1) : Math.round(number)) + " " + units[unit];
}
function secondsText(ns) {
  const s = Number(ns) / 1e9;
  if (s < 1) return (s * 1000).toPrecision(3) + " ms";
  if (s < 120) return s.toPrecision(3) + " s";
  return s < 7200 ? (s / 60).toPrecision(3) + " min" : (s / 3600).toPrecision(3) + " h";
}
// How far off a share of n hits may be, 95 times of 100: as the report has it (Wilson).
const Z = 1.959964;
function shareError(share, n) {
  if (n <= 0) return 0;
  const middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n);
  const half = Z / (1 + Z * Z / n) * Math.sqrt(Math.max(0, share * (1 - share)) / n + Z * Z / (4 * n * n));
  return Math.abs(middle - share) + half;
}
// "± 1.2%", or nothing where each event was counted.
const errorText = (share, total, source) => sources[source].exact ? "" : " ± " + percent(shareError(share, total));
// What hits stand for.
function estimateText(hits, source) {
  const { interval, time, exact: each } = sources[source];
  if (interval <= 0 || each) return "";
  return time ? secondsText(hits * interval) : count(Math.round(hits * interval)) + " events";
}

/* ---- state ---- */

const state = {
  source: 0,
  by: "function",
  words: [],
  sort: { column: "hits", down: true },
  chosen: null, // { by, key, title, rows, first, image, fn }
  tab: "code",
};

/* ---- rows of the table: rows of the profile added up by a key ---- */

const KINDS = {
  function: "Function", line: "Line", file: "File", image: "Image", bucket: "Bucket", process: "Process",
};
if (rows.thread.some((thread) => thread !== 0)) KINDS.thread = "Thread";
if (rows.cpu.some((cpu) => cpu !== 0)) KINDS.cpu = "Processor";
const WIDE_KINDS = new Set(["image", "process", "thread", "cpu", "file"]); // of more than one function

// For each row the number of its group; groups are numbered in the order in which they come.
function numberGroups(keyOf) {
  const of = new Uint32Array(rowCount);
  const first = [];
  const known = new Map();
  let group;
  let last;
  for (let row = 0; row < rowCount; row++) {
    const key = keyOf(row);
    if (key !== last) { // neighbours often are of one group
      group = known.get(key);
      last = key;
    }
    if (group === undefined) {
      group = first.length;
      known.set(key, group);
      first.push(row);
    }
    of[row] = group;
  }
  return { of, first: Uint32Array.from(first), count: first.length, sums: [], order: null };
}

let bucketNumber = null; // for each row the first row of its bucket
function bucketsOfRows() {
  if (!bucketNumber) {
    bucketNumber = new Uint32Array(rowCount);
    for (let row = 1; row < rowCount; row++) {
      bucketNumber[row] = sameBucket(row, row - 1) ? bucketNumber[row - 1] : row;
    }
  }
  return bucketNumber;
}

const keyMakers = {
  function() {
    const buckets = bucketsOfRows();
    return (row) => rows.function[row] === 0 ? -1 - buckets[row]
      : functions.name[rows.function[row]] * images.length + rows.image[row];
  },
  line() {
    const of = groupsBy("function").of;
    return (row) => of[row] * 0x100000000 + rows.line[row];
  },
  file() {
    return (row) => functions.file[rows.function[row]] * images.length +
      (texts[functions.file[rows.function[row]]] === "" ? rows.image[row] : 0);
  },
  image: () => (row) => rows.image[row],
  bucket() {
    const buckets = bucketsOfRows();
    return (row) => buckets[row];
  },
  process: () => (row) => rows.process[row],
  thread: () => (row) => rows.process[row] * data.threads.length + rows.thread[row],
  cpu: () => (row) => rows.cpu[row],
};

const groupings = {};
function groupsBy(by) {
  if (!groupings[by]) groupings[by] = numberGroups(keyMakers[by]());
  return groupings[by];
}

function sumsOf(groups, source) {
  if (!groups.sums[source]) {
    const sums = new Float64Array(groups.count);
    const { hits } = hitsOf(source);
    for (let row = 0; row < rowCount; row++) sums[groups.of[row]] += hits[row];
    groups.sums[source] = sums;
  }
  return groups.sums[source];
}

function rowsOfGroup(groups, group) {
  if (!groups.order) { // counting sort, once
    const starts = new Uint32Array(groups.count + 1);
    for (let row = 0; row < rowCount; row++) starts[groups.of[row] + 1]++;
    for (let i = 0; i < groups.count; i++) starts[i + 1] += starts[i];
    const next = starts.slice();
    groups.order = new Uint32Array(rowCount);
    for (let row = 0; row < rowCount; row++) groups.order[next[groups.of[row]]++] = row;
    groups.starts = starts;
  }
  return groups.order.subarray(groups.starts[group], groups.starts[group + 1]);
}

const processOf = (row) => texts[data.processes[rows.process[row]]] || "(no name)";

// What a group's cells say, by its first row.
const describe = {
  function: (row) => ({
    name: functionText(row), image: images[rows.image[row]].name,
    where: lineText(texts[functions.file[rows.function[row]]], functions.line[rows.function[row]]),
  }),
  line: (row) => {
    const where = lineText(texts[functions.file[rows.function[row]]], rows.line[row]);
    return { name: where || placeOf(row), image: images[rows.image[row]].name, where: functionText(row) };
  },
  file: (row) => {
    const file = texts[functions.file[rows.function[row]]];
    return file === "" ? { name: "(no source file)", image: images[rows.image[row]].name, where: "" }
      : { name: lastPart(file), image: "", where: file };
  },
  image: (row) => ({
    name: images[rows.image[row]].name, image: images[rows.image[row]].path, where: images[rows.image[row]].buildId,
  }),
  bucket: (row) => ({
    name: hex(addressOf(row)), image: images[rows.image[row]].name,
    where: [functionText(row), lineText(texts[functions.file[rows.function[row]]], rows.line[row])]
      .filter((text) => text !== "").join("  "),
  }),
  process: (row) => ({ name: processOf(row), image: "", where: "" }),
  thread: (row) => ({ name: texts[data.threads[rows.thread[row]]] || "(not told)", image: "", where: processOf(row) }),
  cpu: (row) => ({ name: rows.cpu[row] > 0 ? "processor " + (rows.cpu[row] - 1) : "(not told)", image: "", where: "" }),
};
const WHERE = { function: "Where", line: "Function", file: "Path", image: "", bucket: "Place", process: "", thread: "Process", cpu: "" };
const IMAGE = { function: "Image", line: "Image", file: "Image", image: "Path", bucket: "Image", process: "", thread: "", cpu: "" };

/* ---- search: every word must be in the name, file, image, process or address ---- */

function matcher(word) {
  const holds = new Uint8Array(texts.length);
  for (let i = 0; i < texts.length; i++) holds[i] = texts[i].toLowerCase().includes(word) ? 1 : 0;
  const imageHolds = data.images.map(([path]) => holds[path]);
  const address = /^0x[0-9a-f]{1,16}$/.test(word) ? BigInt(word) : null;
  return (row) => holds[functions.name[rows.function[row]]] || imageHolds[rows.image[row]] ||
    holds[functions.file[rows.function[row]]] || holds[data.processes[rows.process[row]]] ||
    (rows.thread[row] !== 0 && holds[data.threads[rows.thread[row]]]) ||
    (rows.line[row] > 0 && word.includes(":") &&
      lineText(texts[functions.file[rows.function[row]]], rows.line[row]).toLowerCase() === word) ||
    (address !== null && covers(row, address)) ||
    (rows.function[row] === 0 && word.includes("+0x") && placeOf(row).toLowerCase() === word);
}

function covers(row, address) {
  const start = addressOf(row);
  return start <= address && address < start + BigInt(bucketBytes);
}

// Groups with a row that all words match, in the order of the table.
function findGroups(groups) {
  const found = new Uint8Array(groups.count);
  if (state.words.length === 0) {
    found.fill(1);
  } else {
    const tests = state.words.map(matcher);
    for (let row = 0; row < rowCount; row++) {
      if (!found[groups.of[row]] && tests.every((test) => test(row))) found[groups.of[row]] = 1;
    }
  }
  return found;
}

let textRank = null; // of each text among all, in order
function ranks() {
  if (!textRank) {
    const order = Array.from(texts.keys());
    const lower = texts.map((text) => text.toLowerCase());
    order.sort((a, b) => lower[a] < lower[b] ? -1 : lower[a] > lower[b] ? 1 : a - b);
    textRank = new Uint32Array(texts.length);
    order.forEach((text, rank) => { textRank[text] = rank; });
  }
  return textRank;
}

// The number that a group is sorted by.
function sortNumbers(groups) {
  const { column } = state.sort;
  const numbers = new Float64Array(groups.count);
  if (column === "hits" || column === "share") return sumsOf(groups, state.source);
  if (column.startsWith("source-")) return sumsOf(groups, Number(column.slice(7)));
  const rank = ranks();
  const file = (row) => functions.file[rows.function[row]];
  const name = {
    function: (row) => rows.function[row] === 0 ? texts.length + row : rank[functions.name[rows.function[row]]],
    line: (row) => rank[file(row)] * 0x200000 + rows.line[row],
    file: (row) => rank[file(row)],
    image: (row) => rank[data.images[rows.image[row]][0]],
    bucket: (row) => row, // by address within each image, as rows are
    process: (row) => rank[data.processes[rows.process[row]]],
    thread: (row) => rank[data.threads[rows.thread[row]]],
    cpu: (row) => rows.cpu[row],
  }[state.by];
  const where = {
    function: (row) => rank[file(row)] * 0x200000 + functions.line[rows.function[row]],
    line: (row) => rank[functions.name[rows.function[row]]],
    file: (row) => rank[file(row)],
    image: (row) => rank[data.images[rows.image[row]][1]],
    bucket: (row) => rank[functions.name[rows.function[row]]],
    process: () => 0,
    thread: (row) => rank[data.processes[rows.process[row]]],
    cpu: () => 0,
  }[state.by];
  const of = column === "name" ? name : column === "where" ? where : (row) => rank[data.images[rows.image[row]][0]];
  for (let i = 0; i < groups.count; i++) numbers[i] = of(groups.first[i]);
  return numbers;
}

function sortedGroups(groups) {
  const found = findGroups(groups);
  const numbers = sortNumbers(groups);
  const hits = sumsOf(groups, state.source);
  const sign = state.sort.down ? -1 : 1;
  let kept = 0;
  for (let i = 0; i < groups.count; i++) kept += found[i];
  const order = new Uint32Array(kept);
  for (let i = 0, at = 0; i < groups.count; i++) if (found[i]) order[at++] = i;
  return order.sort((a, b) => sign * (numbers[a] - numbers[b]) || hits[b] - hits[a] || a - b);
}

/* ---- a list of any length, of which only what is seen is made ---- */

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

/* ---- the table ---- */

const grid = $("grid");
let shown = { groups: null, order: new Uint32Array(0), at: -1, most: 0 };
const SOURCES_SHOWN = 12;

function columns() {
  const list = [
    { id: "share", label: "Share", classes: "number share", width: "80px" },
    { id: "hits", label: "Hits", classes: "number not-narrow", width: "86px" },
  ];
  if (sources.length > 1) list[1].label = sources[state.source].name;
  list.push({ id: "name", label: KINDS[state.by], classes: "name", width: "minmax(150px, 2.4fr)" });
  for (let i = 0; i < Math.min(sources.length, SOURCES_SHOWN); i++) {
    if (i !== state.source) {
      list.push({ id: "source-" + i, label: sources[i].name, classes: "number not-narrow", width: "98px" });
    }
  }
  if (IMAGE[state.by]) {
    list.push({ id: "image", label: IMAGE[state.by], classes: "dim not-narrow", width: "minmax(84px, 1fr)" });
  }
  if (state.by === "image") list.push({ id: "shape", label: "Addresses", classes: "shape not-narrow", width: "minmax(90px, 1.6fr)" });
  if (WHERE[state.by]) {
    list.push({ id: "where", label: WHERE[state.by], classes: "dim not-narrow", width: "minmax(88px, 1.2fr)" });
  }
  list.push({ id: "sub", label: "", classes: "sub" });
  return list;
}
let shownColumns = [];

function makeHeading() {
  const heading = make("div", "heading");
  heading.setAttribute("role", "row");
  heading.setAttribute("aria-rowindex", "1");
  shownColumns.forEach((column) => {
    if (column.id === "sub") return;
    const cell = make("div", column.classes);
    const button = make("button", "", column.label.slice(0, NAME_SHOWN));
    cell.setAttribute("role", "columnheader");
    if (state.sort.column === column.id) cell.setAttribute("aria-sort", state.sort.down ? "descending" : "ascending");
    button.type = "button";
    button.tabIndex = -1;
    button.title = "Sort by " + column.label.slice(0, NAME_SHOWN);
    if (column.id === "shape") button.disabled = true;
    button.addEventListener("click", () => sortBy(column.id));
    cell.append(button);
    heading.append(cell);
  });
  return heading;
}

function sortBy(id) {
  const textual = id === "name" || id === "image" || id === "where";
  state.sort = state.sort.column === id ? { column: id, down: !state.sort.down } : { column: id, down: !textual };
  refreshTable(true);
}

let rowNumber = 0;
const table = new VirtualList(grid, () => rowPixels, () => {
  const row = make("div", "row");
  row.setAttribute("role", "row");
  row.id = "row-" + rowNumber++;
  row.addEventListener("click", () => {
    const again = narrow.matches && shown.at === row.index;
    choose(row.index);
    if (again || narrow.matches) openDetail();
  });
  row.addEventListener("dblclick", () => zoomToChosen());
  return row;
}, fillRow);

// Text with what was searched for marked.
function putMarked(cell, text) {
  cell.textContent = "";
  const lower = text.toLowerCase();
  let at = 0;
  while (state.words.length > 0) {
    let next = -1;
    let length = 0;
    for (const word of state.words) {
      const found = lower.indexOf(word, at);
      if (found >= 0 && (next < 0 || found < next)) [next, length] = [found, word.length];
    }
    // Lower case may be longer than what it is of; such texts are not marked.
    if (next < 0 || lower.length !== text.length) break;
    cell.append(text.slice(at, next), make("mark", "", text.slice(next, next + length)));
    at = next + length;
  }
  cell.append(text.slice(at));
}

function fillRow(row, i) {
  const group = shown.order[i];
  const { groups } = shown;
  const first = groups.first[group];
  const text = describe[state.by](first);
  const hits = sumsOf(groups, state.source)[group];
  const { total } = hitsOf(state.source);
  const share = total > 0 ? hits / total : 0;
  row.index = i;
  row.setAttribute("aria-rowindex", i + 2);
  row.setAttribute("aria-selected", i === shown.at ? "true" : "false");
  if (i === shown.at) grid.setAttribute("aria-activedescendant", row.id);
  if (row.children.length !== shownColumns.length || row.shape !== shownColumns) {
    row.textContent = "";
    for (const column of shownColumns) {
      const cell = make("div", "cell " + column.classes);
      cell.setAttribute("role", "gridcell");
      if (column.id === "share") cell.append(make("i"), make("b"));
      if (column.id === "shape") cell.append(make("canvas"));
      row.append(cell);
    }
    row.shape = shownColumns;
  }
  shownColumns.forEach((column, at) => {
    const cell = row.children[at];
    if (column.id === "share") {
      cell.firstChild.style.transform = `scaleX(${shown.most > 0 ? hits / shown.most : 0})`;
      cell.lastChild.textContent = percent(share);
      cell.title = errorText(share, total, state.source).trim();
    } else if (column.id === "hits") {
      cell.textContent = count(hits);
    } else if (column.id.startsWith("source-")) {
      cell.textContent = count(sumsOf(groups, Number(column.id.slice(7)))[group]);
    } else if (column.id === "shape") {
      drawShape(cell.firstChild, images[rows.image[first]]);
    } else if (column.id === "sub") {
      cell.textContent = [count(hits) + (hits === 1 ? " hit" : " hits"), text.image, text.where]
        .filter((part) => part !== "").join("  ·  ").slice(0, NAME_SHOWN);
    } else {
      const whole = text[column.id];
      putMarked(cell, whole.length > NAME_SHOWN ? whole.slice(0, NAME_SHOWN) + "…" : whole);
      cell.title = whole.slice(0, LINES_OF_NAME);
    }
  });
}

// An image in small: its hits over its addresses, in a row of the table.
function drawShape(canvas, image) {
  const [width, height] = [160, 20];
  const ratio = window.devicePixelRatio || 1;
  const { hits } = hitsOf(state.source);
  if (!image.space) image.space = makeSpace(image);
  const bars = new Float64Array(width / 2);
  const scale = bars.length / image.space.length;
  let most = 0;
  for (let row = image.firstRow; row < image.endRow; row++) {
    const at = Math.floor(image.space.us[row - image.firstRow] * scale);
    most = Math.max(most, bars[at] += hits[row]);
  }
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const to = canvas.getContext("2d");
  to.scale(ratio, ratio);
  to.fillStyle = picture.colours.line;
  to.fillRect(0, height - 1, width, 1);
  bars.forEach((bar, i) => {
    if (bar === 0) return;
    const part = Math.sqrt(bar / most);
    to.fillStyle = picture.heat(0.25 + 0.75 * part);
    to.fillRect(i * 2, height - 1 - part * (height - 2), 1.6, part * (height - 2) + 1);
  });
}

function refreshTable(keepChosen) {
  const groups = groupsBy(state.by);
  shownColumns = columns();
  shown = { groups, order: sortedGroups(groups), at: -1, most: sumsOf(groups, state.source).reduce((a, b) => Math.max(a, b), 0) };
  grid.style.setProperty("--columns", narrow.matches ? "84px minmax(0, 1fr)"
    : shownColumns.filter((column) => column.id !== "sub").map((column) => column.width).join(" "));
  grid.style.setProperty("--least", narrow.matches ? "0" : 480 + 104 * Math.max(0, shownColumns.length - 6) + "px");
  const heading = makeHeading();
  if (table.head) table.head.remove();
  table.head = heading;
  grid.prepend(heading);
  grid.setAttribute("aria-rowcount", shown.order.length + 1);
  grid.setAttribute("aria-colcount", shownColumns.length - 1);
  grid.removeAttribute("aria-activedescendant");
  if (keepChosen && state.chosen && state.chosen.by === state.by) {
    const group = groups.of[state.chosen.first];
    shown.at = shown.order.indexOf(group);
  }
  grid.scrollTop = 0;
  tellFound();
  table.resize(shown.order.length);
  if (shown.at >= 0) table.show(shown.at, true);
}

const PLURAL = {
  function: "functions", line: "lines", file: "files", image: "images", bucket: "buckets", process: "processes",
  thread: "threads", cpu: "processors",
};

function tellFound() {
  const { groups, order } = shown;
  const all = groups.count;
  const sums = sumsOf(groups, state.source);
  const { total } = hitsOf(state.source);
  let hits = 0;
  for (const group of order) hits += sums[group];
  const more = sources.length > SOURCES_SHOWN ? `  ·  columns of ${SOURCES_SHOWN} of ${sources.length} sources` : "";
  $("found").textContent = (state.words.length === 0 ? `${count(all)} ${PLURAL[state.by]}`
    : `${count(order.length)} of ${count(all)} ${PLURAL[state.by]}, ${percent(total > 0 ? hits / total : 0)} of the hits`) + more;
  const empty = grid.querySelector(".empty");
  if (empty) empty.remove();
  if (order.length === 0) {
    grid.append(make("p", "empty", rowCount === 0 ? "The profile has no hits." : "Nothing has all of these words."));
  }
}

/* ---- choosing ---- */

function choose(i) {
  if (i < 0 || i >= shown.order.length) return;
  shown.at = i;
  const group = shown.order[i];
  const members = rowsOfGroup(shown.groups, group);
  setChosen(state.by, members, shown.groups.first[group]);
  table.show(i, false);
  table.draw(true);
}

// The hottest row stands for all: its image is shown, its function listed.
function hottest(members) {
  const { hits } = hitsOf(state.source);
  let best = members[0];
  for (const row of members) if (hits[row] > hits[best]) best = row;
  return best;
}

function setChosen(by, members, first) {
  const best = hottest(members);
  state.chosen = { by, rows: members, first, best, fn: rows.function[best], image: rows.image[best] };
  if (picture.image !== state.chosen.image) picture.setImage(state.chosen.image);
  picture.markChosen();
  picture.reveal();
  showChosen();
}

// Chooses the function (or the nameless bucket) of a row, in the table too if it shows functions.
function chooseFunctionOf(row) {
  const groups = groupsBy("function");
  const group = groups.of[row];
  if (state.by === "function" || state.by === "bucket") {
    const wanted = state.by === "function" ? group : groupsBy("bucket").of[row];
    shown.at = shown.order.indexOf(wanted);
    if (shown.at >= 0) table.show(shown.at, true);
    table.draw(true);
  }
  setChosen("function", rowsOfGroup(groups, group), groups.first[group]);
}

function openDetail() {
  document.body.dataset.view = "detail";
  zoomToChosen();
  showCode();
}

function zoomToChosen() {
  if (!state.chosen) return;
  if (WIDE_KINDS.has(state.chosen.by)) picture.zoomAll();
  else picture.zoomTo(state.chosen);
}

/* ---- the picture ---- */

const BREAK_LEAST = 1 << 20; // gaps of a third of what is left, and of a MiB, are cut out
const BREAKS_MAX = 24;
const BREAK_ROOM = 64; // buckets on each side of a cut

// Lays out the pieces of an image's addresses side by side: u is the place in what is left of them.
function makeSpace(image) {
  const cuts = [];
  let parts = image.segments.map((segment) => {
    let start = segment.base;
    let end = segment.base + BigInt(rows.offset[segment.end - 1] + bucketBytes);
    const mapped = image.limit > image.start && image.start <= start && end <= image.limit;
    if (mapped && image.segments.length === 1 && image.limit - image.start < 1n << 40n) {
      [start, end] = [image.start, image.limit];
    }
    return { segment, lead: Number(segment.base - start), length: Number(end - start) };
  });
  for (const part of parts) {
    let last = -part.lead;
    for (let row = part.segment.first; row < part.segment.end; row++) {
      if (rows.offset[row] - last > BREAK_LEAST) cuts.push({ part, from: last, to: rows.offset[row] });
      last = rows.offset[row] + bucketBytes;
    }
    const end = part.length - part.lead;
    if (end - last > BREAK_LEAST) cuts.push({ part, from: last, to: end });
  }
  let left = parts.reduce((sum, part) => sum + part.length, 0);
  cuts.sort((a, b) => (b.to - b.from) - (a.to - a.from));
  const taken = [];
  for (const cut of cuts.slice(0, BREAKS_MAX)) {
    // Some room stays beside what was hit, so that the cut shows as one.
    const room = Math.min((cut.to - cut.from) / 4, BREAK_ROOM * bucketBytes);
    const length = cut.to - cut.from - 2 * room;
    if (length < left / 3) break;
    cut.from += room;
    cut.to -= room;
    taken.push(cut);
    left -= length;
  }
  const pieces = [];
  let u = 0;
  for (const part of parts) {
    const mine = taken.filter((cut) => cut.part === part).sort((a, b) => a.from - b.from);
    let from = -part.lead;
    for (const cut of [...mine, { from: part.length - part.lead, to: null }]) {
      const end = cut.from;
      if (end > from) {
        pieces.push({ segment: part.segment, from, to: end, u, gap: 0 });
        u += end - from;
      }
      if (cut.to !== null) {
        if (pieces.length > 0) pieces[pieces.length - 1].gap = cut.to - cut.from;
        from = cut.to;
      }
    }
  }
  return { pieces, length: Math.max(u, bucketBytes), us: placeRows(image, pieces), runs: null };
}

function placeRows(image, pieces) {
  const us = new Float64Array(image.endRow - image.firstRow);
  let at = 0;
  for (let row = image.firstRow; row < image.endRow; row++) {
    const segment = segments[rows.segment[row]];
    while (at + 1 < pieces.length && (pieces[at].segment !== segment || rows.offset[row] >= pieces[at].to)) at++;
    us[row - image.firstRow] = pieces[at].u + rows.offset[row] - pieces[at].from;
  }
  return us;
}

// Neighbours of one symbol, from its first bucket with hits to its last.
function makeRuns(image) {
  const { us } = image.space;
  const runs = [];
  let run = null;
  for (let row = image.firstRow; row < image.endRow; row++) {
    const symbol = symbolOf(row);
    const u = us[row - image.firstRow];
    if (!run || symbol !== run.symbol || symbol === 0) {
      run = { symbol, start: u, end: u + bucketBytes, row };
      runs.push(run);
    }
    run.end = u + bucketBytes;
  }
  return runs;
}

function lowerBound(array, value, end = array.length) {
  let low = 0;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (array[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

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
            list.push({ from: Math.max(bar, piece.u), to: stop, hits, own, first: firstRow + from, end: firstRow + row });
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
    to.fillText(most > 0 ? `${count(most)} ${most === 1 ? "hit" : "hits"} in a bar of ${bytesText(this.barBytes())}`
      : "no hits of this source here", 10, 5);
    const { view } = this;
    const hits = this.hitsIn(view.from, view.to);
    const { total } = hitsOf(state.source);
    to.textAlign = "right";
    to.fillText(`${bytesText(view.to - view.from)} in view, ${percent(total > 0 ? hits / total : 0)} of all hits`, width - 10, 5);
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
      const key = rows.function[row] === 0 ? -1 - row : rows.function[row];
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
      if (rows.function[row] === fn && (best < 0 || hits[row] > hits[best])) best = row;
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
      const whole = functionText(row);
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
      const mine = run.symbol !== 0 && run.symbol === chosen;
      to.fillStyle = mine ? this.colours["accent-soft"] : this.colours.sunk;
      to.fillRect(x, top, Math.max(1, end - x), LANES - 3);
      to.fillStyle = mine ? this.colours.accent : this.colours.line;
      to.fillRect(x, top, 1, LANES - 3);
      if (end - x > 42) {
        const name = run.symbol === 0 ? placeOf(run.row) : nameOf(run.symbol);
        const room = Math.floor((end - x - 10) / 6.7);
        to.fillStyle = mine ? this.colours.accent : this.colours.muted;
        to.fillText(name.length > room ? name.slice(0, Math.max(1, room - 1)) + "…" : name, x + 5, top + LANES / 2 - 1);
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
      const symbol = symbolOf(row);
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
    tip.append(make("div", "", `${count(bar.hits)} ${bar.hits === 1 ? "hit" : "hits"}, ${percent(total > 0 ? bar.hits / total : 0)}`));
    const top = [...sums].sort((a, b) => b[1] - a[1]);
    for (const [key, hits] of top.slice(0, 3)) {
      const line = make("div", "mono", (key < 0 ? placeOf(-1 - key) : nameOf(key)).slice(0, 80));
      if (top.length > 1) line.append(make("span", "dim", "  " + count(hits)));
      tip.append(line);
    }
    if (top.length > 3) tip.append(make("div", "dim", `and ${count(top.length - 3)} more`));
    tip.hidden = false;
    const { width, height } = this.size();
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(width - box.width - 4, x + 14)) + "px";
    tip.style.top = Math.max(4, Math.min(height - box.height - 4, y - box.height - 10 < 4 ? y + 16 : y - box.height - 10)) + "px";
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
      row = forward ? lowerBound(us, bar ? bar.to : this.cursor + bytes) : lowerBound(us, bar ? bar.from : this.cursor) - 1;
    }
    const { hits } = hitsOf(state.source);
    const { firstRow } = images[this.image];
    while (row >= 0 && row < us.length && hits[firstRow + row] === 0) row += forward ? 1 : -1;
    if (row < 0 || row >= us.length) return;
    this.cursor = us[row];
    if (this.cursor < from || this.cursor >= to) this.setView(this.cursor - (to - from) / 2, this.cursor + (to - from) / 2);
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
    showCodeOf(this.hottestRow(bar, rows.function[row]));
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

/* ---- what is chosen: its numbers, its code ---- */

const KIND = { heading: 0, source: 1, instruction: 2, bytes: 3, bucket: 4, place: 5, gap: 6 };
const FLAG = { uncertain: 1, code: 2, missing: 4, chosen: 8, inBucket: 16 };

// Listings stand in elements of their own and are read when they are first shown.
const listings = new Map();
for (const element of document.querySelectorAll("script.listing")) {
  const { fn, image, view } = element.dataset;
  listings.set(`${functions.name[fn]} ${image} ${view}`, { element, parsed: null });
}

function listingOf(chosen, view) {
  if (!chosen || chosen.fn === 0 || WIDE_KINDS.has(chosen.by)) return null;
  const entry = listings.get(`${functions.name[chosen.fn]} ${chosen.image} ${view}`);
  if (!entry) return null;
  if (!entry.parsed) {
    const raw = JSON.parse(entry.element.textContent);
    entry.parsed = { ...raw, lines: linesOf(raw) };
    entry.parsed.byAddress = new Map();
    entry.parsed.lines.forEach((line, i) => { if (line.address) entry.parsed.byAddress.set(line.address, i); });
  }
  return entry.parsed;
}

function linesOf(raw) {
  const lines = [];
  const left = (hidden) => ({ kind: KIND.gap, text: `${count(hidden)} lines without hits left out`, hits: null, bracket: 0, flags: 0 });
  for (const [kind, text, file, line, flags, bracket, jumps, hits, hidden, address, size, bytes, target] of raw.lines) {
    if (hidden > 0) lines.push(left(hidden));
    lines.push({ kind, text, file: raw.files[file], line, flags, bracket, jumps, hits: hits || null, address, size, bytes, target });
  }
  if (raw.hidden > 0) lines.push(left(raw.hidden));
  return lines;
}

let codeLines = [];
let codeAt = -1;
let codeTotal = 0;
let codeMost = 0;
let codeView = "buckets";
const BRACKETS = ["", " first", " inside", " last"];

const code = new VirtualList($("code"), () => codePixels, () => {
  const row = make("div", "row");
  for (const part of ["hits", "bracket", "at", "jump", "text"]) row.append(make("span", part));
  row.addEventListener("click", () => setCodeAt(row.index));
  return row;
}, fillCode);

function lineHits(line) { return line.hits ? Number(line.hits[state.source]) : 0; }

function fillCode(row, i) {
  const line = codeLines[i];
  const [hits, bracket, at, jump, text] = row.children;
  const number = lineHits(line);
  const classes = ["row"];
  row.index = i;
  if (i === codeAt) classes.push("on");
  if (line.kind === KIND.source) classes.push("source");
  if (line.kind === KIND.heading || line.kind === KIND.place) classes.push("heading-line");
  if (line.kind === KIND.gap) classes.push("gap");
  if (number > 0) classes.push("warm");
  row.className = classes.join(" ");
  row.style.setProperty("--warm", codeMost > 0 ? String(Math.round(8 + 72 * number / codeMost)) : "0");
  hits.textContent = number > 0 ? codeTotal > 0 ? percent(number / codeTotal) : count(number) : "";
  hits.title = number > 0 ? `${count(number)} ${number === 1 ? "hit" : "hits"}, ` +
    `${percent(number / hitsOf(state.source).total)} of all${sharedText(line)}` : "";
  bracket.className = "bracket" + BRACKETS[line.bracket];
  at.textContent = line.address ? line.address : line.line > 0 && line.kind === KIND.source ? String(line.line) : "";
  jump.textContent = line.jumps > 0 ? "▸" : line.flags & FLAG.uncertain ? "?" : "";
  jump.title = line.jumps > 0 ? `${count(line.jumps)} ${line.jumps === 1 ? "jump leads" : "jumps lead"} here`
    : line.flags & FLAG.uncertain ? "decoded behind bytes that were not: may be wrong" : "";
  putCodeText(text, line);
}

function sharedText(line) {
  const part = (times) => line.hits && line.hits.length > times * sources.length
    ? Number(line.hits[times * sources.length + state.source]) : 0;
  let text = "";
  if (part(1) > 0) text += `, ${count(part(1))} of them in buckets that hold code of other lines too`;
  if (part(2) > 0) text += `, ${count(part(2))} of functions inlined here`;
  return text || line.bracket === 1 ? " of the instructions in this bracket: one bucket, nobody knows which" : "";
}

function putCodeText(cell, line) {
  // Between instructions a line that is not there still tells which one it is.
  const text = line.flags & FLAG.missing && line.text === ""
    ? codeView === "code" ? lineText(line.file, line.line) : "(the source is not there)" : line.text;
  cell.textContent = text;
  cell.title = line.kind === KIND.instruction && line.bytes ? line.bytes.replace(/../g, "$& ").trim() : "";
  const listing = listingOf(state.chosen, codeView);
  if (line.target && listing && listing.byAddress.has(line.target)) {
    const link = make("a", "", " ↪");
    link.title = "go to 0x" + line.target;
    link.addEventListener("click", (event) => {
      event.stopPropagation();
      setCodeAt(listing.byAddress.get(line.target));
    });
    cell.append(link);
  }
}

// A line of code that was chosen is shown in the picture.
function setCodeAt(i) {
  if (i < 0 || i >= codeLines.length) return;
  codeAt = i;
  code.show(i, false);
  code.draw(true);
  const { address } = codeLines[i];
  if (!address) return;
  const u = uOfAddress(BigInt("0x" + address));
  if (u === null) return;
  picture.cursor = u;
  if (u < picture.view.from || u >= picture.view.to) {
    const half = (picture.view.to - picture.view.from) / 2;
    picture.setView(u - half, u + half);
  }
  picture.later();
}

// The line of code that a row of the profile is at: where the picture was clicked.
function showCodeOf(row) {
  const address = addressOf(row);
  let found = -1;
  let nearest = -1n;
  codeLines.forEach((line, i) => {
    if (line.address) {
      const at = BigInt("0x" + line.address);
      // An instruction that begins within the bucket, or the last before it.
      if (at < address + BigInt(bucketBytes) && at > nearest && (nearest < address || lineHits(line) > 0)) {
        [found, nearest] = [i, at];
      }
    } else if (codeView === "source" && line.kind === KIND.source && line.line === rows.line[row]) {
      found = i;
    }
  });
  if (found < 0) return;
  codeAt = found;
  code.show(found, true);
  code.draw(true);
}

function uOfAddress(address) {
  for (const piece of picture.space().pieces) {
    const offset = Number(address - piece.segment.base);
    if (offset >= piece.from && offset < piece.to) return piece.u + offset - piece.from;
  }
  return null;
}

// What the profile itself holds of what is chosen: its buckets, by address.
function bucketLines(chosen) {
  const lines = [];
  let last = -1;
  const width = Math.min(chosen.rows.length, 1000000);
  let image = -1;
  for (let i = 0; i < width; i++) {
    const row = chosen.rows[i];
    if (rows.image[row] !== image) {
      image = rows.image[row];
      lines.push({ kind: KIND.heading, text: images[image].path, hits: null, bracket: 0, flags: 0 });
      last = -1;
    }
    if (last >= 0 && sameBucket(last, row)) {
      const line = lines[lines.length - 1];
      sources.forEach((_, source) => { line.hits[source] += hitsOf(source).hits[row]; });
      continue;
    }
    last = row;
    lines.push({
      kind: KIND.bucket, address: addressOf(row).toString(16), bracket: 0, flags: 0,
      text: [functionText(row), lineText(texts[functions.file[rows.function[row]]], rows.line[row])]
        .filter((text) => text !== "").join("  ").slice(0, NAME_SHOWN),
      hits: sources.map((_, source) => hitsOf(source).hits[row]),
    });
  }
  return lines;
}

function functionRows(chosen) {
  const groups = groupsBy("function");
  return rowsOfGroup(groups, groups.of[chosen.best]);
}

function showCode() {
  const { chosen } = state;
  const ready = { code: listingOf(chosen, "code"), source: listingOf(chosen, "source"), buckets: true };
  const view = ready[state.tab] ? state.tab : ready.code ? "code" : ready.source ? "source" : "buckets";
  for (const tab of ["code", "source", "buckets"]) {
    const button = $("tab-" + tab);
    button.disabled = !chosen || !ready[tab];
    button.setAttribute("aria-selected", String(tab === view));
    button.tabIndex = tab === view ? 0 : -1;
  }
  codeView = view;
  codeTotal = !chosen ? 0 : sumOf(ready[view] === true ? chosen.rows : functionRows(chosen), state.source);
  codeAt = -1;
  const listing = view === "buckets" ? null : ready[view];
  codeLines = !chosen ? [] : listing ? listing.lines : bucketLines(chosen);
  codeMost = 0;
  let hottestLine = 0;
  codeLines.forEach((line, i) => {
    const hits = lineHits(line);
    if (hits > codeMost) [codeMost, hottestLine] = [hits, i];
  });
  $("code").classList.toggle("of-source", view === "source");
  $("code").setAttribute("aria-label", { code: "Instructions", source: "Source", buckets: "Buckets" }[view]);
  $("notes").textContent = "";
  const noted = listing || listingOf(chosen, "notes");
  for (const note of noted ? noted.notes : []) $("notes").append(make("p", "", note));
  $("code-note").textContent = !chosen ? "" : listing ? "shares of the function's hits" : `buckets of ${bytesText(bucketBytes)}` +
    (chosen.by === "function" && chosen.fn !== 0 && !noted ? "; its code was not put into this page" : "");
  $("code").scrollTop = 0;
  $("code").scrollLeft = 0;
  code.resize(codeLines.length);
  if (codeMost > 0) code.show(hottestLine, true);
}

function showChosen() {
  const { chosen } = state;
  if (!chosen) return;
  const text = describe[chosen.by](chosen.first);
  const image = images[chosen.image];
  $("chosen").textContent = (chosen.by === "image" ? image.path : text.name).slice(0, LINES_OF_NAME + 64);
  const file = texts[functions.file[chosen.fn]];
  $("chosen-facts").textContent = [
    chosen.by === "function" || chosen.by === "line" || chosen.by === "bucket" ? image.path : "",
    chosen.by === "function" ? (file && functions.line[chosen.fn] ? `${file}:${functions.line[chosen.fn]}` : file) : "",
    chosen.by === "line" || chosen.by === "bucket" ? text.where : "",
    chosen.by === "image" && image.buildId ? "build-id " + image.buildId : "",
  ].filter((part) => part !== "").join("  ·  ");
  showNumbers(chosen);
  showChain(chosen);
  showCode();
}

function sumOf(members, source) {
  const { hits } = hitsOf(source);
  let sum = 0;
  for (const row of members) sum += hits[row];
  return sum;
}

function showNumbers(chosen) {
  const numbers = $("chosen-numbers");
  numbers.textContent = "";
  sources.forEach((source, i) => {
    const { total } = hitsOf(i);
    const hits = sumOf(chosen.rows, i);
    const share = total > 0 ? hits / total : 0;
    const part = make("div");
    if (hits > 0) part.append(make("b", "", percent(share)), make("span", "", errorText(share, total, i) + "  ·  "));
    const estimate = hits > 0 ? estimateText(hits, i) : "";
    part.append(make("span", "", `${hits > 0 ? count(hits) : "no"} ${hits === 1 ? "hit" : "hits"}${estimate && "  ·  " + estimate}`));
    if (sources.length > 1) part.prepend(make("span", "", source.name.slice(0, NAME_SHOWN) + " "));
    numbers.append(part);
  });
}

// Who it was inlined into, and in which processes it ran.
function showChain(chosen) {
  const { hits } = hitsOf(state.source);
  const into = new Map();
  const processes = new Map();
  for (const row of chosen.rows) {
    const process = rows.process[row];
    processes.set(process, (processes.get(process) || 0) + hits[row]);
    if (rows.caller[row] !== 0) {
      const fn = frames.function[rows.caller[row]];
      into.set(fn, (into.get(fn) || 0) + hits[row]);
    }
  }
  const list = (map, name) => [...map].sort((a, b) => b[1] - a[1]).slice(0, 4)
    .map(([key, sum]) => `${name(key).slice(0, 80)} (${count(sum)})`).join(", ") + (map.size > 4 ? " …" : "");
  const parts = [];
  if (into.size > 0 && !WIDE_KINDS.has(chosen.by)) parts.push("inlined into " + list(into, nameOf));
  if (data.processes.length > 1 && !["process", "thread"].includes(chosen.by)) {
    parts.push("in " + list(processes, (process) => texts[data.processes[process]] || "(no name)"));
  }
  $("chosen-chain").textContent = parts.join("  ·  ");
}

/* ---- head and books ---- */

const BOOKS = ["expected", "taken", "counted", "outside", "lost", "throttled", "missed", "unfinished", "excluded"];

function showHead() {
  const command = data.command || "profile";
  $("command").textContent = command.slice(0, LINES_OF_NAME);
  $("command").title = command.slice(0, LINES_OF_NAME);
  document.title = "ntprof: " + command.slice(0, 120);
  const facts = [];
  if (data.time_ns !== "0") {
    const date = new Date(Number(BigInt(data.time_ns) / 1000000n));
    if (!Number.isNaN(date.getTime())) facts.push(date.toISOString().replace("T", " ").slice(0, 19) + " UTC");
  }
  if (data.duration_ns !== "0") facts.push(secondsText(data.duration_ns));
  const buckets = bucketsOfRows().reduce((sum, first, row) => sum + (first === row ? 1 : 0), 0);
  facts.push(sources.length === 1 ? `${exact(sources[0].total)} hits`
    : sources.slice(0, 3).map((source) => `${exact(source.total)} ${source.name.slice(0, 40)}`).join(", "));
  facts.push(`${count(buckets)} ${buckets === 1 ? "bucket" : "buckets"} of ${bytesText(bucketBytes)}`);
  $("facts").textContent = facts.join("  ·  ");
}

function showBooks() {
  const good = sources.length > 0 && sources.every((source) => source.complete);
  document.querySelector(".dot").classList.toggle("good", good);
  const warnings = data.lines.filter((line) => line.startsWith("ntprof: warning")).length;
  document.querySelector("#books .more").textContent = "books" +
    (warnings > 0 ? `, ${warnings} ${warnings === 1 ? "warning" : "warnings"}` : "");
  $("honesty").textContent = (data.lines[0] || "No source, no books.").replace(/^ntprof: /, "");
  const table = $("books-table");
  const head = make("tr");
  for (const title of ["source", ...BOOKS]) head.append(make("th", "", title));
  const top = make("thead");
  top.append(head);
  const body = make("tbody");
  for (const source of sources) {
    const row = make("tr");
    const name = make("th", "", source.name.slice(0, NAME_SHOWN));
    name.scope = "row";
    row.append(name);
    for (const key of BOOKS) row.append(make("td", "", source.books ? exact(source[key]) : "–"));
    body.append(row);
  }
  table.append(top, body);
  for (const line of data.lines.slice(1)) $("lines").append(make("p", "", line.replace(/^ntprof: /, "")));
  const leftOut = $("left-out");
  if (leftOut) for (const line of JSON.parse(leftOut.textContent)) $("lines").append(make("p", "", line));
}

/* ---- controls and keys ---- */

function addOption(select, value, text) {
  const option = make("option", "", text.slice(0, 120));
  option.value = value;
  select.append(option);
}

function fillImages() {
  const sums = sumsOf(groupsBy("image"), state.source);
  const groups = groupsBy("image");
  const { total } = hitsOf(state.source);
  const order = Array.from(groups.first.keys()).sort((a, b) => sums[b] - sums[a] || a - b);
  picture.order = order.map((group) => rows.image[groups.first[group]]);
  const select = $("image");
  select.textContent = "";
  order.forEach((group) => {
    const image = rows.image[groups.first[group]];
    addOption(select, String(image), `${images[image].name}   ${percent(total > 0 ? sums[group] / total : 0)}`);
  });
  if (picture.image >= 0) select.value = String(picture.image);
}

function setSource(source) {
  state.source = source;
  $("source").value = String(source);
  picture.sumUp();
  fillImages();
  refreshTable(true);
  if (state.chosen) showChosen();
  picture.later();
}

function setBy(by) {
  state.by = by;
  $("by").value = by;
  if (state.sort.column === "image" || state.sort.column === "where") state.sort = { column: "hits", down: true };
  refreshTable(true);
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("ntprof-theme", theme); } catch { /* a page in a file may have no storage */ }
  repaint();
}

function repaint() {
  picture.readColours();
  picture.later();
  if (shown.groups) table.draw(true);
}

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function nextImage(by) {
  const at = picture.order.indexOf(picture.image) + by;
  if (at >= 0 && at < picture.order.length) picture.setImage(picture.order[at]);
}

function nextOf(list, value) { return list[(list.indexOf(value) + 1) % list.length]; }

function showTable() {
  document.body.dataset.view = "list";
  refreshMeasures();
  grid.focus();
}

function toggleScale() {
  picture.root = !picture.root;
  $("scale").setAttribute("aria-pressed", String(picture.root));
  picture.later();
}

const KEYS = {
  "/": () => { showTable(); $("search").focus(); $("search").select(); },
  "?": () => $("help").showModal(),
  "+": () => picture.zoom(2), "=": () => picture.zoom(2),
  "-": () => picture.zoom(0.5), _: () => picture.zoom(0.5),
  0: () => picture.zoomAll(),
  f: zoomToChosen,
  l: toggleScale,
  "[": () => nextImage(-1), "]": () => nextImage(1),
  g: () => setBy(nextOf(Object.keys(KINDS), state.by)),
  s: () => { if (sources.length > 1) setSource((state.source + 1) % sources.length); },
  c: () => { state.tab = nextOf(["code", "source", "buckets"], codeView); showCode(); },
  b: () => { $("books").open = !$("books").open; },
  t: () => setTheme(isDark() ? "light" : "dark"),
  Escape: () => { if (document.activeElement === grid) picture.zoomAll(); else showTable(); },
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const { target } = event;
  if (target.matches("input, select") && event.key !== "Escape") return;
  if (rowCount === 0 && event.key !== "?" && event.key !== "t" && event.key !== "b") return;
  const action = KEYS[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
}

// Moves by keys in a list: gives the new place, or -1 for another key.
function moved(event, list, at, end) {
  const to = {
    ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + list.page(), PageUp: at - list.page(), Home: 0, End: end - 1,
  }[event.key];
  return to === undefined ? -1 : Math.max(0, Math.min(end - 1, to));
}

function addKeys() {
  document.addEventListener("keydown", onKey);
  grid.addEventListener("keydown", (event) => {
    if (event.target !== grid || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = moved(event, table, shown.at, shown.order.length);
    if (to >= 0) {
      event.preventDefault();
      choose(to);
    } else if (event.key === "Enter" && shown.at >= 0) {
      event.preventDefault();
      zoomToChosen();
      if (narrow.matches) openDetail();
      $("code").focus();
    }
  });
  $("code").addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = moved(event, code, codeAt, codeLines.length);
    if (to >= 0) {
      event.preventDefault();
      setCodeAt(to);
    } else if (event.key === "Enter" && codeAt >= 0) {
      const line = codeLines[codeAt];
      const listing = listingOf(state.chosen, codeView);
      if (line.target && listing && listing.byAddress.has(line.target)) setCodeAt(listing.byAddress.get(line.target));
    }
  });
  $("search").addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if ($("search").value !== "") {
        $("search").value = "";
        search();
      } else {
        grid.focus();
      }
    } else if ((event.key === "Enter" || event.key === "ArrowDown") && shown.order.length > 0) {
      event.preventDefault();
      search();
      choose(Math.max(0, shown.at));
      grid.focus();
    }
  });
}

let searching = 0;
function search() {
  clearTimeout(searching);
  searching = 0;
  const words = $("search").value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.join(" ") === state.words.join(" ")) return;
  state.words = words;
  refreshTable(true);
}

function addControls() {
  $("search").addEventListener("input", () => {
    clearTimeout(searching);
    searching = setTimeout(search, rowCount > 20000 ? 120 : 0);
  });
  for (const [by, label] of Object.entries(KINDS)) addOption($("by"), by, label);
  sources.forEach((source, i) => addOption($("source"), String(i), source.name));
  $("source-field").hidden = sources.length < 2;
  $("by").addEventListener("change", () => setBy($("by").value));
  $("source").addEventListener("change", () => setSource(Number($("source").value)));
  $("image").addEventListener("change", () => picture.setImage(Number($("image").value)));
  $("zoom-in").addEventListener("click", () => picture.zoom(2));
  $("zoom-out").addEventListener("click", () => picture.zoom(0.5));
  $("zoom-all").addEventListener("click", () => picture.zoomAll());
  $("zoom-function").addEventListener("click", zoomToChosen);
  $("scale").addEventListener("click", toggleScale);
  $("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("back").addEventListener("click", showTable);
  for (const tab of ["code", "source", "buckets"]) {
    $("tab-" + tab).addEventListener("click", () => { state.tab = tab; showCode(); });
  }
  document.querySelector(".tabs").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const tabs = [...document.querySelectorAll(".tabs [role=tab]:not(:disabled)")];
    const at = tabs.indexOf(document.activeElement) + (event.key === "ArrowRight" ? 1 : -1);
    if (tabs[at]) {
      tabs[at].focus();
      tabs[at].click();
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  narrow.addEventListener("change", refreshMeasures);
}

function refreshMeasures() {
  rowPixels = pixelsOf("--row");
  codePixels = pixelsOf("--code-row");
  if (shown.groups) refreshTable(true);
  code.resize(codeLines.length);
  picture.later();
}

function begin() {
  try {
    const theme = localStorage.getItem("ntprof-theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch { /* as above */ }
  rowPixels = pixelsOf("--row");
  codePixels = pixelsOf("--code-row");
  showHead();
  showBooks();
  addControls();
  addKeys();
  addPictureEvents();
  picture.readColours();
  if (rowCount > 0) {
    picture.sumUp();
    fillImages();
    picture.setImage(picture.order[0]);
    refreshTable(false);
    choose(0);
    picture.draw();
  } else {
    $("picture").hidden = true;
    showEmpty();
  }
  grid.focus({ preventScroll: true });
  // When it can be used; tests wait for it and print it.
  requestAnimationFrame(() => { document.body.dataset.ready = String(Math.round(performance.now())); });
}

function showEmpty() {
  grid.append(make("p", "empty", "The profile has no hits."));
  showCode();
}

begin();
})();
