// What the first page costs: its files as the server sends them, and which parts wait until they are shown.
import { setTimeout } from 'node:timers/promises'
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { makeArticles } from './fixture.ts'
import { realServer } from './real-server.ts'

const bytesMax = 120 * 1024
/** Parts that only some pages have. */
const later = ['map', 'map-worker', 'time-plot', 'operations', 'log', 'console', 'texts', 'parquet-worker', 'branches']

test('the first page is small, and charts, map and console are loaded when they are shown', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  const seen = await openPage(await browserFor(t), address)
  // Requests of the page that is left may never end.
  await seen.page.goto('about:blank')
  const session = await seen.page.createCDPSession()
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  const paths = new Map<string, string>()
  /** By path, the largest answer: the icon of the tab is requested several times, and the browser may cancel or answer a request itself. */
  const sizes = new Map<string, number>()
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith('/api/') || pathname === '/metrics') return
    paths.set(requestId, pathname)
    if (!sizes.has(pathname)) sizes.set(pathname, 0)
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const path = paths.get(requestId)
    if (path !== undefined) sizes.set(path, Math.max(sizes.get(path)!, encodedDataLength))
  })
  const nameOf = (path: string) => path.replace(/^.*\//, '').replace(/-[\w-]{8}\.\w+$/, '')
  await seen.page.goto(address, { waitUntil: 'networkidle0' })
  await seen.sees('articles')
  const unanswered = () => [...sizes].filter(([, size]) => size === 0).map(([path]) => path)
  // The icon of the tab may arrive later.
  for (let i = 0; i < 600 && unanswered().length > 0; i++) await setTimeout(50)
  t.strictSame(unanswered(), [], 'every file arrives')
  const first = [...sizes]
  const bytes = first.reduce((sum, [, size]) => sum + size, 0)
  t.ok(first.length >= 3, first.map(([path]) => path).join(' '))
  t.ok(bytes <= bytesMax, `${bytes} bytes of at most ${bytesMax}`)
  for (const part of later)
    t.notOk(
      first.some(([path]) => nameOf(path) === part),
      `${part} is not loaded yet`,
    )

  await seen.go('#/operations')
  await seen.page.waitForSelector('.chart canvas')
  await seen.go('#/console')
  await seen.sees('No reply yet')
  const names = [...sizes.keys()].map(nameOf)
  for (const part of ['operations', 'time-plot', 'console']) t.ok(names.includes(part), `${part} was loaded now`)
  t.strictSame(seen.faults, [])
})

const throttling = 4
const rounds = 5

test('how long the main thread works until the first page is complete', {
  skip: skip || (process.env.ANNAL_LONG === undefined && 'only with ANNAL_LONG=1: it measures'),
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  const browser = await browserFor(t)
  const seconds: number[] = []
  for (let round = 0; round < rounds; round++) {
    const { page } = await openPage(browser, 'about:blank')
    const session = await page.createCDPSession()
    await session.send('Performance.enable', { timeDomain: 'threadTicks' })
    await session.send('Emulation.setCPUThrottlingRate', { rate: throttling })
    await page.goto(address)
    await page.waitForSelector('td a')
    const { metrics } = await session.send('Performance.getMetrics')
    seconds.push(metrics.find(({ name }) => name === 'TaskDuration')!.value)
    await page.close()
  }
  const sorted = seconds.toSorted((a, b) => a - b).map((value) => value.toFixed(2))
  t.comment(`CPU time at ${throttling}x throttling: median ${sorted[rounds >> 1]} s of ${sorted.join(', ')} s`)
  t.ok(sorted.every((value) => Number(value) > 0))
})
