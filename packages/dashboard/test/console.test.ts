// The console by keyboard: tabs, completion of names and properties, and the history that the browser keeps.
import { test } from 'tap'
import { browserFor, openPage, skip, type Watched } from './browser.ts'
import { makeArticles } from './fixture.ts'
import { realServer } from './real-server.ts'
import { root, signIn, startTrial } from './steps.ts'

const body = (seen: Watched) => seen.valueOf('Body')
const tabs = (seen: Watched) =>
  seen.page.$$eval('[role=tab]', (found) =>
    found.map((tab) => `${tab.getAttribute('aria-selected') === 'true' ? '*' : ''}${tab.textContent}`),
  )
const options = (seen: Watched) =>
  seen.page.$$eval('[role=option] bdi', (found) => found.map(({ textContent }) => textContent))

/** Waits until the reply has the text. */
const replies = (seen: Watched, text: string) =>
  seen.page.waitForFunction(
    (wanted) => document.querySelector<HTMLTextAreaElement>('textarea[aria-label=Reply]')?.value.includes(wanted),
    {},
    text,
  )

const search = '/api/v2/collection/articles/search'
const address = (method: string, path: string) => `#/console?method=${method}&path=${encodeURIComponent(path)}`

test('requests have tabs, bodies are completed, and the history opens them again', {
  skip,
  timeout: 180_000,
}, async (t) => {
  const server = await realServer(t)
  await makeArticles(server)
  const seen = await openPage(await browserFor(t), server)
  const { keyboard } = seen.page
  await seen.go('#/console')
  await seen.sees('No reply yet')
  await seen.go(address('POST', search))
  await seen.page.waitForSelector('textarea')
  t.strictSame(await tabs(seen), ['*POST articles/search'], 'a new tab is replaced')
  t.equal(await seen.page.evaluate(() => location.hash), '#/console')

  // A search, mostly by completions.
  await (await seen.page.waitForSelector('::-p-aria([name="Body"])'))!.focus()
  await keyboard.down('Control')
  await keyboard.press('a')
  await keyboard.up('Control')
  await keyboard.type('{"fie')
  await seen.page.waitForSelector('[role=option]')
  t.ok((await options(seen)).includes('fields'))
  t.strictSame(await seen.barriers(), [])
  await seen.picture('console-completion')
  await keyboard.press('ArrowDown')
  await keyboard.press('Enter')
  t.equal(await body(seen), '{"fields": ')
  await keyboard.type('{"em')
  await keyboard.press('ArrowDown')
  await keyboard.press('Tab')
  await keyboard.type('{"query": {"id": "article-3"}, "lim')
  await keyboard.press('ArrowDown')
  await keyboard.press('Enter')
  await keyboard.type('2}}, "filter": [{')
  await keyboard.down('Control')
  await keyboard.press(' ')
  await keyboard.up('Control')
  // Keys of stored objects arrive after the names.
  await seen.page.waitForFunction(() => document.querySelector('[role=listbox]')?.textContent.includes('color'))
  t.strictSame((await options(seen)).slice(0, 2).sort(), ['color', 'year'])
  await keyboard.press('Escape')
  t.equal(await seen.page.$('[role=listbox]'), null)
  await keyboard.type('"col')
  await keyboard.press('ArrowDown')
  await keyboard.press('Enter')
  await keyboard.type('{"$in": ["red", "green"]}}]}')
  t.strictSame(JSON.parse(await body(seen)), {
    fields: { embedding: { query: { id: 'article-3' }, limit: 2 } },
    filter: [{ color: { $in: ['red', 'green'] } }],
  })
  const written = await body(seen)
  await keyboard.down('Control')
  await keyboard.press('Enter')
  await keyboard.up('Control')
  await replies(seen, '"similarity"')
  t.strictSame(await seen.barriers(), [])

  // A second tab with its own request and reply; arrows go between them.
  await seen.click('New tab')
  await seen.sees('No reply yet')
  t.strictSame(await tabs(seen), ['POST articles/search', '*GET stats'])
  await seen.click('Send')
  await replies(seen, '"uptime"')
  await seen.page.focus('[role=tab][aria-selected=true]')
  await keyboard.press('ArrowLeft')
  await replies(seen, '"similarity"')
  t.equal(await body(seen), written)
  t.equal(await seen.page.evaluate(() => document.activeElement?.textContent), 'POST articles/search')
  await keyboard.press('Delete')
  await replies(seen, '"uptime"')
  t.strictSame(await tabs(seen), ['*GET stats'])

  // After a reload, the tabs and the history are there, and a closed request opens again.
  await seen.page.reload()
  await seen.sees('No reply yet')
  t.strictSame(await tabs(seen), ['*GET stats'])
  await seen.page.locator('.history summary').click()
  await seen.picture('console-history')
  t.strictSame(await seen.barriers(), [])
  await seen.click(`POST ${search}`)
  await seen.page.waitForSelector('::-p-aria([name="Body"])')
  t.equal(await body(seen), written)
  await seen.click('Clear the history')
  await seen.page.waitForFunction(() => document.querySelector('.history') === null)
  t.equal(await seen.page.evaluate(() => localStorage.getItem('annal.console-history')), null)
  t.strictSame(seen.faults, [])
})

test('who signs out leaves no request behind, and one failure is shown once, on a phone', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const server = await realServer(t, { NDD_ROOT_TOKEN: root })
  const view = { width: 390, height: 844, theme: 'dark', expectedStatus: [401, 404] } as const
  const seen = await openPage(await browserFor(t), server, view)
  await signIn(seen, root)
  await seen.go('#/license')
  await startTrial(seen)
  await seen.go(address('GET', '/api/v2/collection/absent'))
  await seen.page.waitForFunction(() => document.querySelector('[role=tab]')?.textContent.includes('absent'))
  await seen.click('Send')
  await replies(seen, 'collection_not_found')
  t.equal((await seen.page.$$('[role=alert], .toast.bad')).length, 0, 'the reply is the error')
  await seen.page.locator('.history summary').click()
  t.strictSame(await seen.barriers(), [])
  const wide = await seen.page.evaluate(() => document.documentElement.scrollWidth)
  t.ok(wide <= 390, `fits (${wide})`)
  await seen.picture('console-phone')
  const keys = () => seen.page.evaluate(() => [...Object.keys(localStorage), ...Object.keys(sessionStorage)])
  t.ok((await keys()).some((key) => key.startsWith('annal.console-history')))
  await seen.click('Menu')
  await seen.click('Sign out')
  await seen.sees('Sign in')
  t.strictSame(
    (await keys()).filter((key) => key.startsWith('annal.console')),
    [],
  )
  t.strictSame(seen.faults, [])
})
