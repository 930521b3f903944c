// Searches that the browser keeps by collection and name.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { makeArticles, makeStories } from './fixture.ts'
import { realServer } from './real-server.ts'

test('a search is saved, loaded after a reload, copied as code, replaced, judged, and deleted', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address)
  await makeStories(address)
  const seen = await openPage(await browserFor(t), address, { width: 390, height: 844, theme: 'dark' })
  const words = () => seen.valueOf('Words to find')
  const hostile = '<img src=x onerror=alert(1)>'
  await seen.go('#/collections/stories/search')
  await seen.fill('Words to find', 'calm sea')
  await seen.click('All words')
  await seen.click('Saved')
  await seen.sees('No search of this collection is saved.')
  await seen.fill('Name of the current search', hostile)
  await seen.click('Save')
  await seen.sees(`Search ${hostile} saved.`)
  await seen.picture('saved-searches')
  t.strictSame(await seen.barriers(), [])
  await seen.click('Close')
  await seen.fill('Words to find', 'something else')
  await seen.click('Any word')
  await seen.page.reload()
  await seen.sees('Any word')
  await seen.click('Saved')
  await seen.click(`Load ${hostile}`)
  await seen.page.waitForFunction(() => document.querySelector('dialog') === null)
  t.equal(await words(), 'calm sea')
  await seen.click('Search')
  await seen.sees('1 hits')

  await seen.click('Saved')
  await seen.click(`${hostile} as code`)
  await seen.page.waitForSelector('dialog textarea')
  const code = await seen.page.$eval('dialog textarea', (area) => (area as HTMLTextAreaElement).value)
  t.match(code, '"query":"calm sea"')
  t.match(code, '"operator":"and"')
  await seen.click('Close')
  await seen.fill('Words to find', 'nobody')
  await seen.click('Saved')
  await seen.fill('Name of the current search', hostile)
  await seen.click('Replace')
  await seen.sees('saved.')
  await seen.click('Close')

  await seen.go('#/collections/stories/judging')
  await seen.sees(`saved: ${hostile}`)
  await seen.select('Setting A', '1')
  const setting = await seen.valueOf('Search A as JSON')
  t.strictSame(JSON.parse(setting), { fields: { body: { operator: 'and' } } })

  await seen.go('#/collections/articles/search')
  await seen.click('Saved')
  await seen.sees('No search of this collection is saved.')
  await seen.click('Close')
  await seen.go('#/collections/stories/search')
  await seen.click('Saved')
  await seen.click(`Delete ${hostile}`)
  await seen.sees('No search of this collection is saved.')
  t.equal(await seen.page.evaluate(() => localStorage.getItem('annal.searches')), '{}')
  t.strictSame(seen.faults, [])
})
