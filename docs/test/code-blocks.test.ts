// Runs every command and every program of README, the guides, and the packages' pages, and compares their output with the page.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import tap, { test } from 'tap'
import { commandScript } from '../../packages/server/test/programs.ts'
import { stepsOf } from './code-blocks.ts'
import { elsewhere, leftOut, pages, pythonWith, runPage, toRun } from './run-page.ts'

// The limit of the whole file; a loaded machine is slow.
tap.setTimeout(900_000)

const house = fileURLToPath(new URL('../../', import.meta.url))
const python = pythonWith('requests', 'msgpack', 'httpx')

for (const page of pages.filter((page) => elsewhere[page] === undefined)) {
  const steps = toRun(page)
  if (steps.length === 0) continue
  const isPython = steps.some(({ language }) => language === 'python')
  const skip = isPython && python === undefined ? 'needs python3-requests python3-msgpack python3-httpx' : false
  test(`${page}: ${steps.length} blocks`, { skip, timeout: 300_000 }, async (t) => {
    const bin = mkdtempSync(path.join(os.tmpdir(), 'annal-docs-bin-'))
    t.teardown(() => rmSync(bin, { recursive: true, force: true }))
    const command = path.join(bin, 'annal')
    writeFileSync(command, commandScript)
    chmodSync(command, 0o755)
    const sources = {
      ...{ node: `${process.execPath} --conditions=annal-source`, python: python ?? 'python3' },
      path: [bin, path.dirname(process.execPath)],
      modules: path.join(house, 'node_modules'),
      pythonPath: path.join(house, 'packages/client-python/src'),
    }
    t.same(await runPage(steps, sources), [])
  })
}

test('what is left out is there', async (t) => {
  for (const [page, runner] of Object.entries(elsewhere))
    t.match(readFileSync(path.join(house, runner), 'utf8'), page, `${runner} runs ${page}`)
  for (const { page, begins, why } of leftOut) {
    t.ok(
      stepsOf(path.join(house, page)).some(({ code }) => code.startsWith(begins)),
      `${page}: ${begins.split('\n')[0]} (${why})`,
    )
  }
})
