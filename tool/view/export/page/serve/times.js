/* SPDX-License-Identifier: MIT */
/*
 * times.js - of ntprof serve: times as people read them, in the browser's zone. The server's are of UTC, as
 * 2026-11-23T10:30:15Z, and so are those that it gets.
 */
const UTC_TIME = /^\d+-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const LOCAL_TIME = /^(\d{4})-(\d\d?)-(\d\d?)(?:[T ]+(\d\d?):(\d\d)(?::(\d\d))?)?$/;

// Two times of UTC as one text; the zone is that of the second one.
function rangeText(since, until) {
  const [from, to] = [new Date(since), new Date(until)];
  const end = dateOf(from) === dateOf(to) ? clockOf(to) : `${dateOf(to)} ${clockOf(to)}`;
  return `${dateOf(from)} ${clockOf(from)} to ${end} (${zoneText(to)})`;
}

// A time of UTC as the fields have it; other texts, as 15m, stay.
function localText(text) {
  const date = UTC_TIME.test(text) ? new Date(text) : null;
  return date && !Number.isNaN(date.getTime()) ? `${dateOf(date)} ${clockOf(date)}` : text;
}

// And back.
function utcText(text) {
  const match = LOCAL_TIME.exec(text.trim());
  if (!match) return text;
  const [year, month, day, hour, minute, second] = match.slice(1).map((digits) => Number(digits || 0));
  const date = new Date(year, month - 1, day, hour, minute, second);
  // What Date corrects, as February 30, is for the server to refuse.
  const right = date.getMonth() === month - 1 && date.getDate() === day && hour < 24 && minute < 60 && second < 60;
  return right ? date.toISOString().slice(0, 19) + "Z" : text;
}

/* ---- ticks ---- */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY_S = 86400;
// How far ticks may be apart: seconds that divide a day, days, months.
const STEPS = [
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200].map((n) => ["s", n, n]),
  ...[1, 2, 7].map((n) => ["d", n, n * DAY_S]),
  ...[1, 3, 6, 12, 24, 60, 120, 240, 600, 1200].map((n) => ["m", n, n * 30 * DAY_S]),
];

// The tick number i from the one at or before a date. Date carries over what is more than a day or a month.
function tickOf(date, [unit, n], i) {
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
  if (unit === "s") {
    const passed = date.getHours() * 3600 + date.getMinutes() * 60 + date.getSeconds();
    return new Date(year, month, day, 0, 0, (Math.floor(passed / n) + i) * n);
  }
  if (unit === "d") {
    const number = Date.UTC(year, month, day) / (DAY_S * 1000) + 3; // Mondays are multiples of 7
    return new Date(year, month, day - number % n + i * n);
  }
  const months = year * 12 + month;
  return new Date(0, months - months % n + i * n - 1900 * 12);
}

function tickText(date, [unit, n]) {
  const start = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
  const [year, month] = [date.getFullYear(), MONTHS[date.getMonth()]];
  if (unit === "m") return n % 12 === 0 ? String(year) : `${month} ${year}`;
  if (unit === "d" || start) return `${month} ${date.getDate()}`;
  return clockOf(date).slice(0, n < 60 ? 8 : 5);
}

/* Round times of the browser's zone from since to until, in milliseconds, most of them [time, text]. Where clocks are
 * set forward or back one may be missing; none is there twice. */
function ticksOf(since, until, most) {
  const step = STEPS.find(([, , seconds]) => (until - since) / 1000 / seconds <= most) || STEPS[STEPS.length - 1];
  const ticks = [];
  for (let i = 0, last = since - 1; i < 4 * most + 4 && last <= until; i++) {
    const date = tickOf(new Date(since), step, i);
    if (date.getTime() > last && date.getTime() <= until) ticks.push([date.getTime(), tickText(date, step)]);
    last = Math.max(last, date.getTime());
  }
  return ticks;
}
