/* SPDX-License-Identifier: MIT */
/*
 * data.js - the profile, unpacked: html_data.h says how it is packed. What takes time is unpacked
 * when it is first asked for.
 */
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
// The functions of rows, distinguished: what each is called in a row, and in full.
const names = {
  short: data.names.short,
  full: data.names.full.map((full, i) => full || data.names.short[i]),
  file: unpackSmall(data.names.file, data.names.count),
  line: unpackSmall(data.names.line, data.names.count),
  known: unpackSmall(data.names.known, data.names.count), // 0: code of an image without names and bounds
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
  outer: unpackSmall(data.rows.outer, rowCount), // the name of the function in whose machine code it is
  inner: unpackSmall(data.rows.inner, rowCount), // of the innermost one; that of outer if nothing was inlined
  line: unpackSmall(data.rows.line, rowCount),
  caller: unpackSmall(data.rows.caller, rowCount),
  process: unpackSmall(data.rows.process, rowCount),
  thread: unpackSmall(data.rows.thread, rowCount),
  cpu: unpackSmall(data.rows.cpu, rowCount), // plus 1; 0: unknown
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

const isInlined = (row) => rows.inner[row] !== rows.outer[row];
const functionText = (row, texts = names.short) => texts[rows.outer[row]];
const inlineText = (row, texts = names.short) => isInlined(row)
  ? `${texts[rows.inner[row]]} inlined in ${texts[rows.outer[row]]}` : texts[rows.outer[row]];

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
    let total = Number(sources[source].outside_units); // shares are of all hits, those in no row too
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
const several = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;
// What the numbers of a source are called: other tools' values, such as bytes, are no hits.
const isValue = (source) => sources[source] !== undefined && !["100ns", "events"].includes(sources[source].unit);
const numbersOf = (source) => isValue(source) ? sources[source].unit.slice(0, 24) : "hits";
const hitsText = (hits, source = state.source) =>
  isValue(source) ? `${count(hits)} ${numbersOf(source)}` : several(hits, "hit", "hits");
function percent(share) {
  return share > 0 && share < 0.00005 ? "<0.01%" : (share * 100).toFixed(share < 0.0995 ? 2 : 1) + "%";
}
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
// "± 1.2%", or nothing where each event was counted. Of several intervals, hits are units of the shortest.
const errorText = (share, total, source) =>
  sources[source].exact ? "" : " ± " + percent(shareError(share, total / sources[source].units_of_hit));
// What hits stand for.
function estimateText(hits, source) {
  const { interval, time, exact: each } = sources[source];
  if (interval <= 0 || each) return "";
  return time ? secondsText(hits * interval) : count(Math.round(hits * interval)) + " events";
}

/* ---- times, in the browser's zone ---- */

const two = (number) => String(number).padStart(2, "0");
const dateOf = (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
const clockOf = (date) => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;

// The zone's name, and how far it is from UTC at that time.
function zoneText(date) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const offset = -date.getTimezoneOffset();
  const far = Math.abs(offset);
  const minutes = far % 60 > 0 ? ":" + two(far % 60) : "";
  const from = offset === 0 ? "UTC" : `UTC${offset < 0 ? "-" : "+"}${Math.floor(far / 60)}${minutes}`;
  return !timeZone || timeZone === "UTC" ? from : `${timeZone}, ${from}`;
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
