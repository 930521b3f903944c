// The report in a browser without a network, as a user opens it.
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { engineTarget, generateTrace, openTrace, type ReplayResult, replayTrace, reportOf } from '@annal/replay'
import puppeteer from 'puppeteer-core'
import { test } from 'tap'
import { inDirectory } from './rig.ts'

const executable = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (file) => file !== undefined && existsSync(file),
)

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const views = [
  ['light', 1_440],
  ['dark', 390],
] as const

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
    const hostile = { ...results[0]!, target: '</script><script>alert(1)</script>' }
    await writeFile(join(dir, 'report.html'), reportOf([results[0]!, results[1]!, hostile]))
    const browser = await puppeteer.launch({
      executablePath: executable as string,
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    })
    t.teardown(() => browser.close())
    for (const [theme, width] of views) {
      const page = await browser.newPage()
      const faults: string[] = []
      page.on('console', (message) => faults.push(`${message.type()}: ${message.text()}`))
      page.on('dialog', (dialog) => {
        faults.push(`dialog: ${dialog.message()}`)
        void dialog.dismiss()
      })
      page.on('pageerror', (error) => faults.push(String(error)))
      page.on('request', (request) => {
        if (!request.url().startsWith('file:')) faults.push(`requests ${request.url()}`)
      })
      await page.setViewport({ width, height: 900 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }])
      await page.setOfflineMode(true)
      await page.goto(pathToFileURL(join(dir, 'report.html')).href)
      t.equal(await page.$$eval('figure', (figures) => figures.length), 8)
      const lines = (await page.evaluate(paintedLines)) as readonly number[]
      t.ok(lines.length >= 6, 'nearly every chart has values')
      t.ok(
        lines.every((count) => count >= 1),
        'each chart has a line',
      )
      t.ok(lines.filter((count) => count >= 2).length >= 3, 'lines of both precisions, where they do not coincide')
      const labels = await page.$$eval('.chart', (charts) => charts.map((chart) => chart.ariaLabel))
      t.match(labels[0], /^Objects per second: .*precision int8.* ends at [\d,]+, .*precision float32.* ends at [\d,]+/)
      t.match(await page.$eval('table', (table) => table.textContent), /precision float32/)
      t.match(await page.$eval('details table', (table) => table.textContent), /precision float32.*100\.0 %/)
      t.ok(((await page.evaluate('document.documentElement.scrollWidth')) as number) <= width, `fits ${width} px`)
      await page.evaluate(axe)
      t.strictSame(await page.evaluate(barriers), [], `${theme}: no accessibility barriers`)
      t.same(faults, [], theme)
    }
  })
})

/** For each canvas, how many of the colors of the first three lines it has. */
const paintedLines = `[...document.querySelectorAll('.chart canvas')].map((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  const lines = [[37, 99, 235], [217, 119, 6], [5, 150, 105]].filter(([red, green, blue]) => {
    let pixels = 0
    for (let i = 0; i < data.length; i += 4) if (data[i] === red && data[i + 1] === green && data[i + 2] === blue) pixels += 1
    return pixels > 5
  })
  return lines.length
})`

/** The findings of axe that are serious or critical. */
const barriers = `axe.run().then(({ violations }) =>
  violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => id + nodes[0].html))`
