// SPDX-License-Identifier: MIT

//go:build google_v7

package peers

import (
	"bytes"
	"testing"

	"github.com/google/uuid"
)

// From version 1.6 on.
func BenchmarkGoogleUuidV7(b *testing.B) {
	measureOrder(b, func() uuid.UUID { return uuid.Must(uuid.NewV7()) },
		func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}
