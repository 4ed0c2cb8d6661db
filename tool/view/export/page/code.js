/* SPDX-License-Identifier: MIT */
/* code.js - what is chosen: its numbers, and its code or its buckets. */
const KIND = { heading: 0, source: 1, instruction: 2, bytes: 3, bucket: 4, place: 5, gap: 6 };
const FLAG = { uncertain: 1, code: 2, missing: 4, chosen: 8, inBucket: 16 };

// Listings stand in elements of their own and are read when they are first shown.
const listings = new Map();
for (const element of document.querySelectorAll("script.listing")) {
  const { fn, image, view } = element.dataset;
  listings.set(`${fn} ${image} ${view}`, { element, parsed: null });
}

function listingOf(chosen, view) {
  if (!chosen || WIDE_KINDS.has(chosen.by)) return null;
  const entry = listings.get(`${chosen.fn} ${chosen.image} ${view}`);
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
  const left = (hidden) => ({
    kind: KIND.gap, text: `${count(hidden)} lines without hits left out`, hits: null, bracket: 0, flags: 0,
  });
  for (const [kind, text, file, line, flags, bracket, jumps, hits, hidden, ...place] of raw.lines) {
    const [address, size, bytes, target] = place; // of code alone
    if (hidden > 0) lines.push(left(hidden));
    lines.push({
      kind, text, file: raw.files[file], line, flags, bracket, jumps, hits: hits || null, address, size, bytes, target,
    });
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
  row.style.setProperty("--warm", codeMost > 0 ? String(Math.round(8 + 54 * number / codeMost)) : "0");
  hits.textContent = number > 0 ? codeTotal > 0 ? percent(number / codeTotal) : count(number) : "";
  hits.title = number > 0 ? hitsText(number) + ", " +
    `${percent(number / hitsOf(state.source).total)} of all${sharedText(line)}` : "";
  bracket.className = "bracket" + BRACKETS[line.bracket];
  at.textContent = line.address ? line.address : line.line > 0 && line.kind === KIND.source ? String(line.line) : "";
  jump.textContent = line.jumps > 0 ? "▸" : line.flags & FLAG.uncertain ? "?" : "";
  jump.title = line.jumps > 0 ? several(line.jumps, "jump leads", "jumps lead") + " here"
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
  // Between instructions a line that is not there still shows which one it is.
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
      text: [inlineText(row), lineText(texts[functions.file[rows.function[row]]], rows.line[row])]
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
  $("code-note").textContent = !chosen ? "" : listing ? chosen.by === "inline" && isInlined(chosen.first)
    ? "all code of the function that it is inlined in" : "shares of the function's hits"
    : `buckets of ${bytesText(bucketBytes)}` +
    (chosen.by === "function" && names.known[chosen.fn] !== 0 && !noted ? "; its code was not put into this page" : "");
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
  $("chosen").textContent = (chosen.by === "image" ? image.path : text.full || text.name).slice(0, LINES_OF_NAME + 64);
  const name = chosen.by === "inline" ? rows.inner[chosen.first] : chosen.fn;
  const file = texts[names.file[name]];
  const ofFunction = chosen.by === "function" || chosen.by === "inline";
  $("chosen-facts").textContent = [
    ofFunction || chosen.by === "line" || chosen.by === "bucket" ? image.path : "",
    !ofFunction ? "" : file && names.line[name] ? `${file}:${names.line[name]}` : file,
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
    part.append(make("span", "",
      (hits > 0 ? hitsText(hits, i) : `no ${numbersOf(i)}`) + (estimate && "  ·  " + estimate)));
    if (sources.length > 1) part.prepend(make("span", "", source.name.slice(0, NAME_SHOWN) + " "));
    numbers.append(part);
  });
}

// What was inlined there, or what it was inlined into on the way, and in which processes it ran.
function showChain(chosen) {
  const { hits } = hitsOf(state.source);
  const inlined = new Map();
  const into = new Map();
  const processes = new Map();
  for (const row of chosen.rows) {
    const process = rows.process[row];
    processes.set(process, (processes.get(process) || 0) + hits[row]);
    if (isInlined(row)) inlined.set(rows.inner[row], (inlined.get(rows.inner[row]) || 0) + hits[row]);
    if (rows.caller[row] !== 0) {
      const fn = frames.function[rows.caller[row]];
      into.set(fn, (into.get(fn) || 0) + hits[row]);
    }
  }
  const list = (map, name) => [...map].sort((a, b) => b[1] - a[1]).slice(0, 4)
    .map(([key, sum]) => `${name(key).slice(0, 80)} (${count(sum)})`).join(", ") + (map.size > 4 ? " …" : "");
  const parts = [];
  if (chosen.by === "function" && inlined.size > 0) {
    parts.push("inlined here: " + list(inlined, (name) => names.short[name]));
  } else if (into.size > 0 && !WIDE_KINDS.has(chosen.by)) {
    parts.push("inlined into " + list(into, nameOf));
  }
  if (data.processes.length > 1 && !["process", "thread"].includes(chosen.by)) {
    parts.push("in " + list(processes, (process) => texts[data.processes[process]] || "(no name)"));
  }
  $("chosen-chain").textContent = parts.join("  ·  ");
}
