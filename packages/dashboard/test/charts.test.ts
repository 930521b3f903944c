// The charts of a running server: drawn on canvases, in the colors of the theme, within the page at every width, with their values as text.
import { test } from 'tap'
import { browserFor, openPage, skip, type View, type Watched } from './browser.ts'
import { makeArticles } from './fixture.ts'
import { realServer } from './real-server.ts'
import { paintedColors } from './steps.ts'

const views: readonly (readonly [string, View])[] = [
  ['light', { theme: 'light', width: 1_440 }],
  ['phone', { theme: 'dark', width: 390, height: 844 }],
]

test('charts are drawn in the colors of the theme, and their values are text', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  const browser = await browserFor(t)
  for (const [look, view] of views) {
    const seen = await openPage(browser, address, view)
    await seen.go('#/operations')
    await seen.page.waitForSelector('.chart canvas')
    const labels = await seen.page.$$eval('.chart [role=img]', (plots) => plots.map((plot) => plot.ariaLabel ?? ''))
    t.equal(labels.length, 8)
    t.match(labels.join('\n'), /^Requests: now all .+\/s, failed 0\/s$/m)
    t.match(labels.join('\n'), /^Memory: now process .+ [KMG]iB, collections .+$/m)
    await t.resolves(memoryUnderPointer(seen), `${look}: the pointer selects a time`)
    await seen.picture(`charts-${look}`)
    t.strictSame(await seen.barriers(), [], look)
    const wide = await seen.page.evaluate(() => document.documentElement.scrollWidth)
    t.ok(wide <= view.width!, `${look}: no wider than the page (${wide})`)
    t.strictSame(seen.faults, [], look)
  }
})

test('a change of the theme changes the colors of a chart', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  const seen = await openPage(await browserFor(t), address, { theme: 'light' })
  await seen.go('#/log')
  await seen.page.waitForSelector('canvas')
  t.ok((await paintedColors(seen)).includes('47,81,214'), 'bars of written objects in the light theme')
  await seen.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }])
  await seen.page.waitForFunction(() => {
    const canvas = document.querySelector('canvas')!
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height)
    for (let i = 0; i < data.length; i += 4)
      if (data[i] === 127 && data[i + 1] === 152 && data[i + 2] === 255) return true
    return false
  })
  t.notOk((await paintedColors(seen)).includes('47,81,214'))
  t.strictSame(seen.faults, [])
})

/** Moves the pointer over the chart of memory until its caption shows a time. */
async function memoryUnderPointer(seen: Watched): Promise<void> {
  const over = (await seen.page.waitForSelector('::-p-xpath(//figure[.//h2="Memory"]//*[contains(@class, "u-over")])'))!
  await over.scrollIntoView()
  await over.hover()
  await seen.page.waitForFunction(() => {
    const figures = [...document.querySelectorAll('figure.chart')]
    const memory = figures.find((figure) => figure.querySelector('h2')?.textContent === 'Memory')
    return /^\d\d:\d\d:\d\d$/.test(memory?.querySelector('figcaption span')?.textContent ?? '')
  })
}
