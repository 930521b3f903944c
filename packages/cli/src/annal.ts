#!/usr/bin/env node
// The entry of the command `annal`.
import { run } from './program.ts'
import { terminal } from './terminal.ts'

const exitCode = await run(process.argv.slice(2), terminal())
// A server that was started goes on and ends the process itself.
if (exitCode !== undefined) process.exitCode = exitCode
