// SPDX-License-Identifier: MIT

//go:build rivals

package peers

import (
	"runtime"
	"sort"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/snowflake"
	"github.com/muyo/sno"
	"github.com/sony/sonyflake"
)

// IDs of layouts with few of them in a unit: bursts that fit in one, each begun in a new one.
func measurePaced[ID comparable](b *testing.B, burst int, unit time.Duration, draw func() ID) {
	const most = 300 * time.Millisecond
	threads := runtime.GOMAXPROCS(0)
	bursts := b.N*threads/burst + 1
	if limit := int(most / unit); bursts > limit {
		bursts = limit
	}
	each := burst / threads
	ids, took := make([][]ID, threads), make([][]float64, threads)
	var arrived, done int64
	meet := func() {
		before := atomic.AddInt64(&arrived, 1) - 1
		for atomic.LoadInt64(&arrived) < (before/int64(threads)+1)*int64(threads) {
		}
	}
	for t := range ids {
		ids[t] = make([]ID, bursts*each)
		go func(t int) {
			runtime.LockOSThread()
			for i := 0; i < bursts; i++ {
				for now := time.Now().UnixNano() / int64(unit); time.Now().UnixNano()/int64(unit) == now; {
				}
				meet()
				began := time.Now()
				for k := i * each; k < (i+1)*each; k++ {
					ids[t][k] = draw()
				}
				took[t] = append(took[t], float64(time.Since(began))/float64(each))
			}
			atomic.AddInt64(&done, 1)
		}(t)
	}
	for atomic.LoadInt64(&done) < int64(threads) {
		time.Sleep(time.Millisecond)
	}
	seen, ns := make(map[ID]struct{}), 0.0
	for t := range ids {
		sort.Float64s(took[t])
		ns += took[t][bursts/2] / float64(threads)
		for _, id := range ids[t] {
			seen[id] = struct{}{}
		}
	}
	b.ReportMetric(ns, "ns/op")
	b.ReportMetric(float64(threads*bursts*each), "ids")
	b.ReportMetric(float64(threads*bursts*each-len(seen)), "duplicates")
}

func BenchmarkSno(b *testing.B) {
	generator, err := sno.NewGenerator(nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	measurePaced(b, 8192, 4*time.Millisecond, func() sno.ID { return generator.New(42) })
}

func BenchmarkSnowflake(b *testing.B) {
	node, err := snowflake.NewNode(7)
	if err != nil {
		b.Fatal(err)
	}
	measurePaced(b, 1024, time.Millisecond, node.Generate)
}

func BenchmarkSonyflake(b *testing.B) {
	generator, err := sonyflake.New(sonyflake.Settings{MachineID: func() (uint16, error) { return 7, nil }})
	if err != nil {
		b.Fatal(err)
	}
	measurePaced(b, 128, 10*time.Millisecond, func() uint64 {
		id, err := generator.NextID()
		if err != nil {
			b.Error(err)
		}
		return id
	})
}
