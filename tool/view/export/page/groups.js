/* SPDX-License-Identifier: MIT */
/* groups.js - rows of the table: rows of the profile added up by a key, searched and sorted. */
const KINDS = {
  function: "Function", inline: "Inlined function", line: "Line", file: "File", image: "Image", bucket: "Bucket",
  process: "Process",
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
  function: () => (row) => rows.outer[row],
  inline: () => (row) => rows.inner[row] * names.short.length + rows.outer[row],
  line() { // the innermost line, in each outer function
    const { of } = numberGroups((row) => rows.outer[row] * texts.length + functions.file[rows.function[row]]);
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
    name: functionText(row), full: functionText(row, names.full), image: images[rows.image[row]].name,
    where: lineText(texts[names.file[rows.outer[row]]], names.line[rows.outer[row]]),
  }),
  inline: (row) => ({
    name: inlineText(row), full: inlineText(row, names.full), image: images[rows.image[row]].name,
    where: lineText(texts[names.file[rows.inner[row]]], names.line[rows.inner[row]]),
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
    where: [inlineText(row), lineText(texts[functions.file[rows.function[row]]], rows.line[row])]
      .filter((text) => text !== "").join("  "),
  }),
  process: (row) => ({ name: processOf(row), image: "", where: "" }),
  thread: (row) => ({
    name: texts[data.threads[rows.thread[row]]] || "(unknown)", image: "", where: processOf(row),
  }),
  cpu: (row) => ({
    name: rows.cpu[row] > 0 ? "processor " + (rows.cpu[row] - 1) : "(unknown)", image: "", where: "",
  }),
};
// Headings of the columns; kinds that have none do not have the column.
const WHERE = {
  function: "Where", inline: "Where", line: "Function", file: "Path", bucket: "Place", thread: "Process",
};
const IMAGE = { function: "Image", inline: "Image", line: "Image", file: "Image", image: "Path", bucket: "Image" };

/* ---- search: every word must be in the name, file, image, process or address ---- */

function matcher(word) {
  const holds = new Uint8Array(texts.length);
  for (let i = 0; i < texts.length; i++) holds[i] = texts[i].toLowerCase().includes(word) ? 1 : 0;
  const imageHolds = data.images.map(([path]) => holds[path]);
  const address = /^0x[0-9a-f]{1,16}$/.test(word) ? BigInt(word) : null;
  const named = names.full.map((name, i) => name.toLowerCase().includes(word) ||
    names.short[i].toLowerCase().includes(word));
  const inner = state.by !== "function"; // as the table has no rows of what was inlined, it does not find them
  return (row) => named[rows.outer[row]] || (inner && named[rows.inner[row]]) || imageHolds[rows.image[row]] ||
    holds[names.file[rows.outer[row]]] || (inner && holds[functions.file[rows.function[row]]]) ||
    holds[data.processes[rows.process[row]]] ||
    (rows.thread[row] !== 0 && holds[data.threads[rows.thread[row]]]) ||
    (rows.line[row] > 0 && word.includes(":") &&
      lineText(texts[functions.file[rows.function[row]]], rows.line[row]).toLowerCase() === word) ||
    (address !== null && covers(row, address)) ||
    (word.includes("+0x") && placeOf(row).toLowerCase() === word);
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

// Of each text among all, in order.
function ranksOf(list) {
  const order = Array.from(list.keys());
  const lower = list.map((text) => text.toLowerCase());
  const ranked = new Uint32Array(list.length);
  order.sort((a, b) => lower[a] < lower[b] ? -1 : lower[a] > lower[b] ? 1 : a - b);
  order.forEach((text, rank) => { ranked[text] = rank; });
  return ranked;
}
let textRank = null;
let nameRank = null;
const ranks = () => textRank || (textRank = ranksOf(texts));
const nameRanks = () => nameRank || (nameRank = ranksOf(names.short));

// The number that a group is sorted by.
function sortNumbers(groups) {
  const { column } = state.sort;
  const numbers = new Float64Array(groups.count);
  if (column === "hits" || column === "share") return sumsOf(groups, state.source);
  if (column.startsWith("source-")) return sumsOf(groups, Number(column.slice(7)));
  const rank = ranks();
  const file = (row) => functions.file[rows.function[row]];
  const name = {
    function: (row) => nameRanks()[rows.outer[row]],
    inline: (row) => nameRanks()[rows.inner[row]] * names.short.length + nameRanks()[rows.outer[row]],
    line: (row) => rank[file(row)] * 0x200000 + rows.line[row],
    file: (row) => rank[file(row)],
    image: (row) => rank[data.images[rows.image[row]][0]],
    bucket: (row) => row, // by address within each image, as rows are
    process: (row) => rank[data.processes[rows.process[row]]],
    thread: (row) => rank[data.threads[rows.thread[row]]],
    cpu: (row) => rows.cpu[row],
  }[state.by];
  const where = {
    function: (row) => rank[names.file[rows.outer[row]]] * 0x200000 + names.line[rows.outer[row]],
    inline: (row) => rank[names.file[rows.inner[row]]] * 0x200000 + names.line[rows.inner[row]],
    line: (row) => nameRanks()[rows.outer[row]],
    file: (row) => rank[file(row)],
    image: (row) => rank[data.images[rows.image[row]][1]],
    bucket: (row) => nameRanks()[rows.outer[row]],
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
