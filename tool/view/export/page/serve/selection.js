/* SPDX-License-Identifier: MIT */
/*
 * selection.js - of ntprof serve: what is selected of the store, hits over time to drag a range on, and what
 * changed. Times are texts of the server's local time, as the server reads them.
 */
const selection = JSON.parse($("selection-data").textContent);
const FIELDS = [
  ["since", "since"], ["until", "until"], ["host", "hosts"], ["unit", "units"], ["build-id", "builds"],
  ["label", "labels"], ["source", "source"], ["image", "image"], ["interval", "interval"],
];
const LISTS = { host: "hosts", unit: "units", "build-id": "builds", label: "labels", source: "sources" };

const valuesOf = (name) => selection.given.filter(([given]) => given === name).map(([, value]) => value);

function addList(name) {
  const list = make("datalist");
  list.id = "list-" + name;
  for (const text of selection[LISTS[name]]) {
    const option = make("option");
    const blank = name === "build-id" ? text.indexOf(" ") : -1;
    option.value = blank > 0 ? text.slice(0, blank) : text;
    if (blank > 0) option.label = text.slice(blank + 1);
    list.append(option);
  }
  $("form").append(list);
}

function addField(to, prefix, name, title, value) {
  const label = make("label");
  const input = make("input");
  input.name = prefix + name;
  input.value = value;
  input.autocomplete = "off";
  input.spellcheck = false;
  if (LISTS[name]) input.setAttribute("list", "list-" + name);
  if (name === "since" || name === "until") input.placeholder = "1h, 2026-11-23T10:30";
  label.append(make("span", "", title), input);
  to.append(label);
}

function makeForm() {
  for (const name of Object.keys(LISTS)) addList(name);
  for (const [prefix, to] of [["", $("fields")], ["old.", $("old-fields")]]) {
    for (const [name, title] of FIELDS) {
      const values = valuesOf(prefix + name);
      if (values.length === 0 || name === "label") values.push("");
      for (const value of values) addField(to, prefix, name, title, value);
    }
  }
  $("old").open = selection.given.some(([name]) => name.startsWith("old."));
  const words = selection.given.filter(([name]) => !name.startsWith("old.")).map(([name, value]) => name + " " + value);
  $("selection-words").textContent = "selected: " + (words.join(", ") || "all");
  $("refused").hidden = selection.refused === "";
  $("refused").textContent = selection.refused;
}

const field = (name) => $("form").elements.namedItem(name);

/* What is empty says nothing; it stays out of the address. */
function leaveOutEmpty(event) {
  const kept = [...event.formData].filter(([, value]) => value.trim() !== "");
  for (const name of [...event.formData.keys()]) event.formData.delete(name);
  for (const [name, value] of kept) event.formData.append(name, value);
}

function showTime(since, until) {
  field("since").value = since;
  field("until").value = until;
  $("form").requestSubmit();
}

function keepOld() {
  for (const [name] of FIELDS) {
    const from = [...$("form").querySelectorAll("input")].filter((input) => input.name === name);
    const to = [...$("form").querySelectorAll("input")].filter((input) => input.name === "old." + name);
    to.forEach((input, i) => { input.value = from[i] ? from[i].value : ""; });
  }
  $("old").open = true;
  field("since").focus();
}

/* ---- the line ---- */

const slots = selection.hits;
const line = { at: -1, from: -1, dragging: false };

function drawLine() {
  const canvas = $("line-canvas");
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const most = Math.max(1, ...slots);
  const style = getComputedStyle(document.documentElement);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const to = canvas.getContext("2d");
  to.scale(ratio, ratio);
  const [first, last] = [Math.min(line.at, line.from), Math.max(line.at, line.from)];
  if (line.at >= 0) {
    const begin = line.from >= 0 ? first : line.at;
    to.fillStyle = style.getPropertyValue("--accent-soft");
    to.fillRect(begin * width / slots.length, 0, (last - begin + 1) * width / slots.length, height);
  }
  to.fillStyle = style.getPropertyValue("--heat2");
  slots.forEach((hits, i) => {
    const size = hits / most * (height - 4);
    to.fillRect(i * width / slots.length, height - size, Math.max(1, width / slots.length - 1), size);
  });
}

function tellLine() {
  const range = line.at >= 0 && line.from >= 0;
  const [first, last] = range ? [Math.min(line.at, line.from), Math.max(line.at, line.from)] : [line.at, line.at];
  const sum = slots.slice(first, last + 1).reduce((a, b) => a + b, 0);
  const text = line.at < 0 ? `${selection.times[0]} to ${selection.times[slots.length]}  ·  ` +
      `hits of ${selection.line_source}  ·  drag a time, or select it by Shift and arrows`
    : `${selection.times[first]} to ${selection.times[last + 1]}  ·  ${hitsText(sum)}`;
  $("line-tip").textContent = text;
  $("line").setAttribute("aria-valuenow", Math.max(0, line.at));
  $("line").setAttribute("aria-valuetext", text);
  drawLine();
}

const slotAt = (event) => {
  const box = $("line-canvas").getBoundingClientRect();
  return Math.max(0, Math.min(slots.length - 1, Math.floor((event.clientX - box.x) / box.width * slots.length)));
};

function showRange() {
  if (line.at < 0) return;
  const from = line.from >= 0 ? line.from : line.at;
  showTime(selection.times[Math.min(line.at, from)], selection.times[Math.max(line.at, from) + 1]);
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
  if (slots.length === 0) return;
  const element = $("line");
  element.hidden = false;
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
  tellLine();
}

/* ---- what changed ---- */

function showChanges() {
  const element = $("diff");
  if (!element) return;
  const diff = JSON.parse(element.textContent);
  const head = make("tr");
  for (const title of ["source", "old", "new", "change", "+-", "function", "image"]) head.append(make("th", "", title));
  $("changes-table").append(head);
  const amount = (number, unit) => unit === "ns" ? secondsText(number)
    : unit === "share" ? (number * 100).toFixed(2) + "%" : number.toFixed(0);
  const signed = (number, unit) => (number < 0 ? "-" : "+") + amount(Math.abs(number), unit);
  let [rest, shown] = [0, 0];
  for (const source of diff.sources) {
    rest += source.row_count - source.rows.length;
    shown += source.rows.length;
    for (const row of source.rows) {
      const cells = make("tr");
      for (const text of [source.name, amount(row.old, source.unit), amount(row.new, source.unit),
        signed(row.change, source.unit), amount(row.error, source.unit), row.function, lastPart(row.image)]) {
        cells.append(make("td", "", text.slice(0, NAME_SHOWN)));
      }
      $("changes-table").append(cells);
    }
  }
  $("changes-table").hidden = shown === 0;
  $("changes-facts").textContent = diff.sources.length === 0 ? "The old selection has no source that the new one has."
    : shown === 0 ? `No share changed by more than chance explains, of ${count(rest)} functions on either side.`
    : `What changed against the old selection, in shares of all hits; ${count(rest)} more ` +
      "functions are not shown, most of which chance explains.";
  $("changes").hidden = false;
}

makeForm();
makeLine();
showChanges();
$("form").addEventListener("formdata", leaveOutEmpty);
$("wider").addEventListener("click", () => showTime(selection.wider[0], selection.wider[1]));
$("whole").addEventListener("click", () => showTime(selection.whole[0], selection.whole[1]));
$("keep").addEventListener("click", keepOld);
