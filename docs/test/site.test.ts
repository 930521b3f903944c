// The site builds without a network, and all of its links have targets.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import tap, { test } from 'tap'

const build = fileURLToPath(new URL('../scripts/build.ts', import.meta.url))

// A loaded machine is slow.
tap.setTimeout(900_000)

test('every page is built, every link and anchor has a target, and no page loads from another host', {
  timeout: 600_000,
}, async (t) => {
  const args = ['--conditions=annal-source', build]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 })
  const [, pages, links, faults] = /docs: (\d+) pages, (\d+) links, (\d+) faults/.exec(stdout) ?? []
  t.equal(faults, '0')
  t.ok(Number(pages) > 50, `${pages} pages`)
  t.ok(Number(links) > 1_000, `${links} links`)
})
