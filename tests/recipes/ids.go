// SPDX-License-Identifier: MIT

// Ids of flake.h and sno.h in Go, by cgo. Copy the two headers beside your file: cgo compiles them in, so
// there is no library to build, to find at run time, or to ship.
//
// Goroutines may share a generator. It lies in C's memory, since it must never move and Go promises that of
// none of its own. A draw that waits blocks its thread for a millisecond or so; other goroutines go on.
package main

/*
#include <stdlib.h>
#include "flake.h"
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

// A Generator of 64-bit ids lasts as long as the program.
type Generator struct{ gen *C.flake_gen }

// NewGenerator makes one of Twitter's layout; flake.h lists layouts and options.
func NewGenerator(node uint32) (*Generator, error) {
	options := C.flake_options{layout: C.flake_layout_twitter(), node: C.uint32_t(node)}
	if why := C.flake_options_why(&options); why != nil {
		return nil, errors.New(C.GoString(why))
	}
	gen := (*C.flake_gen)(C.calloc(1, C.sizeof_flake_gen))
	if err := flakeError(C.flake_init(gen, &options)); err != nil {
		C.free(unsafe.Pointer(gen))
		return nil, err
	}
	return &Generator{gen}, nil
}

func (g *Generator) Next() (uint64, error) {
	var id C.uint64_t
	err := flakeError(C.flake_next(g.gen, &id))
	return uint64(id), err
}

func (g *Generator) NextN(n int) ([]uint64, error) {
	ids := make([]uint64, n+1) // one more, so that there is a first one
	err := flakeError(C.flake_next_n(g.gen, (*C.uint64_t)(&ids[0]), C.size_t(n)))
	return ids[:n], err
}

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

// A SnoGenerator of 80-bit ids, here as texts. Those that run at once need partitions of their own.
type SnoGenerator struct{ gen *C.sno_gen }

func NewSnoGenerator(partition uint16) (*SnoGenerator, error) {
	var why C.flake_why
	snapshot := C.sno_snapshot{partition: C.uint16_t(partition)}
	gen := (*C.sno_gen)(C.calloc(1, C.sizeof_sno_gen))
	if C.sno_init(gen, &snapshot, nil, &why) != C.FLAKE_OK {
		C.free(unsafe.Pointer(gen))
		return nil, errors.New(C.GoString(&why.text[0]))
	}
	return &SnoGenerator{gen}, nil
}

func (g *SnoGenerator) Next(meta uint8) (string, error) {
	var id C.sno_id
	var text [16]C.char
	err := flakeError(C.sno_next_n(g.gen, C.uint8_t(meta), &id, 1))
	C.sno_encode(id, &text[0])
	return C.GoStringN(&text[0], 16), err
}

func main() {
	ids, err := NewGenerator(7)
	must(err)
	id, err := ids.Next()
	must(err)
	fmt.Println("flake", id)
	uuid, err := UUID7()
	must(err)
	fmt.Println("uuid7", uuid)
	snos, err := NewSnoGenerator(7)
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

	if _, err = NewGenerator(99999); err == nil {
		log.Fatal("node 99999 was not refused")
	}
	fmt.Println("refused:", err)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
