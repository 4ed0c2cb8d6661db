/* SPDX-License-Identifier: MIT */
/*
 * selection.js - of ntprof serve: what is selected of the store, as fields and as a link, and what is said instead of
 * a profile. Fields of times show the browser's zone.
 */
const selection = JSON.parse($("selection-data").textContent);
const FIELDS = [
  ["since", "since"], ["until", "until"], ["host", "host"], ["unit", "unit"], ["build-id", "build"],
  ["label", "label"], ["source", "source"], ["image", "image"], ["interval", "interval"],
];
const LISTS = {
  host: "hosts", unit: "units", "build-id": "builds", label: "labels", source: "sources", image: "images",
  interval: "intervals",
};
const RANGES = ["15m", "1h", "1d", "7d"];

const isTime = (name) => /^(old\.)?(since|until)$/.test(name);
const valuesOf = (name) => selection.given.filter(([given]) => given === name).map(([, value]) => value);

/* ---- fields ---- */

// What a field offers: [value, what stands beside it].
function offersOf(name) {
  if (name === "since") return [...RANGES, ...selection.whole.slice(0, 1)].map((text) => [localText(text), ""]);
  if (name === "until") return [...selection.whole.slice(1), ...RANGES].map((text) => [localText(text), ""]);
  return selection[LISTS[name]].map((text) => {
    if (name !== "build-id" && name !== "interval") return [text, ""];
    const [first, second, ...rest] = text.split(" ");
    if (name === "build-id") return [first, [second, ...rest].join(" ")];
    const number = Number(first);
    const long = second === "100ns" ? secondsText(number * 100) : several(number, "event", "events");
    return [first, `${rest.join(" ")}: ${long}`];
  });
}

function addList(name) {
  const list = make("datalist");
  list.id = "list-" + name;
  for (const [value, text] of offersOf(name)) {
    const option = make("option");
    option.value = value;
    if (text) option.label = text;
    list.append(option);
  }
  $("form").append(list);
}

// A time that stays as it is goes back as it came: where clocks are set back its text has two meanings.
function setValue(input, value) {
  input.value = isTime(input.name) ? localText(value) : value;
  input.dataset.came = value;
  input.dataset.shown = input.value;
}

function sentValue(input) {
  if (!isTime(input.name)) return input.value;
  return input.value === input.dataset.shown ? input.dataset.came : utcText(input.value);
}

function addField(to, prefix, name, title, value) {
  const label = make("label");
  const input = make("input");
  input.name = prefix + name;
  setValue(input, value);
  input.autocomplete = "off";
  input.spellcheck = false;
  input.setAttribute("list", "list-" + name);
  if (isTime(name)) input.placeholder = "1h, 2026-11-23 10:30";
  label.append(make("span", "", title), input);
  to.append(label);
}

function makeForm() {
  for (const [name] of FIELDS) addList(name);
  for (const [prefix, to] of [["", $("fields")], ["old.", $("old-fields")]]) {
    for (const [name, title] of FIELDS) {
      const values = valuesOf(prefix + name);
      if (values.length === 0 || name === "label") values.push("");
      for (const value of values) addField(to, prefix, name, title, value);
    }
  }
  $("fields").append($("actions"));
  $("old").open = selection.given.some(([name]) => name.startsWith("old."));
  $("choose").open = !narrow.matches || selection.refused !== "";
  const words = selection.given.filter(([name]) => !name.startsWith("old.") && !isTime(name))
    .map(([name, value]) => name + " " + value);
  $("selection-words").textContent = "selected: " + [timeWords(), ...words].filter((text) => text !== "").join(", ");
}

// As it is given, so that it says which times move.
function timeWords() {
  const [since, until] = [valuesOf("since")[0] || "", valuesOf("until")[0] || ""];
  return [["since", since], ["until", until]].filter(([, text]) => text !== "")
    .map(([name, text]) => `${name} ${localText(text)}${name === "since" && isAge(text) ? " ago" : ""}`).join(", ");
}

const isAge = (text) => /^\d[\d.]*[smhd]$/.test(text) || /^\d[\d.]*[mun]s$/.test(text);

const inputs = () => [...$("form").querySelectorAll("input")];
const field = (name) => inputs().find((input) => input.name === name);

/* What is empty says nothing; it stays out of the address. */
function leaveOutEmpty(event) {
  for (const name of [...event.formData.keys()]) event.formData.delete(name);
  for (const input of inputs()) {
    if (input.value.trim() !== "") event.formData.append(input.name, sentValue(input));
  }
}

function showTime(since, until) {
  setValue(field("since"), since);
  setValue(field("until"), until);
  $("form").requestSubmit();
}

function keepOld() {
  for (const [name] of FIELDS) {
    const from = inputs().filter((input) => input.name === name);
    const to = inputs().filter((input) => input.name === "old." + name);
    to.forEach((input, i) => { setValue(input, from[i] ? sentValue(from[i]) : ""); });
  }
  $("choose").open = $("old").open = true;
  field("since").focus();
}

/* ---- time up to now, and the link ---- */

function makeRanges() {
  const [since, until] = [valuesOf("since")[0], valuesOf("until")[0] || ""];
  for (const button of document.querySelectorAll("[data-since]")) {
    button.setAttribute("aria-pressed", String(button.dataset.since === since && until === ""));
    button.addEventListener("click", () => showTime(button.dataset.since, ""));
  }
  $("whole").disabled = selection.whole.length === 0;
  $("wider").disabled = selection.time.length === 0;
  $("wider").addEventListener("click", () => showTime(...selection.wider));
  $("whole").addEventListener("click", () => showTime(...selection.whole));
  $("refresh").addEventListener("click", () => location.reload());
}

/* The address of this page. Without fixed times one that is opened later shows what is then the last hour, if this page
 * does; with them, what this page shows. */
function linkOf(fixed) {
  const given = new URLSearchParams(location.search);
  const sides = [["", selection.time], ["old.", selection.old_time]];
  for (const [prefix, [since, until]] of fixed ? sides : []) {
    if (!since) continue;
    given.set(prefix + "since", since);
    given.set(prefix + "until", until);
  }
  const query = [...given].filter(([, value]) => value !== "")
    // Readable where an address may be: the values of times and of paths.
    .map((pair) => pair.map((text) => encodeURIComponent(text).replace(/%3A/g, ":").replace(/%2F/g, "/")).join("="));
  return location.origin + "/" + (query.length > 0 ? "?" + query.join("&") : "");
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText($("link").value);
    $("copied").textContent = "copied";
  } catch { // browsers give no clipboard to a page that came from another machine without TLS
    document.body.dataset.noCopy = "1";
    $("link").focus();
    $("link").select();
    $("copied").textContent = "press Ctrl+C";
  }
}

function makeLink() {
  const show = () => {
    $("link").value = linkOf($("fixed").checked);
    $("copied").textContent = "";
  };
  // Nothing to fix: it has all times, or the page shows none.
  $("fixed-field").hidden = selection.time.length === 0 || linkOf(true) === linkOf(false);
  $("fixed").checked = false; // whatever it was before a reload
  $("fixed").addEventListener("change", show);
  $("link").addEventListener("focus", () => $("link").select());
  $("copy").addEventListener("click", copyLink);
  show();
}

/* ---- instead of a profile ---- */

// Why there is nothing to see: the one message of the page, or "".
function refusal() {
  const [since, until] = selection.whole;
  if (selection.elsewhere && since) {
    return `${selection.refused}. The store has windows of ${rangeText(since, until)}: ` +
      "choose other times, hosts or labels.";
  }
  if (selection.refused === "" && rowCount === 0) {
    return "What is selected has no hits: choose another time, source, unit, image, build or interval.";
  }
  return selection.refused;
}

function showRefusal() {
  const text = refusal();
  if (text === "") return;
  $("refused").textContent = text;
  $("refused").hidden = false;
  if (selection.refused === "") {
    document.body.dataset.noHits = "1"; // statistics show what was measured
    return;
  }
  document.body.dataset.refused = "1";
  document.title = "ntprof";
  if (selection.commands.length === 0) return;
  document.body.dataset.empty = "1";
  for (const [what, command] of selection.commands) {
    $("commands").append(make("dt", "", what), make("dd", "", command));
  }
  $("commands").hidden = false;
}

makeForm();
makeRanges();
makeLink();
showRefusal();
$("form").addEventListener("formdata", leaveOutEmpty);
$("keep").addEventListener("click", keepOld);
