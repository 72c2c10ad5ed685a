// SPDX-License-Identifier: MIT

//go:build packages

package peers

import (
	"bytes"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	gofrs "github.com/gofrs/uuid"
	"github.com/google/uuid"
	"github.com/oklog/ulid"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
)

func BenchmarkXid(b *testing.B)    { measure(b, xid.New) }
func BenchmarkKsuid(b *testing.B)  { measure(b, ksuid.New) }
func BenchmarkUuidV4(b *testing.B) { measure(b, uuid.New) }
func BenchmarkUuidV1(b *testing.B) { measure(b, func() uuid.UUID { return uuid.Must(uuid.NewUUID()) }) }
func BenchmarkUuidV7(b *testing.B) {
	measureOrder(b, func() gofrs.UUID { return gofrs.Must(gofrs.NewV7()) },
		func(a, b gofrs.UUID) int { return bytes.Compare(a[:], b[:]) })
}
func BenchmarkUlid(b *testing.B) {
	measureOrder(b, func() ulid.ULID { return ulid.MustNew(ulid.Timestamp(time.Now()), rand.Reader) },
		ulid.ULID.Compare)
}

// Ids that rise within a millisecond, which this library gives one thread at a time.
func BenchmarkUlidMonotonic(b *testing.B) {
	var lock sync.Mutex
	entropy := ulid.Monotonic(rand.Reader, 0)
	measureOrder(b, func() ulid.ULID {
		lock.Lock()
		defer lock.Unlock()
		return ulid.MustNew(ulid.Timestamp(time.Now()), entropy)
	}, ulid.ULID.Compare)
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
