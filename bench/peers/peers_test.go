// SPDX-License-Identifier: MIT

// Ids of Go libraries, timed, and checked outside the timed part. Tags select those that are installed.
package peers

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// One call: numbers that all threads take from one counter, before it and after it, and what it returned.
type numbered[ID any] struct {
	began, ended int64
	id           ID
	before       *numbered[ID] // with the greatest id that had been returned when it began
}

// How many ids are not greater than the one before of their thread, and how many than one that any thread had
// returned before their call began. Untimed.
func tryOrder[ID any](b *testing.B, draw func() ID, compare func(a, b ID) int) {
	const each = 1024
	threads := runtime.GOMAXPROCS(0)
	calls := make([][]numbered[ID], threads)
	var numbers int64
	var begin, end sync.WaitGroup
	begin.Add(1)
	end.Add(threads)
	for t := range calls {
		calls[t] = make([]numbered[ID], each)
		go func(calls []numbered[ID]) {
			runtime.LockOSThread()
			begin.Wait()
			for i := range calls {
				calls[i].began = atomic.AddInt64(&numbers, 1) - 1
				calls[i].id = draw()
				calls[i].ended = atomic.AddInt64(&numbers, 1) - 1
			}
			end.Done()
		}(calls[t])
	}
	begin.Done()
	end.Wait()
	falls, across := 0, 0
	at := make([]*numbered[ID], numbers)
	for t := range calls {
		for i := range calls[t] {
			c := &calls[t][i]
			at[c.began], at[c.ended] = c, c
			if i > 0 && compare(calls[t][i-1].id, c.id) >= 0 {
				falls++
			}
		}
	}
	var newest *numbered[ID]
	for i, c := range at {
		if c.began == int64(i) {
			c.before = newest
			continue
		}
		if c.before != nil && compare(c.before.id, c.id) >= 0 {
			across++
		}
		if newest == nil || compare(newest.id, c.id) < 0 {
			newest = c
		}
	}
	b.ReportMetric(float64(falls), "falls")
	b.ReportMetric(float64(across), "falls_across")
}

// As measure, and whether they rise.
func measureOrder[ID comparable](b *testing.B, draw func() ID, compare func(a, b ID) int) {
	measure(b, draw)
	tryOrder(b, draw, compare)
}

// Draws b.N ids on each of the threads, and counts those that came before.
func measure[ID comparable](b *testing.B, draw func() ID) {
	threads := runtime.GOMAXPROCS(0)
	kept := make([][]ID, threads)
	for t := range kept {
		kept[t] = make([]ID, b.N)
		for i := 0; i < b.N; i++ { // touched, so that no page fault is timed
			kept[t][i] = *new(ID)
		}
	}
	var begin, end sync.WaitGroup
	begin.Add(1)
	end.Add(threads)
	for t := range kept {
		go func(ids []ID) {
			runtime.LockOSThread()
			begin.Wait()
			for i := range ids {
				ids[i] = draw()
			}
			end.Done()
		}(kept[t])
	}
	b.ResetTimer()
	begin.Done()
	end.Wait()
	b.StopTimer()
	seen := make(map[ID]struct{}, threads*b.N)
	for _, ids := range kept {
		for _, id := range ids {
			seen[id] = struct{}{}
		}
	}
	b.ReportMetric(float64(threads*b.N), "ids")
	b.ReportMetric(float64(threads*b.N-len(seen)), "duplicates")
}

// The floor in this language: one reading of the clock.
func BenchmarkClock(b *testing.B) {
	var latest int64
	for i := 0; i < b.N; i++ {
		latest |= time.Now().UnixNano()
	}
	if bits.OnesCount64(uint64(latest)) == 0 {
		b.Fatal("the clock stands at 0")
	}
}

// Trials of what reports: each id twice, ids that fall, and a peer that dies.
func BenchmarkTrialRepeats(b *testing.B) {
	var drawn int64
	measure(b, func() int64 { return (atomic.AddInt64(&drawn, 1) - 1) / 2 })
}
func BenchmarkTrialFalls(b *testing.B) {
	var drawn int64
	measureOrder(b, func() int64 { return atomic.AddInt64(&drawn, -1) }, func(a, b int64) int {
		if a < b {
			return -1
		}
		return 1
	})
}
func BenchmarkTrialDies(b *testing.B) { panic("this trial dies") }
