// SPDX-License-Identifier: MIT
// Work in code that node made, in its own functions and in its C++: node_work.js ROUNDS.
function mix(values) {
    let sum = 0;
    for (const value of values) {
        sum = (sum * 31 + value) % 1000003;
    }
    return sum;
}

let state = 1;
let sum = 0;
for (let round = 0; round < Number(process.argv[2]); round++) {
    const values = Array.from({length: 500}, () => state = state * 48271 % 2147483647);
    const records = values.map((value, at) => ({at, value, text: `row ${value % 977}`}));
    records.sort((a, b) => a.value - b.value);
    const text = JSON.stringify(records);
    sum = (sum + mix(JSON.parse(text).map((record) => record.value)) + text.split("row 1").length) % 1000003;
}
