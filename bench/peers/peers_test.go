// SPDX-License-Identifier: MIT

// Ids of the packaged Go libraries, timed, and checked outside the timed part.
package peers

import (
	"crypto/rand"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gofrs "github.com/gofrs/uuid"
	"github.com/google/uuid"
	"github.com/oklog/ulid"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
)

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

func BenchmarkXid(b *testing.B)    { measure(b, xid.New) }
func BenchmarkKsuid(b *testing.B)  { measure(b, ksuid.New) }
func BenchmarkUuidV4(b *testing.B) { measure(b, uuid.New) }
func BenchmarkUuidV1(b *testing.B) { measure(b, func() uuid.UUID { return uuid.Must(uuid.NewUUID()) }) }
func BenchmarkUuidV7(b *testing.B) {
	measure(b, func() gofrs.UUID { return gofrs.Must(gofrs.NewV7()) })
}
func BenchmarkUlid(b *testing.B) {
	measure(b, func() ulid.ULID { return ulid.MustNew(ulid.Timestamp(time.Now()), rand.Reader) })
}

// Ids that rise within a millisecond, which this library gives one thread at a time.
func BenchmarkUlidMonotonic(b *testing.B) {
	var lock sync.Mutex
	entropy := ulid.Monotonic(rand.Reader, 0)
	measure(b, func() ulid.ULID {
		lock.Lock()
		defer lock.Unlock()
		return ulid.MustNew(ulid.Timestamp(time.Now()), entropy)
	})
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

func BenchmarkXidString(b *testing.B) {
	id, length := xid.New(), 0
	for i := 0; i < b.N; i++ {
		length += len(id.String())
	}
	if length != 20*b.N {
		b.Fatal("a text of another length")
	}
}

func BenchmarkKsuidString(b *testing.B) {
	id, length := ksuid.New(), 0
	for i := 0; i < b.N; i++ {
		length += len(id.String())
	}
	if length != 27*b.N {
		b.Fatal("a text of another length")
	}
}

// Trials of what reports: each id twice, and a peer that dies.
func BenchmarkTrialRepeats(b *testing.B) {
	var drawn int64
	measure(b, func() int64 { return (atomic.AddInt64(&drawn, 1) - 1) / 2 })
}
func BenchmarkTrialDies(b *testing.B) { panic("this trial dies") }
