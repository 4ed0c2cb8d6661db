/* SPDX-License-Identifier: MIT */
/*
 * page.js - head, statistics, controls and keys, and the beginning of it all. The scripts of this folder are one,
 * put together by scripts/make_page.py in the order in which meson.build names them. Plain JavaScript, no
 * network, no markup made of strings: names come in by textContent alone.
 */
/* ---- head and statistics ---- */

const STATISTICS = ["expected", "taken", "counted", "outside", "lost", "throttled", "missed", "unfinished", "excluded"];

function showHead() {
  const command = data.command || "profile";
  $("command").textContent = command.slice(0, LINES_OF_NAME);
  $("command").title = command.slice(0, LINES_OF_NAME);
  document.title = "ntprof: " + command.slice(0, 120);
  const facts = [];
  if (data.time_ns !== "0") {
    const date = new Date(Number(BigInt(data.time_ns) / 1000000n));
    if (!Number.isNaN(date.getTime())) facts.push(`${dateOf(date)} ${clockOf(date)} ${zoneText(date)}`);
  }
  if (data.duration_ns !== "0") facts.push(secondsText(data.duration_ns));
  const buckets = bucketsOfRows().reduce((sum, first, row) => sum + (first === row ? 1 : 0), 0);
  facts.push(sources.length === 1 ? `${exact(sources[0].total)} ${numbersOf(0)}`
    : sources.slice(0, 3).map((source) => `${exact(source.total)} ${source.name.slice(0, 40)}`).join(", "));
  facts.push(`${count(buckets)} ${buckets === 1 ? "bucket" : "buckets"} of ${bytesText(bucketBytes)}`);
  $("facts").textContent = facts.join("  ·  ");
}

function showStatistics() {
  const good = sources.length > 0 && sources.every((source) => source.complete);
  document.querySelector(".dot").classList.toggle("good", good);
  const warnings = data.lines.filter((line) => line.startsWith("ntprof: warning")).length;
  document.querySelector("#statistics .more").textContent = "statistics" +
    (warnings > 0 ? `, ${warnings} ${warnings === 1 ? "warning" : "warnings"}` : "");
  $("summary").textContent = (data.lines[0] || "No source, no statistics.").replace(/^ntprof: /, "");
  const table = $("statistics-table");
  const head = make("tr");
  for (const title of ["source", ...STATISTICS]) head.append(make("th", "", title));
  const top = make("thead");
  top.append(head);
  const body = make("tbody");
  for (const source of sources) {
    const row = make("tr");
    const name = make("th", "", source.name.slice(0, NAME_SHOWN));
    name.scope = "row";
    row.append(name);
    for (const key of STATISTICS) row.append(make("td", "", source.statistics ? exact(source[key]) : "–"));
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
  if (flameData) flame.setSource();
}

function setBy(by) {
  state.by = by;
  $("by").value = by;
  $("inlined").setAttribute("aria-pressed", String(by === "inline"));
  if (state.sort.column === "image" || state.sort.column === "where") state.sort = { column: "hits", down: true };
  refreshTable(true);
}

// Between functions with machine code, and those that were inlined.
function toggleInlined() { setBy(state.by === "inline" ? "function" : "inline"); }

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("ntprof-theme", theme); } catch { /* a page in a file may have no storage */ }
  repaint();
}

function repaint() {
  picture.readColours();
  picture.later();
  if (shown.groups) table.draw(true);
  if (flameData) {
    flame.showLegend();
    flame.later();
  }
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
  if (flameData) enlargeFlame(false);
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
  i: toggleInlined,
  "[": () => nextImage(-1), "]": () => nextImage(1),
  g: () => setBy(nextOf(Object.keys(KINDS), state.by)),
  s: () => { if (sources.length > 1) setSource((state.source + 1) % sources.length); },
  c: () => { state.tab = nextOf(["code", "source", "buckets"], codeView); showCode(); },
  b: () => { $("statistics").open = !$("statistics").open; },
  t: () => setTheme(isDark() ? "light" : "dark"),
  v: () => { if (flameData) showFlame(!flameIsShown()); },
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
      chooseByHand(to);
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
      chooseByHand(Math.max(0, shown.at));
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
  $("inlined").addEventListener("click", toggleInlined);
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
  if (flameData) flame.later(true);
}

function begin() {
  try {
    const theme = localStorage.getItem("ntprof-theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch { /* as above */ }
  rowPixels = pixelsOf("--row");
  codePixels = pixelsOf("--code-row");
  showHead();
  showStatistics();
  addControls();
  addKeys();
  addPictureEvents();
  picture.readColours();
  for (const element of document.querySelectorAll(".with-stacks")) element.hidden = flameData === null;
  for (const element of document.querySelectorAll(".without-stacks")) element.hidden = flameData !== null;
  if (flameData) beginFlame();
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
