/* SPDX-License-Identifier: MIT */
/* table.js - the table, and what is chosen in it. */
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
  if (state.by === "image") {
    list.push({ id: "shape", label: "Addresses", classes: "shape not-narrow", width: "minmax(90px, 1.6fr)" });
  }
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
    chooseByHand(row.index);
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
      cell.textContent = [hitsText(hits), text.image, text.where]
        .filter((part) => part !== "").join("  ·  ").slice(0, NAME_SHOWN);
    } else {
      const whole = text[column.id];
      putMarked(cell, whole.length > NAME_SHOWN ? whole.slice(0, NAME_SHOWN) + "…" : whole);
      cell.title = (column.id === "name" && text.full || whole).slice(0, LINES_OF_NAME);
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
  const most = sumsOf(groups, state.source).reduce((a, b) => Math.max(a, b), 0);
  shown = { groups, order: sortedGroups(groups), at: -1, most };
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
  function: "functions", inline: "functions, with what they are inlined in", line: "lines", file: "files",
  image: "images", bucket: "buckets", process: "processes", thread: "threads", cpu: "processors",
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
    : `${count(order.length)} of ${count(all)} ${PLURAL[state.by]},` +
      ` ${percent(total > 0 ? hits / total : 0)} of the ${numbersOf(state.source)}`) + more;
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

// A function is shown in the flame graph, too.
function chooseByHand(i) {
  choose(i);
  if (flameData && shown.at === i && !WIDE_KINDS.has(state.by)) flame.showFunctionOf(state.chosen.best);
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
  state.chosen = { by, rows: members, first, best, fn: rows.outer[best], image: rows.image[best] };
  if (picture.image !== state.chosen.image) picture.setImage(state.chosen.image);
  picture.markChosen();
  picture.reveal();
  showChosen();
}

// Chooses the function of a row, in the table too if it shows functions or buckets.
function chooseFunctionOf(row) {
  const by = state.by === "inline" ? "inline" : "function";
  const groups = groupsBy(by);
  const group = groups.of[row];
  if (state.by === by || state.by === "bucket") {
    const wanted = state.by === by ? group : groupsBy("bucket").of[row];
    shown.at = shown.order.indexOf(wanted);
    if (shown.at >= 0) table.show(shown.at, true);
    table.draw(true);
  }
  setChosen(by, rowsOfGroup(groups, group), groups.first[group]);
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
