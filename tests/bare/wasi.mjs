// SPDX-License-Identifier: MIT
//
// node --no-warnings wasi.mjs PROGRAM.wasm [ARGUMENT...]   runs a WASI program, with no folder to look at.
import { readFileSync } from 'node:fs'
import { WASI } from 'node:wasi'

const wasi = new WASI({ version: 'preview1', args: process.argv.slice(2), returnOnExit: true })
const module = await WebAssembly.compile(readFileSync(process.argv[2]))
process.exit(wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject())))
