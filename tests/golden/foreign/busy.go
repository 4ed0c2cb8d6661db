// SPDX-License-Identifier: MIT
// Burns processor time in functions that are inlined and in ones that are not.
package main

import (
	"os"
	"runtime/pprof"
	"sort"
)

func square(x uint64) uint64 { return x*x + 7 }

//go:noinline
func mix(n uint64) uint64 {
	sum := uint64(1)
	for i := uint64(0); i < n; i++ {
		sum ^= square(sum + i)
	}
	return sum
}

//go:noinline
func order(n int) int {
	values := make([]int, n)
	for i := range values {
		values[i] = int(mix(20)+uint64(i*7919)) % 10007
	}
	sort.Ints(values)
	return values[n/2]
}

func main() {
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		panic(err)
	}
	total := uint64(0)
	for i := 0; i < 12; i++ {
		total += mix(30000000) + uint64(order(60000))
	}
	pprof.StopCPUProfile()
	file.Close()
	if total == 0 {
		os.Exit(3)
	}
}
