/* SPDX-License-Identifier: MIT */
/*
 * flame_tree.js - the trees that the flame graph shows: who called whom (html_flame.h says how that is packed),
 * and reversed.
 *
 * A tree has its nodes in pre-order, of one caller those with the most hits first. A node's subtree is
 * [node, end[node]), and it begins left[node] hits from the left of the graph. Node 0 is all of it.
 */
const flameData = $("flame-data") ? JSON.parse($("flame-data").textContent) : null;
const flameFrames = flameData ? {
  short: flameData.frames.short,
  full: flameData.frames.full.map((full, i) => full || flameData.frames.short[i]),
  image: unpackSmall(flameData.frames.image, flameData.frames.count), // plus 1; 0: of none
} : null;
const FLAME_REST = -1; // frame of what has too few hits to be shown by itself
const FLAME_ALL = -2; // frame of node 0

/*
 * Lays a tree out: of nodes whose callers are before them, with their own hits. old has those of the profile that
 * is compared with, or is null; rest is how many functions are in nodes of frame FLAME_REST.
 */
function layFlameOut({ parent, frame, self, old, rest }) {
  const count = parent.length;
  const total = Float64Array.from(self);
  const oldTotal = old ? Float64Array.from(old) : null;
  const starts = new Uint32Array(count + 2);
  for (let i = count - 1; i > 0; i--) {
    total[parent[i]] += total[i];
    if (old) oldTotal[parent[i]] += oldTotal[i];
    starts[parent[i] + 2]++;
  }
  for (let i = 2; i < count + 2; i++) starts[i] += starts[i - 1];
  const children = new Uint32Array(Math.max(0, count - 1));
  for (let i = 1; i < count; i++) children[starts[parent[i] + 1]++] = i;
  const isRest = (node) => frame[node] === FLAME_REST ? 1 : 0;
  const before = (a, b) => isRest(a) - isRest(b) || total[b] - total[a] || a - b;
  const tree = {
    count, frame: new Int32Array(count), parent: new Uint32Array(count), depth: new Uint16Array(count),
    end: new Uint32Array(count), self: new Float64Array(count), total: new Float64Array(count),
    left: new Float64Array(count), rest: new Uint32Array(count),
    old: old ? new Float64Array(count) : null, oldSelf: old ? new Float64Array(count) : null,
  };
  const number = new Uint32Array(count); // of each node, in pre-order
  const waiting = [0];
  for (let at = 0; waiting.length > 0; at++) {
    const node = waiting.pop();
    number[node] = at;
    tree.frame[at] = frame[node];
    tree.self[at] = self[node];
    tree.total[at] = total[node];
    if (rest) tree.rest[at] = rest[node];
    if (old) [tree.old[at], tree.oldSelf[at]] = [oldTotal[node], old[node]];
    if (node > 0) {
      tree.parent[at] = number[parent[node]];
      tree.depth[at] = tree.depth[tree.parent[at]] + 1;
    }
    const mine = children.subarray(starts[node], starts[node + 1]);
    if (mine.length > 1) mine.sort(before);
    for (let i = mine.length - 1; i >= 0; i--) waiting.push(mine[i]);
  }
  for (let i = count - 1; i > 0; i--) {
    tree.end[i] = Math.max(tree.end[i], i + 1);
    tree.end[tree.parent[i]] = Math.max(tree.end[tree.parent[i]], tree.end[i]);
  }
  tree.end[0] = count;
  for (let i = 0; i < count; i++) {
    let left = tree.left[i];
    for (let child = i + 1; child < tree.end[i]; child = tree.end[child]) {
      tree.left[child] = left;
      left += tree.total[child];
    }
  }
  return tree;
}

const flameTrees = []; // by source
function flameTree(source) {
  if (!flameTrees[source]) {
    const packed = flameData.trees[source];
    const frame = Int32Array.from(unpack(packed.frame, packed.count), (number) => number - 1);
    frame[0] = FLAME_ALL;
    flameTrees[source] = layFlameOut({
      parent: unpackSmall(packed.up, packed.count).map((up, i) => i - up),
      frame,
      self: unpack(packed.self, packed.count),
      old: packed.old ? unpack(packed.old, packed.count) : null,
      rest: unpackSmall(packed.rest, packed.count),
    });
  }
  return flameTrees[source];
}

// The outermost nodes of a function: a stack that has it several times counts once.
function flameNodesOf(tree, frame) {
  const nodes = [];
  for (let node = 1; node < tree.count;) {
    if (tree.frame[node] === frame) {
      nodes.push(node);
      node = tree.end[node];
    } else {
      node++;
    }
  }
  return nodes;
}

// Nodes that are added one by one, for layFlameOut.
function newFlameNodes(frame) {
  return { parent: [0], frame: [frame], self: [0], old: [0], rest: [0] };
}

function addFlameNode(nodes, parent, frame, rest) {
  nodes.parent.push(parent);
  nodes.frame.push(frame);
  nodes.rest.push(rest);
  nodes.self.push(0);
  nodes.old.push(0);
  return nodes.parent.length - 1;
}

// Stacks at nodes of a tree, with hits of theirs; old has those of the profile that is compared with.
function flameStacks(tree, nodes, up, hits, old) {
  return {
    at: Uint32Array.from(nodes, up ? (node) => tree.parent[node] : undefined),
    hits: Float64Array.from(nodes, (node) => hits[node]),
    old: tree.old ? Float64Array.from(nodes, (node) => old[node]) : null,
  };
}

// Stacks by the functions that they are at: Map of frame to the indexes of these stacks.
function groupFlameStacks(tree, { at }) {
  const groups = new Map();
  for (let i = 0; i < at.length; i++) {
    const frame = tree.frame[at[i]];
    const group = groups.get(frame);
    if (group) group.push(i);
    else groups.set(frame, [i]);
  }
  return groups;
}

/*
 * Reverses a tree: of a function, the functions that called it; of all (null), each function with its own hits. What
 * has less than a share of them all is one node for each caller.
 */
function reverseFlame(tree, of, least) {
  const nodes = newFlameNodes(of === null ? FLAME_ALL : of);
  const sum = (numbers, group) => numbers ? group.reduce((all, i) => all + numbers[i], 0) : 0;
  let starts = [];
  if (of === null) {
    for (let node = 1; node < tree.count; node++) {
      if (tree.self[node] > 0 || (tree.old && tree.oldSelf[node] > 0)) starts.push(node);
    }
    starts = flameStacks(tree, starts, false, tree.self, tree.oldSelf);
  } else {
    starts = flameStacks(tree, flameNodesOf(tree, of), true, tree.total, tree.old);
  }
  const waiting = [[0, starts]];
  while (waiting.length > 0) {
    const [node, stacks] = waiting.pop();
    let rest = -1; // the node of what is too little
    for (const [frame, group] of groupFlameStacks(tree, stacks)) {
      const hits = sum(stacks.hits, group);
      const old = sum(stacks.old, group);
      let into = node; // nobody called these
      if (frame >= 0 && (hits >= least * tree.total[0] || (tree.old && old >= least * tree.old[0]))) {
        waiting.push([addFlameNode(nodes, node, frame, 0), {
          at: Uint32Array.from(group, (i) => tree.parent[stacks.at[i]]),
          hits: Float64Array.from(group, (i) => stacks.hits[i]),
          old: stacks.old ? Float64Array.from(group, (i) => stacks.old[i]) : null,
        }]);
        continue;
      } else if (frame !== FLAME_ALL) {
        if (rest < 0) rest = addFlameNode(nodes, node, FLAME_REST, 0);
        into = rest;
        nodes.rest[rest] += frame === FLAME_REST ? group.reduce((all, i) => all + tree.rest[stacks.at[i]], 0) : 1;
      }
      nodes.self[into] += hits;
      nodes.old[into] += old;
    }
  }
  if (!tree.old) nodes.old = null;
  return layFlameOut(nodes);
}
