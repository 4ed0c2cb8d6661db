/* SPDX-License-Identifier: MIT */
/*
 * space.js - an image's addresses laid side by side without its large holes. A place in it is called u; it
 * begins with 0, and counts bytes.
 */
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
    const symbol = rows.outer[row];
    const u = us[row - image.firstRow];
    if (!run || symbol !== run.symbol || names.known[symbol] === 0) {
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
