// Details of several pages: what they request, what they show once, and where it is.
import { type Test, test } from 'tap'
import { browserFor, openPage, skip, type Watched } from './browser.ts'
import { makeArticles, makeStories } from './fixture.ts'
import { callServer, realServer } from './real-server.ts'

const textIn = (seen: Watched, selector: string) =>
  seen.page.$$eval(selector, (found) => found.map(({ textContent }) => textContent).join('\n'))

test('the newest requests are those of others', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/backups')
  await seen.sees('No backups yet')
  for (const path of ['/api/v2/collection', '/api/v2/version']) await fetch(address + path)
  await seen.go('#/operations')
  await seen.page.waitForSelector('.chart canvas')
  await seen.sees('GET /api/v2/version')
  const lines = await textIn(seen, '.log')
  t.match(lines, 'POST /api/v2/collection/articles/objects 200')
  for (const own of ['/api/v2/health', '/api/v2/logs', '/metrics', '/api/v2/backups', '/assets/'])
    t.notMatch(lines, own)
  t.equal(
    lines.split('GET /api/v2/collection 200').length,
    2,
    'one request of another to a path that the page reads too',
  )
  await seen.tick('Requests of the dashboard')
  await seen.sees('GET /api/v2/logs 200')
  t.strictSame(seen.faults, [])
})

test('one failure is shown once, and its button tries everything again', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  const seen = await openPage(await browserFor(t), address)
  await seen.sees('articles')
  let isGone = true
  await seen.page.setRequestInterception(true)
  seen.page.on('request', (request) => void (isGone ? request.abort() : request.continue()))
  await seen.go('#/backups')
  await seen.page.waitForSelector('.failure')
  await seen.page.waitForFunction(() => document.querySelectorAll('.instead').length > 0)
  t.equal((await seen.page.$$('.failure')).length, 1)
  await seen.click('New backup')
  await seen.click('Create backup')
  await seen.page.waitForSelector('dialog .failure')
  t.equal((await seen.page.$$('dialog .failure')).length, 1, 'the page below does not hide what the dialog has to say')
  await seen.click('Cancel')
  isGone = false
  await seen.click('Retry')
  await seen.sees('No backups yet')
  await seen.page.waitForFunction(() => document.querySelector('.failure') === null)
  t.strictSame(
    seen.faults.filter((fault) => !fault.includes('ERR_FAILED')),
    [],
  )
})

test('objects are shown and copied as they are, and what is gone is not shown', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  await callServer(address, 'POST', '/api/v2/collection/articles/objects', {
    objects: [{ id: '\u202ea\nb', fields: { embedding: Array.from({ length: 16 }, () => 1) } }],
  })
  const seen = await openPage(await browserFor(t), address, { expectedStatus: 404 })
  await seen.go('#/collections/articles/search?near=article-3')
  await seen.sees('10 hits')
  await seen.fill('Id', 'nobody')
  await seen.click('Search')
  await seen.sees('There is no object with id "nobody"')
  t.equal(await seen.page.$('.hits'), null, 'results of another search')
  await seen.go('#/collections/articles/objects')
  await seen.sees('article-5')
  t.match(await textIn(seen, '.objects .name'), '\\u202ea\\nb', 'an id shows what cannot be seen')
  t.match(await textIn(seen, '.page-head'), '41 objects')
  await seen.go('#/collections/articles/objects?id=article-5')
  const copied = seen.page.evaluate(
    () =>
      new Promise<string>((copy) => {
        navigator.clipboard.writeText = async (text) => copy(text)
      }),
  )
  await seen.click('Copy as JSON')
  t.match(JSON.parse(await copied), { id: 'article-5', meta: { title: 'Article 5' }, fields: { embedding: {} } })
  await seen.go('#/collections/articles/objects')
  await callServer(address, 'DELETE', '/api/v2/collection/articles')
  await seen.sees('There is no collection "articles"')
  t.notMatch(await textIn(seen, 'main'), /41 objects|ready|article-5/)
  t.strictSame(await seen.barriers(), [])
  t.strictSame(seen.faults, [])
})

test('every panel about backups follows a backup that somebody else makes', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/backups')
  await seen.sees('none yet')
  await callServer(address, 'POST', '/api/v2/collection/articles/backup', { name: 'of-another' })
  await seen.sees('of-another')
  await seen.sees('s ago')
  await seen.sees('1 backup')
  t.notMatch(await textIn(seen, 'main'), 'none yet')
  t.strictSame(seen.faults, [])
})

test('objects that an undo returns keep from expiring if the box is checked', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t, { NDD_ARCHIVE_HOURS: '1' })
  await makeArticles(address, 4)
  const path = '/api/v2/collection/articles/objects'
  const expiry = new Date(Date.now() + 3_600_000).toISOString()
  const read = async () => {
    const reply = await callServer(address, 'POST', `${path}/query`, { ids: ['article-1'] })
    return (reply as { readonly objects: readonly { readonly expires_at?: string; readonly meta: object }[] })
      .objects[0]!
  }
  const stored = await read()
  await callServer(address, 'POST', path, { objects: [{ ...stored, meta: { title: 'before' }, expires_at: expiry }] })
  const { lsn } = (await callServer(address, 'GET', '/api/v2/collection/articles')) as { readonly lsn: number }
  await callServer(address, 'POST', path, { objects: [{ ...stored, meta: { title: 'after' }, expires_at: expiry }] })
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/collections/articles/objects?id=article-1&view=history')
  await seen.click(`Undo to here: LSN ${lsn}`)
  await seen.tick('Objects that return do not expire')
  await seen.click('Count changes')
  await seen.sees('Objects that return to LSN')
  t.strictSame(await seen.barriers(), [])
  await seen.click('Undo')
  await seen.sees('Objects restored: 1')
  t.match(await read(), { meta: { title: 'before' } })
  t.notOk((await read()).expires_at, 'it does not expire')
  t.strictSame(seen.faults, [])
})

const narrow = [
  { width: 1_024, height: 768 },
  { width: 390, height: 844 },
] as const

test('the first result is on the screen, and every column is below its header', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  await callServer(address, 'POST', '/api/v2/collection/articles/backup', { name: 'b'.repeat(60) })
  const browser = await browserFor(t)
  for (const view of narrow) {
    const seen = await openPage(browser, address, view)
    await seen.go('#/collections/articles/search?near=article-3')
    await seen.page.waitForSelector('.hits li')
    const bottom = await seen.page.$eval('.hits li', (hit) => hit.getBoundingClientRect().bottom)
    t.ok(bottom <= view.height, `${view.width}: the first hit ends at ${bottom}`)
    t.match(await textIn(seen, '.hits-head'), 'Cosine similarity')
    const ends = await seen.page.evaluate(() => {
      const head = document.createRange()
      head.selectNode(document.querySelector('.hits-measure > span')!.firstChild!)
      return [head, document.querySelector('.hits strong')!].map((one) => one.getBoundingClientRect().right)
    })
    t.ok(Math.abs(ends[0]! - ends[1]!) <= 1, `${view.width}: numbers end where their head ends: ${ends}`)
    await seen.page.close()
  }
  const seen = await openPage(browser, address, { width: 1_440 })
  for (const [hash, table] of [
    ['#/collections', '.page table'],
    ['#/collections/articles', '.page table'],
    ['#/collections/articles/objects', '.objects'],
    ['#/backups', '.page table'],
    ['#/operations', '.page table'],
  ] as const) {
    await seen.go(hash)
    await seen.page.waitForSelector(table)
    t.strictSame(await seen.page.evaluate(misaligned), [], hash)
  }
  await asOthersSeeIt(t, seen)
  await seen.go('#/backups')
  await seen.page.waitForSelector('td .name')
  const name = await seen.page.waitForSelector('td button .name[title]')
  t.equal(await name!.evaluate((element) => element.getAttribute('title')), 'b'.repeat(60), 'a cut name has a tip')
  const cut = await name!.evaluate((element) => [element.clientWidth, element.scrollWidth] as const)
  t.ok(cut[0] < cut[1], `${cut}`)
  await (await seen.page.$('td button.link'))!.focus()
  await seen.page.keyboard.press('Shift')
  await seen.page.waitForFunction(() => {
    const element = document.querySelector('td button .name')!
    return element.scrollWidth <= element.clientWidth
  })
  t.strictSame(seen.faults, [])
})

/** In the page: the cells that are not aligned as the header of their column. */
function misaligned(): string[] {
  return [...document.querySelectorAll('table')].flatMap((table) => {
    const heads = [...table.querySelectorAll('thead th')]
    return [...table.querySelectorAll('tbody tr')].flatMap((row) =>
      [...row.children].flatMap((cell, i) => {
        const head = heads[i]
        if (head === undefined) return [`no header: ${cell.textContent}`]
        if (head.querySelector('.visually-hidden') !== null) return []
        const [above, below] = [head, cell].map((element) => getComputedStyle(element).textAlign === 'right')
        return above === below ? [] : [`${head.textContent}: ${cell.textContent}`]
      }),
    )
  })
}

/** Colors that a reader has set, and paper: what is chosen and what only a color says stays visible. */
async function asOthersSeeIt(t: Test, { page, go }: Watched): Promise<void> {
  const media = await page.createCDPSession()
  const look = () =>
    page.evaluate(() => {
      const style = (selector: string) => getComputedStyle(document.querySelector(selector)!)
      return {
        tabs: ['.tabs a[aria-current]', '.tabs a:not([aria-current])'].map((tab) => style(tab).backgroundColor),
        key: style('.shares > span').backgroundColor,
        page: style('body').backgroundColor,
        sidebar: style('.sidebar').display,
      }
    })
  await go('#/collections/articles')
  await page.waitForSelector('.shares > span')
  const before = await look()
  await media.send('Emulation.setEmulatedMedia', { features: [{ name: 'forced-colors', value: 'active' }] })
  const forced = await look()
  t.equal(forced.key, before.key)
  t.not(forced.tabs[0], forced.tabs[1], 'the current tab')
  const dark = { name: 'prefers-color-scheme', value: 'dark' }
  await media.send('Emulation.setEmulatedMedia', { media: 'print', features: [dark] })
  const { page: paper, sidebar } = await look()
  t.strictSame({ paper, sidebar }, { paper: 'rgb(255, 255, 255)', sidebar: 'none' })
  await media.send('Emulation.setEmulatedMedia', { media: '', features: [] })
}

test('on a phone, long filter keys do not widen the page, and the tab of the page is in view', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  await makeStories(address)
  const filter = { 'the name of the person who wrote this story down': 'a value that is also long, '.repeat(3) }
  await callServer(address, 'POST', '/api/v2/collection/stories/objects', {
    objects: [{ id: 'long', filter, fields: { body: 'A story of long names.' } }],
  })
  const seen = await openPage(await browserFor(t), address, { width: 390, height: 844 })
  await seen.go('#/collections/stories/search')
  await seen.fill('Words to find', 'names')
  await seen.click('Search')
  await seen.page.waitForSelector('.hits .pair')
  const wide = await seen.page.evaluate(() => document.documentElement.scrollWidth)
  t.ok(wide <= 390, `the page is ${wide} wide`)
  await seen.go('#/collections/stories/branches')
  await seen.sees('No aliases yet')
  const right = await seen.page.$eval('.tabs [aria-current]', (tab) => tab.getBoundingClientRect().right)
  t.ok(right <= 390, `the tab ends at ${right}`)
  t.strictSame(seen.faults, [])
})

test('a search of words has no settings of graphs, and an empty server has nothing to restore', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t, { NDD_ARCHIVE_HOURS: '24' })
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/backups')
  await seen.sees('nothing has been written yet')
  await makeStories(address)
  await makeArticles(address, 40)
  await seen.go('#/collections/stories/search')
  await seen.sees('Words to find')
  t.notMatch(await textIn(seen, 'main'), /Search settings|Compare two settings/)
  await seen.go('#/collections/articles/search')
  await seen.sees('Compare two settings')
  t.match(await textIn(seen, 'main'), 'Search settings')
  t.strictSame(seen.faults, [])
})
