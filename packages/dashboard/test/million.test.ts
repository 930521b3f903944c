// A million objects: how long the browse page and the map of a large sample take, and whether the page stays responsive. Prints figures
// and asserts only that everything is shown, because speed depends on the machine.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Page } from 'puppeteer-core'
import { type Test, test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { callServer, realServer } from './real-server.ts'

const objects = Number(process.env.ANNAL_OBJECTS ?? 1_000_000)
const loader = fileURLToPath(new URL('../../../benchmarks/src/browse/load.ts', import.meta.url))
const rounds = 15
const long = process.env.ANNAL_LONG === '1'

test('a million objects are browsed, and a sample of them drawn', {
  skip: long ? skip : 'loading a million objects takes minutes: ANNAL_LONG=1',
  timeout: 1_800_000,
}, async (t) => {
  const dataDir = await loaded(t)
  const address = await realServer(t, { NDD_DATA_DIR: dataDir, NDD_NUM_THREADS: '2' })
  await t.test('answers', async (t) => {
    const filter = [{ color: { $eq: 'red' } }]
    const body = { limit: 50, include_vectors: false }
    await timed(t, 'first page', () => callServer(address, 'POST', '/api/v2/collection/million/objects/scroll', body))
    const far = { ...body, cursor: `o${Math.floor(objects / 2).toString(36)}` }
    await timed(t, 'a page in the middle', () =>
      callServer(address, 'POST', '/api/v2/collection/million/objects/scroll', far),
    )
    await timed(t, 'a page of a third', () =>
      callServer(address, 'POST', '/api/v2/collection/million/objects/scroll', { ...body, filter }),
    )
    await timed(t, 'how many match', () =>
      callServer(address, 'POST', '/api/v2/collection/million/objects/count', { filter }),
    )
  })
  const seen = await openPage(await browserFor(t), address)
  await seen.sees('million')
  for (let i = 0; i < 3; i++) {
    await seen.go('#/backups')
    await seen.sees('Data safety')
    const started = performance.now()
    await seen.go('#/collections/million/objects')
    await seen.sees('object-49')
    t.comment(`the browse page is there after ${Math.round(performance.now() - started)} ms`)
  }
  await seen.picture('million-browse')
  for (const method of ['By spread (PCA)', 'By neighborhood (UMAP)']) {
    await seen.go('#/collections')
    await seen.go('#/collections/million/map')
    // There is a link with the same name.
    await seen.fillAt('::-p-aria([name="Objects"][role="spinbutton"])', '5000')
    await seen.click(method)
    await watchFrames(seen.page)
    const started = performance.now()
    await seen.click('Draw')
    await seen.sees('Drawn')
    const ms = performance.now() - started
    const longest = await seen.page.evaluate(() => (window as unknown as { longest: number }).longest)
    t.comment(
      `5,000 objects ${method}: ${Math.round(ms)} ms; the longest time between two frames was ${Math.round(longest)} ms`,
    )
    await seen.picture(method.includes('PCA') ? 'million-pca' : 'million-umap')
  }
  t.strictSame(seen.faults, [])
})

async function timed(t: Test, what: string, act: () => Promise<unknown>): Promise<void> {
  const times: number[] = []
  for (let i = 0; i < rounds; i++) {
    const started = performance.now()
    t.ok(await act(), what)
    times.push(performance.now() - started)
  }
  times.sort((a, b) => a - b)
  t.comment(`${what}: median ${times[rounds >> 1]?.toFixed(1)} ms, slowest ${times.at(-1)?.toFixed(1)} ms`)
}

/** The longest time between two frames is how long a key press or a click may wait. */
async function watchFrames(page: Page): Promise<void> {
  await page.evaluate(() => {
    const held = window as unknown as { longest: number }
    held.longest = 0
    let last = performance.now()
    const frame = (): void => {
      const now = performance.now()
      held.longest = Math.max(held.longest, now - last)
      last = now
      requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  })
}

async function loaded(t: Test): Promise<string> {
  const kept = process.env.ANNAL_MILLION_DIR
  const dataDir = kept ?? (await mkdtemp(path.join(os.tmpdir(), 'annal-million-')))
  if (kept === undefined) t.teardown(() => rm(dataDir, { recursive: true }))
  else if (existsSync(path.join(kept, 'checkpoints'))) return kept
  const args = ['--conditions=annal-source', loader, '--dir', dataDir, '--objects', `${objects}`]
  await promisify(execFile)(process.execPath, args)
  return dataDir
}
