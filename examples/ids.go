// SPDX-License-Identifier: MIT

// When a Go program needs IDs of flake.h and sno.h: by cgo. Copy the two headers beside your file: cgo compiles them in, so
// there is no library to build, to find at run time, or to ship.
//
// Goroutines may share a generator. It is in C's memory, since it must never move. A draw that waits blocks its
// thread for a millisecond or so; other goroutines continue.
package main

/*
#define FLAKE_SHARED
#define FLAKE_IMPLEMENTATION // in one file of a program
#include "sno.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"log"
	"time"
	"unsafe"
)

// A Generator of 64-bit IDs.
type Generator struct{ gen *C.flake_gen }

// NewGenerator makes one of a configuration, such as "twitter node=0-99 dir=/var/lib/app". Its words are in
// flake.h, at flake_config.
func NewGenerator(config string) (*Generator, error) {
	var why C.flake_why
	text := C.CString(config)
	defer C.free(unsafe.Pointer(text))
	gen := C.flake_new(text, &why)
	if gen == nil {
		return nil, errors.New(C.GoString(&why.text[0]))
	}
	return &Generator{gen}, nil
}

// Close frees its number. No goroutine may use it any more.
func (g *Generator) Close() error {
	var why C.flake_why
	gen := g.gen
	g.gen = nil
	if C.flake_free(gen, &why) != C.FLAKE_OK {
		return errors.New(C.GoString(&why.text[0]))
	}
	return nil
}

// Decode tells when and by which node an ID was made.
func (g *Generator) Decode(id uint64) (made time.Time, node uint64, err error) {
	if g.gen == nil {
		return made, 0, errClosed
	}
	var parts C.flake_parts
	layout := &C.flake_gen_options(g.gen).layout
	err = flakeError(C.flake_decompose(layout, C.uint64_t(id), &parts))
	return time.UnixMilli(int64(parts.unix_ms)), uint64(parts.node), err
}

// DecodeAs does the same with an ID of another layout, by its name: "twitter", "sonyflake", "hazelcast" ...
func DecodeAs(layout string, id uint64) (made time.Time, node uint64, err error) {
	var l C.flake_layout
	var parts C.flake_parts
	name := C.CString(layout)
	defer C.free(unsafe.Pointer(name))
	if err = flakeError(C.flake_layout_named(name, &l)); err == nil {
		err = flakeError(C.flake_decompose(&l, C.uint64_t(id), &parts))
	}
	return time.UnixMilli(int64(parts.unix_ms)), uint64(parts.node), err
}

func (g *Generator) Next() (uint64, error) {
	if g.gen == nil {
		return 0, errClosed
	}
	var id C.uint64_t
	err := flakeError(C.flake_next(g.gen, &id))
	return uint64(id), err
}

func (g *Generator) NextN(n int) ([]uint64, error) {
	if g.gen == nil {
		return nil, errClosed
	}
	ids := make([]uint64, n+1) // one more, so that there is a first one
	err := flakeError(C.flake_next_n(g.gen, (*C.uint64_t)(&ids[0]), C.size_t(n)))
	return ids[:n], err
}

var errClosed = flakeError(C.FLAKE_CLOSED)

func flakeError(status C.flake_status) error {
	if status == C.FLAKE_OK {
		return nil
	}
	return errors.New(C.GoString(C.flake_status_str(status)))
}

// UUID7 is greater than all that it returned before in this process.
func UUID7() (string, error) {
	var text [37]C.char
	err := flakeError(C.flake_uuid7(&text[0]))
	return C.GoString(&text[0]), err
}

// A SnoGenerator of 80-bit IDs, here as texts. Those that run at once need different nodes.
type SnoGenerator struct{ gen *C.sno_gen }

func NewSnoGenerator(config string) (*SnoGenerator, error) {
	var why C.flake_why
	text := C.CString(config)
	defer C.free(unsafe.Pointer(text))
	gen := C.sno_gen_new(text, &why)
	if gen == nil {
		return nil, errors.New(C.GoString(&why.text[0]))
	}
	return &SnoGenerator{gen}, nil
}

func (g *SnoGenerator) Close() error {
	var why C.flake_why
	gen := g.gen
	g.gen = nil
	if C.sno_gen_free(gen, &why) != C.FLAKE_OK {
		return errors.New(C.GoString(&why.text[0]))
	}
	return nil
}

func (g *SnoGenerator) Next(meta uint8) (string, error) {
	if g.gen == nil {
		return "", errClosed
	}
	var id C.sno_id
	var text [16]C.char
	err := flakeError(C.sno_next_n(g.gen, C.uint8_t(meta), &id, 1))
	C.sno_encode(id, &text[0])
	return C.GoStringN(&text[0], 16), err
}

func main() {
	ids, err := NewGenerator("twitter node=7 dir=none")
	must(err)
	id, err := ids.Next()
	must(err)
	fmt.Println("flake", id)
	made, node, err := ids.Decode(id)
	must(err)
	fmt.Println("made", made.UTC().Format(time.RFC3339), "by node", node)
	made, node, err = DecodeAs("idgen", 5828128208445124608)
	must(err)
	if made.UnixMilli() != 1389534046279 || node != 227 {
		log.Fatal("not what flake-idgen made")
	}
	uuid, err := UUID7()
	must(err)
	fmt.Println("uuid7", uuid)
	// Bits of time, node and sequence of your own, in units of 10 ms since 2020.
	own, err := NewGenerator("layout=39-8-16 unit_ms=10 epoch_ms=1577836800000 node=200 dir=none")
	must(err)
	id, err = own.Next()
	must(err)
	made, node, err = own.Decode(id)
	must(err)
	fmt.Println("own", id, "of", made.UnixMilli(), "by node", node)
	must(own.Close())
	snos, err := NewSnoGenerator("node=7 dir=none")
	must(err)
	sno, err := snos.Next(42)
	must(err)
	fmt.Println("sno", sno)

	all := make([]uint64, 0, 2_400_000)
	begin := time.Now()
	for len(all) < 1_000_000 {
		id, err := ids.Next()
		must(err)
		all = append(all, id)
	}
	fmt.Printf("one by one: %.0f ids/s\n", 1e6/time.Since(begin).Seconds())
	begin = time.Now()
	for len(all) < 2_000_000 {
		batch, err := ids.NextN(1000)
		must(err)
		all = append(all, batch...)
	}
	fmt.Printf("in batches: %.0f ids/s\n", 1e6/time.Since(begin).Seconds())
	batches := make(chan []uint64)
	for i := 0; i < 4; i++ {
		go func() {
			for i := 0; i < 100; i++ {
				batch, err := ids.NextN(1000)
				must(err)
				batches <- batch
			}
		}()
	}
	for i := 0; i < 400; i++ {
		all = append(all, <-batches...)
	}
	seen := make(map[uint64]struct{}, len(all))
	for _, id := range all {
		seen[id] = struct{}{}
	}
	if len(seen) != 2_400_000 {
		log.Fatal("an id came twice")
	}
	fmt.Println("4 threads: 2400000 ids, all differ")

	for _, config := range []string{"twitter node=99999 dir=none", "twitte", "twitter"} {
		if _, err = NewGenerator(config); err == nil {
			log.Fatal("not refused: ", config)
		}
		fmt.Println("refused:", err)
	}
	if _, err = NewSnoGenerator("node=65536 dir=none"); err == nil {
		log.Fatal("node 65536 was not refused")
	}
	fmt.Println("refused:", err)
	if _, err = own.Next(); err == nil || own.Close() != nil {
		log.Fatal("a closed generator draws, or closes no second time")
	}
	fmt.Println("refused:", err)
	must(ids.Close())
	must(snos.Close())
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
