/* SPDX-License-Identifier: MIT */
/* changes.js - of ntprof serve: what changed against the old selection. */

// Names of the functions that changed: as in the table; where several have one name and image, with the file.
function changeNames(changed) {
  const short = new Map(names.full.map((full, i) => [full, names.short[i]]));
  const times = new Map();
  const key = (row) => JSON.stringify([row.function, row.image]);
  for (const row of changed) times.set(key(row), (times.get(key(row)) || 0) + 1);
  return changed.map((row) => times.get(key(row)) > 1 && row.file !== ""
    ? `${row.function} (${lineText(row.file, row.line)})` : short.get(row.function) || row.function);
}

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
    const called = changeNames(source.rows);
    source.rows.forEach((row, i) => {
      const cells = make("tr");
      for (const text of [source.name, amount(row.old, source.unit), amount(row.new, source.unit),
        signed(row.change, source.unit), amount(row.error, source.unit), called[i], lastPart(row.image)]) {
        cells.append(make("td", "", text.slice(0, NAME_SHOWN)));
      }
      cells.children[5].title = row.function.slice(0, LINES_OF_NAME);
      $("changes-table").append(cells);
    });
  }
  $("changes-table").hidden = shown === 0;
  $("changes-facts").textContent = diff.sources.length === 0 ? "The old selection has no source that the new one has."
    : shown === 0 ? `No share changed by more than chance explains, of ${count(rest)} functions on either side.`
    : `What changed against the old selection, in shares of all hits; ${count(rest)} more ` +
      "functions are not shown, most of which chance explains.";
  $("changes").hidden = false;
}

showChanges();
