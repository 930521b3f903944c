#!/usr/bin/env node
// The command `annal-wal` as npm links it. It runs the built code. Plain JavaScript for Node.js 20, because it must be able to report the
// required version, as `annal` does.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major > 22 || (major === 22 && minor >= 12)) await import('../dist/annal-wal.js')
else {
  console.error(`annal-wal: Annal needs Node.js 22.12.0 or newer, and this process runs on ${process.versions.node}`)
  process.exitCode = 78
}
