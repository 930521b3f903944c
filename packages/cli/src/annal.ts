#!/usr/bin/env node
// The entry point of the command `annal`.
import { exitCode as codes } from './exit-code.ts'
import { run } from './program.ts'
import { terminal } from './terminal.ts'

const exitCode = await run(process.argv.slice(2), terminal())
// A started server keeps running and ends the process itself.
if (exitCode !== undefined) process.exitCode = exitCode
// What an interrupted command still waits for would keep the process.
if (exitCode === codes.interrupted) process.exit()
