/* SPDX-License-Identifier: MIT */
/* no_flame.js - in place of the flame graph: stores have no stacks. */
const flameData = null;
