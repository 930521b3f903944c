// The report in a browser without a network, as a user opens it.
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { engineTarget, generateTrace, openTrace, type ReplayResult, replayTrace, reportOf } from '@annal/replay'
import puppeteer from 'puppeteer-core'
import { test } from 'tap'
import { inDirectory } from './rig.ts'

const executable = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (file) => file !== undefined && existsSync(file),
)

test('the report of two precisions opens offline, with every curve and no error', {
  skip: executable === undefined ? 'no Chromium is installed' : false,
}, async (t) => {
  await inDirectory(async (dir) => {
    const path = join(dir, 'load.trace')
    await generateTrace({ workload: 'load', out: path, objects: 300, dimension: 8, batch: 20, queriesPerThousand: 50 })
    const results: ReplayResult[] = []
    for (const precision of ['int8', 'float32'] as const) {
      const target = await engineTarget({ dataDir: join(dir, precision), threads: 1, fsync: 'none', precision })
      results.push(await replayTrace(await openTrace(path), target, { stretches: 5 }))
      await target.close()
    }
    await writeFile(join(dir, 'report.html'), reportOf(results))
    const browser = await puppeteer.launch({
      executablePath: executable as string,
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    })
    t.teardown(() => browser.close())
    const page = await browser.newPage()
    const faults: string[] = []
    page.on('console', (message) => faults.push(`${message.type()}: ${message.text()}`))
    page.on('pageerror', (error) => faults.push(String(error)))
    page.on('request', (request) => {
      if (!request.url().startsWith('file:')) faults.push(`requests ${request.url()}`)
    })
    await page.setOfflineMode(true)
    await page.goto(pathToFileURL(join(dir, 'report.html')).href)
    t.same(faults, [])
    t.equal(await page.$$eval('figure', (figures) => figures.length), 8)
    t.ok((await page.$$eval('polyline', (lines) => lines.length)) >= 12, 'two lines in nearly every chart')
    t.match(await page.$eval('table', (table) => table.textContent), /precision float32/)
  })
})
