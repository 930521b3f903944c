// Loaded before a test file: if a test times out, or the file takes longer than the runner allows (ANNAL_FILE_SECONDS), stderr says where its
// functions wait. A file that takes longer ends then, and tap names the tests that did not.
import { writeSync } from 'node:fs'
import { createRequire } from 'node:module'

const timedOut = /^ *not ok \d+ - timeout!/m
const { ANNAL_FILE_SECONDS } = process.env

const { write } = process.stdout
// tap writes the line while the test still waits.
process.stdout.write = (text, ...rest) => {
  if (timedOut.test(text)) describe('a test timed out')
  return write.call(process.stdout, text, ...rest)
}
if (ANNAL_FILE_SECONDS !== undefined) setTimeout(end, Number(ANNAL_FILE_SECONDS) * 1_000).unref()

function end() {
  describe('the file takes too long')
  process.exit(1)
}

function describe(what) {
  // Not loaded with every file.
  const { pendingAwaits } = createRequire(import.meta.url)('./pending-awaits.mjs')
  const lines = pendingAwaits()
  const where =
    lines.length > 0 ? lines.map((line) => `  ${line}`) : ['  nowhere: nothing is left that could resume it']
  writeSync(2, [`${what}, and waits here:`, ...where, ''].join('\n'))
}
