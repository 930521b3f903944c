// Keys that go to pages and tabs.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { makeStories } from './fixture.ts'
import { realServer } from './real-server.ts'

test('keys go to pages and tabs, but never while somebody types, and can be turned off', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  await makeStories(address)
  const seen = await openPage(await browserFor(t), address)
  const { keyboard } = seen.page
  const hash = () => seen.page.evaluate(() => location.hash)
  await seen.sees('stories')
  await keyboard.type('gk')
  await seen.sees('No reply yet')
  await keyboard.type('gd')
  t.equal(await hash(), '#/console', 'a server without databases has no page for them')
  await keyboard.type('go')
  await seen.sees('NDD_TOP_K_MAX')
  await seen.go('#/collections/stories')
  await seen.sees('language english')
  await keyboard.type(']')
  await seen.sees('Any word')
  await keyboard.type('[')
  await seen.sees('language english')
  await keyboard.type('[')
  await seen.sees('No aliases yet')
  await seen.go('#/collections/stories/search')
  await seen.sees('Any word')
  await keyboard.type('/')
  await keyboard.type('gc?')
  const words = await seen.valueOf('Words to find')
  t.equal(words, 'gc?', 'letters are text while somebody types')
  t.equal(await hash(), '#/collections/stories/search')
  await seen.page.evaluate(() => (document.activeElement as HTMLElement).blur())
  await keyboard.type('?')
  await seen.sees('Previous tab of a collection')
  await seen.picture('shortcuts')
  t.strictSame(await seen.barriers(), [])
  await keyboard.type('gc')
  t.equal(await hash(), '#/collections/stories/search', 'a dialog keeps its keys')
  await seen.tick('Shortcuts of single keys')
  await keyboard.press('Escape')
  await seen.page.waitForFunction(() => document.querySelector('dialog') === null)
  await keyboard.type('gc')
  t.equal(await hash(), '#/collections/stories/search', 'turned off')
  await seen.page.reload()
  await seen.sees('Any word')
  await keyboard.type('?')
  t.equal(await seen.page.$('dialog'), null, 'the browser keeps the choice')
  await seen.click('Keyboard shortcuts')
  await seen.sees('Previous tab of a collection')
  t.strictSame(seen.faults, [])
})
