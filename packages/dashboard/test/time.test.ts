// Time in the dashboard: searches of the past, the history of an object with undo, branches and aliases, and the live tail of changes.
import { type Test, test } from 'tap'
import { browserFor, openPage, skip, type Watched } from './browser.ts'
import { makeArticles } from './fixture.ts'
import { callServer, realServer } from './real-server.ts'
import { submit } from './steps.ts'

const looks = [
  ['1440-light', { width: 1_440, height: 900, theme: 'light' }, true],
  ['1024-dark', { width: 1_024, height: 800, theme: 'dark' }, false],
  ['390-dark', { width: 390, height: 844, theme: 'dark' }, true],
  ['390-light', { width: 390, height: 844, theme: 'light' }, false],
] as const

interface Written {
  readonly lsn: number
}

const writeArticle = (address: string, id: string, title: string, first: number) =>
  callServer(address, 'POST', '/api/v2/collection/articles/objects', {
    objects: [
      {
        id,
        meta: { title },
        filter: { color: 'red', year: 2026 },
        fields: { embedding: Array.from({ length: 16 }, (_, i) => (i === 0 ? first : 0.1)) },
      },
    ],
  }) as Promise<Written>

/** Draws the page in every look, and checks that it has no barriers and fits. */
async function drawn(t: Test, seen: Watched, name: string): Promise<void> {
  for (const [look, { width, height, theme }, isChecked] of looks) {
    await seen.page.setViewport({ width, height })
    await seen.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }])
    // The menu slides away when the window gets narrow.
    await seen.page.waitForFunction(() => document.getAnimations().every(({ playState }) => playState !== 'running'))
    await seen.picture(`time-${name}-${look}`)
    if (isChecked) t.strictSame(await seen.barriers(), [], `${name}, ${look}: no accessibility barriers`)
    const wide = await seen.page.evaluate(() => document.documentElement.scrollWidth)
    t.ok(wide <= width, `${name} fits ${width} (${wide})`)
  }
  await seen.page.setViewport({ width: 1_280, height: 860 })
}

test('the same search runs as of a moment and now, and a moment out of reach names the reach', {
  skip,
  timeout: 240_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  const { lsn: before } = await writeArticle(address, 'early', 'Early', 5)
  await callServer(address, 'DELETE', '/api/v2/collection/articles/objects/early')
  await writeArticle(address, 'late', 'Late', 5)
  const seen = await openPage(await browserFor(t), address, { expectedStatus: 410 })
  await seen.go('#/collections/articles/search?near=article-3')
  await seen.sees('Query plan')
  await seen.click('Search the past')
  await seen.sees('No search yet')
  await seen.click('Vector')
  await seen.fill('Numbers', JSON.stringify([5, ...Array.from({ length: 15 }, () => 0.1)]))
  await seen.click('Search')
  await seen.sees('Then and Now share 100 %')
  await seen.fill('LSN', String(before))
  await seen.sees(`As of LSN ${before}`)
  await seen.sees('only here')
  const results = () =>
    seen.page.$$eval('section[aria-label^="Result"]', (all) => all.map((one) => one.textContent ?? ''))
  const [then, now] = await results()
  t.match(then, /As of LSN .*early/s)
  t.notMatch(then, /late/)
  t.match(now, /Now.*late/s)
  t.notMatch(now, /early/)
  await drawn(t, seen, 'search')

  // The replies of a server that loads a moment, and of one that does not reach it.
  const asof = '/api/v2/status/asof'
  const json = (status: number, body: object, headers = {}) => ({
    ...{ status, headers, contentType: 'application/json', body: JSON.stringify(body) },
  })
  const loading = {
    collection: 'articles',
    lsn: 1,
    status: 'loading',
    bytes_done: 1_048_576,
    bytes: 4_194_304,
    memory: 0,
  }
  let stage: 'loading' | 'unreachable' | 'real' = 'loading'
  await seen.page.setRequestInterception(true)
  seen.page.on('request', (request) => {
    if (stage === 'real') void request.continue()
    else if (request.url().endsWith(asof)) void request.respond(json(200, { moments: [loading] }))
    else if (!request.postData()?.includes('"as_of"')) void request.continue()
    else if (stage === 'loading')
      void request.respond(json(202, { code: 'moment_loading', error: 'it is loading' }, { location: asof }))
    else {
      const times = { time_first: '2026-11-20T10:00:00.000Z', time_last: '2026-11-23T10:00:00.000Z' }
      const reach = { lsn_first: before, lsn_last: before + 1, ...times }
      void request.respond(json(410, { code: 'moment_unreachable', error: 'LSN 1 is out of reach', reach }))
    }
  })
  await seen.fill('LSN', '1')
  await seen.sees('Loading the moment: 1.0 MiB of 4.0 MiB.')
  await seen.picture('time-search-loading')
  stage = 'unreachable'
  await seen.sees('LSN 1 is out of reach')
  await seen.sees(`Searches reach LSN ${before} (2026-11-`)
  await seen.picture('time-search-unreachable')
  t.strictSame(await seen.barriers(), [])
  stage = 'real'
  await seen.click('Go to the oldest moment')
  await seen.sees(`As of LSN ${before}`)
  t.strictSame(seen.faults, [])
})

test('an object shows its versions, two of them are compared, and it returns to one; a filter undoes many', {
  skip,
  timeout: 240_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  const { lsn: first } = await writeArticle(address, 'paper', 'Draft', 1)
  const { lsn: second } = await writeArticle(address, 'paper', 'Final', 1)
  const { lsn: third } = await writeArticle(address, 'paper', 'Spoiled', 2)
  const titleOf = async () => {
    const route = '/api/v2/collection/articles/objects/query'
    const { objects } = (await callServer(address, 'POST', route, { ids: ['paper'] })) as {
      readonly objects: readonly { readonly meta: { readonly title: string } }[]
    }
    return objects[0]?.meta.title
  }
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/collections/articles/objects?id=paper')
  await seen.sees('Save changes')
  await seen.click('History')
  await seen.sees('Compare two versions')
  const compared = () => seen.page.$eval('fieldset [role=status]', (shown) => shown.textContent ?? '')
  t.match(await compared(), /meta\.title"Final""Spoiled".*fields\.embedding/s)
  await seen.select('From', String(first))
  await seen.page.waitForFunction(() =>
    document.querySelector('fieldset [role=status]')?.textContent?.includes('Draft'),
  )
  t.match(await compared(), /meta\.title"Draft""Spoiled"/)
  await drawn(t, seen, 'history')
  t.equal(await seen.page.$$eval('.versions > li', (rows) => rows.length), 3)

  await seen.click(`Undo to here: LSN ${second}`)
  await seen.click('Count changes')
  await seen.sees(`Objects that return to LSN ${second}: 1. Objects that are deleted: 0.`)
  t.equal(await titleOf(), 'Spoiled', 'counting changes nothing')
  await seen.picture('time-undo')
  t.strictSame(await seen.barriers(), [])
  await seen.click('Undo')
  await seen.sees('Objects restored: 1, deleted: 0.')
  t.equal(await titleOf(), 'Final')

  await seen.go('#/collections/articles/objects?id=paper&view=history')
  await seen.sees('restored')
  await seen.go('#/collections/articles/objects')
  await seen.click('Condition')
  await seen.fill('Key', 'year')
  await seen.fill('Value', '2026')
  await seen.sees('1 matching objects')
  await seen.click('Undo matching…')
  await seen.fill('Event (LSN)', String(third))
  await seen.click('Count changes')
  await seen.sees(`Objects that return to LSN ${third}: 1.`)
  await seen.fill('Event (LSN)', String(first - 1))
  await seen.click('Count changes')
  await seen.sees('Objects that are deleted: 1.')
  await seen.click('Undo')
  await seen.sees('Objects restored: 0, deleted: 1.')
  t.equal(await titleOf(), undefined)
  t.strictSame(seen.faults, [])
})

test('branches are drawn as a tree, created, and promoted, and aliases are put and deleted', {
  skip,
  timeout: 240_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  const { lsn: before } = await writeArticle(address, 'paper', 'Draft', 1)
  await callServer(address, 'DELETE', '/api/v2/collection/articles/objects/paper')
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/collections/articles/branches')
  await seen.sees('No aliases yet')
  await seen.click('New branch…')
  await submit(seen, { 'As of event (LSN)': String(before) }, 'Create branch', 'Branch articles_trial created.')
  await seen.sees(`articles as of LSN ${before}`)
  t.match(await callServer(address, 'GET', '/api/v2/collection/articles_trial'), { total_elements: 41 })
  await seen.click('New alias…')
  await submit(seen, { Alias: 'live' }, 'Create alias', 'live leads to articles.')
  await seen.sees('alias live')
  await seen.click('Switch live')
  await seen.select('Leads to', 'articles_trial')
  await seen.click('Switch alias')
  await seen.sees('live leads to articles_trial.')
  await callServer(address, 'POST', '/api/v2/collection/articles_trial/branch', { name: 'articles_deep' })
  await seen.go('#/collections/articles_deep/branches')
  await seen.sees('this one')
  t.equal(await seen.page.$$eval('.branch-tree circle', (dots) => dots.length), 3)
  t.equal(await seen.page.$$eval('.branch-tree path.edge', (lines) => lines.length), 2)
  await drawn(t, seen, 'branches')

  await seen.click('Promote articles_trial')
  await seen.picture('time-promote')
  t.strictSame(await seen.barriers(), [])
  await submit(seen, { 'Keep articles as': 'articles_old' }, 'Promote', 'articles_trial is named articles now.')
  await seen.sees('over articles_old')
  t.match(await callServer(address, 'GET', '/api/v2/collection/articles'), { total_elements: 41 })
  await seen.click('Delete live')
  await submit(seen, { 'Type live to confirm': 'live' }, 'Delete alias', 'Alias live deleted.')
  await seen.sees('No aliases yet')
  t.strictSame(seen.faults, [])
})

test('changes arrive live, are filtered and paused, and the stream ends when the page is left', {
  skip,
  timeout: 240_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  const consumers = async () => {
    const metrics = await (await fetch(`${address}/metrics`)).text()
    return Number(/^annal_feed_consumers(?:\{[^}]*\})? (\d+)/m.exec(metrics)?.[1])
  }
  const until = async (wanted: number) => {
    while ((await consumers()) !== wanted) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/changes')
  await seen.sees('live')
  await writeArticle(address, 'one', 'One', 1)
  await seen.sees('1 object written')
  await callServer(address, 'DELETE', '/api/v2/collection/articles/objects/one')
  await seen.sees('1 object deleted')
  t.equal(await consumers(), 1)
  await seen.click('Pause')
  await seen.sees('paused')
  await until(0)
  await writeArticle(address, 'two', 'Two', 1)
  await seen.click('Continue')
  await seen.sees('two')
  await seen.fill('From LSN', '1')
  await seen.click('Follow from here')
  await seen.sees('40 objects written')
  await drawn(t, seen, 'changes')
  await seen.select('Kind', 'objects-deleted')
  await seen.page.waitForFunction(() => document.querySelectorAll('.events li').length === 1)
  t.equal(await seen.page.$eval('.events li', (row) => /deleted/.test(row.textContent ?? '')), true)
  await seen.go('#/collections')
  await seen.sees('New collection')
  await until(0)
  t.strictSame(seen.faults, [])
})
